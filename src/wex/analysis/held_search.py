"""The search for a stream on which the engine holds as many starts as a bound says.

Where `keep` decides which starts are held, no automaton of a single start shows the stream that holds most.
So the engine itself runs streams: paths of contexts are extended event by event, and those that hold
most are extended first. Of paths that lead to the same context and alike starts one is followed.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from wex.analysis.witness import concrete_streams, run_alone
from wex.engine.state import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.verdicts import Analysis
    from wex.engine.running_streams import RunningStreams
    from wex.theory.evaluate import Event

MOST_RUNS = 100  # streams that are tried
MOST_STARTS = 12  # a larger bound is not tried

# By start: the slot, and the places of start and candidate in the order of all of them.
Alike = tuple[tuple[int, int, int], ...]


class Held(NamedTuple):
    """What the engine holds after a stream: starts, also those whose windows ended with it."""

    starts: frozenset[int]
    alike: Alike


def stream_holding(analysis: Analysis, contexts: Contexts, n: int) -> list[Event] | None:
    """Return a stream on which n starts are held, if one of those that are tried shows it."""
    if n > MOST_STARTS:
        return None
    order, left = count(), MOST_RUNS
    queue: list[tuple[int, int, int, tuple[Edge, ...]]] = [(0, next(order), 0, ())]
    known: set[tuple[int, Alike]] = set()
    while queue:
        _, _, context, path = heappop(queue)
        for edge in contexts.edges[context]:
            if not left:
                return None
            left -= 1
            analysis.budget.check(steps=1 + len(path))
            streams = concrete_streams(contexts, [*path, edge])
            if streams is None:
                continue
            held = held_after(analysis, streams[0])
            if held is None:
                continue  # contexts know neither rates nor the limits of numbers
            if len(held.starts) >= n:
                return streams[0]
            if (edge.to, held.alike) not in known:
                known.add((edge.to, held.alike))
                heappush(queue, (-len(held.alike), next(order), edge.to, (*path, edge)))
    return None


def held_after(analysis: Analysis, events: Sequence[Event]) -> Held | None:
    """Return what the engine holds after the last of some events; None if it refuses them."""
    run = run_alone(analysis.meaning, analysis.index, events)
    if run is None:
        return None
    running, windows = run
    last = len(events) - 1
    ended = {
        row["start_index"]
        for row in windows.select(["start_index", "end_index"]).to_pylist()
        if row["end_index"] == last
    }
    rows = list(_rows(running))
    places = sorted({place for row in rows for place in row[1:]})
    alike = tuple((slot, places.index(start), places.index(end)) for slot, start, end in rows)
    return Held(frozenset(start for _, start, _ in rows) | ended, alike)


def _rows(running: RunningStreams) -> Iterator[tuple[int, int, int]]:
    """Yield slot, start and candidate of the starts that are held in the only stream; -1: it has none."""
    held = running.everything().lists[schema.held(0)]
    # Other columns may have times that Python has no values for.
    needed = [schema.SLOT, schema.POSITION, schema.CANDIDATE]
    for row in held.select([name for name in needed if name in held.column_names]).to_pylist():
        candidate = row.get(schema.CANDIDATE)
        # By preference, some rows only divide panes.
        if candidate is None or row[schema.SLOT] != schema.BORDER:
            yield row[schema.SLOT], row[schema.POSITION], -1 if candidate is None else candidate
