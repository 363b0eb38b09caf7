"""The engine against floors and peers, and against itself: what may matter, and what may not.

Prices move by ticks, as trades do: down, unchanged or up, each a third of the time. The continuous walk
moves by normal steps: a window for every eight events, where ticks have one for every 27.

Ratios are of CPU seconds, all threads together, so that they hold on a machine with other work too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

import numba
import numpy as np
import pyarrow as pa

import wex
from benchmarks.measure import Row, ratio, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EVENTS = 10_000_000
ROWS = 100  # fed one by one

TREND = """
stream trades (price real)
let up    = price > price[-1]
let down2 = price[-2] > price[-1] and price[-1] > price
window trend
  after any* down2
  match up [not down2]* down2
"""
MEASURED = TREND + "measure avg(price) as mean, max(price) - min(price) as range, count() as n"
OPEN = "stream s (x real) window w match [x < 1]* [x >= 1] measure sum(x) as total"
LONG = "stream s (x real) window w match any{N} measure sum(x) as total, max(x) as most"
KEYED = TREND.replace("(price real)", "(key int, price real) partition by key")
THREE = (
    TREND
    + """
let down  = price < price[-1]
let down3 = down2 and price[-3] > price[-2]
let up3   = up and price[-1] > price[-2] and price[-2] > price[-3]
window climb after any* down3 match up [not down3]* down3
window slump after any* up3   match down [not up3]* up3
"""
)


@cache
def prices() -> Floats:
    steps = np.random.default_rng(1).integers(-1, 2, EVENTS)
    return np.asarray(100 + 0.01 * np.cumsum(steps), dtype=np.float64)


@cache
def walk() -> Floats:
    steps = np.random.default_rng(1).normal(size=EVENTS)
    return np.asarray(1000 + np.cumsum(steps), dtype=np.float64)


@cache
def trades() -> pa.Table:
    return pa.table({"price": prices()})


def rows() -> Iterator[Row]:
    yield from _floor()
    yield _threads()
    yield from _shapes()
    yield from _busy()
    yield from _late()
    yield from _peers()
    yield from _starting()
    yield _memory()


def cpu(thing: Callable[[], object], floor: Callable[[], object], rounds: int = 7) -> float:
    """Return how many more CPU seconds a thing takes than the floor."""
    return ratio(thing, floor, rounds, clock=time.process_time)


def _floor() -> Iterator[Row]:
    floor = "numpy evaluating its two guards"
    # On one thread, as the floor.
    measured, plain = (partial(wex.find, wex.parse(spec), threads=1) for spec in (MEASURED, TREND))
    continuous = pa.table({"price": walk()})

    def on_walk() -> object:
        return guards(walk())

    yield Row(
        "the trend with three measures",
        floor,
        cpu(lambda: measured(trades()), guards, 15),
        3,
    )
    yield Row("the trend, windows only", floor, cpu(lambda: plain(trades()), guards, 15), 2.5)
    yield Row(
        "three measures, continuous walk",
        floor,
        cpu(lambda: measured(continuous), on_walk, 15),
        4,
    )
    yield Row(
        "windows only, continuous walk",
        floor,
        cpu(lambda: plain(continuous), on_walk, 15),
    )


def guards(price: Floats | None = None) -> tuple[object, object]:
    """Evaluate the two guards of the trend over whole arrays."""
    price = prices() if price is None else price
    up = price[2:] > price[1:-1]
    down2 = (price[:-2] > price[1:-1]) & (price[1:-1] > price[2:])
    return up, down2


def _threads() -> Row:
    """Run one stream of twenty million events on two threads and on one."""
    spec = wex.parse(MEASURED)
    twice = pa.table({"price": np.concatenate([prices(), prices()])})
    two, one = (partial(wex.find, spec, twice, threads=threads) for threads in (2, 1))
    return Row(
        "one stream of 20 million events, two threads", "one thread", ratio(two, one, 15), 0.625
    )


# --- What must not matter: open windows, their length, the number of streams, of windows


def _shapes() -> Iterator[Row]:
    spec = wex.parse(OPEN)
    many, few = _ending_every(200_000), _ending_every(2)
    yield Row(
        "200,000 starts open at a time",
        "2 starts open at a time",
        cpu(lambda: wex.find(spec, many), lambda: wex.find(spec, few)),
        1.5,
    )
    long, short = (wex.parse(LONG.replace("N", str(size))) for size in (50_000, 5))
    part = trades().slice(0, EVENTS // 10).rename_columns(["x"])
    yield Row(
        "windows of 50,000 events",
        "windows of 5 events",
        cpu(lambda: wex.find(long, part), lambda: wex.find(short, part)),
        1.2,
    )
    keyed = wex.parse(KEYED)
    numbers = np.arange(EVENTS, dtype=np.int64)
    streams = pa.table({"key": numbers // 10, "price": prices()})
    stream = pa.table({"key": numbers * 0, "price": prices()})
    yield Row(
        "a million streams of ten events",
        "one stream of ten million",
        cpu(lambda: wex.find(keyed, streams), lambda: wex.find(keyed, stream)),
        1.5,
    )
    # On one core: so many events are divided among all cores if nobody says otherwise.
    three, one = (
        partial(wex.find, wex.parse(spec), trades(), threads=1) for spec in (THREE, TREND)
    )
    yield Row("three windows in one spec, one thread", "one window", cpu(three, one, 15), 2)
    yield Row(
        "a row beside 100,000 open starts",
        "a row beside 100",
        cpu(_feeding(100_000), _feeding(100), 100),
        1.5,
    )
    yield Row(
        "a row beside 100,000 open starts",
        "an Arrow table of it",
        cpu(_feeding(100_000), lambda: [pa.table({"x": [0.0]}) for _ in range(ROWS)], 20),
        5,
    )


def _feeding(starts: int) -> Callable[[], object]:
    """Return a function that feeds a processor rows, one by one, beside so many open starts."""
    processor = wex.Processor(wex.parse(OPEN))
    processor.feed(pa.table({"x": np.zeros(starts)}))
    return lambda: [processor.feed({"x": [0.0]}) for _ in range(ROWS)]


def _ending_every(size: int) -> pa.Table:
    """Return events of which every so manieth ends all windows that are open."""
    x = np.zeros(EVENTS // 10)
    x[size - 1 :: size] = 1
    return pa.table({"x": x})


# --- What happens beside it


def _busy() -> Iterator[Row]:
    """Compare the engine beside a busy process on each core with the engine alone, in CPU seconds."""
    spec = wex.parse(MEASURED)

    def run() -> float:
        return seconds(lambda: wex.find(spec, trades()), clock=time.process_time)

    alone = min(run() for _ in range(9))
    with _busy_cores():
        beside = min(run() for _ in range(9))
    yield Row("the trend, all cores busy beside it", "itself alone", beside / alone, 1.3)


@contextmanager
def _busy_cores() -> Iterator[None]:
    code = "import numpy as np\na = np.random.rand(1 << 16)\nwhile True: np.sort(a)"
    spinning = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(os.cpu_count() or 1)]
    try:
        time.sleep(1)  # until they have started
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


# --- Choosing among very many windows


def _late() -> Iterator[Row]:
    """Compare twice as many events with so many: a quadratic algorithm would have ratio 4."""
    noise = np.random.default_rng(1).normal(size=200_000)
    for name, match, size in (
        ("any{1,50000} keep longest", "match any{1,50000} keep longest", 200_000),
        ("having, keep shortest", "match any+ keep shortest " + HAVING, 20_000),
        ("having, keep disjoint", "match any+ keep disjoint " + HAVING, 20_000),
        ("having, keep longest", "match any+ keep longest " + HAVING, 200_000),
        ("having a limit, keep longest", "match any+ keep longest " + LIMITED, 200_000),
    ):
        spec = wex.parse(f"stream s (x real) window w {match}")
        much, half = (pa.table({"x": noise[:count]}) for count in (size, size // 2))
        twice = cpu(partial(wex.find, spec, much), partial(wex.find, spec, half), 5)
        yield Row(f"{name}: {size:,} events", "half as many", twice, 2.5)


HAVING = "measure max(x) as most having most > 2"
LIMITED = "measure max(x) as most, count() as n having most < 2 and n >= 3"


# --- Loops that people write


def python_loop(price: list[float]) -> list[tuple[int, int]]:
    """Find the windows of the trend, event by event."""
    found, start, fell = [], -1, False
    for x in range(2, len(price)):
        down2 = price[x - 2] > price[x - 1] > price[x]
        if start >= 0 and down2:
            found.append((start, x))
            start = -1
        elif fell and price[x] > price[x - 1]:
            start = x
        fell = down2
    return found


@numba.njit(cache=True)
def numba_loop(price: Floats, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
    """Find the windows of the trend in a loop that is compiled for this spec alone."""
    found, start, fell = 0, -1, False
    for x in range(2, len(price)):
        down2 = price[x - 2] > price[x - 1] and price[x - 1] > price[x]
        if start >= 0 and down2:
            starts[found] = start
            ends[found] = x
            found += 1
            start = -1
        elif fell and price[x] > price[x - 1]:
            start = x
        fell = down2
    return found


def _peers() -> Iterator[Row]:
    spec = wex.parse(TREND)
    few = 1_000_000
    some = prices()[:few].tolist()
    room = np.empty(EVENTS, dtype=np.int64), np.empty(EVENTS, dtype=np.int64)
    windows = wex.find(spec, trades())
    assert numba_loop(prices(), *room) == windows.num_rows
    assert len(python_loop(some)) == wex.find(spec, trades().slice(0, few)).num_rows
    yield Row(
        "the trend, windows only",
        "a loop in Python",
        ratio(lambda: wex.find(spec, trades()), lambda: python_loop(some), 3) * few / EVENTS,
    )
    yield Row(
        "the trend, windows only",
        "a loop in numba, for it alone",
        ratio(lambda: wex.find(spec, trades()), lambda: numba_loop(prices(), *room)),
    )


# --- Starting, and staying


def _starting() -> Iterator[Row]:
    code = f"import wex; wex.find(wex.parse('''{MEASURED}'''), {{'price': [3.0, 2.0, 1.0, 2.0]}})"

    def first_find(cache: str) -> None:
        environment = {"NUMBA_CACHE_DIR": cache, "PATH": "/usr/bin:/bin"}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    def importing() -> None:
        subprocess.run([sys.executable, "-c", "import wex"], check=True)

    with tempfile.TemporaryDirectory() as cache:
        empty = seconds(lambda: first_find(cache))
        warm = min(seconds(lambda: first_find(cache)) for _ in range(3))
    start = min(seconds(importing) for _ in range(3))
    yield Row("first find in a process, cache warm", "import wex", warm / start)
    yield Row("first find in a process, cache empty", "import wex", empty / start)


BATCHES, BATCH = 100, 1_000_000


def _memory() -> Row:
    """Compare the memory after ten batches with that after a hundred, in a process of its own."""
    code = f"""
import resource, numpy as np, pyarrow as pa, wex
processor = wex.Processor(wex.parse('''{MEASURED}'''))
random = np.random.default_rng(1)
peaks = []
for batch in range({BATCHES}):
    steps = random.integers(-1, 2, {BATCH})
    processor.feed(pa.table({{"price": 100 + 0.01 * np.cumsum(steps)}}))
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(peaks[-1] / peaks[9])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return Row("peak memory after 100 million events", "after 10 million", float(done.stdout), 1.1)
