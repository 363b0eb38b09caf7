"""The z3 contexts of threads: each is used by one thread at a time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
import z3

from wex.theory import solver
from wex.theory.projection import both
from wex.theory.solver import MOST_CONTEXTS, SolverContext, own_context


def test_a_thread_keeps_its_context_and_many_threads_share_a_few() -> None:
    contexts: list[list[SolverContext]] = []
    threads = [
        threading.Thread(target=lambda: contexts.append([own_context(), own_context()]))
        for _ in range(3 * MOST_CONTEXTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(contexts) == 3 * MOST_CONTEXTS
    assert all(first is second for first, second in contexts)
    assert len({id(first) for first, _ in contexts}) == MOST_CONTEXTS == len(solver._contexts)


def test_the_context_of_z3_itself_is_left_to_others() -> None:
    assert own_context() is not z3.main_ctx()
    assert both().ctx is own_context()


def test_a_context_is_used_by_one_thread_at_a_time() -> None:
    context = own_context()
    order: list[str] = []

    def other() -> None:
        with context:
            order.append("other")

    with context, context:  # nested in one thread
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.1)
        order.append("own")
    thread.join()
    assert order == ["own", "other"]


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """Heed interrupts, which a job in the background of a shell ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_interrupts")
def test_ctrl_c_is_not_taken_for_an_answer() -> None:
    with own_context() as context:
        hard = solver.new_solver(context)
        pigeons = [z3.Int(f"pigeon{number}", context) for number in range(12)]
        hard.add(z3.Distinct(pigeons), *(z3.And(pigeon > 0, pigeon < 12) for pigeon in pigeons))
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):  # also if z3 answers before the interrupt
            time.sleep(30 if hard.check() else 0)
