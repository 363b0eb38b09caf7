"""Limits on the size of specs, automata and results, so that a mistake cannot exhaust memory.

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
    """The largest sizes that are accepted."""

    spec_bytes: int = 1_000_000  # parsing takes seconds per megabyte
    letters: int = 4_096  # combinations of predicates in one window: 12 independent ones
    states: int = 250_000  # of one automaton
    work: int = 1_000_000  # steps of building one automaton: a few seconds
    windows: int = 500_000_000  # in one batch: 16 bytes each, without measures
    rows: int = 100_000_000  # of the windows of one batch, where rows are wanted
    symbols: int = 4_096  # letters with marks of one formula: 16 letters and 8 variables
    effort: int = 200_000  # steps of the analysis for one answer: beyond them it is "unknown"
    subsets: int = 16_384  # tried per set variable when a formula is evaluated directly


_current = ContextVar("limits", default=Limits())  # noqa: B039  (frozen)


def current() -> Limits:
    """Return the limits in force in this context."""
    return _current.get()


@contextmanager
def raised(**limits: int) -> Iterator[None]:
    """Set other limits, named like the fields of `Limits`, in this thread until the block ends."""
    token = _current.set(replace(current(), **limits))
    try:
        yield
    finally:
        _current.reset(token)


def require(limit: str, needed: int, subject: str) -> None:
    """Raise a LimitError with a hint on how to raise the limit, if more is needed than it allows."""
    allowed: int = getattr(current(), limit)
    if needed > allowed:
        message = f"{subject}: {needed:,} exceeds the limit of {allowed:,}"
        # A count that stops at the limit does not say how much is needed in the end.
        enough = needed if needed >= 2 * allowed else 10 * allowed
        raise LimitError(
            limit, message, f"to allow more: with wex.limits.raised({limit}={enough}):"
        )
