"""Families of streams: a stem, a cycle that is repeated n times, and a tail, for every n.

The memory need not recur. Each number in the cycle is linear in the round and in n, each number in the
stem and in the tail is linear in n, as in a countdown from n. If every guard holds for all rounds and all n, the
streams of the family exist for every n.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from wex.theory.event_search import EventSearch
from wex.theory.solver import UndecidedError
from wex.theory.steady import SlopeSearch, steady
from wex.theory.terms import Field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from wex.analysis.regions.graph import Step
    from wex.analysis.regions.solved import SolvedGraph
    from wex.theory.evaluate import Event, Value
    from wex.theory.projection import Formula
    from wex.theory.steady import Slopes

Rise = dict[str, "Fraction"]  # what each field gains


@dataclass(frozen=True)
class Family:
    """The stream with `least` rounds, and what its events gain with each round and with each n."""

    stem: tuple[Event, ...]
    first: tuple[Event, ...]  # the events of the first round
    tail: tuple[Event, ...]
    least: int
    by_round: tuple[Rise, ...]  # of the events of a round
    by_size: tuple[Rise, ...]  # of all events: of the stem, of a round, of the tail

    def stream(self, rounds: int) -> tuple[list[Event], list[Event]]:
        """Return the events of the stem and of so many rounds, and the events of the tail."""
        more, size = rounds - self.least, len(self.first)
        before, after = len(self.stem), len(self.stem) + size
        events = [
            _moved(event, (gain, more))
            for event, gain in zip(self.stem, self.by_size[:before], strict=True)
        ]
        events += [
            _moved(event, (gain, more), (step, turn))
            for turn in range(rounds)
            for event, gain, step in zip(
                self.first, self.by_size[before:after], self.by_round, strict=True
            )
        ]
        ending = zip(self.tail, self.by_size[after:], strict=True)
        return events, [_moved(event, (gain, more)) for event, gain in ending]


def _moved(event: Event, *gains: tuple[Rise, int]) -> Event:
    return {name: _plus(value, name, gains) for name, value in event.items()}


def _plus(value: Value, name: str, gains: Sequence[tuple[Rise, int]]) -> Value:
    more = sum(gain[name] * times for gain, times in gains if name in gain)
    if not more:
        return value
    total = value + more  # type: ignore[operator]
    return int(total) if isinstance(value, int) else total


def family_along(
    graph: SolvedGraph, stem: Sequence[Step], cycle: Sequence[Step], tail: Sequence[Step]
) -> Family | None:
    """Return a family of streams along a stem, a cycle that is repeated, and a tail; None if none is found."""
    return _FamilySearch(graph, stem, cycle, tail).family()


class _FamilySearch:
    """The base is the stream in which the last round looks back at rounds only."""

    def __init__(
        self,
        graph: SolvedGraph,
        stem: Sequence[Step],
        cycle: Sequence[Step],
        tail: Sequence[Step],
    ) -> None:
        self.graph = graph
        self.before, self.size, self.behind = len(stem), len(cycle), len(tail)
        self.last = -(-graph.query.depth // self.size)  # the round that stands for all later ones
        self.path = [*stem, *list(cycle) * (self.last + 1), *tail]
        self.searching = EventSearch(graph.codes, graph.tick, graph.samples)
        self.slopes = SlopeSearch(self.searching)
        query = graph.query
        self.moving = {
            name: Field(name, 0, query.fields[name])
            for name in graph.ages
            if name not in query.bounds
            and name not in query.ranks
            and Field(name, 0, query.fields[name]).kind in ("whole", "real")
        }

    def family(self) -> Family | None:
        """Return the family, from one model of the solver."""
        if self.before < self.graph.query.levels - 1 or not self.moving:
            return None
        self._require()
        by_size, by_round = (
            [name for name in self.slopes.unknown if name.startswith(kind)]
            for kind in ("size", "round")
        )
        if not self.searching.possible((), self.graph.budget.count):
            return None
        self.slopes.prefer_zero(by_size)
        self.slopes.prefer_zero(by_round)
        try:
            events = self.searching.events(len(self.path), self.graph.constants)
            known = self.slopes.values()
        except UndecidedError:
            return None
        if events is None:
            return None
        return self._built(events, known)

    def _built(self, events: Sequence[Event], known: Mapping[str, Fraction]) -> Family:
        rounds = self.before + self.size * (self.last + 1)
        places = [*range(self.before + self.size), *range(rounds, len(self.path))]
        return Family(
            tuple(events[: self.before]),
            tuple(events[self.before : self.before + self.size]),
            tuple(events[rounds:]),
            self.last + 1,
            tuple(
                {name: known[f"round {place} {name}"] for name in self.moving}
                for place in range(self.size)
            ),
            tuple({name: known[self._size_name(p, name)] for name in self.moving} for p in places),
        )

    def _require(self) -> None:
        """Require the guards of all events, and that the rounds are in arithmetic progression."""
        graph = self.graph
        graph.constrain(self.searching, self.path, [], count())
        for name, field in self.moving.items():
            for place in range(self.size):
                values = [
                    self.searching.variables[self.before + turn * self.size + place, name][1]
                    for turn in range(self.last + 1)
                ]
                self.slopes.progression(values, self._by_round(place, field))
        for position, (action, _) in enumerate(self.path):
            level = min(position, graph.query.levels - 1)
            symbols = self.searching.symbols(graph.query.depth, level, position.__add__)

            def slopes(field: Field, position: int = position) -> Slopes | None:
                return self._seen_from(position, field)

            for guard in graph.query.guards_of(level, action):
                self.searching.add(steady(guard, symbols, slopes), *symbols.domains)
            for field in self.moving.values():
                self._by_size(position, field)

    def _turn(self, position: int) -> int | None:
        """Return the round of a position in the base, or None."""
        turn = (position - self.before) // self.size
        return turn if 0 <= turn <= self.last else None

    def _size_name(self, position: int, name: str) -> str:
        if self._turn(position) is not None:
            return f"size of place {(position - self.before) % self.size} {name}"
        return f"size of event {position} {name}"

    def _by_size(self, position: int, field: Field) -> Formula:
        return self.slopes.slope(self._size_name(position, field.name), field)

    def _by_round(self, place: int, field: Field) -> Formula:
        return self.slopes.slope(f"round {place} {field.name}", field)

    def _seen_from(self, position: int, field: Field) -> Slopes | None:
        """Return the slopes of a field of an event, as a guard at a position sees it.

        The first slope is that of n. The second is that of n and of the round together; only
        guards in the last round ask for both.
        """
        if field.name not in self.moving:
            return None
        own = self.moving[field.name]
        event = position + field.offset
        by_size, turn = self._by_size(event, own), self._turn(event)
        if turn is None:
            return by_size, by_size
        here = self._turn(position)
        if here is not None and here < self.last:
            return by_size, by_size  # one of the first rounds
        by_round = self._by_round((event - self.before) % self.size, own)
        both = self.slopes.sum(by_size, by_round)
        # Behind the rounds, the last of them is as many rounds later as n is greater.
        return (both if here is None else by_size), both
