"""The runs of a report are those of the definition: the automata accept exactly its pairs (b, e)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import wex
from tests.strategies import fewer, streams
from tests.strategies.specs import pair_specs
from tests.strategies.streams import some_events
from wex import examples
from wex.compile.guards import guarded_fields
from wex.engine.input.columns import conform
from wex.plot.streams import found
from wex.reference.find import in_stream_order
from wex.reference.streams import streams as streams_of
from wex.reference.windows import Definition
from wex.report.runs import AFTER, BEFORE, DEAD, OUTSIDE, runs_of
from wex.spec import meaning, tree
from wex.theory.evaluate import Event


@fewer(4)
@given(pair_specs, some_events)
def test_the_automata_accept_what_the_definition_has(spec: tree.Spec, events: list[Event]) -> None:
    table = streams.table(events)
    try:
        seen = found(spec, table)
    except wex.WexError:
        return  # data that the spec cannot be run on
    resolved = meaning(spec)
    keys = [name.text for name in spec.stream.partition_by]
    defined = streams_of(
        in_stream_order(conform(table, resolved.fields, keys), resolved),
        keys,
        resolved.fields,
        guarded_fields(resolved),
        skip_nulls=resolved.skip_nulls,
        nullable=resolved.nullable,
    )
    every = [stream for stream in defined if stream.events]
    runs = runs_of(seen)
    assert len(every) == len(seen.batch.first)
    for window, (stream, start, end) in enumerate(
        zip(seen.owners, seen.starts, seen.ends, strict=True)
    ):
        assert runs[seen.name_numbers[window]].run(stream, start, end).pair is not None
    for index, run in enumerate(runs):
        if resolved.runs[index] is not None:
            continue  # the definition of `runs` and `sessions` has no pairs
        for number, stream in enumerate(every):
            definition = Definition(resolved, index, stream)
            first = int(seen.batch.first[number])
            accepted = {
                (b, e)
                for b in range(definition.first, len(stream.events))
                for e in range(b, len(stream.events))
                if run.run(number, first + b, first + e).pair is not None
            }
            assert accepted == definition.w0()


@pytest.mark.parametrize("name", ["trend", "hot", "sliding", "overlap"])
def test_states_are_those_of_wex_automata(name: str) -> None:
    spec = examples.spec(name)
    values: dict[str, list[Any]] = {"price": [3, 2.5, 2, 3, 3.5, 3.2, 4, 4.5, 4.2, 3.9, 4.2]}
    values |= {"t": [70, 91, 95, 96, 85, 79, 92, 93, 94, 95, 70], "value": list(range(11))}
    values |= {"letter": list("aababaaaaba")}
    names = [field.name.text for field in spec.stream.fields]
    data = {
        each: ["k"] * 11
        if each in ("symbol", "sensor")
        else list(range(11))
        if each == "ts"
        else values[each]
        for each in names
    }
    if "ts" in data:
        data["ts"] = pa.array(data["ts"], pa.timestamp("s"))
    seen = found(spec, data)
    (pair,) = wex.automata(spec)[seen.names[0]]
    (run,) = runs_of(seen)
    events = [
        dict(zip(names, row, strict=True))
        for row in zip(*(list(data[n]) for n in names), strict=True)
    ]
    events = [
        {
            key: (value.value if isinstance(value, pa.Scalar) else value)
            for key, value in event.items()
        }
        for event in events
    ]
    prefix = pair.prefix.runs(events)
    assert seen.windows.num_rows
    for start, end in zip(seen.starts.tolist(), seen.ends.tolist(), strict=True):
        found_run = run.run(0, start, end)
        inside = pair.window.runs(events, start)
        assert found_run.rows.tolist() == list(
            range(max(0, start - BEFORE), min(11, end + 1 + AFTER))
        )
        for row, before, after in zip(
            found_run.rows.tolist(), found_run.prefix, found_run.window, strict=True
        ):
            assert ({int(before)} - {DEAD}) == set(prefix[row])
            if row < start:
                assert after == OUTSIDE
            else:
                assert ({int(after)} - {DEAD}) == set(inside[row - start + 1])


def test_long_windows_are_shown_at_both_ends() -> None:
    seen = found(
        "stream s (x int) window w match [x = 0] [x = 1]+ keep longest", {"x": [0] + [1] * 200}
    )
    (run,) = runs_of(seen)
    rows = run.run(0, 0, 150).rows.tolist()
    assert rows == [*range(20), *range(131, 154)]


def test_a_window_that_the_automata_do_not_accept() -> None:
    seen = found("stream s (x int) window w match [x = 0]", {"x": [0, 1]})
    (run,) = runs_of(seen)
    assert run.run(0, 1, 1).pair is None
    assert run.run(0, 0, 0).pair == 0
