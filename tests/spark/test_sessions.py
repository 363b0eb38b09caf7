"""Spark finds the windows that `find` finds, on a classic session; `test_connect.py` is about Spark Connect.

Two files, so that the two kinds of session run side by side. `pytest tests/spark -k late_rows` runs
one case on both kinds of session, `-k classic` one kind.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.session_process import BATCH, STREAMING, SessionProcess

KIND = pytest.mark.parametrize("session_process", ["classic"], indirect=True)
WITHOUT = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "wex":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nowhere())
"""
CODE = """
import os, sys
from tests.spark.cases import TREND, market, session, windows, wrong
os.environ["PYTHONPATH"] = sys.argv[1] + os.pathsep + os.environ.get("PYTHONPATH", "")
frame = session("classic").createDataFrame(market.trades(100, 2))
error = wrong(lambda: frame.transform(windows(TREND)).toArrow(), "no-wex")
print(error.hint)
"""


# First the tests with processes of their own, then those that share a session.


def test_killed() -> None:
    """The short form of `make soak`."""
    command = [sys.executable, "-m", "tests.spark.killed", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "fine" in done.stdout, done.stdout + done.stderr[-3000:]


def test_workers_without_wex(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "install wex-windows" in done.stdout, done.stderr[-2000:]


@KIND
@pytest.mark.parametrize("case", BATCH)
def test_batch(session_process: SessionProcess, case: str) -> None:
    session_process.run(case)


@KIND
@pytest.mark.parametrize("case", STREAMING)
def test_streaming(session_process: SessionProcess, case: str) -> None:
    session_process.run(case)
