"""Events that come one by one: those that wait are run as if each were run at once."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, outcome
from tests.strategies.mixed import mixed_specs, random_streams
from wex.engine.engine import Engine, engine_of
from wex.engine.input.columns import conform
from wex.engine.input.plain_rows import PlainRows
from wex.engine.input.sorting import sort_indices, sort_keys
from wex.engine.quiet_events import QuietEvents
from wex.engine.running_streams import RunningStreams
from wex.engine.state.state import from_bytes
from wex.engine.waiting_rows import MOST_ROWS, WaitingRows
from wex.errors import DataError
from wex.spec import tree
from wex.spec.types import BOOL, DATE, INT, REAL, STRING, TIMESTAMP, Type
from wex.stages import plan_of
from wex.theory.evaluate import ArithmeticFault, decider, holds

SPECS = mixed_specs(of=("pairs", "formula", "runs"), most=2)


def arriving(chance: Random) -> pa.Table:
    """Return streams that arrive in the order of time, but for a few events."""
    data = random_streams(chance, chance.randint(1, 3), longest=12)
    data = data.sort_by([("t", "ascending")])
    rows = list(range(data.num_rows))
    if rows and chance.random() < 0.3:
        place = chance.randrange(len(rows))
        rows.insert(chance.randrange(len(rows)), rows.pop(place))
    return data.take(pa.array(rows, pa.int64()))


def content(engine: Engine, saved: bytes) -> dict[str, list[dict[str, object]]]:
    """Return what a saved state says, stream by stream."""
    state = from_bytes(saved, engine.fingerprint)
    keys = engine.stream.partition_by
    if state.size and keys:
        order = sort_indices(sort_keys(state.keys(keys), keys, (), engine.fields))
        state = state.take(order)
    tables = {"": state.streams, **state.lists}
    return {name: table.to_pylist() for name, table in tables.items()}


def assert_same_content(ours: object, theirs: object) -> None:
    """Check two states; sums of floats may have been added in another order."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            assert_same_content(value, theirs[name])
    elif isinstance(ours, list) and isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            assert_same_content(*pair)
    elif isinstance(ours, float) and isinstance(theirs, float):
        same = math.isnan(ours) and math.isnan(theirs)
        assert same or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    else:
        assert ours == theirs


def given_as(piece: pa.Table, form: str) -> object:
    """Return rows as a user may give them."""
    if form == "dict":
        return piece.to_pydict()
    return piece.to_batches()[0] if form == "batch" and piece.num_rows else piece


@given(SPECS, st.randoms(use_true_random=False), st.sampled_from(["dict", "table", "batch"]))
def test_waiting_changes_nothing(spec: tree.Spec, chance: Random, form: str) -> None:
    engine, data = engine_of(spec), arriving(chance)
    waiting, at_once = WaitingRows(engine), RunningStreams(engine)
    row = 0
    while row < data.num_rows:
        size = chance.choice((1, 1, 1, 2, 3))
        piece = given_as(data.slice(row, size), form)
        row += size
        assert_same(outcome(waiting.feed, piece), outcome(at_once.feed, piece))
        if chance.random() < 0.1:
            assert (waiting.held(), waiting.most_held()) == (at_once.held(), at_once.most_held())
        if chance.random() < 0.1:
            waiting = WaitingRows(engine, waiting.saved())
            at_once = RunningStreams(engine, at_once.saved())
    assert_same_content(content(engine, waiting.saved()), content(engine, at_once.saved()))
    assert_same(outcome(waiting.close), outcome(at_once.close))


def test_the_strategy_makes_rows_wait() -> None:
    """Keep the law above honest: most of its specs are followed, and many of their rows wait."""
    seen = {"specs": 0, "followed": 0, "rows": 0, "waited": 0}

    @given(SPECS, st.randoms(use_true_random=False))
    def look(spec: tree.Spec, chance: Random) -> None:
        engine, data = engine_of(spec), arriving(chance)
        seen["specs"] += 1
        if QuietEvents.of(engine) is None:
            return
        seen["followed"] += 1
        streams = WaitingRows(engine)
        for row in range(data.num_rows):
            seen["rows"] += 1
            before = streams._count
            outcome(streams.feed, data.slice(row, 1))
            seen["waited"] += streams._count > before

    look()
    assert seen["followed"] > seen["specs"] / 2
    assert seen["waited"] > seen["rows"] / 5


@given(SPECS, st.randoms(use_true_random=False))
def test_row_by_row_is_find(spec: tree.Spec, chance: Random) -> None:
    """A single stream, in the order of `find`, without times that are equal."""
    data = random_streams(chance, 1, longest=15).sort_by([("t", "ascending")])
    times = data["t"].cast(pa.int64()).to_pylist()
    first = [row for row in range(len(times)) if not row or times[row] > times[row - 1]]
    data = data.take(pa.array(first, pa.int64()))
    processor = wex.Processor(spec)

    def fed() -> pa.Table:
        parts = [processor.feed(data.slice(0, 0))]
        parts += [processor.feed(data.slice(row, 1)) for row in range(data.num_rows)]
        return pa.concat_tables([*parts, processor.close()])

    assert_same(outcome(fed), outcome(wex.find, spec, data))


