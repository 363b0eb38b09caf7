"""The state of a stream takes what `state_bytes` predicts, within a factor of two, on the witness that holds the bound."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings

import wex
from tests.analysis.small import spec_texts
from tests.analysis.test_laws import _long_stream as long_stream
from wex.analysis.answers import Answer
from wex.analysis.witness import table_of
from wex.engine.engine import engine_of
from wex.engine.kernels.compiled import interpreted
from wex.engine.running_streams import RunningStreams
from wex.engine.state import schema
from wex.errors import WexError
from wex.spec import meaning as meaning_of
from wex.spec.aggregates import AGGREGATES

few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]
STREAM = """stream s (k string, t timestamp, x int, y real, d date, ok bool, side enum('a', 'b'),
  name string, v other) partition by k order by t window w """
MEASURES = [
    "count()", "count(name)", "sum(x)", "sum(y)", "avg(x)", "avg(y)", "min(y)", "max(x)", "max(name)", "var(y)",
    "stddev(x)", "first(name)", "first(x)", "last(d)", "last(v)", "collect(x)", "collect(name)", "collect(v)",
    "count_distinct(name)", "count_distinct(y)", "count_if(x > 1)", "some(ok)", "every(ok)", "min_by(name, y)",
    "max_by(x, name)", "nth(name, 2)", "nth(x, -3)", "median(y)", "percentile(x, 0.9)", "mode(side)",
]  # fmt: skip
MACHINES = {
    "sliding": "match any{40}",
    "registers": "match [x > x[-1]]{6} [x < x[-1]] keep longest",
    "configs": "match [x > 0] any* [x < 0] within 30 events",
    "moving": "match [x > 0] any{1,19} [x < 0]",
    "preferred": "match [x > 0] any* [x < 0] within 30 events keep preferred",
    "tracked": "match any [x >= first(x)]* within 20 events",
}


def states(spec: wex.Spec, stream: pa.Table) -> list[tuple[int, int, int]]:
    """Return for each event the bytes of the columns, the starts held, and the events since the oldest."""
    streams, found = RunningStreams(engine_of(spec)), []
    with interpreted():
        for row in range(stream.num_rows):
            streams.feed(stream.slice(row, 1))
            state = streams.everything()
            held = state.lists[schema.held(0)]
            since = 0
            if held.num_rows:
                since = int(state.positions[0]) - held.column(schema.POSITION)[0].as_py()
            tables = (state.streams, *state.lists.values())
            found.append((sum(table.nbytes for table in tables), streams.held(), since))
    return found


def largest_witness(answer: Answer) -> pa.Table:
    """Return a stream that holds the bound, or as much of it as is shown."""
    assert answer.bound is not None
    for n in range(answer.bound, 0, -1):
        try:
            return answer.witness(n)
        except WexError:
            assert not answer.exact
    raise AssertionError(answer)


def check_size(window: str, measures: str) -> None:
    """Check the prediction on the witness that holds the bound, or one less after its last event."""
    spec = wex.parse(f"{STREAM} {window} measure {measures}")
    report = wex.check(spec)
    held = report["w"].held
    measured, most, since = max(states(spec, largest_witness(held)), key=lambda each: each[1])
    assert report.state_bytes is not None
    further = max(0, since - most) * report.event_bytes  # for events that are not starts
    predicted = report.state_bytes + further
    assert held.bound is not None
    assert most >= held.bound - 1
    assert predicted / 2 <= measured <= 2 * predicted


def test_all_aggregates_and_machines_are_asked() -> None:
    named = {measure.split("(")[0] for measure in MEASURES}
    assert named == set(AGGREGATES) - {"label"}
    kinds = {name: engine_of(wex.parse(STREAM + text)) for name, text in MACHINES.items()}
    assert {name: engine.windows[0].machine.kind for name, engine in kinds.items()} == {
        name: name for name in MACHINES
    }


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("machine", MACHINES)
def test_bytes_of_every_aggregate_on_every_machine(machine: str, measure: str) -> None:
    check_size(MACHINES[machine], f"{measure} as m")


@pytest.mark.parametrize("machine", MACHINES)
def test_bytes_of_all_aggregates_together(machine: str) -> None:
    check_size(MACHINES[machine], ", ".join(f"{each} as m{at}" for at, each in enumerate(MEASURES)))


@pytest.mark.parametrize(
    ("window", "measures"),
    [
        ("match p:([x > 0]+) q:[x < 0] within 20 events", "sum(p.x) as s, count(q) as n"),
        ("match p:([x > 0]+) q:[x < 0] within 20 events keep preferred", "median(p.y) as m"),
        ("match any [name = max(name)[-1] and x >= min(x)]* within 9 events", "count() as n"),
        ("match [x > 0]+ until [x < 0] or end within 12 events", "collect(name) as names"),
    ],
)
def test_bytes_of_labels_registers_and_until(window: str, measures: str) -> None:
    check_size(window, measures)


def test_the_times_of_a_rate_are_counted() -> None:
    text = "stream s (t timestamp, x int) order by t assume at most 40 events in 1 second window w match "
    spec = wex.parse(text + "[x > 0] any* [x < 0] within 2 seconds")
    report = wex.check(spec)
    measured, most, _ = max(states(spec, report["w"].held.witness(120)), key=lambda each: each[1])
    assert most == report["w"].held.bound
    assert report.state_bytes is not None
    assert report.state_bytes / 2 <= measured <= 2 * report.state_bytes


def test_values_are_counted_per_event() -> None:
    """A start with many events behind it: each of them adds what the report says."""
    text = "stream s (x int, y real) window w match [x = 1] [x = 0]{2,50} [x = 2] measure median(y) as m, nth(y, 3) as t"
    report = wex.check(text)
    assert report["w"].keeps == (("median(y)", 52), ("nth(y, 3)", 3))
    assert report.event_bytes == 16
    spec = wex.parse(text.replace(", nth(y, 3) as t", ""))
    values = pa.table({"x": [1] + [0] * 40, "y": [float(at) for at in range(41)]})
    sizes = [size for size, _, _ in states(spec, values)]
    assert {later - size for size, later in pairwise(sizes[2:])} == {8}
    assert wex.check(spec).event_bytes == 8


def test_what_is_saved_of_many_keys_is_no_more() -> None:
    """Saved bytes are compressed, and what is the same for all keys is written once."""
    spec = wex.parse(STREAM + MACHINES["configs"] + " measure sum(x) as s, max(name) as m")
    report = wex.check(spec)
    most, keys = report["w"].held.bound, 50
    assert most == 29
    one = report["w"].held.witness(most)
    many = pa.concat_tables(
        one.set_column(0, "k", pa.array([f"key {key}"] * one.num_rows)) for key in range(keys)
    )
    processor = wex.Processor(spec)
    processor.feed(many)
    assert processor.held() == most * keys
    assert report.state_bytes is not None
    assert len(processor.state()) <= 2 * keys * report.state_bytes


@few
@given(spec_texts() | spec_texts(preference=True) | spec_texts(having=True))
def test_no_stream_takes_more(text: str) -> None:
    spec = wex.parse(text)
    report = wex.check(spec)
    if report.state_bytes is None:
        return
    meaning = meaning_of(spec)
    stream = table_of(meaning, long_stream(meaning))  # type: ignore[arg-type]
    for measured, most, since in states(spec, stream.slice(0, 40)):
        assert measured <= 2 * (report.state_bytes + max(0, since - most) * report.event_bytes)
