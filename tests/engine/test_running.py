"""Windows with aggregates in their predicates: the definition, the engine in any pieces, compiled or not."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, outcome
from tests.engine.test_machines import by_stream
from wex.engine.engine import engine_of
from wex.engine.kernels import programs
from wex.engine.state.schema import held
from wex.engine.state.state import from_bytes
from wex.reference.find import find_by_definition
from wex.spec import tree

STREAM = "stream s (k string, t timestamp, x int, y real, s string) partition by k order by t\n"
TESTS = [
    "x <= first(x)", "x < max(x)", "sum(x) <= 3", "count() < 4", "y >= avg(y)", "s = min(s)", "x > max(x)[-1]",
    "x >= min(x) filter [y > 0]", "sum(x) filter [y > 0] < 3", "last(s) != first(s)", "max_by(s, x) = s",
    "count_if(x > 1) < 2", "some(x = 2)", "every(x >= 0)", "avg(x) < 1.5", "y / sum(y) < 0.7", "x - first(x) < 2",
    "t - first(t) <= 2 seconds", "floor(first(t), 2 seconds) = floor(t, 2 seconds)", "sum(x) % 3 != 1",
    "x > x[-1] and count() > 1", "not x < avg(x)[-1]", "x = max(x) - count()", "avg(t - t[-1]) <= 1 second",
    "sum(x * 9223372036854775807) > 0", "max(s)[-2] = s or x = 1", "-min(x) < abs(max(x))", "sum(y) > sum(x)",
    "x = 1 or y > 0 and x < max(x)", "avg(x) filter [y > 0] >= x", "x > 0 and (s = 'a' or count() < 3 and y > 0)",
]  # fmt: skip
FORMS = [
    "any [{}]* [{}]", "[{}]+", "[{}]* [{}]", "[x > 0] ([{}] | [{}])+", "any{{2}} & ([{}] any)", "[{}] any* [{}]",
    "~([{}] any*) & any{{1,3}}", "any [{} and x < 2]* [not ({})]",
]  # fmt: skip
RELUCTANT = ["any [{}]*? [{}]", "[x > 0] ([{}] | any [{}])+?", "(any any [{}])?? any{{1,3}}? [{}]"]
KEEPS = ["", "keep shortest", "keep longest", "keep disjoint"]
PREFERENCES = ["keep preferred", "keep leftmost", "keep leftmost sharing 1 event"]


@st.composite
def specs(draw: st.DrawFn) -> tree.Spec:
    """Return a spec with one window that often has windows, and often parts two starts."""
    test = st.sampled_from(TESTS)
    keep = draw(st.sampled_from(KEEPS + PREFERENCES))
    form = draw(st.sampled_from(FORMS + RELUCTANT * (keep in PREFERENCES)))
    match = form.format(*(draw(test) for _ in range(form.count("{}"))))
    after = draw(st.sampled_from(["", "", "after any* [x = 1]", "after any?"]))
    until = draw(st.sampled_from(["", "", "until [{}]", "until [{}] or end"])).format(draw(test))
    clauses = [
        draw(st.sampled_from(["", "", "within 3 events", "within 2 seconds"])),
        keep,
        draw(st.sampled_from(["", "", "unpadded"])),
        draw(st.sampled_from(["", "measure count() as n, sum(x) as total having n > 1"])),
    ]
    return wex.parse(f"{STREAM} window w {after} match {match} {until} {' '.join(clauses)}")


rows = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 2),
        st.integers(-1, 3),
        st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
        st.sampled_from(["a", "b", "ü"]),
    ),
    max_size=12,
)


def table(events: list[tuple[str, int, int, float, str]]) -> pa.Table:
    """Return events in the order of time, each some seconds after the one before it."""
    seconds, times = 0, []
    for event in events:
        seconds += event[1]
        times.append(seconds * 1_000_000)
    return pa.table(
        {
            "k": pa.array([event[0] for event in events], pa.string()),
            "t": pa.array(times, pa.timestamp("us")),
            "x": pa.array([event[2] for event in events], pa.int64()),
            "y": pa.array([event[3] for event in events], pa.float64()),
            "s": pa.array([event[4] for event in events], pa.string()),
        }
    )


@given(specs(), rows, st.lists(st.integers(0, 12), max_size=3))
def test_the_engine_is_the_definition_in_any_pieces(
    spec: tree.Spec, events: list[tuple[str, int, int, float, str]], cuts: list[int]
) -> None:
    data = table(events)
    ordered = wex.find(f"{STREAM} window w match any measure last(x) as x", data).num_rows
    assert ordered == data.num_rows
    expected = outcome(find_by_definition, spec, data)
    assert_same(outcome(wex.find, spec, data), expected)
    # Of equal times the other fields decide: pieces may not part them.
    places = [cut for cut in sorted(cuts) if 0 < cut < len(events) and events[cut][1] > 0]
    processor, parts = wex.Processor(spec), []
    for begin, end in pairwise([0, *places, data.num_rows]):
        parts.append(processor.feed(data.slice(begin, end - begin)))
        restored = wex.Processor.restore(spec, processor.state())
        assert restored.state() == processor.state()
        processor = restored
    assert_same(by_stream(pa.concat_tables([*parts, processor.close()])), by_stream(expected))


@pytest.mark.parametrize("clause", ["", "keep shortest", "keep preferred", "keep leftmost"])
@pytest.mark.parametrize(
    "test", ["not (count()[-3] != n[-1])", "not sum(n)[-2] > n[-1]", "not (some(n > 5)[-2] or n[-1] > 9)"]
)  # fmt: skip
def test_an_aggregate_before_the_start_is_null_also_before_the_stream(
    test: str, clause: str
) -> None:
    """Only a field before the stream makes an atom false."""
    for window in (f"match any+ [{test}] {clause}", f"match any | any any until [{test}] {clause}"):
        spec = wex.parse(f"stream s (n int) window w {window}")
        data = pa.table({"n": [5, 6, 7, 8, 2]})
        assert_same(wex.find(spec, data), find_by_definition(spec, data))


def test_the_strategy_finds_windows() -> None:
    """Keep the law above honest: most of its specs run in this machine, and many streams have windows."""
    seen = {"specs": 0, "with registers": 0, "with windows": 0}

    @given(specs(), rows)
    def look(spec: tree.Spec, events: list[tuple[str, int, int, float, str]]) -> None:
        seen["specs"] += 1
        seen["with registers"] += engine_of(spec).windows[0].machine.own is not None
        seen["with windows"] += wex.find(spec, table(events)).num_rows > 0

    look()
    assert seen["with registers"] > seen["specs"] / 2
    assert seen["with windows"] > seen["specs"] / 10


@pytest.mark.parametrize(
    "window",
    [
        "match any [x <= max(x) and y >= min(y)[-1]]* [sum(x) > 5 or avg(y) > 1.5] measure sum(x) as total",
        "match any [s = max(s)[-1] or x > 0]* [min_by(s, x) = 'a'] until [count() > 2 and x < y + max(x)] or end keep longest",
        "match [sum(x * 4611686018427387904) > x]* [avg(t - t[-1]) < 2 seconds and y / sum(y) < 1] within 9 seconds",
        "match [some(x > 1) or every(y > 0)]+ until [x > first(x) filter [y > 0]] keep shortest",
        "match any [x <= max(x) and s != max(s)[-1]]*? [sum(x) > 5 or avg(y) > 1.5] keep preferred",
        "match any [sum(x) <= 9]* keep leftmost sharing 2 events measure min_by(s, x) as s",
        "match [x > 0] [y >= first(y)]* until [x < avg(x)] or end keep leftmost measure sum(x) as n having n > 3",
        # More predicates of its own than a word has bits for their combinations.
        "match any [x >= min(x)] [sum(x) < 9]* [y > avg(y)] "
        "| any [x < first(x)] [count() > 2] [last(s) = max(s)] [x > avg(x)] [x < max(x)]*",
    ],
)
def test_compiled_programs_find_the_same(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = wex.parse(f"{STREAM} window w {window}")
    events = [
        ("ab"[n % 2], n % 3, n * n % 7 - 1, [-1.0, 0.0, 0.5, 2.0][n // 2 % 4], "abü"[n % 3])
        for n in range(80)
    ]
    data = table(events)
    plain = wex.find(spec, data)
    assert plain.num_rows > 3
    assert plain.equals(find_by_definition(spec, data))
    programs.program_kernel.cache_clear()
    monkeypatch.setattr(programs, "STEPS_AS_PYTHON", -1)
    compiled = wex.Processor(spec)
    parts = [compiled.feed(data.slice(begin, 20)) for begin in range(0, 80, 20)]
    assert by_stream(pa.concat_tables([*parts, compiled.close()])).equals(by_stream(plain))
    programs.program_kernel.cache_clear()


@pytest.mark.parametrize(
    "window",
    [
        "match [x < 3] any* [x >= 2 and {}] within 6 events measure sum(x) as total",
        "match [x < 3] [x < 3 or {}]* until [{}] or end within 6 events keep shortest",
    ],
)
def test_state_grows_by_the_registers_only(window: str) -> None:
    """Each open start has what it has without aggregates, and registers; time adds nothing."""
    states = []
    for test in ("x = 3", "sum(x) > 9 and s = min(s)[-1]"):
        spec = wex.parse(f"{STREAM} window w {window.replace('{}', test)}")
        engine, processor, sizes = engine_of(spec), wex.Processor(spec), []
        state = engine.fresh(0)
        for batch in range(100):
            events = [("ab"[n % 2], 1, n % 4, 0.5, "aü"[n // 3 % 2]) for n in range(12)]
            data = table([("a", 1000 * batch, 0, 0.0, "a"), *events]).slice(1)  # later each time
            processor.feed(data)
            state = from_bytes(processor.state(), engine.fingerprint)
            parts = [state.streams, *state.lists.values()]
            sizes.append([(part.num_rows, part.nbytes) for part in parts])
        assert processor.held() > 0
        assert sizes[9] == sizes[99]
        states.append((state, engine.windows[0].register_types()))
    (plain, none), (own, registers) = states
    assert not none
    assert registers
    columns = [set(state.lists[held(0)].column_names) for state in (plain, own)]
    assert columns[1] == columns[0] | set(registers)
    assert own.streams.column_names == plain.streams.column_names
