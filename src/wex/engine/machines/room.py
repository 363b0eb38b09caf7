"""Room for the windows of a batch, and what to do if there are more: go on with more room, or stop.

A late `keep` chooses among all windows of a batch, and may leave few of very many. A batch that is
`bounded` then stops, and runs again in slices (`engine/slices.py`).
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from wex import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_LATE = 1 << 17  # windows beside one for each event, of which a late `keep` may leave few
_bounded = ContextVar("bounded", default=False)


class TooManyWindowsError(Exception):
    """A batch has more windows for a late `keep` than there is room for."""


@contextmanager
def bounded(on: bool) -> Iterator[None]:
    """Let a batch stop if a late `keep` has too many windows to choose from."""
    token = _bounded.set(on)
    try:
        yield
    finally:
        _bounded.reset(token)


def first_room(rows: int, *, late: bool = False) -> int:
    """Return for how many windows of a batch there is room at first."""
    return rows + (MOST_LATE if late and _bounded.get() else 1 << 16)


def more_room(room: int, *, late: bool = False) -> int:
    """Return more room, or stop if the windows are for a late `keep` and there may be slices."""
    if late and _bounded.get():
        raise TooManyWindowsError
    limits.require("windows", 2 * room, "the windows of one batch")
    return 4 * room
