"""Homes of formulas: z3 contexts, and the locks under which threads use them.

A z3 context may be used by one thread at a time. A thread therefore makes its formulas in a home
of its own; only if many threads ask do several share one. A formula stays in its home: whoever
works with it takes the lock of `formula.ctx`, in whatever thread. References are dropped wherever
the garbage collector happens to run, without that lock, so homes count them concurrently.

The context that z3 itself offers, `z3.main_ctx()`, is left to the programs that use WEX.
"""

from __future__ import annotations

import os
import threading
from itertools import count
from typing import TYPE_CHECKING

import z3

if TYPE_CHECKING:
    from typing import Self

MOST_HOMES = 8  # a context takes 16 MB


class Home(z3.Context):  # type: ignore[misc]
    """A z3 context, to be used under its lock: `with home: ...`."""

    def __init__(self) -> None:
        super().__init__()
        z3.Z3_enable_concurrent_dec_ref(self.ref())
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_homes: list[Home] = []
_growing = threading.RLock()
_turns = count()
_own = threading.local()


def own_home() -> Home:
    """Return the home in which this thread makes its formulas."""
    home: Home | None = getattr(_own, "home", None)
    if home is None:
        with _growing:
            turn = next(_turns) % MOST_HOMES
            if turn == len(_homes):
                _homes.append(Home())
            home = _own.home = _homes[turn]
    return home


# A process that is forked has this thread only. It waits until no other thread is inside z3: a
# lock that another one held, ours or one of z3's own, would stay locked in the child for ever.


def _leave() -> None:
    _growing.acquire()
    for home in _homes:
        home.__enter__()


def _return() -> None:
    for home in reversed(_homes):
        home.__exit__()
    _growing.release()


os.register_at_fork(before=_leave, after_in_parent=_return, after_in_child=_return)
