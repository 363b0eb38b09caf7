"""Windows by preference: what Python's matcher takes, in any pieces, with no more starts than proved."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.engine import matchers
from tests.engine.matchers import (
    LETS,
    LETTERS,
    agrees_on_empty_iterations,
    expressions,
    leftmost,
    preferred,
)
from wex.compile.plan import Plan
from wex.engine.engine import Engine, engine_of
from wex.engine.find import _in_report_order
from wex.engine.input.prepare import PreparedInput
from wex.reference.find import find_by_definition
from wex.stages import plan_of

HEAD = f"stream s ({LETTERS}) {LETS} "
words = st.text("abc", max_size=14)
CLAUSES = (
    "",
    "until [b]",
    "until [a] or end",
    "within 3 events",
    "within 4 events until [c] or end",
    "measure count() as n having n != 2",
    "until [b] or end measure count() as n having n >= 2",
)
KEEPS = (
    "keep preferred",
    "keep leftmost",
    "keep leftmost sharing 1 event",
    "keep leftmost sharing 2 events",
)


def spans(table: object) -> list[tuple[int, int]]:
    return [(row["start_index"], row["end_index"]) for row in table.to_pylist()]  # type: ignore[attr-defined]


def found(expression: str, rest: str, word: str) -> list[tuple[int, int]]:
    return spans(wex.find(f"{HEAD} window w match {expression} {rest}", {"x": list(word)}))


@given(expressions, words)
def test_preferred_is_what_python_matches(expression: str, word: str) -> None:
    assume(agrees_on_empty_iterations(expression))
    assert sorted(found(expression, "keep preferred", word)) == preferred(expression, word)


@given(expressions, words)
def test_leftmost_is_what_python_finds(expression: str, word: str) -> None:
    assume(agrees_on_empty_iterations(expression))
    assert found(expression, "keep leftmost", word) == leftmost(expression, word)


def test_the_short_form_of_the_long_run() -> None:
    matchers.main(400, 1)


@given(
    expressions,
    st.sampled_from(KEEPS),
    st.sampled_from(CLAUSES),
    words,
    st.sets(st.integers(1, 13)),
)
def test_every_way_to_run_gives_the_definition(
    expression: str, keep: str, clauses: str, word: str, cuts: set[int]
) -> None:
    measure = "" if "measure" in clauses else "measure count() as n, "
    clauses = clauses.replace("having", ", collect(x) as all having")
    clauses = clauses or f"{measure}collect(x) as all"
    spec = wex.parse(f"{HEAD} window w match {expression} {keep} {clauses}")
    data = {"x": list(word)}
    expected = find_by_definition(spec, data).to_pylist()
    assert wex.find(spec, data).to_pylist() == expected
    processor, rows = wex.Processor(spec), []
    held = wex.check(spec)["w"].held
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(word)], strict=True):
        if begin < end <= len(word):
            rows += processor.feed({"x": list(word[begin:end])}).to_pylist()
            assert held.bound is None or processor.most_held() <= held.bound
            processor = wex.Processor.restore(spec, processor.state())
        elif begin < len(word):
            rows += processor.feed({"x": list(word[begin:])}).to_pylist()
    rows += processor.close().to_pylist()
    assert sorted(rows, key=_place) == sorted(expected, key=_place)


def _place(row: dict[str, object]) -> tuple[object, object]:
    return row["end_index"], row["start_index"]


@given(expressions, st.sampled_from(KEEPS), st.sampled_from(CLAUSES[:5]), words)
def test_windows_are_decided_no_later_than_proved(
    expression: str, keep: str, clauses: str, word: str
) -> None:
    spec = wex.parse(f"{HEAD} window w match {expression} {keep} {clauses}")
    delay = wex.check(spec)["w"].delay
    assert delay is not None
    processor = wex.Processor(spec)
    for position, letter in enumerate(word):
        for _, end in spans(processor.feed({"x": [letter]})):
            assert delay.bound is None or position - end <= delay.bound


@given(expressions, expressions, st.sampled_from(KEEPS), st.sampled_from(CLAUSES), words)
def test_specs_that_are_equivalent_find_the_same(
    one: str, two: str, keep: str, clauses: str, word: str
) -> None:
    first, second = (
        wex.parse(f"{HEAD} window w match {each} {keep} {clauses}") for each in (one, two)
    )
    comparison = wex.equivalent(first, second)
    data = {"x": list(word)}
    if comparison.holds:
        assert wex.find(first, data).equals(wex.find(second, data))
    elif comparison.holds is False:
        shown = (spans(wex.find(spec, comparison.witness)) for spec in (first, second))
        assert len({tuple(windows) for windows in shown}) == 2


@given(
    st.sampled_from(["", "after any* b", "after any* [x = 'b' or x = 'c']", "after (any any)*"]),
    st.sampled_from(["a c* b", "a any", "a [not x = 'b']* b", "(a | b) c+ a", "a | b c", "a b{2}"]),
    st.sampled_from(KEEPS),
    st.sampled_from(["", "within 3 events"]),
    words,
    st.integers(0, 14),
)
def test_windows_that_leave_no_choice_are_the_definition(
    after: str, match: str, keep: str, clause: str, word: str, cut: int
) -> None:
    spec = wex.parse(f"{HEAD} window w {after} match {match} {clause} {keep}")
    expected = spans(find_by_definition(spec, {"x": list(word)}))
    assert spans(wex.find(spec, {"x": list(word)})) == expected
    processor, rows = wex.Processor(spec), []
    for part in (word[:cut], word[cut:]):
        rows += spans(processor.feed({"x": list(part)}))
        processor = wex.Processor.restore(spec, processor.state())
    assert sorted(rows + spans(processor.close())) == sorted(expected)


@pytest.mark.parametrize(
    ("window", "chooses"),
    [
        ("after any* b match a [not x = 'b']* b keep leftmost", False),
        ("match a c* b keep leftmost", False),
        ("match a c* (a | b) keep leftmost", True),  # the next start is the end of a window
        ("match any a keep leftmost", True),  # starts are open at the same time
        ("match any a keep preferred", False),
        ("match a c* keep preferred", True),  # a start has several windows
        ("match a c* b keep leftmost until [a]", True),
    ],
)
def test_windows_that_leave_no_choice_have_faster_kernels(window: str, chooses: bool) -> None:
    machine = engine_of(wex.parse(f"{HEAD} window w {window}")).windows[0].machine
    assert (machine.kind == "preferred") == chooses


def test_a_long_stream_takes_linear_time() -> None:
    word = "a" * 200_000 + "b"
    assert len(found("any* b", "keep preferred", word)) == 200_001
    assert found("any* b", "keep leftmost", word) == [(0, 200_000)]
    assert len(found("a any* b", "keep preferred within 100000 events", word)) == 99_999


def test_starts_that_cannot_win_are_not_held() -> None:
    spec = wex.parse(f"{HEAD} window w match any a+ b+ keep leftmost")
    processor = wex.Processor(spec)
    for _ in range(50):
        processor.feed({"x": ["a"] * 10})
        assert processor.held() <= 3
    assert spans(processor.feed({"x": ["b", "b", "c"]})) == [(0, 501)]


def test_measures_of_a_window_that_ended_in_an_earlier_batch() -> None:
    spec = """
    stream s (t timestamp, x int) order by t
    window w match [x = 1]+ ([x = 0]* [x = 2])? keep preferred measure sum(x) as total, max(t) as latest
    """
    processor = wex.Processor(spec)
    times = [1_000_000 * second for second in range(8)]
    rows = []
    for time, x in zip(times, (1, 1, 0, 0, 1, 0, 2, 0), strict=True):
        batch = pa.table({"t": pa.array([time], pa.timestamp("us")), "x": [x]})
        rows += processor.feed(batch).to_pylist()
        processor = wex.Processor.restore(spec, processor.state())
    rows += processor.close().to_pylist()
    shown = [(row["start_index"], row["end_index"], row["total"]) for row in rows]
    assert shown == [(0, 1, 2), (1, 1, 1), (4, 6, 3)]
    assert all(row["window_end"] == row["latest"] for row in rows)


@pytest.mark.parametrize("keep", KEEPS)
def test_a_plan_carries_preference(keep: str) -> None:
    spec = wex.parse(f"{HEAD} window w match a any*? b {keep}")
    engine = Engine(Plan.from_bytes(plan_of(spec).to_bytes()))
    prepared = PreparedInput(engine, {"x": list("aabab")})
    prior = engine.fresh(1)
    table, _ = engine.run(prepared.batch(prior), prior, last=True)
    assert table.equals(wex.find(spec, {"x": list("aabab")}))


def test_files_are_sorted_as_tables_are() -> None:
    spec = wex.parse(f"{HEAD} window w match a (any* b)? keep preferred window v match b until [a]")
    data = {"x": list("acabcabacabb")}
    processor = wex.Processor(spec)
    parts = [processor.feed({"x": [letter]}) for letter in data["x"]]
    whole = _in_report_order(spec, pa.concat_tables([*parts, processor.close()]))
    assert whole.to_pylist() == wex.find(spec, data).to_pylist()
