"""Time before the work begins: importing, parsing a spec, and the commands on a few rows."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import wex
from benchmarks.measure import Row, ratio
from wex import examples
from wex.spec.parser import grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIX_ROWS = """symbol,ts,price
A,2026-01-01 10:00:00,3
A,2026-01-01 10:00:01,2
A,2026-01-01 10:00:02,1
A,2026-01-01 10:00:03,2
A,2026-01-01 10:00:04,1
A,2026-01-01 10:00:05,0
"""
LIBRARIES = "import pyarrow, numba, z3"
ROUNDS = 5


def rows() -> Iterator[Row]:
    yield Row(
        "start Python and import wex",
        "start Python and wait 0.3 s",
        ratio(lambda: _python("import wex"), lambda: _python("import time; time.sleep(0.3)")),
        goal=1,
    )
    yield Row(
        "start Python and import wex",
        "start Python",
        ratio(lambda: _python("import wex"), lambda: _python("")),
    )
    text = examples.text("trend")
    tokens = grammar()
    yield Row(
        "parse, check and expand the trend",
        "its tokens alone",
        ratio(lambda: wex.parse(text), lambda: list(tokens.lex(text)), rounds=50),
    )
    yield from _commands()


def _commands() -> Iterator[Row]:
    """Compare the CPU time of commands that have read their compiled code before."""
    with tempfile.TemporaryDirectory() as folder:
        spec, data = Path(folder, "trend.wex"), Path(folder, "six.csv")
        spec.write_text(examples.text("trend"))
        data.write_text(SIX_ROWS)
        commands: dict[str, Callable[[], None]] = {
            "wex find on six rows, CPU": lambda: _wex("find", str(spec), str(data)),
            "wex check of the trend, CPU": lambda: _wex("check", str(spec)),
        }
        for command in commands.values():
            command()  # compiles the kernels, if need be
        nothing = min(cpu_seconds(lambda: _python("")) for _ in range(ROUNDS))
        libraries = min(cpu_seconds(lambda: _python(LIBRARIES)) for _ in range(ROUNDS))
        for name, command in commands.items():
            taken = min(cpu_seconds(command) for _ in range(ROUNDS))
            yield Row(name, "start Python", taken / nothing)
            yield Row(name, LIBRARIES, taken / libraries, goal=2.5)


def cpu_seconds(run: Callable[[], object]) -> float:
    """Return the CPU time of the processes that a function starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _wex(*args: str) -> None:
    _python("from wex.cli import main; main()", *args)


def _python(code: str, *args: str) -> None:
    # As it is installed, with the bytecode of its modules on disk.
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code, *args]
    subprocess.run(command, check=True, capture_output=True, env=environment)
