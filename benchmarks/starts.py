"""Windows whose starts the engine follows one by one: aggregates in predicates, and preference.

Drawdowns are found in a random walk whose steps have a deviation of 1 %: a window for each event, of
40 events on average. Recoveries are found in prices that keep 90 % of their distance from 100 and
move by a deviation of 1: a window for every second event, of 36 events on average. Times are CPU
times of one thread, after the programs of the windows have been compiled.
"""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

import numba
import numpy as np
import pyarrow as pa

import wex
from benchmarks.engine import TREND, trades
from benchmarks.measure import Row, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Loop = Callable[[Floats, Ints, Ints], int]

EVENTS = 1_000_000
ROUNDS = 15

DRAWDOWN = """
stream trades (price real)
window drawdown match [price >= 0.95 * max(price)]* [price < 0.95 * max(price)]
"""
RECOVERY = """
stream trades (price real)
window recovery match any [price < first(price)]+ [price >= first(price)]
"""
OPEN = "stream trades (price real) window w match [count() < N]* [count() = N]"
SWINGS = """
stream trades (price real)
window swing match [price < price[-1]]+ [price > price[-1]]+
"""


@cache
def walk() -> Floats:
    """Return a random walk with steps of 1 %."""
    steps = np.random.default_rng(1).normal(0, 0.01, EVENTS)
    return np.asarray(100 * np.exp(np.cumsum(steps)), dtype=np.float64)


@cache
def returning() -> Floats:
    """Return prices that come back to 100."""
    price, prices = 0.0, []
    for step in np.random.default_rng(1).normal(0, 1, EVENTS).tolist():
        price = 0.9 * price + step
        prices.append(100 + price)
    return np.array(prices)


def rows() -> Iterator[Row]:
    yield from _against_loops("drawdowns of 5 %", DRAWDOWN, walk(), drawdowns, drawdowns_at_once)
    yield from _against_loops("recoveries", RECOVERY, returning(), recoveries, recoveries_at_once)
    many, one = (wex.parse(OPEN.replace("N", str(size))) for size in (1000, 1))
    data = trades().slice(0, EVENTS // 10)
    grown = _ratio(lambda: wex.find(many, data), lambda: wex.find(one, data))
    yield Row("1,000 open starts with aggregates", "one open start", grown)
    yield Row("each further open start", "one open start", (grown - 1) / 999)
    yield Row("the trend, keep leftmost", "keep all", _leftmost(TREND, trades()), 1.3)
    overlapping = _leftmost(SWINGS, trades().slice(0, EVENTS))
    yield Row("falls and rises, keep leftmost", "keep all", overlapping)


def _leftmost(text: str, data: pa.Table) -> float:
    leftmost, every = wex.parse(f"{text} keep leftmost"), wex.parse(text)
    return _ratio(lambda: wex.find(leftmost, data), lambda: wex.find(every, data))


def _ratio(thing: Callable[[], object], floor: Callable[[], object]) -> float:
    thing(), floor()  # what has to be compiled is compiled
    return ratio(thing, floor, ROUNDS, time.thread_time)


def _against_loops(
    what: str, text: str, prices: Floats, each: Loop, at_once: Loop
) -> Iterator[Row]:
    spec, data = wex.parse(text), pa.table({"price": prices})
    windows = wex.find(spec, data)
    expected = np.array([windows["end_index"], windows["start_index"]])

    def run(loop: Loop) -> tuple[Ints, Ints]:
        starts, ends = np.empty(EVENTS, dtype=np.int64), np.empty(EVENTS, dtype=np.int64)
        count = loop(prices, starts, ends)
        return starts[:count], ends[:count]

    for against, loop, goal in (
        ("a loop in numba that follows each start", each, 3),
        ("a loop in numba that takes all starts at once", at_once, None),
    ):
        starts, ends = run(loop)
        order = np.lexsort((starts, ends))
        assert np.array_equal(np.array([ends[order], starts[order]]), expected)
        taken = _ratio(lambda: wex.find(spec, data), lambda: run(loop))  # noqa: B023
        yield Row(what, against, taken, goal)


# --- Loops that people write, each for one spec alone


@numba.njit(cache=True)
def drawdowns(price: Floats, starts: Ints, ends: Ints) -> int:
    """Follow each start with its maximum, up to the first price below 95 % of it."""
    found = 0
    for b in range(len(price)):
        top = price[b]
        for x in range(b, len(price)):
            top = max(top, price[x])
            if price[x] < 0.95 * top:
                starts[found] = b
                ends[found] = x
                found += 1
                break
    return found


@numba.njit(cache=True)
def drawdowns_at_once(price: Floats, starts: Ints, ends: Ints) -> int:
    """Read each event once: of the open starts those before the greatest maximum end first.

    The maxima since each start never rise from an older start to a younger one, so a queue has the
    events that are a maximum for some open start.
    """
    tops = np.empty(len(price), dtype=np.int64)
    head, tail, oldest, found = 0, 0, 0, 0
    for x in range(len(price)):
        while tail > head and price[tops[tail - 1]] <= price[x]:
            tail -= 1
        tops[tail] = x
        tail += 1
        while price[x] < 0.95 * price[tops[head]]:
            while oldest <= tops[head]:
                starts[found] = oldest
                ends[found] = x
                found += 1
                oldest += 1
            head += 1
    return found


@numba.njit(cache=True)
def recoveries(price: Floats, starts: Ints, ends: Ints) -> int:
    """Follow each start whose next price is lower, up to the first price that is not."""
    found = 0
    for b in range(len(price) - 2):
        if price[b + 1] >= price[b]:
            continue
        for x in range(b + 2, len(price)):
            if price[x] >= price[b]:
                starts[found] = b
                ends[found] = x
                found += 1
                break
    return found


@numba.njit(cache=True)
def recoveries_at_once(price: Floats, starts: Ints, ends: Ints) -> int:
    """Read each event once: a stack has the starts that wait for a price, the lowest on top."""
    waiting = np.empty(len(price), dtype=np.int64)
    count, found = 0, 0
    for x in range(len(price)):
        while count > 0 and price[waiting[count - 1]] <= price[x]:
            count -= 1
            if waiting[count] < x - 1:
                starts[found] = waiting[count]
                ends[found] = x
                found += 1
        waiting[count] = x
        count += 1
    return found
