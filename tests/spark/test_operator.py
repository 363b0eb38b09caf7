"""The stateful operator without Spark: states and timers are kept in memory."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pandas as pd
import pyarrow as pa
import pytest

import wex
from tests.spark.cases import letters, rows
from wex.engine.event_rows import window_count
from wex.engine.state.state import from_ipc, to_ipc
from wex.engine.streaming.bucket import Rules
from wex.engine.streaming.worker_errors import WorkerError
from wex.examples import market
from wex.spark import operator, recovered
from wex.spark.dead_letters import DeadLetters
from wex.stages import plan_of

HEAD = "stream s (symbol string, ts timestamp, price real) partition by symbol order by ts "
SPEC = HEAD + "window up match [price > price[-1]] [price > price[-1]]* keep longest"
SAME = HEAD + "window up match [price > price[-1]]+ keep longest"
OTHER = HEAD + "window up match [price > price[-1]]+ keep longest measure count() as n"


class Value:
    """A state of one value."""

    def __init__(self) -> None:
        self.value: Any = None

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value


class Handle:
    """The states and timers of one key."""

    def __init__(self) -> None:
        self.states: dict[str, Value] = {}
        self.timers: list[int] = []

    def getValueState(self, name: str, _: str) -> Value:  # noqa: N802
        return self.states.setdefault(name, Value())

    def listTimers(self) -> list[int]:  # noqa: N802
        return self.timers

    def deleteTimer(self, timer: int) -> None:  # noqa: N802
        self.timers = [other for other in self.timers if other != timer]

    def registerTimer(self, timer: int) -> None:  # noqa: N802
        self.timers.append(timer)


def run(
    handle: Handle, text: str, table: pa.Table, watermark: int | None = None,
    rules: Rules | None = None, folder: Path | None = None, *, with_rows: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return the windows of a micro-batch of one bucket, packed, and the counts."""
    spec = wex.parse(text)
    dead = None if folder is None else DeadLetters(str(folder))
    plan, marked = plan_of(spec).to_bytes(), watermark is not None
    processor = operator.Operator(
        plan, str(spec), rules or Rules(), with_watermark=marked, rows=with_rows, letters=dead
    )
    processor.init(handle)  # type: ignore[arg-type]
    times = SimpleNamespace(getCurrentWatermarkInMs=lambda: watermark)
    frames = iter([pd.DataFrame({"rows": [to_ipc(table), None]})])
    with patch.object(operator, "micro_batch", lambda: ("query-id", 3)):
        (frame,) = processor.handleInputRows((0,), frames, times)
    row = frame.iloc[0]
    counts = dict(zip(operator.COUNTS, row["counts"], strict=True))
    return {"packed": row["packed"], **counts}


def test_an_equivalent_spec_goes_on_and_another_is_refused() -> None:
    table = market.trades(900, 4).sort_by("ts")
    handle, results = Handle(), []
    for part, text in enumerate((SPEC, SAME, SPEC)):
        row = run(handle, text, table.slice(300 * part, 300))
        results += [from_ipc(row["packed"])]
        assert (row["processed"], row["late"], row["streams"]) == (300, 0, 4)
        assert row["windows"] == results[-1].num_rows
    expected = wex.Processor(wex.parse(SPEC)).feed(table)
    assert rows(pa.concat_tables(results)) == rows(expected)
    with pytest.raises(WorkerError) as caught:
        run(handle, OTHER, table)
    error = recovered(caught.value)
    assert isinstance(error, wex.StateError)
    assert error.code == "state-spec"
    assert "the measures were none, and are count() as n" in error.message


def test_rows_of_windows_go_on_with_an_equivalent_spec_but_not_without_rows() -> None:
    table = market.trades(900, 4).sort_by("ts")
    handle, results = Handle(), []
    texts = [f"{text} within 5 events" for text in (SPEC, SAME)]
    for part, text in enumerate((*texts, texts[0])):
        row = run(handle, text, table.slice(300 * part, 300), with_rows=True)
        results += [from_ipc(row["packed"])]
        assert row["windows"] == window_count(results[-1]) < results[-1].num_rows
    expected = wex.Processor(texts[0], rows=True).feed(table)
    assert expected.num_rows > 500
    assert rows(pa.concat_tables(results)) == rows(expected)
    with pytest.raises(WorkerError, match="saved with rows=True"):
        run(handle, texts[0], table)


def test_rows_wait_for_the_watermark() -> None:
    table = market.trades(300, 2).sort_by("ts")
    handle = Handle()
    row = run(handle, SPEC, table, 0)
    assert (row["packed"], row["windows"], row["buffered"], row["processed"]) == (None, 0, 300, 0)
    last = table["ts"][-1].value // 1000 + 1
    assert len(handle.timers) == 1
    row = run(handle, SPEC, table.slice(0, 1), last)
    assert (row["buffered"], row["processed"], row["late"]) == (0, 300, 1)
    assert rows(from_ipc(row["packed"])) == rows(wex.Processor(wex.parse(SPEC)).feed(table))


def test_bad_rows_of_a_micro_batch_are_a_file(tmp_path: Path) -> None:
    table = market.trades(20, 2).sort_by("ts")
    prices = [None, *table["price"].to_pylist()[1:]]
    bad = table.set_column(2, "price", pa.array(prices, pa.float64()))
    with pytest.raises(WorkerError, match="--bad-rows divert"):
        run(Handle(), SPEC, bad)
    for _ in range(2):  # a micro-batch that is repeated writes the same file
        row = run(Handle(), SPEC, bad, rules=Rules(bad_rows="divert"), folder=tmp_path)
        assert (row["bad"], row["processed"]) == (1, 19)
        (file,) = tmp_path.iterdir()
        assert file.name.startswith("query-id-")
        assert file.name.endswith("-00000003-0000.jsonl")
        assert len(letters(tmp_path)) == 1


RATED = (
    HEAD + "assume at most {} events in 1 second window up match [price > price[-1]]+ keep longest"
)


def test_a_rate_is_checked_across_micro_batches() -> None:
    """The times of the last events are part of the state, between batches and behind a watermark."""
    table = market.trades(300, 1).sort_by("ts")
    times = [moment.value for moment in table["ts"]]
    most = max(
        sum(0 <= time - first < 1_000_000 for time in times[at:]) for at, first in enumerate(times)
    )
    assert 20 < most < 290
    for marked in (False, True):
        for limit in (most, most - 1):
            handle, found = Handle(), []
            steps = [(table.slice(at, 7), 0 if marked else None) for at in range(0, 300, 7)]
            steps += [(table.slice(0, 1), times[-1] // 1000 + 1)] if marked else []  # a late row
            try:
                for part, watermark in steps:
                    row = run(handle, RATED.format(limit), part, watermark)
                    found += [] if row["packed"] is None else [from_ipc(row["packed"])]
            except WorkerError as raised:
                error = recovered(raised)
                assert isinstance(error, wex.DataError)
                assert (error.code, limit) == ("assumption", most - 1)
            else:
                assert limit == most
                expected = wex.Processor(wex.parse(SAME)).feed(table)
                assert rows(pa.concat_tables(found)) == rows(expected)


def test_another_rate_is_another_checkpoint() -> None:
    table = market.trades(60, 2).sort_by("ts")
    handle = Handle()
    run(handle, RATED.format(1000), table.slice(0, 30))
    with pytest.raises(WorkerError, match="at most 1000 events in 1 second, and is"):
        run(handle, RATED.format(999), table.slice(30))
