"""`keep leftmost resuming at` a label: the definition, in any pieces, within the bounds of the analysis."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.matchers import LETS, LETTERS
from tests.engine.test_labels import compound
from tests.strategies import fewer
from wex.analysis.regions.graph import Budget
from wex.analysis.verdicts import Analysis
from wex.compile.plan import Plan
from wex.engine.engine import engine_of
from wex.engine.streaming.bucket import Bucket, Rules
from wex.reference.find import find_by_definition
from wex.spec import meaning
from wex.spec.resolve.label_checks import uses_labels
from wex.stages import plan_of

HEAD = f"stream s ({LETTERS}, n int) {LETS} let later = n > n[-1]\n"
words = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=12)
RESUMING = [f"resuming at {end} {label}" for end in ("first", "last") for label in "pq"]
CLAUSES = [
    "", "", "until [b]", "until [a] or end", "within 4 events",
    "measure count() as n having n != 2", "measure count(p) as n having n < 2",
]  # fmt: skip


@st.composite
def specs(draw: st.DrawFn) -> wex.Spec:
    part = st.builds("{}{}".format, st.sampled_from("abc"), st.sampled_from(["", "?", "*", "+?"]))
    inner = st.recursive(part | st.just("any"), compound, max_leaves=2)
    match = f"{draw(part)} p:({draw(inner)}) {draw(part)} q:({draw(inner)})"
    keep, clause = draw(st.sampled_from(RESUMING)), draw(st.sampled_from(CLAUSES))
    return wex.parse(f"{HEAD} window w match {match} keep leftmost {keep} {clause}")


def table(word: list[tuple[str, int]]) -> pa.Table:
    letters, numbers = [letter for letter, _ in word], [number for _, number in word]
    return pa.table({"x": pa.array(letters, pa.string()), "n": pa.array(numbers, pa.int64())})


def spans(found: pa.Table) -> list[tuple[int, int]]:
    return [(row["start_index"], row["end_index"]) for row in found.to_pylist()]


@fewer(2)
@given(specs(), words, st.sets(st.integers(1, 11), max_size=5))
def test_windows_are_the_definition_and_starts_are_bounded(
    spec: wex.Spec, word: list[tuple[str, int]], cuts: set[int]
) -> None:
    data = table(word)
    expected = spans(find_by_definition(spec, data))
    assert spans(wex.find(spec, data)) == expected
    report = Analysis(meaning(spec), 0, Budget())
    processor, found = wex.Processor(spec), []
    for begin, end in pairwise([0, *sorted(cut for cut in cuts if cut < len(word)), len(word)]):
        found += spans(processor.feed(data.slice(begin, end - begin)))
        assert report.held.bound is None or processor.held() <= report.held.bound
        processor = wex.Processor.restore(spec, processor.state())
    assert sorted(found + spans(processor.close())) == sorted(expected)
    if report.overlap.bound is not None:
        shared = [sum(b <= at <= e for b, e in expected) for at in range(len(word))]
        assert max(shared, default=0) <= report.overlap.bound


@fewer(4)
@given(specs(), words)
def test_windows_are_decided_no_later_than_proved(
    spec: wex.Spec, word: list[tuple[str, int]]
) -> None:
    delay = Analysis(meaning(spec), 0, Budget()).delay
    assert delay is not None
    processor, data = wex.Processor(spec), table(word)
    for position in range(len(word)):
        for _, end in spans(processor.feed(data.slice(position, 1))):
            assert delay.bound is None or position - end <= delay.bound


@fewer(4)
@given(specs(), specs(), words)
def test_specs_that_are_equivalent_find_the_same(
    one: wex.Spec, two: wex.Spec, word: list[tuple[str, int]]
) -> None:
    same = wex.equivalent(one, two)
    if same.holds:
        assert wex.find(one, table(word)).equals(wex.find(two, table(word)))
    elif same.holds is False:
        first, second = (wex.find(spec, same.witness) for spec in (one, two))
        assert spans(first) != spans(second)
    assert wex.equivalent(one, wex.parse(str(one))).holds


def found(match: str, at: str, letters: str) -> list[tuple[int, int]]:
    spec = f"{HEAD} window w match {match} keep leftmost resuming at {at}"
    return spans(wex.find(spec, table([(letter, 0) for letter in letters])))


def test_where_the_next_window_begins() -> None:
    assert found("any p:(a+) q:(b+)", "first p", "caabbab") == [(0, 4), (1, 4), (4, 6)]
    assert found("any p:(a+) q:(b+)", "last p", "caabbab") == [(0, 4), (4, 6)]
    assert found("any p:(c*) b", "last p", "abbb") == [(0, 1), (2, 3)]  # no event has the label
    assert found("p:any b", "first p", "abbb") == [(0, 1), (1, 2), (2, 3)]  # it is the first event
    assert found("p:a b p:a b", "last p", "ababab") == [(0, 3), (2, 5)]  # written twice
    assert found("a p:(b | q:b) b", "first q", "abbabb") == [(0, 2), (3, 5)]  # by the preferred way


def test_labels_say_whether_windows_are_parsed() -> None:
    for at, parsed in (("resuming at last p", True), ("sharing 1 event", False)):
        spec = wex.parse(f"{HEAD} window w match a p:(b+) keep leftmost {at}")
        assert uses_labels(spec.windows[0]) is parsed


def test_a_window_that_leaves_no_choice_has_a_faster_kernel() -> None:
    spec = wex.parse(f"{HEAD} window w match a p:(c*) b keep leftmost resuming at last p")
    window = engine_of(spec).windows[0]
    assert (window.machine.kind == "preferred", window.keeps_events) == (False, False)


def test_files_rows_and_aggregates(tmp_path: Path) -> None:
    spec = wex.parse(
        "stream s (t int, x int) order by t window w match any p:([sum(x) <= 9]+) q:([x < max(x)]+)"
        " keep leftmost resuming at last p measure count(p) as n"
    )
    values = [1, 2, 3, 1, 0, 5, 4, 1, 7, 2, 2, 8, 1] * 5
    data = pa.table({"t": list(range(len(values))), "x": values})
    pq.write_table(data, tmp_path / "events.parquet", row_group_size=7)
    expected = find_by_definition(spec, data)
    assert expected.num_rows > 10
    assert wex.find_in_file(spec, tmp_path / "events.parquet").equals(expected)
    rows = wex.find(spec, data, rows=True)
    assert rows.num_rows == sum(e - b + 1 for b, e in spans(expected))


def test_a_watermark_closes_windows_that_go_on_at_a_label() -> None:
    near = "[ts - ts[-1] <= 5 seconds]"
    spec = wex.parse(
        "stream s (ts timestamp, x int) order by ts"
        f" window w match [x > 0] p:({near}*?) q:([x > 1 and ts - ts[-1] <= 5 seconds]*)"
        " keep leftmost resuming at first q"
    )
    times = pa.array([second * 1_000_000 for second in (1, 2, 3, 4)], pa.timestamp("us"))
    data = pa.table({"ts": times, "x": [1, 2, 2, 2]})
    bucket = Bucket.of(engine_of(spec), Rules())
    bucket.arrive(data, 0)
    reports: list[tuple[int, int]] = []
    for second in (2, 3, 8, 9, 60):
        bucket = Bucket.of(engine_of(spec), Rules(), bucket.saved())
        reports += spans(bucket.advance(second * 1_000_000))
    assert sorted(reports) == sorted(spans(wex.find(spec, data)))
    assert len(reports) > 1


def test_a_plan_carries_the_label_and_a_wrong_one_is_refused() -> None:
    spec = wex.parse(f"{HEAD} window w match any p:(a+) q:(b+) keep leftmost resuming at last p")
    plan = plan_of(spec)
    again = Plan.from_bytes(plan.to_bytes())
    assert again.windows[0].clauses == plan.windows[0].clauses
    assert again.windows[0].clauses.resuming == ("last", "p")
    other = plan_of(wex.parse(str(spec).replace("resuming at last p", "")))
    assert other.fingerprint != plan.fingerprint


def test_endless_streams_need_a_bound() -> None:
    from wex.analysis.boundedness_guard import refuse_unbounded  # noqa: PLC0415

    text = f"{HEAD} window w match a p:(c*) (a | b) keep leftmost resuming at last p"
    with pytest.raises(wex.WexError, match=re.escape("`resuming at last p` depends on labels")):
        refuse_unbounded(wex.parse(text))
    refuse_unbounded(wex.parse(f"{text} within 20 events"))


def test_a_long_stream_takes_linear_time() -> None:
    word = ("c" + "a" * 50 + "b" * 50) * 2_000
    assert len(found("any p:(a+) q:(b+)", "last p", word)) == 2_000
