"""Comparing the outcomes of two engines: the same windows and measures, or the same error.

Only the floats that docs/running.md lists ("Numbers") may differ, and only as far as it says. Their
tolerance is relative to the largest absolute value that the aggregate reads: the specs that are
compared measure that too, see `with_scales`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa

import wex
from tests.strategies.specs import ROUNDED
from wex.engine.engine import Engine
from wex.engine.input.prepare import PreparedInput
from wex.errors import DataError
from wex.spec import meaning, tree
from wex.spec.vocabulary import PREFERENCE
from wex.stages import plan_of

TOLERANCE = 1e-11
Outcome: TypeAlias = pa.Table | DataError


def outcome(run: Callable[..., pa.Table], *arguments: object) -> Outcome:
    """Return the windows that an engine finds, or the error in the data."""
    try:
        return run(*arguments)
    except DataError as error:
        return error


@lru_cache(maxsize=4)
def _moving_engine(spec: tree.Spec) -> Engine:
    return Engine(plan_of(spec), most_configs=1)


def find_moving(spec: tree.Spec, table: pa.Table) -> pa.Table:
    """Return the windows of a spec, by the machine that moves lists of starts."""
    return find_by(_moving_engine(spec), table)


def find_by(engine: Engine, table: pa.Table) -> pa.Table:
    """Return the windows of a table, by an engine."""
    prepared = PreparedInput(engine, table)
    prior = engine.fresh(len(prepared.starts))
    return engine.run(prepared.batch(prior), prior, last=True)[0]


def assert_same(found: Outcome, expected: Outcome) -> None:
    """Check that two engines found the same windows, or the same error."""
    if isinstance(found, DataError) or isinstance(expected, DataError):
        assert_same_error(found, expected)
    else:
        _assert_same_windows(found, expected)


def assert_as_defined(found: Outcome, expected: Outcome, spec: tree.Spec) -> None:
    """Check that an engine found what the definition says.

    The definition does not say when a window by preference is decided: of several faults, it may
    report another one than the engine, whose measures fail at the event that decides a window.
    """
    both_fail = isinstance(found, DataError) and isinstance(expected, DataError)
    if not (both_fail and prefers(spec)):
        assert_same(found, expected)


def prefers(spec: tree.Spec) -> bool:
    """Tell whether a window of a spec is chosen by preference, and so may be reported late."""
    windows = meaning(spec).expanded.windows
    return any(window.keep and window.keep.text in PREFERENCE for window in windows)


def judges_by_batch(spec: tree.Spec) -> bool:
    """Tell whether the windows that `having` judges depend on the batches.

    A start whose window is decided is dropped with its batch: a fault in the measures of a further
    window, which would not have been chosen, is met only if it comes in the same batch.
    """
    return any(
        window.having and window.keep and window.keep.text in PREFERENCE for window in spec.windows
    )


def assert_same_error(found: Outcome, expected: Outcome) -> None:
    """Check that both are errors of the same kind, at the same event.

    Where several guards fail at one event, their order may differ, and so may the column.
    """
    assert isinstance(expected, DataError), found
    assert isinstance(found, DataError), expected
    ours, theirs = ((e.code, e.key, e.position) for e in (found, expected))
    assert ours == theirs
    assert found.column == expected.column or found.code == "arithmetic"


def assert_same_streams(found: Outcome, expected: Outcome, spec: tree.Spec, data: pa.Table) -> None:
    """Check that an engine that reads streams in another order, by time, found the same.

    If several streams have an error, it may meet that of another stream first.
    """
    if isinstance(found, pa.Table) and isinstance(expected, pa.Table):
        ordered = in_window_order if prefers(spec) else in_stream_order
        return _assert_same_windows(ordered(found), ordered(expected))
    if judges_by_batch(spec):
        return None
    assert isinstance(expected, DataError), found
    if isinstance(found, DataError) and found.key != expected.key:
        assert found.key is not None
        rows = [row for row, key in enumerate(data["key"].to_pylist()) if key == found.key[0]]
        expected = outcome(wex.find, spec, data.take(pa.array(rows, pa.int64())))
    return assert_same_error(found, expected)


def assert_same_arrivals(found: Outcome, expected: Outcome, spec: tree.Spec) -> None:
    """Check that streams under a watermark have the same windows as all data at once.

    Time reports some windows before the next event comes, so that their order differs. Of several
    faults of a stream another one may be first, as rows are checked when they arrive.
    """
    if isinstance(found, pa.Table) and isinstance(expected, pa.Table):
        _assert_same_windows(in_window_order(found), in_window_order(expected))
    elif not judges_by_batch(spec):
        assert isinstance(expected, DataError), found
        assert isinstance(found, DataError), expected


def in_stream_order(table: pa.Table) -> pa.Table:
    """Return windows stream by stream, those of one stream as they were reported."""
    rows = table.append_column("#", pa.array(range(table.num_rows)))
    keys = [("known", "ascending"), ("key", "ascending"), ("#", "ascending")]
    marked = rows.append_column("known", rows["key"].is_valid())
    return marked.sort_by(keys).drop_columns(["#", "known"]).combine_chunks()


def in_window_order(table: pa.Table) -> pa.Table:
    """Return windows stream by stream, those of one stream by name, end and start."""
    names = ("known", "key", "window_name", "end_index", "start_index")
    marked = table.append_column("known", table["key"].is_valid())
    ordered = marked.sort_by([(name, "ascending") for name in names])
    return ordered.drop_columns(["known"]).combine_chunks()


def _assert_same_windows(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema == expected.schema
    assert found.num_rows == expected.num_rows
    if found.equals(expected):
        return
    starts, ends = (expected[name].to_pylist() for name in ("start_index", "end_index"))
    for name in expected.column_names:
        aggregate, sizes = _scale(expected, name)
        columns = (found[name].to_pylist(), expected[name].to_pylist(), sizes, starts, ends)
        for ours, theirs, size, start, end in zip(*columns, strict=True):
            scale = (end - start + 1) * size
            window = (name, start, end, ours, theirs, scale)
            assert _equal(ours, theirs) or _close(aggregate, ours, theirs, scale), window


def _scale(table: pa.Table, name: str) -> tuple[str | None, list[float]]:
    """Return the aggregate of ROUNDED that a column holds, and for each window max|x|."""
    for aggregate in ROUNDED:
        names = [f"{name}_{aggregate}_{extreme}" for extreme in ("min", "max")]
        if names[0] in table.column_names:
            extremes = zip(*(table[each].to_pylist() for each in names), strict=True)
            return aggregate, [
                max((abs(value) for value in pair if isinstance(value, int | float)), default=0.0)
                for pair in extremes
            ]
    return None, [0.0] * table.num_rows


def _equal(ours: object, theirs: object) -> bool:
    """Tell whether two values are equal; NaN is equal to NaN."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_equal, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours):
        return math.isnan(theirs)
    return ours == theirs


def _close(aggregate: str | None, ours: object, theirs: object, scale: float) -> bool:
    """Tell whether two results of an aggregate are as close as docs/running.md says.

    The scale is n · max|x| for a window of n events.
    """
    if not isinstance(ours, float) or not isinstance(theirs, float):
        return False
    match aggregate:
        case "sum" | "avg":
            return abs(ours - theirs) <= TOLERANCE * scale
        case "var":
            return abs(ours - theirs) <= TOLERANCE * scale * scale
        case "stddev":  # the root of the variance
            return abs(ours * ours - theirs * theirs) <= TOLERANCE * scale * scale
    return False
