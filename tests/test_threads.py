"""Threads and processes: everything public may be called from any thread at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import wex
from wex import limits
from wex.engine import engine as running
from wex.threads import cached_property


def in_a_process(*arguments: str) -> str:
    """Return what a module prints that is run as a process of its own, which may crash or hang."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).parents[1],
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        said = "it hangs"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it has forked, too
        process.wait()
    assert process.returncode == 0, said[-3000:]
    return said


def test_two_hundred_specs_on_eight_threads_say_what_one_thread_says() -> None:
    assert in_a_process("tests.threaded", "200", "8") == "200 specs on 8 threads\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_processes_forked_while_others_are_inside_the_solver_finish() -> None:
    assert in_a_process("tests.forked", "4") == "4 processes\n"


def in_threads(count: int, function: Callable[[], object]) -> list[object]:
    found: list[object] = []

    def call() -> None:
        try:
            found.append(function())
        except wex.WexError as error:
            found.append(error)

    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_a_processor_that_another_thread_uses_is_busy() -> None:
    inside, go_on = threading.Event(), threading.Event()

    @wex.aggregate("waits")
    class Waits:
        result_type = "int"

        def zero(self) -> int:
            return 0

        def add(self, state: int, event: int) -> int:
            inside.set()
            assert go_on.wait(60)
            return state + event

        def merge(self, left: int, right: int) -> int:
            return left + right

        def result(self, state: int) -> int:
            return state

    spec = wex.parse("stream s (x int) window w match any measure waits(x) as m")
    processor = wex.Processor(spec)
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(processor.feed({"x": [1, 2]})))
    thread.start()
    assert inside.wait(60)
    for call in (lambda: processor.feed({"x": [3]}), processor.close, processor.state):
        with pytest.raises(wex.WexError, match="another thread is using this Processor") as caught:
            call()
        assert caught.value.code == "busy"
    go_on.set()
    thread.join()
    # What was refused has changed nothing.
    assert processor.feed({"x": [5]})["end_index"].to_pylist() == [2]


def test_limits_of_a_thread_are_the_usual_ones() -> None:
    with limits.raised(letters=17):
        assert in_threads(2, limits.current) == [limits.Limits()] * 2


def test_windows_that_run_side_by_side_run_under_the_limits_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "SIDE_BY_SIDE", 1)
    spec = wex.parse("stream s (x int) window a match any* window b match any*")
    data = {"x": np.arange(1000)}
    with limits.raised(windows=1000), pytest.raises(wex.LimitError):
        wex.find(spec, data)
    assert wex.find(spec, data).num_rows == 2 * 1000 * 1001 // 2


class Left:
    """Asks a Right, while a Right asks a Left: with a lock for each class this is a deadlock."""

    def __init__(self, other: Right | None, inside: threading.Event, go_on: threading.Event):
        self.other, self.inside, self.go_on = other, inside, go_on

    @cached_property
    def depth(self) -> int:
        self.inside.set()
        assert self.go_on.wait(20)
        return 1 + (self.other.depth if self.other else 0)


class Right:
    def __init__(self, other: Left | None, inside: threading.Event, go_on: threading.Event):
        self.other, self.inside, self.go_on = other, inside, go_on

    @cached_property
    def depth(self) -> int:
        self.inside.set()
        assert self.go_on.wait(20)
        return 1 + (self.other.depth if self.other else 0)


def test_cached_properties_of_two_classes_do_not_wait_for_each_other() -> None:
    done = threading.Event()
    done.set()
    events = [threading.Event() for _ in range(2)]
    # Each one goes on when the other is inside.
    left = Left(Right(None, done, done), events[0], events[1])
    right = Right(Left(None, done, done), events[1], events[0])
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda each=each: found.append(each.depth), daemon=True)
        for each in (left, right)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [2, 2]
    assert left.depth == 2
    assert isinstance(Left.depth, cached_property)


def test_a_cached_property_is_computed_once_and_has_the_docs_of_its_function() -> None:
    class Counted:
        calls = 0

        @cached_property
        def value(self) -> list[int]:
            """Return a list."""
            self.calls += 1
            return []

    counted = Counted()
    assert counted.value is counted.value
    assert counted.calls == 1
    assert Counted.value.__doc__ == "Return a list."


def test_what_a_worker_runs_starts_no_threads() -> None:
    """Arrow's pools and ours start when they are first used, so they show in a process of its own."""
    code = """
import os, numpy as np, pyarrow as pa, wex
from wex.engine import engine
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.bucket import Bucket, Rules
engine.SIDE_BY_SIDE = 1
spec = wex.parse('''
stream s (k string, t timestamp, x real) partition by k order by t
window a match [x > 0] [x > x[-1]]* [x < x[-1]] measure avg(x) as m, collect(k) as all having m > 0
window b match any{3} keep shortest measure median(x) as middle
''')
rows = 20_000
random = np.random.default_rng(1)
table = pa.table({
    "k": [f"k{number}" for number in np.sort(random.integers(0, 9, rows))],
    "t": pa.array(np.arange(rows).astype("datetime64[us]")), "x": random.normal(size=rows),
})
before = len(os.listdir("/proc/self/task"))
runner = engine.engine_of(spec)
scan = SortedScan(runner)
scan.feed(table.slice(0, rows // 2)), scan.feed(table.slice(rows // 2)), scan.close()
bucket = Bucket.of(runner, Rules(expire_after=2**60))
bucket.arrive(table, 10)
Bucket.of(runner, Rules(expire_after=2**60), bucket.saved()).advance(rows)
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["0"], done.stderr