@given(SPECS, st.randoms(use_true_random=False))
def test_deciders_are_the_definition(spec: tree.Spec, chance: Random) -> None:
    data = random_streams(chance, 1, longest=8)
    times = data["t"].cast(pa.int64())
    events = data.set_column(1, "t", times).to_pylist()
    for guard in plan_of(spec).guards:
        decide = decider(guard)
        for row in range(len(events)):
            gram = [None] * 8 + events[: row + 1]
            try:
                expected: bool | str = holds(guard, gram, first=-row)
            except ArithmeticFault as fault:
                expected = fault.why
            try:
                found: bool | str = decide(gram, -row)
            except ArithmeticFault as fault:
                found = fault.why
            assert found == expected


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.integers(-5, 5), st.floats(), st.text(max_size=3),
    st.just("\ud800"), st.dates(), st.datetimes(), st.datetimes(timezones=st.just(UTC)), st.just([1]), st.binary(max_size=2),
)  # fmt: skip
TYPES: dict[Type, pa.DataType] = {
    BOOL: pa.bool_(), INT: pa.int64(), REAL: pa.float64(), STRING: pa.string(), DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us"),
}  # fmt: skip


@given(
    st.sampled_from(list(TYPES)), st.lists(VALUES, max_size=2), st.lists(VALUES, max_size=2), st.booleans()
)  # fmt: skip
def test_plain_rows_are_what_arrow_converts(
    type_: Type, given_values: list[object], unused: list[object], zoned: bool
) -> None:
    target = pa.timestamp("us", "UTC") if zoned and type_ == TIMESTAMP else TYPES[type_]
    plain = PlainRows.of({"x": type_}, pa.schema([("x", target)]))
    assert plain is not None
    data: dict[str, object] = {"x": given_values}
    if unused:
        data["unused"] = unused
    rows = plain.rows(data)
    if rows is None:
        return
    expected = conform(data, {"x": type_}).column("x")
    table = plain.table(rows)
    if expected.null_count < len(expected):  # the zone of NULLs is arbitrary
        assert table.column("x").type == expected.type
    assert repr(table.column("x").to_pylist()) == repr(expected.to_pylist())
    assert plain.rows(table) == rows or type_ == REAL  # NaN
    assert repr(plain.rows(table)) == repr(rows)


def test_plain_values_are_plain() -> None:
    plain = {
        BOOL: True, INT: 5, REAL: 0.5, STRING: "ü", DATE: date(2026, 1, 31), TIMESTAMP: datetime(2026, 1, 31, 10),
    }  # fmt: skip
    for type_, value in plain.items():
        rows = PlainRows.of({"x": type_}, pa.schema([("x", TYPES[type_])]))
        assert rows is not None
        assert rows.rows({"x": [value], "note": ["unused"]}) is not None
        assert rows.rows({"x": [None]}) == [{"x": None}]


def test_an_error_leaves_the_rows_that_wait() -> None:
    spec = wex.parse(
        "stream s (t int, x int) order by t window w match [x < 9]* [x >= 9]"
        " measure sum(x * 1000000000000000000) as total"
    )
    processor = wex.Processor(spec)
    for t in range(3):
        assert processor.feed({"t": [t], "x": [1]}).num_rows == 0
    with pytest.raises(DataError) as caught:
        processor.feed({"t": [3], "x": [10]})
    assert (caught.value.code, caught.value.position) == ("arithmetic", 0)
    with pytest.raises(DataError, match="late"):
        processor.feed({"t": [1], "x": [10]})
    assert processor.held() == 3
    assert processor.feed({"t": [4], "x": [0]}).num_rows == 0
    assert processor.held() == 4


def test_the_first_value_of_a_column_may_be_an_error() -> None:
    """Where there is no value yet, a zone is not compared with that of the constants."""
    spec = wex.parse(
        "stream s (x int, t timestamp) window w match [x < 1]* [x >= 1 and t > timestamp '2026-01-31 10:00+00:00']"
    )
    nothing = pa.schema([("x", pa.int64()), ("t", pa.timestamp("us"))]).empty_table()
    for streams in (WaitingRows(engine_of(spec)), RunningStreams(engine_of(spec))):
        streams.feed(nothing)
        with pytest.raises(DataError) as caught:
            streams.feed({"x": [0], "t": [datetime(2026, 1, 31)]})
        assert caught.value.code == "zones-mixed"


def test_few_rows_wait() -> None:
    """Neither many rows nor long texts pile up."""
    spec = wex.parse("stream s (x int, note string) window w match [x < 1]* [x >= 1]")
    streams = WaitingRows(engine_of(spec))
    most = 0
    for _ in range(3 * MOST_ROWS):
        streams.feed({"x": [0], "note": ["a"]})
        most = max(most, streams._count)
    assert 0 < most <= MOST_ROWS
    for _ in range(5):
        streams.feed({"x": [0], "note": ["a" * 900_000]})
        assert streams._count <= MOST_ROWS
        assert streams._text <= 1_000_000 + 900_000
    assert streams.held() == 3 * MOST_ROWS + 5
