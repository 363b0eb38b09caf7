"""What `assume at most N events in DURATION` says about all streams, the unchecked ones included.

Regions do not count events in a time. If no predicate reads the clock and `within` has no duration, the
events of any path can be as far apart as rates ask for. Otherwise rates lower bounds, and what has no bound
is looked for among streams whose events are far enough apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.spec import meaning as meaning_of
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning
    from wex.spec.resolve.rates import RateLimit
    from wex.theory.evaluate import Event

SECOND = 1_000_000


@dataclass(frozen=True)
class Rates:
    """The rates of one or more specs, and the column that has the time."""

    limits: tuple[RateLimit, ...]
    clock: str

    @classmethod
    def of(cls, meanings: Iterable[Meaning]) -> Rates:
        """Return the rates of all specs, which have streams of one type."""
        rated = [meaning for meaning in meanings if meaning.rates]
        limits = tuple(dict.fromkeys(limit for meaning in rated for limit in meaning.rates))
        return cls(limits, rated[0].spec.stream.order_by[0].text if rated else "")

    @property
    def pace(self) -> int:
        """Return a time between adjacent events with which a stream conforms, at least a second."""
        return max([SECOND, *(-(-limit.length // limit.events) for limit in self.limits)])

    @property
    def tick(self) -> int:
        """Return a time after which the events before it do not count any more, at least a second."""
        return max([SECOND, *(limit.length for limit in self.limits)])

    def conform(self, events: Sequence[Event]) -> bool:
        """Tell whether events in their order exceed no rate."""
        times: list[int] = [event[self.clock] for event in events if self.limits]  # type: ignore[misc]
        return not any(
            times[at] - times[at - limit.events] < limit.length
            for limit in self.limits
            for at in range(limit.events, len(times))
        )

    def most_in(self, duration: int) -> int | None:
        """Return how many events are in a time of this length, both ends included; None: any number."""
        return min((limit.most_in(duration) for limit in self.limits), default=None)

    def in_bursts(self, events: Sequence[Event], duration: int) -> list[Event]:
        """Return events as near to the last one as the rate allows that matters for a duration."""
        limit = min(self.limits, key=lambda limit: limit.most_in(duration))
        last = self.tick * len(events)
        return [
            {**event, self.clock: last - (len(events) - 1 - at) // limit.events * limit.length}
            for at, event in enumerate(events)
        ]


NO_RATES = Rates((), "")


def paced(meaning: Meaning) -> Meaning:
    """Return the meaning of a spec about fewer streams: adjacent events are so far apart that they conform.

    What some of its streams do, some stream of the spec with rates does, too.
    """
    rates = Rates.of([meaning])
    gap = max(-(-limit.length // limit.events) for limit in rates.limits)
    rise = tree.Binary("-", tree.Ref(rates.clock), tree.Ref(rates.clock, -1))
    least = tree.Duration(tree.Int(gap), tree.Name("microseconds"))
    apart = tree.Atom(tree.Compare((rise, least), (">=",)))
    assumes = (*meaning.spec.assumes, tree.Assume(tree.Repeat(apart, 0, None)))
    return meaning_of(replace(meaning.spec, assumes=assumes, rates=(), source=None))


def most_in_time(meaning: Meaning, window: AnalysedWindow) -> int | None:
    """Return how many events come while a start is young enough for `within`, by the rates alone."""
    duration = window.clauses.within_time
    if duration is None:
        return None
    most = Rates.of([meaning]).most_in(duration)
    return None if most is None else most + window.behind
