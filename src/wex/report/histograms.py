"""Histograms of all windows of a spec: their length, the gaps between them, and their measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.report.columns import shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.plot.streams import StreamWindows

Json = dict[str, Any]

BINS = 30
MOST_TEXTS = 12


def histograms_of(seen: StreamWindows) -> list[Json]:
    """Return the histograms of all windows: length, duration, gap and measures."""
    shown = [_of_numbers("length", "events", seen.ends - seen.starts + 1, seen)]
    if seen.is_time:
        places = seen.places(slice(0, seen.batch.rows))
        shown.append(
            _of_numbers("duration", "duration", places[seen.ends] - places[seen.starts], seen)
        )
    gaps, known = gaps_of(seen)
    shown.append(_of_numbers("gap before", "events", np.where(known, gaps, np.nan), seen))
    for name in seen.measures:
        column = seen.windows.column(name)
        found = _of_measure(name, column, seen)
        if found is not None:
            shown.append(found)
    return [each for each in shown if each["bins"]]


def gaps_of(seen: StreamWindows) -> tuple[Ints, NDArray[np.bool_]]:
    """Return how many events are between each window and the end of those before it, and where any are.

    Before a window are those of its stream and name with an earlier start; of windows with one start,
    the shorter ones. A negative gap is an overlap.
    """
    order = np.lexsort((seen.ends, seen.starts, seen.name_numbers))
    names, streams, ends = seen.name_numbers[order], seen.owners[order], seen.ends[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (names[1:] != names[:-1]) | (streams[1:] != streams[:-1])
    # Rows of later streams are greater: an earlier end is never that of another stream's.
    offset = names * (seen.batch.rows + 1)
    latest = np.maximum.accumulate(ends + offset)
    gaps = np.zeros(len(order), dtype=np.int64)
    gaps[1:] = (seen.starts[order] + offset)[1:] - latest[:-1] - 1
    result, known = np.empty_like(gaps), np.empty_like(new)
    result[order], known[order] = gaps, ~new
    return result, known


def _of_measure(name: str, column: pa.ChunkedArray, seen: StreamWindows) -> Json | None:
    type_ = column.type
    if pa.types.is_floating(type_) or pa.types.is_integer(type_):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        return _of_numbers(name, "number", values, seen)
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        micros = column.cast(pa.int64(), safe=False) if type_.unit == "us" else None
        if micros is None:
            return None
        kind = "time" if pa.types.is_timestamp(type_) else "duration"
        return _of_numbers(name, kind, micros.cast(pa.float64(), safe=False).to_numpy(), seen)
    if pa.types.is_string(type_) or pa.types.is_boolean(type_):
        return _of_texts(name, column, seen)
    return None


def _of_numbers(name: str, kind: str, values: NDArray[Any], seen: StreamWindows) -> Json:
    """Return a histogram; whole numbers in a small range have a bin each."""
    numbers = values.astype(np.float64)
    there = np.isfinite(numbers)
    left_out = int(len(numbers) - there.sum())
    own, numbers = seen.name_numbers[there], numbers[there]
    low, high = float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))
    if not np.isfinite(high - low):  # no number, or numbers too far apart for a float
        return {"name": name, "kind": kind, "bins": [], "left_out": left_out}
    whole = bool((numbers == np.rint(numbers)).all())
    step = 0.0
    if whole and high - low < 2 * BINS:
        step = 1.0
    elif high > low:
        step = (high - low) / BINS
        step = float(np.ceil(step)) if whole else step
    which = (
        np.floor((numbers - low) / step).astype(np.int64) if step else np.zeros(len(own), np.int64)
    )
    bins = int(which.max()) + 1
    if bins > 1 and not whole:  # the greatest value belongs to the last bin
        bins = min(bins, BINS)
        which = np.minimum(which, bins - 1)
    counts = _counts(which, bins, own, seen)
    return {
        "name": name,
        "kind": kind,
        "low": low,
        "step": step,
        "whole": whole,
        "bins": counts,
        "left_out": left_out,
        "median": float(np.median(numbers)),
        "greatest": high,
    }


def _of_texts(name: str, column: pa.ChunkedArray, seen: StreamWindows) -> Json:
    if pa.types.is_boolean(column.type):
        column = pc.if_else(column, "true", "false")
    encoded = pa.concat_arrays(column.chunks).dictionary_encode() if column.num_chunks else None
    if encoded is None:
        return {"name": name, "kind": "text", "bins": []}
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    texts = encoded.dictionary.to_pylist()
    common = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(texts)), kind="stable")
    common = common[:MOST_TEXTS]
    place = np.full(len(texts) + 1, -1)
    place[common] = np.arange(len(common))
    which = place[codes]
    inside = which >= 0
    counts = _counts(which[inside], len(common), seen.name_numbers[inside], seen)
    left_out = int((~inside).sum())
    return {
        "name": name,
        "kind": "text",
        "texts": [shortened(texts[at]) for at in common],
        "bins": counts,
        "left_out": left_out,
    }


def _counts(which: Ints, bins: int, names: Ints, seen: StreamWindows) -> list[list[int]]:
    """Return for each bin the number of windows of each name."""
    flat = np.bincount(which * len(seen.names) + names, minlength=bins * len(seen.names))
    counts: list[list[int]] = flat.reshape(bins, len(seen.names)).tolist()
    return counts
