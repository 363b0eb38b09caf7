"""Threads that stay: results in their order, errors of the earliest part, nobody waits for nobody."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from wex import limits
from wex.engine.workers import Workers


def test_results_come_in_the_order_of_the_parts() -> None:
    def slowly(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    for threads in (1, 2, 3, 50):
        assert Workers(threads).map(slowly, range(20)) == [number * number for number in range(20)]
    assert Workers(4).map(slowly, []) == []


def test_the_error_of_the_earliest_part_is_raised_whichever_comes_first() -> None:
    later_failed = threading.Event()

    def fail(number: int) -> None:
        if number == 0:
            later_failed.wait(10)
        else:
            later_failed.set()
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"^0$"):
        Workers(2).map(fail, range(2))


def test_an_interrupt_reaches_the_caller() -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Workers(3).map(interrupt, range(3))


def test_parts_see_the_limits_of_the_caller() -> None:
    with limits.raised(windows=1234):
        assert Workers(2).map(lambda _: limits.current().windows, range(4)) == [1234] * 4


def test_parts_of_parts_finish_though_all_threads_are_busy() -> None:
    def deep(depth: int) -> int:
        return sum(Workers(4).map(deep, [depth - 1] * 3)) if depth else 1

    assert deep(5) == 3**5


def test_many_callers_share_the_threads() -> None:
    def call(number: int) -> list[int]:
        return Workers(3).map(lambda part: number + part, range(5))

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(call, range(100)))
    assert made == [[number + part for part in range(5)] for number in range(100)]
    kept = [thread for thread in threading.enumerate() if thread.name.startswith("wex")]
    assert len(kept) <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    Workers(2).map(abs, range(4))
    child = os.fork()
    if not child:
        made = Workers(2).map(abs, range(-4, 0))
        os._exit(0 if made == [4, 3, 2, 1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
