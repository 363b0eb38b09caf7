"""What `keep leftmost` holds: starts that are not decided, and windows that wait for an earlier start.

The windows of later starts are known only when an earlier start is decided. While it waits, without a
better window of its own, each window that ends after it is held. If that happens on a cycle, any
number of windows wait; if not, the longest path bounds them.

With `resuming` an earlier window need not skip the starts in it. So every start that begins while an
earlier one is not decided is held until it has no way and no window left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wex.analysis.answers import Growth, Quantity
from wex.analysis.graphs import cyclic, greatest_weights
from wex.analysis.held_search import stream_holding
from wex.analysis.lifetimes import DEAD
from wex.analysis.witness import concrete_streams, held_by_engine
from wex.automata.explore import Exploration, shortest
from wex.automata.preference import DEAD as DECIDED
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.answers import Answer
    from wex.analysis.counting.single import Place
    from wex.analysis.preference import Delay
    from wex.analysis.regions.contexts import Edge
    from wex.theory.evaluate import Event

DONE = -2  # the state of a later start that has got a window
MOST_TRIED = 8  # places where a start waits, for a stream on which others wait for it
Pair = tuple[int, int, int]  # a context, the state of a start that waits, that of a later one


class Leftmost:
    """Starts under `keep leftmost`, each with a later one beside it."""

    def __init__(self, delay: Delay) -> None:
        self.delay = delay
        self.analysis = delay.analysis
        self.starts, self.window, self.clauses = delay.starts, delay.window, delay.clauses
        # Whether a window skips all starts in it, so that of two starts in a state the earlier wins.
        self.skips = self.clauses.resuming is None

    def held(self) -> Answer:
        """Return how many starts `keep leftmost` holds: undecided ones, and windows that wait."""
        analysis, clauses, window = self.analysis, self.clauses, self.window
        what = Quantity.HELD
        if not self.starts.held:
            return analysis.bounded(what, 0, "no start ever begins", exact=True)
        if self._begins_with_windows():
            reason = "every beginning of a window is a window, so that later starts are skipped"
            return self._at_most(1 + clauses.sharing, reason)
        if clauses.within_events is not None:
            limited = analysis.limited(what, clauses.within_events)
            return self._at_most(clauses.within_events, limited.reason)
        if clauses.within_time is not None:
            events = analysis.most_in_time(window)
            if events is not None:
                reason = f"at most {events:,} events fit in the time of `within`"
                return self._at_most(events, reason)
        if window.longest_life is not None:
            limited = analysis.by_life(what, window)
            assert limited.bound is not None
            return self._at_most(limited.bound, limited.reason)
        if clauses.running or clauses.having or clauses.within_time is not None:
            reason = "windows may wait without bound for an earlier start that is not decided"
            return analysis.unknown(what, reason)
        if not self.skips:
            return self._held_by_births()
        delay = self.delay.most()
        if delay is not None and not self.waits_for_earlier():
            # Without a candidate one start for each state is held. With one, only starts after it are.
            bound = max(self._in_one_segment(), delay + clauses.sharing)
            reason = "with `keep leftmost` the earlier of two starts in the same state wins"
            return self._at_most(bound, reason)
        events = self._most_completions()
        if events is not None:
            reason = f"at most {events:,} events complete windows while an earlier start waits"
            return self._at_most(self._in_segments(events), reason)
        return self._held_without_bound("windows")

    def _in_one_segment(self) -> int:
        """Return how many starts are held at most if none has a candidate.

        One of each state, and the last ones, which a window that ends from now on need not skip: as
        many as windows share. With `until` it may end at the last event, otherwise behind it.
        """
        states = len({state for _, state in self.starts.held})
        return states + max(0, self.clauses.sharing + self.clauses.until - 1)

    def _in_segments(self, events: int) -> int:
        """Return how many starts are held at most if so many events complete later ones.

        The candidates that are held end a segment of starts each; see `_without_losers` in the kernel.
        """
        sharing, alone = self.clauses.sharing, self._in_one_segment()
        if events == 0:
            # The first start, those that may share events with its candidate, and those after it.
            return 1 + sharing + alone
        # Ends of windows: of the first start, before it in the shared events, and after it.
        ends = max(1, sharing) + events
        states = len({state for _, state in self.starts.held})
        # In each segment one start of a state without a candidate, one with, and a decided window.
        # A start in the shared events of a candidate does not skip the next one.
        return alone + states * (2 * ends + 1) + 3 * sharing * ends + 1 + ends

    def _held_by_births(self) -> Answer:
        """Return how many starts are held, if each one is that begins while an earlier one waits."""
        births = self._most_births()
        if births is None:
            return self._held_without_bound("starts")
        most = f"at most {births:,} starts begin" if births else "no start begins"
        reason = f"{most} while an earlier one is not decided"
        return self._at_most(1 + births, reason)

    def _at_most(self, bound: int, reason: str) -> Answer:
        """Return the answer that no more starts are held; it is exact if the engine shows a stream."""
        build = partial(stream_holding, self.analysis, self.starts.contexts)
        return self.analysis.bounded(Quantity.HELD, bound, reason, exact=False, builder=build)

    def _held_without_bound(self, held: str) -> Answer:
        """Return the answer where no bound was found: a stream on which windows or starts wait, or none."""
        waiting = None if self.starts.contexts.query.timed else self.waiting()
        if waiting is not None and all(waiting.held(n) is not None for n in (2, 4, 6)):
            reason = f"any number of {held} can wait for an earlier start that is not decided"
            return self.analysis.unbounded(Quantity.HELD, Growth.LINEAR, reason, waiting.held)
        reason = f"{held} may wait without bound for an earlier start that is not decided"
        return self.analysis.unknown(Quantity.HELD, reason)

    def waits_for_earlier(self) -> bool:
        """Tell whether a start may have a window while an earlier one has none and is undecided.

        A sound answer: true if that cannot be excluded.
        """
        starts, window = self.starts, self.window
        if self._begins_with_windows():
            return False
        if self.clauses.having or self.clauses.limit is not None or self.clauses.running:
            return True
        nodes: Exploration[Pair, None] = Exploration(check=starts.budget.check)
        for row in starts.contexts.edges:
            for edge in row:
                born = starts.born(edge)
                skips = self.skips and window.until is None and window.final[born]
                if born != DEAD and not skips:
                    nodes[edge.to, born, DEAD]
        for node in nodes:
            for _, after in self._steps(node):
                if after[2] == DONE:
                    return True
                nodes[after]
        return False

    def _begins_with_windows(self) -> bool:
        """Tell whether a start has a window with each of its events that skips later starts, until decided."""
        preference = compile_window(self.analysis.meaning, self.analysis.index).preference
        if preference is None or self.clauses.conditional or not self.skips:
            return False
        ways = preference.ways
        reads = ~ways.accepts
        reads[DECIDED] = False
        after = ways.table[reads]
        return bool((ways.accepts[after] | (after == DECIDED)).all())

    def _steps(self, node: Pair, *, alike: bool = False) -> Iterator[tuple[Edge, Pair]]:
        """Yield the events on which a start goes on to wait, and what becomes of a later one.

        With `alike` also where both are in one state, so that they are decided together.
        """
        starts, window = self.starts, self.window
        context, waiting, later = node
        for edge in starts.contexts.edges[context]:
            moved = starts.moved(waiting, edge)
            if moved == DEAD:
                continue
            if self.skips and (
                starts.ends(waiting, edge) or (window.until is None and window.final[moved])
            ):
                continue  # it has a window, too
            if later == DONE:
                yield edge, (edge.to, moved, DONE)
                continue
            if later == DEAD:
                yield edge, (edge.to, moved, DEAD)
                after = starts.born(edge)
            else:
                after = starts.moved(later, edge)
                if starts.ends(later, edge):
                    yield edge, (edge.to, moved, DONE)
            if after == DEAD or (after == moved and not alike):
                continue  # no windows, or the same ones from now on
            done = window.until is None and window.final[after]
            yield edge, (edge.to, moved, DONE if done else after)

    # --- Windows that wait

    def _most_completions(self) -> int | None:
        """Return the most events that complete later windows while a start waits; None: no bound."""
        starts = self.starts
        nodes: Exploration[Pair, None] = Exploration(check=starts.budget.check)
        for context, state in starts.graph:
            nodes[context, state, DEAD]
        weights: dict[Place, dict[Place, int]] = {place: {} for place in starts.graph}
        for node in nodes:
            row = weights[node[0], node[1]]
            for _, (context, moved, later), completes in self._completions(node):
                row[context, moved] = max(int(completes), row.get((context, moved), 0))
                if later != moved:  # otherwise both have the same windows from now on
                    nodes[context, moved, later]
        return _heaviest_path(weights)

    def _completions(self, node: Pair) -> Iterator[tuple[Edge, Pair, bool]]:
        """Yield the events with which a start waits, and whether a later one gets a window then.

        It may get another one afterwards.
        """
        starts, window = self.starts, self.window
        context, _, later = node
        for edge, (to, moved, _) in self._steps((context, node[1], DONE)):
            if later == DEAD:
                yield edge, (to, moved, DEAD), False
                after = starts.born(edge)
                ends = False
            else:
                after, ends = starts.moved(later, edge), starts.ends(later, edge)
            ends = ends or (window.until is None and after != DEAD and window.final[after])
            if ends or after != DEAD:
                yield edge, (to, moved, after), ends

    def _most_births(self) -> int | None:
        """Return the most starts that begin while one waits; None: no bound."""
        weights: dict[Place, dict[Place, int]] = {place: {} for place in self.starts.graph}
        for place, row in weights.items():
            for edge, after in self.starts.steps(place):
                begins = int(self.starts.born(edge) != DEAD)
                row[after] = max(begins, row.get(after, 0))
        return _heaviest_path(weights)

    def waiting(self) -> Waiting | None:
        """Return a start that waits on a cycle, on which another start gets a window, or only begins."""
        starts = self.starts
        graph = starts.graph
        if self.skips:
            graph = {place: [after for _, after in self.delay.going_on(place)] for place in graph}

        steps = partial(self._steps, alike=not self.skips)

        def adds_one(node: Pair) -> bool:
            return node[:2] == place and (node[2] == DONE if self.skips else node[2] != DEAD)

        tried = 0
        for place in cyclic(graph):
            route = shortest([(None, (*place, DEAD))], steps, adds_one, starts.budget.check)
            if route is None or place not in starts.alive:
                continue
            found = Waiting(self, tuple(starts.path_to({place})[1]), place, tuple(route[1]))
            if found.held(3) is not None:
                return found
            tried += 1
            if tried == MOST_TRIED:
                return None
        return None


def _heaviest_path(weights: dict[Place, dict[Place, int]]) -> int | None:
    """Return the greatest weight of a path, or None if a cycle has a positive weight."""
    graph = {
        place: [(weight, after) for after, weight in row.items()] for place, row in weights.items()
    }
    greatest = greatest_weights(graph, dict.fromkeys(graph, 0))
    return None if greatest is None else max(greatest.values(), default=0)


@dataclass(frozen=True)
class Waiting:
    """A path to a start that waits at a place, and a cycle that adds another one."""

    leftmost: Leftmost
    stem: tuple[Edge, ...]
    place: Place
    cycle: tuple[Edge, ...]

    def held(self, n: int) -> list[Event] | None:
        """Return a stream on which a plan holds n starts, by the engine itself."""
        analysis = self.leftmost.analysis
        for rounds in (n, n + 1, 2 * n + 1):
            streams = concrete_streams(
                self.leftmost.starts.contexts, [*self.stem, *self.cycle * rounds]
            )
            if streams is not None:
                held = held_by_engine(analysis.meaning, analysis.index, streams[0])
                if held is not None and held >= n:
                    return streams[0]
        return None

    def delayed(self, n: int) -> list[Event] | None:
        """Return a stream with a window that ended n events before, and that may yet be dropped."""
        starts = self.leftmost.starts
        rounds = -(-n // len(self.cycle)) + 2
        streams = concrete_streams(
            starts.contexts, [*self.stem, *self.cycle * rounds], [starts.completion(self.place)]
        )
        if streams is None or not self.leftmost.delay.changes(*streams, n):
            return None
        return streams[0]
