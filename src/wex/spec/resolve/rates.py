"""`assume at most N events in DURATION`: how many events a stream has in any time of this length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.errors import closest
from wex.spec import tree
from wex.spec.numbers import MAX_RATE, check_count
from wex.spec.resolve.scope import check_ordered_by_time
from wex.spec.types import EVENT_UNITS, microseconds
from wex.spec.vocabulary import LOOSELY_ALIKE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.spec.resolve.scope import EventTypes


@dataclass(frozen=True)
class RateLimit:
    """At most so many events have times t with s <= t < s + length, for any s; in microseconds."""

    events: int
    length: int

    def most_in(self, length: int) -> int:
        """Return how many events have times t with s <= t <= s + length, at most.

        >>> RateLimit(100, 1_000_000).most_in(5_000_000)
        600
        """
        return (length // self.length + 1) * self.events


def rate_limits(rates: Iterable[tree.Rate], *, unchecked: bool = False) -> tuple[RateLimit, ...]:
    """Return the limits that checked rates set; with `unchecked`, those of all."""
    return tuple(
        RateLimit(int(rate.events.value), length)
        for rate in rates
        if (unchecked or not rate.unchecked)
        and (length := microseconds(rate.duration.amount, rate.duration.unit.text)) is not None
    )


def check_rate(rate: tree.Rate, stream: tree.Stream, events: EventTypes) -> None:
    """Check an assumption about the number of events in a time."""
    problems = events.problems
    if rate.unit.text not in EVENT_UNITS:
        best = closest(rate.unit.text, EVENT_UNITS, LOOSELY_ALIKE)
        message = f"expected `events` after the number, got `{rate.unit.text}`"
        hint = (
            f"did you mean `{best}`?" if best else "write `assume at most 100 events in 1 second`"
        )
        problems.add("unknown-option", rate.unit, message, hint)
    hint = "the engine keeps as many times for every stream: assume less in a shorter time"
    count = check_count(problems, rate.events, MAX_RATE, "the number of events", hint)
    if isinstance(rate.events, tree.Int) and not count:
        message = "the number of events must be at least 1"
        problems.add("count-not-whole", rate.events, message, "write `at most 1 event in …`")
    if events.infer(rate.duration) is not None and not rate.duration.amount.value:
        hint = "write how long, for example `in 1 second`"
        problems.add("number-out-of-range", rate.duration, "the duration must be positive", hint)
    check_ordered_by_time(events, stream, rate, "a number of events in a duration")
