"""Ranges of a stream on tasks that share no memory have the windows, measures and errors of one piece."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.engine.compare import _moving_engine, assert_same, find_by, outcome
from tests.engine.ways import in_tasks, some_cuts, streams_of, with_divided_keys
from tests.strategies import fewer
from tests.strategies.long_streams import Recipe, recipes, window_specs
from tests.strategies.mixed import mixed_specs, random_streams
from tests.strategies.specs import with_scales
from wex.engine.engine import Engine, engine_of
from wex.engine.ranges.composition import obstacle
from wex.engine.ranges.distribution import cut_in
from wex.errors import DataError
from wex.spec import tree

chances = st.integers(0, 2**32).map(Random)
ORDER = [("window_name", "ascending"), ("end_index", "ascending"), ("start_index", "ascending")]


def without_key(spec: tree.Spec) -> tree.Spec:
    """Return a spec for which all rows are one stream."""
    return wex.parse(str(spec).replace(" partition by key", "").replace(" partition by k", ""))


def assert_in_tasks(engine: Engine, rows: pa.Table, chance: Random) -> None:
    """Check that a stream in tasks has the outcome of one piece, if it can be divided."""
    expected = outcome(find_by, engine, rows)
    try:
        cuts = some_cuts(engine, rows, chance)
    except DataError:  # of the order column: nothing is known of the data
        return
    found = outcome(in_tasks, engine, rows, chance, cuts)
    if found is None:
        return
    if isinstance(found, DataError) and isinstance(expected, DataError):
        # Of several windows whose measures fail, another one may be reported.
        assert found.code == expected.code
        if found.code != "arithmetic":
            assert_same(found, expected)
        return
    assert isinstance(found, pa.Table), found
    assert isinstance(expected, pa.Table), expected
    assert_same(found.sort_by(ORDER), expected.cast(found.schema).sort_by(ORDER))


@fewer(4)
@given(mixed_specs(least=1, most=2), chances)
def test_windows_of_tasks_are_those_of_one_piece(spec: tree.Spec, chance: Random) -> None:
    """All kinds of windows and clauses; values are missing, assumptions violated, times equal."""
    spec = without_key(spec)
    rows = random_streams(chance, 1, longest=chance.choice([5, 20, 60]))
    for engine in (engine_of(spec), _moving_engine(spec)):
        assume(obstacle(engine) is None)
        assert_in_tasks(engine, rows, chance)


@fewer(2)
@given(window_specs(), recipes, chances)
def test_windows_of_longer_streams_in_tasks(text: str, recipe: Recipe, chance: Random) -> None:
    spec, rows = without_key(with_scales(wex.parse(text))), recipe.table()
    for engine in (engine_of(spec), _moving_engine(spec)):
        assume(obstacle(engine) is None)
        assert_in_tasks(engine, rows, chance)


def assert_with_divided_keys(engine: Engine, rows: pa.Table, chance: Random) -> None:
    """Check that streams have the outcome of `find`, some of them in ranges; of several errors any one."""
    expected = [outcome(find_by, engine, own) for _, own in streams_of(engine, rows)]
    found = outcome(with_divided_keys, engine, rows, chance)
    errors = [error for error in expected if isinstance(error, DataError)]
    if isinstance(found, DataError):
        assert (found.code, repr(found.key)) in {(error.code, repr(error.key)) for error in errors}
        if found.code != "arithmetic":
            assert str(found) in set(map(str, errors))
        return
    assert not errors
    whole = find_by(engine, rows)
    order = [(name, "ascending") for name in engine.stream.partition_by] + ORDER
    assert_same(found.sort_by(order), whole.cast(found.schema).sort_by(order))


@fewer(4)
@given(mixed_specs(least=1, most=2), chances)
def test_keys_in_ranges_are_those_of_one_piece(spec: tree.Spec, chance: Random) -> None:
    """Some keys are divided, NULL may be one of them, and the others run as always."""
    rows = random_streams(chance, chance.choice([1, 3]), longest=chance.choice([5, 20, 60]))
    at = rows.column_names.index("key")
    unknown = pc.if_else(pc.equal(rows["key"], "k000"), None, rows["key"])
    for engine in (engine_of(spec), _moving_engine(spec)):
        assume(obstacle(engine) is None)
        assert_with_divided_keys(engine, rows, chance)
        assert_with_divided_keys(engine, rows.set_column(at, "key", unknown), chance)


STREAM = "stream s (t timestamp, x int, y real, s string, ok bool, m real) order by t"
SPECS = [
    "window w match [x > x[-1]]+ measure sum(y) as total, collect(x) as all, first(x - x[-1]) as step",
    "window w match [x = 0] any* [x = 3] measure sum(x) as total, collect(s) as names, last(t) as closed",
    "window w match any+ [x = 3] measure count() as n",
    "window w match any{9} measure max(x) as top",
    "window w match [x > 0] any* [x = 0] within 4 events measure count() as n",
    "window w match [x > 0] any* [x = 0] within 3 seconds measure count() as n",
    "window w match [x > x[-5]] any* [x = x[-3]] measure first(x[-4]) as old",
    "window w match [x > x[-3]]+ unpadded keep longest measure count() as n",
    "window w match [x > 0]+ until [x = 0] or end measure count() as n",
    "window w runs where ok measure count() as n",
    "window w after (any{2})* match [x > 0] any* [x = 0] measure sum(x) as total",
    "window w after (any{3})* match [x > 0]{2} window v after (any{2})* match ok any* [not ok]",
    "window w after (any{12})* match [x > 0]",
    "assume [x < 3]* window w match [x > 0] any",
    "assume (any any)* window w match [x > 0] any",
    "assume any [ok]* [not ok]* window w match [x > 0] any",
    "assume at most 3 events in 2 seconds window w match any{2}",
    "window w match [x > 0] any* [x = 0] measure sum(1 / x) as y1, avg(y) as mean having y1 > 0",
    "window w match [x > 0]+ keep disjoint measure count() as n",
    "window w match ok+ [x > 1] keep shortest window v match [not ok]+ keep longest measure min(s) as least",
]


@pytest.mark.parametrize("nulls", ["", " nulls skip"])
@pytest.mark.parametrize("text", SPECS)
def test_borders_at_all_places(text: str, nulls: str) -> None:
    """Windows over one, two and all borders, ranges of one row, equal times, values that are missing."""
    engine = engine_of(wex.parse(f"{STREAM}{nulls} {text}"))
    assert obstacle(engine) is None
    keyed = wex.parse(f"{STREAM.replace(' order', ' partition by s, m order')}{nulls} {text}")
    for seed in range(15):
        chance = Random(seed)
        rows = random_streams(chance, 1, longest=chance.choice([3, 12, 60]))
        assert_in_tasks(engine, rows.drop_columns(["key", "side"]), chance)
        assert_with_divided_keys(engine_of(keyed), rows, chance)


KEYS: dict[str, list[object]] = {
    "string": ["a", "", None],
    "real": [0.5, float("nan"), None],
    "int": [-1, 2**62, None],
    "bool": [True, False, None],
}


@pytest.mark.parametrize("type_", KEYS)
@pytest.mark.parametrize("order", ["int", "real"])
def test_keys_and_orders_of_all_types(type_: str, order: str) -> None:
    """Borders before and behind 0, between values and at them; keys that are equal to no other value."""
    engine = engine_of(
        f"stream s (key {type_}, o {order}, b bool) partition by key order by o"
        " window w match [b] [not b]* [b] measure first(o) as o"
    )
    for seed in range(10):
        chance = Random(seed)
        values = [chance.randint(-8, 8) for _ in range(30)]
        rows = pa.table(
            {
                "key": [chance.choice(KEYS[type_]) for _ in values],
                "o": [value / 4 if order == "real" else value for value in values],
                "b": [chance.random() < 0.6 for _ in values],
            }
        )
        assert_with_divided_keys(engine, rows, chance)


def test_an_automaton_that_never_comes_to_one_state_takes_several_ways() -> None:
    """A window after an even number of events: a range runs from both states."""
    rows = random_streams(Random(5), 1, longest=60)
    for length, ways in ((2, 2), (8, 8), (9, None)):
        text = f"window w after (any{{{length}}})* match [x > 0]"
        cut = cut_in(engine_of(wex.parse(f"{STREAM} {text}")), rows)
        assert (cut and len(cut.entries)) == ways


def test_data_that_has_changed_is_an_error() -> None:
    """Whatever has changed: no window is wrong."""
    engine = engine_of(wex.parse(f"{STREAM} window w match [x > x[-1]]+ measure count() as n"))
    for seed in range(100):
        chance = Random(seed)
        rows = random_streams(chance, 1, longest=60)
        expected = outcome(find_by, engine, rows)
        kept = [chance.random() < 0.9 for _ in range(rows.num_rows)]
        other = rows.filter(pa.array(kept, pa.bool_()))
        cuts = some_cuts(engine, rows, chance)
        found = outcome(in_tasks, engine, other, chance, cuts)
        if isinstance(expected, DataError) or found is None or isinstance(found, DataError):
            continue
        assert_same(found.sort_by(ORDER), find_by(engine, other).cast(found.schema).sort_by(ORDER))
