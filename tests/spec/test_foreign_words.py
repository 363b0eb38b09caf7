"""Words and signs of other languages: the hint says what to write, and that is right."""

from __future__ import annotations

import pytest

import wex
from wex.spec import tree

STREAM = """
stream s (ts timestamp, x real, n int, name string, `my-col` int, other_col int, ok bool) order by ts
let a = x > 1
let b = x < 0
"""

# What people write, what the hint says, and the window with it.
HABITS = [
    ("match any measure count(distinct x) as m", "count_distinct(x)", "match any measure {} as m"),
    ("match any measure avg(x) filter (where x > 1) as m", "filter [x > 1]", "match any measure avg(x) {} as m"),
    ("match any measure avg(x) filter where x > 1 as m", "filter [x > 1]", "match any measure avg(x) {} as m"),
    ("match any measure sum(*) as m", "sum(x)", "match any measure {} as m"),
    ("match ^ a b", "after () match", "{} a b"),
    ("match a b $", "until [false] or end", "match a b {}"),
    ("match a .* b", "any*", "match a {} b"),
    ("match a .+ b", "any+", "match a {} b"),
    ("match a . b", "any", "match a {} b"),
    ("match any{2..3}", "any{2,3}", "match {}"),
    ("match a [A.x > 3]", "x[-1]", "match a [{} > 3]"),
    ("match [n % other_col = 0]", "n % 2", "match [{} = 0]"),
    ("match [n mod 2 = 0]", "n % 2", "match [{} = 0]"),
    ("match [mod(n, 2) = 0]", "n % 2", "match [{} = 0]"),
    ("match [div(n, 2) = 0]", "n // 2", "match [{} = 0]"),
    ("match [ts - ts[-1] > interval '1' hour]", "1 hour", "match [ts - ts[-1] > {}]"),
    ("match [ts - ts[-1] > interval '90 minutes']", "90 minutes", "match [ts - ts[-1] > {}]"),
    ("match [ts - ts[-1] > INTERVAL '5' MINUTE]", "5 minute", "match [ts - ts[-1] > {}]"),
    ("match any within interval '1' hour", "1 hour", "match any within {}"),
    ("match [ts - ts[-1] > 5 m]", "minutes", "match [ts - ts[-1] > 5 {}]"),
    ("match [a] or [b]", "[a] | [b]", "match {}"),
    ("match [a] or [b]", "[a or b]", "match {}"),
    ("match (a or b)+", "[a or b]", "match {}+"),
    ("match [a] and [b]", "[a] & [b]", "match {}"),
    ("match a and b", "[a and b]", "match {}"),
    ("match any until [a] or [b]", "until [a or b]", "match any {}"),
    ("match [my-col > 3]", "`my-col`", "match [{} > 3]"),
    ("match [other-col > 3]", "other_col", "match [{} > 3]"),
    ("match [x = null]", "x is null", "match [{}]"),
    ("match [x != null]", "x is not null", "match [{}]"),
    ("match [x is 3]", "x is null", "match [{}]"),
    ("match [isnull(x)]", "x is null", "match [{}]"),
    ("match [date_trunc('hour', ts) = ts]", "floor(ts, 1 hour)", "match [{} = ts]"),
    ("match [extract(hour from ts) = 3]", "hour(ts)", "match [{} = 3]"),
    ("match [dayofweek(ts) = 3]", "weekday(ts)", "match [{} = 3]"),
    ("match [startswith(name, 'A')]", "starts_with(name, 'A')", "match [{}]"),
    ("match [lead(x) > x]", "x[-1]", "match [{} > x]"),
    ("match any [max(x) is null]", "count(x) = 0", "match any [{}]"),
    ("match any measure count(A.*) as m", "last(x) filter [x > 1]", "match any measure {} as m"),
    ("match any measure classifier() as m", "collect(label())", "match up:any measure {} as m"),
    ("match any measure count(A.*) as m", "count(up)", "match up:any measure {} as m"),
    ("match a{,3}", "{0,3}", "match a{}"),
    ("match permute(a, b)", "a b | b a", "match {}"),
    ("match a after match skip past last row", "keep leftmost", "match a {}"),
    ("pattern (a+)", "match", "{} (a+)"),
    ("match [x > avg(x) over (order by ts)]", "", "match [x > avg(x)]"),
    ("sessions gap 30 minutes max 2 hours", "at most", "sessions gap 30 minutes {} 2 hours"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "hinted", "right"), HABITS)
def test_the_hint_says_what_to_write(written: str, hinted: str, right: str) -> None:
    with pytest.raises(wex.SpecError) as caught:
        wex.parse(f"{STREAM} window w {written}")
    assert hinted in caught.value.diagnostics[0].hint
    wex.parse(f"{STREAM} window w {right.format(hinted)}")


# What people write, and the same as it is printed.
SYNONYMS = [
    ("match any measure count(*) as m", "match any measure count() as m"),
    ("match any measure count(*) filter [a] as m", "match any measure count() filter [a] as m"),
    ("match [count(*)[-1] > 1]", "match [count()[-1] > 1]"),
    ("match [count(*) filter [a][-1] > 1]", "match [count() filter [a][-1] > 1]"),
    ("match [ts - ts[-1] > 30 min]", "match [ts - ts[-1] > 30 minutes]"),
    ("match [ts - ts[-1] > 1 hr]", "match [ts - ts[-1] > 1 hour]"),
    ("match [ts - ts[-1] > -2 secs]", "match [ts - ts[-1] > -2 seconds]"),
    ("match any within 90 mins", "match any within 90 minutes"),
    ("match any within 500 ms", "match any within 500 milliseconds"),
]


@pytest.mark.parametrize(("written", "printed"), SYNONYMS)
def test_some_habits_work_and_are_printed_in_the_usual_way(written: str, printed: str) -> None:
    spec = wex.parse(f"{STREAM} window w {written}")
    assert spec == wex.parse(f"{STREAM} window w {printed}")
    assert str(spec) == str(wex.parse(str(spec)))


@pytest.mark.parametrize("back", ["", ", 2"])
def test_lag_is_prev(back: str) -> None:
    one, two = (
        wex.spec.meaning(wex.parse(f"{STREAM} window w match [{word}(x{back}) > x]")).expanded
        for word in ("lag", "prev")
    )
    assert one.windows == two.windows


def test_a_difference_of_declared_names_is_one() -> None:
    spec = wex.parse("stream s (my int, col int) window w match [my-col > 3]")
    assert spec.windows[0].pairs[0].match == tree.Atom(
        tree.Compare((tree.Binary("-", tree.Ref("my"), tree.Ref("col")), tree.Int(3)), (">",))
    )
