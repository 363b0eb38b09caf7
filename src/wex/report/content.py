"""What a report shows, as a value for JSON that stays below a size.

Series of events are thinned as those of charts; runs are those of some windows; the table has the
first windows, usually all. Each part says what was left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wex.plot import thinning
from wex.report.columns import Columns
from wex.report.histograms import histograms_of
from wex.report.runs import runs_of
from wex.report.series import series_of
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.analysis.answers import Answer
    from wex.engine.arrays import Ints
    from wex.plot.streams import StreamWindows
    from wex.report.runs import Run, WindowRuns
    from wex.spec import tree

Json = dict[str, Any]

MOST_BYTES = 4_600_000  # of the data in a page, so that all of it stays below 5 MB


@dataclass(frozen=True)
class Room:
    """How much of each part a page takes; if it is too large, less."""

    points: int = 120_000  # of all series
    windows: int = 120_000  # in the table
    runs: int = 2_000
    run_rows: int = 40_000  # events of all runs

    def less(self, size: int) -> Room:
        """Return less room, for a page that would have a size: first for charts and runs."""
        if self.points > 30_000:
            return replace(
                self, points=self.points // 2, runs=self.runs // 2, run_rows=self.run_rows // 2
            )
        return replace(self, windows=int(self.windows * 0.95 * min(1, MOST_BYTES / size)))


def content_of(seen: StreamWindows, overlaps: Sequence[Answer], room: Room | None = None) -> Json:
    """Return all that a page shows of events and windows, within `MOST_BYTES`."""
    runs = runs_of(seen)
    facts = _facts(seen, overlaps, runs)
    room = room or Room()
    room = replace(room, windows=min(room.windows, seen.windows.num_rows))
    while True:
        listed = listed_windows(seen, room.windows)
        found, run_rows = _run_columns(seen, runs, listed, room)
        parts = {
            "windows": _window_columns(seen, listed),
            "runs": found,
            "series": series_of(seen, room.points, run_rows),
        }
        size = sum(len(json.dumps(part)) for part in parts.values())
        if size <= MOST_BYTES or room.windows < 100:
            return facts | parts
        room = room.less(size)


# --- Facts


def _facts(seen: StreamWindows, overlaps: Sequence[Answer], runs: Sequence[WindowRuns]) -> Json:
    batch = seen.batch
    return {
        "stream": seen.spec.stream.name.text,
        "events": batch.rows,
        "streams": len(batch.first),
        "windowCount": seen.windows.num_rows,
        "keys": list(batch.keys),
        "axis": {"name": seen.axis, "time": seen.is_time},
        "names": seen.names,
        "definitions": [
            _definition(window, expanded, answer, run)
            for window, expanded, answer, run in zip(
                seen.spec.windows,
                meaning_of(seen.spec).expanded.windows,
                overlaps,
                runs,
                strict=True,
            )
        ],
        "histograms": histograms_of(seen),
    }


def _definition(
    window: tree.Window, expanded: tree.Window, overlap: Answer, run: WindowRuns
) -> Json:
    """Return what the page says of a window: its clauses as texts, its predicates, its bound."""
    # As they are written, unless they stand for more: `runs`, `sessions`.
    pairs = [
        {"after": None if pair.after is None else str(pair.after), "match": str(pair.match)}
        for pair in window.pairs or expanded.pairs
    ]
    return {
        "name": window.name.text,
        "pairs": pairs,
        "where": None if window.where is None else str(window.where),
        "until": None if expanded.until is None else str(expanded.until),
        "within": None if expanded.within is None else str(expanded.within),
        "keep": expanded.keep.text if expanded.keep else "all",
        "having": None if expanded.having is None else str(expanded.having),
        "predicates": [
            {"shown": shown, "full": full, "own": own}
            for shown, full, own in zip(
                run.predicates.shown, run.predicates.full, run.predicates.own, strict=True
            )
        ],
        "finals": [
            {
                "prefix": [
                    int(n) for n, final in zip(of_prefix, prefix.final, strict=True) if final
                ],
                "window": [
                    int(n) for n, final in zip(of_window, after.final, strict=True) if final
                ],
            }
            for (prefix, after), (of_prefix, of_window) in zip(run.pairs, run.shown, strict=True)
        ],
        "bound": overlap.bound,
        "verdict": str(overlap.verdict),
    }


# --- Windows


def listed_windows(seen: StreamWindows, most: int) -> Ints:
    """Return the windows that the table lists: all, or the longest of each stream, as many of each.

    Of equally long windows those are chosen that a hash of their number puts first, so that they are
    spread over the stream.
    """
    count = seen.windows.num_rows
    if count <= most:
        return np.arange(count)
    numbers = np.arange(count)
    spread = numbers * 2654435761 % 2**32
    order = np.lexsort((spread, seen.starts - seen.ends, seen.owners))
    before = np.cumsum(seen.window_counts) - seen.window_counts
    ranks = numbers - before[seen.owners[order]]
    quota = int(np.sort(ranks)[most])  # with this rank there are too many
    listed: Ints = np.sort(order[ranks < quota])
    return listed if len(listed) else np.sort(order[ranks == 0][:most])


def _window_columns(seen: StreamWindows, listed: Ints) -> Json:
    """Return the windows of the table as columns."""
    columns, windows = Columns(), seen.windows.take(pa.array(listed))
    owners = seen.owners[listed]
    streams, numbers = np.unique(owners, return_inverse=True)
    columns.put("number", listed)
    columns.put("stream", owners)
    columns.put("name", seen.name_numbers[listed])
    columns.put("start", windows.column("start_index"))
    columns.put("length", (seen.ends - seen.starts)[listed] + 1)
    _add_keys(columns, seen, streams, numbers)
    for name in ("window_start", "window_end"):
        if seen.spec.stream.order_by:
            columns.put(name, windows.column(name))
    for place, name in enumerate(seen.measures):
        columns.put(f"measure{place}", windows.column(name))
    return {**columns.packed(), "count": len(listed), "measures": seen.measures}


def _add_keys(columns: Columns, seen: StreamWindows, streams: Ints, numbers: Ints) -> None:
    texts = seen.key_texts(streams)
    for place, _ in enumerate(seen.batch.keys):
        own = pa.array([key[place] for key in texts], pa.string())
        columns.put(f"key{place}", own.take(pa.array(numbers)))


# --- Runs


def _explained(lengths: Ints, room: Room) -> list[int]:
    """Return the places in the table of windows whose runs are in the page, the wanted ones first.

    They are in turn at equal distances, the longest, and the first: there may be no room for all.
    """
    count = len(lengths)
    if count <= room.runs:
        return list(range(count))
    evenly = np.linspace(0, count - 1, room.runs // 2).astype(np.int64)
    turn = np.argsort(np.arange(len(evenly)) * 2654435761 % 2**32, kind="stable")
    longest = thinning.longest(lengths, room.runs // 4)
    by_turns = zip(
        evenly[turn][::2].tolist(),
        evenly[turn][1::2].tolist(),
        longest.tolist(),
        range(room.runs // 4),
        strict=False,
    )
    return list(dict.fromkeys(place for four in by_turns for place in four))


def _run_columns(
    seen: StreamWindows, runs: Sequence[WindowRuns], listed: Ints, room: Room
) -> tuple[Json, Ints]:
    """Return the runs of some windows of the table as columns, and the rows of their events."""
    lengths = (seen.ends - seen.starts)[listed]
    found: dict[int, Run] = {}
    total = 0
    for place in _explained(lengths, room):
        window = int(listed[place])
        run = runs[seen.name_numbers[window]].run(
            int(seen.owners[window]), int(seen.starts[window]), int(seen.ends[window])
        )
        total += len(run.rows)
        if total > room.run_rows and found:
            break
        found[place] = run
    places = sorted(found)
    parts, owners = [found[place] for place in places], listed[places].tolist()
    pairs = [-1 if run.pair is None else run.pair for run in parts]
    rows = np.unique(np.concatenate([run.rows for run in parts] or [np.zeros(0, np.int64)]))
    columns = Columns()
    columns.put("window", np.array(places, dtype=np.int64))
    columns.put("pair", np.array(pairs, dtype=np.int64))
    columns.put("size", np.array([len(run.rows) for run in parts], dtype=np.int64))
    for name in ("rows", "letters", "prefix", "window"):
        joined = np.concatenate([getattr(run, name) for run in parts] or [np.zeros(0, np.int64)])
        column = np.searchsorted(rows, joined) if name == "rows" else joined
        columns.put(f"event_{name}", column)
    columns.put("position", seen.batch.positions[rows])
    shown = [name for name in seen.fields if name not in seen.batch.keys]
    for place, name in enumerate(shown):
        columns.put(f"field{place}", seen.batch.table.column(name).take(pa.array(rows)))
    used = _used_letters(seen, runs, parts, owners)
    return {**columns.packed(), "fields": shown, "letters": used, "count": len(parts)}, rows


def _used_letters(
    seen: StreamWindows, runs: Sequence[WindowRuns], parts: Sequence[Run], owners: Sequence[int]
) -> list[Json]:
    """Return for each window of the spec the predicates that are true of each letter in some run."""
    used: list[set[int]] = [set() for _ in runs]
    for part, owner in zip(parts, owners, strict=True):
        used[seen.name_numbers[owner]].update(part.letters.tolist())
    return [
        {
            str(letter): [at for at, true in enumerate(run.truths[letter]) if true]
            for letter in sorted(own)
        }
        for run, own in zip(runs, used, strict=True)
    ]
