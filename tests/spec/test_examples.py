"""Every construct of the language is accepted, and has the expected lookback."""

from __future__ import annotations

import pytest

import wex
from wex import examples
from wex.spec import meaning

STREAM = """
stream events (symbol string, ts timestamp, day date, price real, x real, t real, n int, ok bool,
    letter enum('a', 'b', 'c'), `end` int, `order` int, value other)
  partition by symbol
  order by ts
let up = price > price[-1]
let down2 = price[-2] > price[-1] and price[-1] > price
let gap = ts - ts[-1]
let a = letter = 'a'
let b = letter = 'b'
let g = (letter[-1] = 'a' and letter = 'b') or (letter[-1] = 'b' and letter = 'c')
let U1 = x > x[-1]
let D2 = x[-2] > x[-1] and x[-1] > x
"""

# Every construct that the documents of the language show, with the lookback it has.
FRAGMENTS = [
    ("match any", 0),
    ("after any* [D2] match [U1] [not D2]* [D2]", 2),
    ("after any* D2 match U1 [not D2]* D2", 2),
    ("after (any any)* match any{5}", 0),
    ("after any* match [a]* [b]", 0),
    ("after any* match [x[-1]>x[-2] and x[-1]>x[0] and x[-1]>4]", 2),
    ("after () match any+", 0),
    (
        "match [is_first or gap > 30 minutes] [gap <= 30 minutes]* until [gap > 30 minutes] or end",
        1,
    ),
    ("match [is_first or t - t[-1] > 30] [t - t[-1] <= 30]* until [t - t[-1] > 30] or end", 1),
    ("match [not ok]{5,} ok within 10 minutes keep disjoint", 0),
    ("match [t > 90 and not t[-1] > 90] [t > 90]{2,} [t >= 80]* [t < 80]", 1),
    ("match any+ within 5 minutes keep longest measure avg(price) as mean", 0),
    ("match [g]+", 1),
    ("match b a* b | a", 0),
    ("match any{100}", 0),
    ("match [up] any* [up] [x[-1] < x[-2]]", 2),
    (
        "match [0 < x <= 9] [x between 1 and 9] [n in (1, 2)] [n not in (1)] [x not between -1 and 1]",
        0,
    ),
    ("match [prev(price) > prev(price, 2)] [price[0] = price]", 2),
    ("match [up[-1]] [gap[-1] > 1 day] [is_first[-1]]", 2),
    ("match [`end` > `order`] [letter in ('a', 'b')] [abs(x - x[-1]) > -2.5]", 1),
    ("match [ts > timestamp '2026-01-31 10:00:00'] [day = date '2026-01-31']", 0),
    ("match [ok = true or false] [symbol != 'it''s'] [-x < - 3]", 0),
    ("match up{2} | up{2,} | up{2,4} | up? | up+ & ~(ok any*) | () | any{0}", 1),
    ("after up match ok or match b or after a match any", 1),
    (
        "match up within 10 events having n > 3 and m between 1 and 2 measure count() as n, avg(x) as m",
        1,
    ),
    ("match up lookback 4 keep shortest", 4),
    ("match [false] keep all", 0),
    ("match [x * 0 <= x + 0 - 0]", 0),
    (
        "match any measure count(x) as a1, sum(x) as a2, min(ts) as a3, max(symbol) as a4,"
        " first(value) as a5, last(value) as a6, var(x) as a7, stddev(n) as a8, collect(value) as a9,"
        " count_distinct(symbol) as b1, count_if(up) as b2, some(ok) as b3, every(x > 1) as b4,"
        " min_by(symbol, x) as b5, max_by(x, ts) as b6, avg(price) filter [up] as b7,"
        " (max(price) - min(price)) / 2 as b8, sum(gap) as b9, avg(gap) as c1, count() as c2",
        0,
    ),
    (
        "where up(begin) and down2(begin - 1) and down2(end) and begin < end"
        " and forall x: begin < x and x < end implies not down2(x)",
        2,
    ),
    ("where exists set X: begin in X and forall y: y in X iff y + 1 not in X or [x > 1](y)", 0),
    ("where not exists x: x <= begin < end - 3 and (forall set Y: x in Y) or begin = end", 0),
]


@pytest.mark.parametrize(("fragment", "lookback"), FRAGMENTS)
def test_fragments_under_a_stream(fragment: str, lookback: int) -> None:
    spec = wex.parse(f"{STREAM}window w {fragment}")
    assert meaning(spec).lookbacks == (lookback,)
    assert wex.parse(str(spec)) == spec


@pytest.mark.parametrize("name", examples.names())
def test_example_specs(name: str) -> None:
    spec = examples.spec(name)
    assert wex.parse(str(spec)) == spec
    assert meaning(spec).spec == spec


def test_operators_bind_as_the_reference_says() -> None:
    def same(one: str, other: str) -> bool:
        head = "stream s (p bool, q bool, r bool, x real, y real) "
        return wex.parse(head + one) == wex.parse(head + other)

    assert same("let a = not p and q or r", "let a = ((not p) and q) or r")
    assert same("let a = x + y * 2 - x < -y", "let a = ((x + (y * 2)) - x) < (-y)")
    assert not same("let a = x - (y - x) > 0", "let a = x - y - x > 0")
    assert same("window w match ~p* q | r & p", "window w match ((~(p*)) q) | (r & p)")
    assert same(
        "window w where p(begin) implies q(begin) implies r(begin) iff p(end) iff q(end)",
        "window w where (p(begin) implies (q(begin) implies r(begin))) iff (p(end) iff q(end))",
    )
    assert same(
        "window w where not exists x: p(x) and begin < x or q(x)",
        "window w where not (exists x: ((p(x) and begin < x) or q(x)))",
    )
    assert same(
        "window w where p(begin) and exists x: q(x) or r(x)",
        "window w where p(begin) and (exists x: (q(x) or r(x)))",
    )


def test_items_and_clauses_come_in_any_order() -> None:
    one = wex.parse("window w keep all match a until [a] unpadded let a = x > 1 stream s (x real)")
    two = wex.parse("stream s (x real) let a = x > 1 window w unpadded until [a] match a keep all")
    assert one == two


def test_comments_and_layout_mean_nothing() -> None:
    one = wex.parse("stream s(x real)#here\nwindow w match[x>1]#there\n[x<1]")
    assert one == wex.parse("stream s ( x real )\n\n\n window w\nmatch [ x > 1 ] [x < 1 ]  # end")
