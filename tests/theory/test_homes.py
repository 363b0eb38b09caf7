"""Homes of formulas: z3 contexts of our own, each used by one thread at a time."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
import z3

from wex.theory import solver
from wex.theory import solver as homes
from wex.theory.projection import both
from wex.theory.solver import MOST_CONTEXTS, SolverContext, own_context


def test_a_thread_keeps_its_home_and_many_threads_share_a_few() -> None:
    found: list[list[SolverContext]] = []
    threads = [
        threading.Thread(target=lambda: found.append([own_context(), own_context()]))
        for _ in range(3 * MOST_CONTEXTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(first is second for first, second in found)
    assert len({id(first) for first, _ in found}) == MOST_CONTEXTS == len(homes._homes)


def test_the_context_of_z3_itself_is_left_to_others() -> None:
    assert own_context() is not z3.main_ctx()
    assert both().ctx is own_context()


def test_a_home_is_used_by_one_thread_at_a_time() -> None:
    home = own_context()
    order: list[str] = []

    def other() -> None:
        with home:
            order.append("other")

    with home, home:  # twice in one thread
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.1)
        order.append("own")
    thread.join()
    assert order == ["own", "other"]


def test_ctrl_c_is_not_taken_for_an_answer() -> None:
    with own_context() as home:
        asked = solver.new_solver(home)
        pigeons = [z3.Int(f"pigeon{at}", home) for at in range(12)]
        asked.add(z3.Distinct(pigeons), *(z3.And(each > 0, each < 12) for each in pigeons))
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):  # in time even if the question is answered before
            time.sleep(30 if asked.check() else 0)
