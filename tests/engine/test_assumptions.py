"""The engine refuses a stream where the definition of `assume` does: same event, same key."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import wex
from tests.strategies.specs import regexes_of
from wex.errors import DataError
from wex.reference.assumptions import derivative, has_empty
from wex.reference.find import find_by_definition
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import meaning, tree

# Few values and predicates about them that exclude each other: some expressions have no
# continuation although each of their atoms can hold.
ATOMS = [
    "n = 0", "n = 1", "n < 2", "n > n[-1]", "n = n[-1]", "n[-1] = 1", "n != n[-2]", "n[-2] = 0",
    "ok", "ok and n = 2", "not ok[-1]", "n / n[-1] > 1.5", "is_first", "not is_first[-1]", "false",
]  # fmt: skip
atoms = st.sampled_from(
    [wex.parse(f"stream s (n int, ok bool) window w match [{a}]") for a in ATOMS]
)
expressions = regexes_of(atoms.map(lambda spec: spec.windows[0].pairs[0].match))
assumes = st.lists(
    st.builds(tree.Assume, expressions, st.sampled_from([False, False, False, True])),
    min_size=1,
    max_size=3,
)
STREAM = wex.parse(
    "stream s (k int, t int, n int, ok bool) partition by k order by t window w match any"
)
rows = st.tuples(st.integers(0, 1), st.integers(0, 2), st.booleans())


def spec_of(found: list[tree.Assume]) -> tree.Spec:
    return tree.Spec(STREAM.stream, (), tuple(found), STREAM.windows)


def fault(run: object, spec: tree.Spec, data: dict[str, object]) -> object:
    try:
        run(spec, data)  # type: ignore[operator]
    except DataError as error:
        return (error.code, error.message, error.key, error.position)
    return None


@given(assumes, st.lists(rows, max_size=12))
def test_find_refuses_the_event_that_the_definition_refuses(
    found: list[tree.Assume], events: list[tuple[int, int, bool]]
) -> None:
    spec = spec_of(found)
    k, n, ok = ([row[column] for row in events] for column in range(3))
    data: dict[str, object] = {"k": k, "t": list(range(len(events))), "n": n, "ok": ok}
    expected = fault(find_by_definition, spec, data)
    event("refused" if expected else "accepted")
    assert fault(wex.find, spec, data) == expected


@given(expressions, st.lists(rows, max_size=6))
def test_derivatives_have_the_sequences_that_positions_have(
    regex: tree.Regex, events: list[tuple[int, int, bool]]
) -> None:
    """Two ways to ask whether a sequence is in R: gram by gram, and by the positions it can end at."""
    spec = wex.parse("stream s (k int, t int, n int, ok bool) window w match any")
    window = replace(spec.windows[0], pairs=(tree.Pair(None, regex),))
    found = meaning(replace(spec, windows=(window,), source=None))
    columns = ("k", "n", "ok")
    stream = Stream((), [dict(zip(columns, row, strict=True)) for row in events], [])
    try:
        definition = Definition(found, 0, stream)
    except DataError:  # 0 / 0
        return
    regex = found.expanded.windows[0].pairs[0].match
    ends = definition.ends(regex, 0, 0)
    assert has_empty(regex) == (0 in ends)
    for position in range(len(events)):
        letter = frozenset(p for p in definition.truths if definition.true_at(p, position, 0))
        regex = derivative(regex, letter)
        assert has_empty(regex) == (position + 1 in ends)


@pytest.mark.parametrize(
    ("assumed", "values", "position"),
    [
        ("[x = 1] [x = 2] [x = 3]", [1, 2], None),
        ("[x = 1] [x = 2] [x = 3]", [1, 2, 3, 4], 3),
        ("[x = 1] ([x = 2] & [x = 3])", [1], 0),  # nothing can follow: no stream conforms
        ("[x > x[-1]] & [false]", [1], 0),  # no gram yet, and no stream conforms
        ("~(any* [x = 1] [x = 2] any*)", [1, 1, 2], 2),
        ("[x > 0]{1000}", [1, 1, 0], 2),
        ("[x > 0]* assume [x < x[-1]]*", [3, 2, 1], None),  # 1, 0 is refused before it comes
        ("[x > 0]* assume [x < x[-1]]*", [3, 2, 2], 2),
        ("any any any assume [x = x[-1]]{1}", [1], 0),  # three events, and two
        ("[x = 5] unchecked", [1], None),
    ],
)
def test_what_is_refused_where(assumed: str, values: list[int], position: int | None) -> None:
    spec = wex.parse(f"stream s (x int) assume {assumed} window w match any")
    expected = None if position is None else ("assumption", position)
    for run in (find_by_definition, wex.find):
        try:
            run(spec, {"x": values})
        except DataError as error:
            assert (error.code, error.position) == expected
        else:
            assert expected is None
