"""States of earlier versions, which held starts that earlier ones dominate, are read and go on."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.engine.older import older_engine, pairing_engine
from tests.engine.test_held_starts import ALTERNATIONS, MATCHES, UNTIL
from wex.compile.plan import Plan
from wex.engine.engine import Engine
from wex.engine.kernels.compiled import interpreted
from wex.engine.kernels.types import Registers
from wex.engine.running_streams import RunningStreams
from wex.engine.state import schema
from wex.engine.state.state import State, to_bytes
from wex.engine.streaming.bucket import Bucket, Rules
from wex.reference.find import find_by_definition
from wex.spec import tree
from wex.stages import plan_of

HEAD = "stream s (k int, b bool, x int) partition by k window w "
# Starts of expressions that end with a fixed number of events are often dominated.
ENDINGS = st.sampled_from(["any{2,4}", "[b] [b]", "[b] any [not b]", "([b] | any [not b] [b])", ""])
LIMITS = st.sampled_from([""] * 7 + ["within 3 events"])
MEASURES = st.sampled_from(
    [""] * 4 + ["measure sum(x) as s, collect(b) as c"] * 3 + ["measure sum(x) as s having s > 1"]
)
KEEP = st.sampled_from(["longest", "disjoint"])
EVENT = st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 2))
OLDER = (older_engine, pairing_engine)
CONFIGS = (256, 12, 5, 1)  # most of them: ordered by age, not ordered, none


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def starts(streams: RunningStreams) -> dict[int, list[int]]:
    """Return the starts that are held, by key."""
    state = streams.everything()
    counts = state.counts(schema.held(0)).tolist()
    found = iter(state.lists[schema.held(0)].to_pylist())
    keys = state.streams.column(schema.key("k")).to_pylist()
    return {
        key: [next(found)[schema.POSITION] for _ in range(count)]
        for key, count in zip(keys, counts, strict=True)
    }


@given(
    st.builds("{} {}".format, MATCHES, ENDINGS) | ALTERNATIONS, UNTIL, LIMITS, MEASURES, KEEP,
    st.lists(EVENT, min_size=2, max_size=24), st.integers(0, 24), st.sampled_from(CONFIGS),
    st.sampled_from(OLDER), st.booleans(),
)  # fmt: skip
def test_states_of_earlier_versions_go_on_to_the_same_windows(
    match: str, until: str, within: str, measures: str, keep: str,
    events: list[tuple[int, bool, int]], cut: int, most: int,
    of_version: Callable[[Plan, int], Engine], in_bucket: bool,
) -> None:  # fmt: skip
    try:
        spec = wex.parse(f"{HEAD}match {match} {until} {within} {measures} keep {keep}")
    except wex.SpecError:  # such as an empty word in `match`
        assume(False)
    check_that_states_go_on(spec, events, cut, most, of_version, in_bucket=in_bucket)


def check_that_states_go_on(
    spec: tree.Spec,
    events: list[tuple[int, bool, int]],
    cut: int,
    most: int,
    of_version: Callable[[Plan, int], Engine] = older_engine,
    *,
    in_bucket: bool = False,
) -> None:
    """Compare the windows of a stream whose state is saved by an older engine with the definition."""
    plan = plan_of(spec)
    older, engine = of_version(plan, most), Engine(plan, most)
    assert older.fingerprint == engine.fingerprint
    columns = zip(*events, strict=True)
    table = pa.table(dict(zip(("k", "b", "x"), map(list, columns), strict=True)))
    cut = min(cut, len(events))
    with interpreted():
        before, fresh = RunningStreams(older), RunningStreams(engine)
        found = rows(before.feed(table.slice(0, cut)))
        fresh.feed(table.slice(0, cut))
        if in_bucket:
            bucket = Bucket(older, Rules(), before)
            running = Bucket.of(engine, Rules(), bucket.saved()).streams
        else:
            running = RunningStreams(engine, before.saved())
        for begin in range(cut, len(events), 3):
            part = table.slice(begin, 3)
            found += rows(running.feed(part))
            fresh.feed(part)
            # After an event of its stream, nothing is left of what only earlier versions held.
            mine, expected = starts(running), starts(fresh)
            assert all(mine[key] == expected[key] for key in set(part["k"].to_pylist()))
            running = RunningStreams(engine, running.saved())
        found += rows(running.close())
    assert sorted(found) == rows(find_by_definition(spec, table))


TWO_WAYS = "[x = 0] any* [x = 1] | [x = 2] any* [x = 3]"
# Where a machine does not know the ages of starts, lists take the place of registers. The states are the same.
OTHER_MACHINES = {
    ("[x = 1] [x != 1]* [x = 3] [x = 3] | [x = 0] any* [x = 3] keep disjoint", 6): (
        "registers",
        "configs",
    ),
    ("[x = 0] [x = 0] [x = 3] | [x = 0] any{2} [x = 0]* keep longest", 20): ("configs", "configs"),
    ("any{2} [x = 0]* [x = 2] | [x = 0] any any* keep disjoint", 6): ("configs", "configs"),
    (f"{TWO_WAYS} | [x = 1] any* [x = 1 or x = 3] keep longest", 256): ("registers", "registers"),
    (f"{TWO_WAYS} | [x = 1] [x != 0]* [x = 1 or x = 3] keep disjoint", 8): ("configs", "configs"),
    (f"{TWO_WAYS} | [x = 1] any* [x = 1 or x = 3] keep longest", 1): ("moving", "moving"),
}


@pytest.mark.parametrize(("window", "most"), OTHER_MACHINES)
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=20),
    st.integers(0, 20),
    st.sampled_from(OLDER),
)
def test_states_of_other_machines_go_on(
    window: str,
    most: int,
    values: list[int],
    cut: int,
    of_version: Callable[[Plan, int], Engine],
) -> None:
    spec = wex.parse(f"{HEAD}match {window}")
    plan = plan_of(spec)
    kinds = [
        engine.windows[0].machine.kind for engine in (older_engine(plan, most), Engine(plan, most))
    ]
    assert tuple(kinds) == OTHER_MACHINES[window, most]
    events = [(at % 5 // 4, False, x) for at, x in enumerate(values)]
    check_that_states_go_on(spec, events, cut, most, of_version)


@pytest.mark.parametrize("window", ["any* [b] [b] keep longest", "any{3} keep disjoint"])
def test_registers_hold_fewer_starts_than_a_state_of_an_earlier_version(window: str) -> None:
    engine = Engine(plan_of(wex.parse(f"{HEAD}match {window}")))
    assert isinstance(engine.windows[0].machine.tables, Registers)
    older = RunningStreams(older_engine(engine.plan))
    older.feed({"k": [1, 1], "b": [True, True], "x": [1, 2]})
    assert starts(older) == {1: [0, 1]}
    running = RunningStreams(engine, older.saved())
    assert starts(running) == {1: [0, 1]}
    found = running.feed({"k": [1], "b": [True], "x": [3]})
    assert found["start_index"].to_pylist() == [0]
    assert starts(running) == ({1: [0]} if "longest" in window else {1: []})


def changed(state: State, column: str, values: list[int]) -> State:
    held = state.lists[schema.held(0)]
    at = held.column_names.index(column)
    table = held.set_column(at, column, pa.array(values, pa.int64()))
    return State(state.streams, {**state.lists, schema.held(0): table})


def test_a_start_of_an_earlier_version_is_checked_like_all_others() -> None:
    """Only starts that are dominated may be missing, and none may be where its config has none."""
    engine = Engine(plan_of(wex.parse(f"{HEAD}match any* [b] [b] keep longest")))
    older = RunningStreams(older_engine(engine.plan))
    older.feed({"k": [1, 1], "b": [True, True], "x": [1, 2]})
    state = older.everything()
    slots = state.lists[schema.held(0)].column(schema.SLOT).to_pylist()
    assert sorted(slots) == [0, 1]
    RunningStreams(engine, to_bytes(state, engine.fingerprint))
    for wrong in ([0, 0], [1, 1], [0, 2], [1, 30], [0, 31], [0, -1], [0, 2**62]):
        with pytest.raises(wex.StateError):
            RunningStreams(engine, to_bytes(changed(state, schema.SLOT, wrong), engine.fingerprint))
    held, name = state.lists[schema.held(0)], schema.held(0)
    at = state.streams.column_names.index(schema.count(name))
    fewer_rows = state.streams.set_column(at, schema.count(name), pa.array([1]))
    without_last = State(fewer_rows, {**state.lists, name: held.slice(0, 1)})
    RunningStreams(engine, to_bytes(without_last, engine.fingerprint))
    without_first = State(fewer_rows, {**state.lists, name: held.slice(1, 1)})
    with pytest.raises(wex.StateError, match="damaged"):
        RunningStreams(engine, to_bytes(without_first, engine.fingerprint))


@pytest.mark.parametrize("most", [256, 1])
def test_a_start_that_two_earlier_ones_dominate_together_is_dropped(most: int) -> None:
    """An earlier version compared two starts at a time; its state is read, and goes on."""
    window = f"match {TWO_WAYS} | [x = 4] any* [x = 1 or x = 3] keep longest"
    engine = Engine(plan_of(wex.parse(f"{HEAD}{window}")), most)
    older = RunningStreams(pairing_engine(engine.plan, most))
    events = {"k": [1, 1, 1], "b": [True] * 3, "x": [0, 2, 4]}
    older.feed(events)
    assert starts(older) == {1: [0, 1, 2]}
    running = RunningStreams(engine, older.saved())
    assert starts(running) == {1: [0, 1, 2]}
    fresh = RunningStreams(engine)
    fresh.feed(events)
    assert starts(fresh) == {1: [0, 1]}
    for x, start in ((4, None), (3, 1), (1, 0)):
        for streams in (running, fresh):
            found = streams.feed({"k": [1], "b": [True], "x": [x]})
            assert found["start_index"].to_pylist() == ([] if start is None else [start])
            assert starts(streams) == {1: [0, 1]}
