"""Homes of formulas: z3 contexts, and the locks under which threads use them.

A z3 context may be used by one thread at a time. A thread therefore makes its formulas in a home
of its own; only if many threads ask do several share one. A formula stays in its home: whoever
works with it takes the lock of `formula.ctx`, in whatever thread. References are dropped wherever
the garbage collector happens to run, without that lock, so homes count them concurrently.

The context that z3 itself offers, `z3.main_ctx()`, is left to the programs that use WEX.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING

import z3

from wex.forking import at_fork

if TYPE_CHECKING:
    from typing import Self

MOST_HOMES = 8  # a context takes 16 MB


class Home(z3.Context):  # type: ignore[misc]
    """A z3 context, to be used under its lock: `with home: ...`."""

    def __init__(self) -> None:
        super().__init__()
        z3.Z3_enable_concurrent_dec_ref(self.ref())
        self.lock = threading.RLock()

    def __enter__(self) -> Self:
        if _fork.is_set() and not _own.inside:
            with _changing:  # until the fork is over: it must not have to wait for its turn
                pass
        self.lock.acquire()
        _own.inside += 1
        return self

    def __exit__(self, *_: object) -> None:
        _own.inside -= 1
        self.lock.release()


class _Own(threading.local):
    """What belongs to one thread."""

    home: Home | None = None
    inside = 0  # how many times it has entered a home


_homes: list[Home] = []
_changing = threading.RLock()
_fork = threading.Event()
_turns = count()
_own = _Own()


def own_home() -> Home:
    """Return the home in which this thread makes its formulas."""
    if _own.home is None:
        with _changing:
            turn = next(_turns) % MOST_HOMES
            if turn == len(_homes):
                _homes.append(Home())
            _own.home = _homes[turn]
    return _own.home


# A fork waits until no other thread is inside z3, which has locks of its own.


def _take_all() -> None:
    _changing.acquire()
    _fork.set()
    for home in _homes:
        home.lock.acquire()


def _leave_all() -> None:
    for home in _homes:
        home.lock.release()
    _fork.clear()
    _changing.release()


at_fork(_take_all, _leave_all)
