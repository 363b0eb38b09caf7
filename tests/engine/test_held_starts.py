"""Which starts are held: the same by every machine, however events come, and no more than are proved."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.analysis.oracle import Oracle
from tests.strategies import fewer
from tests.strategies.alternations import alternations
from wex.engine.engine import Engine
from wex.engine.kernels.compiled import interpreted
from wex.engine.running_streams import RunningStreams
from wex.engine.state import schema
from wex.engine.state.state import State
from wex.engine.state.state_check import check_state
from wex.reference.find import find_by_definition
from wex.stages import plan_of

HEAD = "stream s (b bool, x int) window w "
PARTS = st.sampled_from(
    ["[b]", "[not b]", "any", "any*", "any{2}", "[x > x[-1]]", "[not b[-1]]", "[b and not b[-1]]", "[x[-1] < x[-2]]"]
)  # fmt: skip
MATCHES = st.recursive(
    PARTS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" ".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} | {two[1]})"),
        st.tuples(inner, st.sampled_from("*+?")).map(lambda one: f"({one[0]}){one[1]}"),
    ),
    max_leaves=5,
)
_predicates = st.sampled_from(["x = 0", "x = 1", "x = 2", "b", "not b", "b and x > 0"])
ALTERNATIONS = alternations(_predicates, _predicates)
UNTIL = st.sampled_from(["", "", "until [b]", "until [not b] or end"])
KEEP = ["all", "shortest", "longest", "disjoint"]
BY_AGE = st.builds(
    "within {} events keep {}".format,
    st.integers(1, 5),
    st.sampled_from([*KEEP, "preferred", "leftmost", "leftmost sharing 1 event"]),
)
BY_LENGTH = st.builds(
    "{} measure count() as n, count_if(b) as c having {} keep {}".format,
    st.sampled_from(["", "", "within 4 events"]),
    st.sampled_from(["n > 2", "n = 3", "n != 2", "n > 1 and n < 4", "n = 2 or n = 4", "c = 2"]),
    st.sampled_from(KEEP[1:]),
)
BY_ORDER = st.sampled_from(["keep longest", "keep disjoint"])
EVENTS = st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=10)


def held(streams: RunningStreams) -> list[int]:
    rows = streams.everything().lists[schema.held(0)].to_pylist()
    # By preference, some rows only divide panes.
    return [row[schema.POSITION] for row in rows if row[schema.SLOT] != schema.BORDER]


def windows(table: pa.Table) -> list[tuple[int, int]]:
    starts, ends = table["start_index"].to_pylist(), table["end_index"].to_pylist()
    return sorted(zip(starts, ends, strict=True))


@fewer(2)
@given(
    st.one_of(MATCHES, ALTERNATIONS),
    UNTIL,
    st.one_of(BY_AGE, BY_LENGTH, BY_ORDER),
    st.lists(EVENTS, min_size=3, max_size=3),
)
def test_every_machine_holds_the_same_starts_and_finds_the_windows(
    match: str, until: str, clauses: str, streams: list[list[tuple[bool, int]]]
) -> None:
    try:
        spec = wex.parse(f"{HEAD}match {match} {until} {clauses}")
    except wex.SpecError:  # such as an empty word in `match`
        assume(False)
    plan, bound = plan_of(spec), wex.check(spec)["w"].held.bound
    with interpreted():
        for events in streams:
            table = pa.table({"b": [b for b, _ in events], "x": [x for _, x in events]})
            after: dict[int, list[int]] = {}
            for engine in (Engine(plan), Engine(plan, 1)):  # with configs, and without
                for size in (1, 3, len(events)):
                    running, found = RunningStreams(engine), []
                    for begin in range(0, len(events), size):
                        found += windows(running.feed(table.slice(begin, size)))
                        end = min(begin + size, len(events))
                        assert after.setdefault(end, held(running)) == held(running)
                        assert bound is None or len(held(running)) <= bound
                    found += windows(running.close())
                    assert sorted(found) == windows(find_by_definition(spec, table))


CASES = {
    "match [ok] any* [not ok] within 3 events": 2,
    "match [ok] any* [not ok] [ok] within 5 events": 4,
    "match [ok] any* [not ok] within 3 events until [ok]": 2,
    "match [ok] any* [not ok[-1] and not ok] within 3 events": 1,  # two events after the last [ok]
    "match [ok] any* [not ok[-1] and not ok] within 3 events until [ok]": 1,
    "match [ok] any* [not ok[-1] and not ok] within 4 events keep preferred": 2,
    "match [ok] any* [not ok[-1]] until [ok and not ok[-2]] within 3 events keep shortest": 2,
    "match any any* [ok[-2] and not ok[-1] and ok] within 5 events": 5,
    "match [ok] any* [not ok] within 3 events keep preferred": 2,
    "match any{2,6} measure count() as n having n > 3 and n != 5 keep shortest": 4,
    "match any{2,6} measure count() as n having n > 3 and n != 5 keep disjoint": 1,
    "match any* [ok] [ok] keep disjoint": 1,
    "match any* [ok] [ok] keep longest": 1,
    "match any{3} keep disjoint": 1,
    "match any{3} keep longest": 3,  # each of them ends alone
    "match any{1,8} until [ok] keep disjoint": 8,
    # Behind a 0 and a 2, every end of a 4 is one of an earlier start, but not of the same.
    "match [x = 0] any* [x = 1] | [x = 2] any* [x = 3] | [x = 4] any* [x = 1 or x = 3] keep longest": 2,
    "match [x = 0] any* [x = 1] | [x = 2] any* [x = 3] | [x = 4] any* [x = 1 or x = 3] keep disjoint": 2,
    "match [x = 0] any{2} | [x = 2] any{3} | [x = 4] any{2,3} until [ok] keep disjoint": 4,
    "match [x = 0] any* [ok] | [x = 1] any* [not ok] | any* [x = 5] keep disjoint": 3,
    "match [x = 0] any* [ok] | [x = 1] any* [not ok] | any{3} keep longest": 4,
    # The second state stands for a start with a 1 or a 2, unless states are told apart.
    "match [x = 0] [x = 1] [x = 3] | [x = 1 or x = 2] [x = 3 or x = 4 and x[-1] = 2] keep longest": 1,
    # States count the events of a window, so that starts can be compared.
    "match any{3} within 5 events keep disjoint": 1,
    "match any* [ok] [ok] within 6 events keep disjoint": 4,
    "match any* [ok] [ok] within 6 events keep longest": 6,  # the older ones are too old first
    "match any* [ok] until [x > 1] within 8 events keep disjoint": 8,
    # A later start always ends first.
    "match [ok] [not ok] any any | [not ok] any keep disjoint": 1,
}


@pytest.mark.parametrize("window", CASES)
def test_as_many_starts_are_held_as_are_open(window: str) -> None:
    text = f"stream s (ok bool, x int) window w {window}"
    report = wex.check(text)["w"]
    assert (str(report.open), str(report.held)) == (str(CASES[window]),) * 2
    witness = report.held.witness(CASES[window]).to_pylist()
    assert Oracle(wex.parse(text)).held_or_ended(witness) == CASES[window]


def test_a_window_that_is_too_old_takes_no_other_starts_with_it() -> None:
    """Starts that begin with a 1 stay when the start before them has grown too old for its window."""
    text = (
        "stream s (t timestamp, x int) order by t assume ([x = 0] [x = 1] [x = 2])*"
        " window w match [x = 0] [x = 1] [x = 2] | [x = 1] any{5} within 5 seconds keep disjoint"
    )
    report = wex.check(text)["w"]
    seconds = [0, 5, 5.5, 5.6, 5.7]
    times = [datetime(2026, 1, 31) + timedelta(seconds=each) for each in seconds]
    running = RunningStreams(Engine(plan_of(text)))
    with interpreted():
        found = running.feed({"t": times, "x": [0, 1, 2, 0, 1]})
    assert (windows(found), held(running)) == ([], [1, 3, 4])
    assert (report.open.bound, report.held.bound) == (3, 3)


def test_a_start_that_an_older_version_has_held_is_dropped() -> None:
    """It has all events that `within` allows: no window of it can end any more."""
    engine = Engine(plan_of("stream s (b bool) window w match [b] any* [not b] within 3 events"))
    with interpreted():
        running = RunningStreams(engine)
        running.feed({"b": [True, True]})
        older = running.everything().lists[schema.held(0)].slice(0, 1)
        running.feed({"b": [True]})
        assert held(running) == [1, 2]
        state, name = running.everything(), schema.held(0)
        count = state.streams.column_names.index(schema.count(name))
        saved = State(
            state.streams.set_column(count, schema.count(name), pa.array([3])),
            {**state.lists, name: pa.concat_tables([older, state.lists[name]])},
        )
        check_state(saved, engine)
        restored = RunningStreams(engine)
        restored.resume(saved)
        assert held(restored) == [0, 1, 2]
        assert windows(restored.feed({"b": [False]})) == [(1, 3), (2, 3)]
        assert held(restored) == [2]
