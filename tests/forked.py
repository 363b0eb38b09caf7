"""Processes that are forked while other threads are inside the solver, and then use it themselves.

`python -m tests.forked 4` forks that many. It is run as a process of its own: threads and forks do
not go well with what else runs in a test.
"""

from __future__ import annotations

import logging
import multiprocessing
import sys
import threading

import wex

MODEL = "stream s (x int, y real) window w match {} measure sum(x) as m"
HARD = wex.parse(MODEL.format("[x + y > 1] any{0,3} [x - x[-1] > 2]"))
OTHER = wex.parse(MODEL.format("[x = 3] | [x + y > 1] any{0,3} [x - x[-1] > 2]"))
EASY = wex.parse(MODEL.format("[x > x[-1]]+"))
SECONDS = 120  # after which a child hangs


def asked() -> tuple[int, str]:
    """Return how many windows there are, and a verdict."""
    windows = wex.find(EASY, {"x": [1, 2, 3], "y": [0.0] * 3}).num_rows
    return windows, wex.check(EASY)["w"].held.verdict


def child() -> None:
    """Ask in a new process; its status tells whether the answers are right."""
    sys.exit(0 if asked() == (3, "unbounded") else 1)


def main(count: int) -> None:
    """Fork while others are busy."""
    logging.disable(logging.WARNING)
    asked()  # what is imported by one thread while another one forks is Python's own concern
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            wex.equivalent(HARD, OTHER)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for at in range(count):
        stop.wait(0.2 + at * 0.07)  # at different moments of the work
        forked = multiprocessing.get_context("fork").Process(target=child)
        forked.start()
        children.append(forked)
    for forked in children:
        forked.join(SECONDS)
    stop.set()
    status = [forked.exitcode for forked in children]
    for forked in children:
        forked.kill()
    for thread in threads:
        thread.join()
    assert asked() == (3, "unbounded")  # and the parent still works
    assert status == [0] * count, status
    sys.stdout.write(f"{count} processes\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
