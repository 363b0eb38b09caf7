"""The limits that keep a mistake from eating the machine, all in one place.

>>> import wex.limits
>>> with wex.limits.raised(spec_bytes=5_000_000):
...     wex.limits.current().spec_bytes
5000000
>>> wex.limits.current().spec_bytes
1000000
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Limits:
    """How much of each thing is still taken for sane."""

    spec_bytes: int = 1_000_000  # parsing takes seconds per megabyte
    letters: int = 4_096  # combinations of predicates in one window: 12 that are independent
    states: int = 250_000  # of one automaton
    work: int = 1_000_000  # steps of building one automaton: seconds
    windows: int = 500_000_000  # found in one batch: 16 bytes each, before anything is measured
    symbols: int = 4_096  # letters with marks of one formula: 16 letters and 8 variables at once
    subsets: int = 16_384  # that a formula tries for each set, when it is evaluated directly


_current = ContextVar("limits", default=Limits())  # noqa: B039  (frozen)


def current() -> Limits:
    """Return the limits in force here."""
    return _current.get()


@contextmanager
def raised(**limits: int) -> Iterator[None]:
    """Work under other limits, named as the fields of `Limits`: in this thread, until the end."""
    token = _current.set(replace(current(), **limits))
    try:
        yield
    finally:
        _current.reset(token)


def require(limit: str, needed: int, what: str) -> None:
    """Raise a LimitError that says how to go on, if more is needed than the limit allows."""
    allowed: int = getattr(current(), limit)
    if needed > allowed:
        message = f"{what}: {needed:,} is over the limit of {allowed:,}"
        # What is counted as it goes has only just got there; how much it needs nobody knows.
        enough = needed if needed >= 2 * allowed else 10 * allowed
        raise LimitError(
            limit, message, f"if that is meant: with wex.limits.raised({limit}={enough}):"
        )
