"""Streaming queries: as batch finds it, on classic sessions and Connect, and whenever they are killed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.spark.streams import CASES


@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_all_cases(kind: str) -> None:
    command = [sys.executable, "-m", "tests.spark.streams", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("fine") == len(CASES)


def test_killed_twice() -> None:
    """The short form of `make soak`."""
    command = [sys.executable, "-m", "tests.spark.killed", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "fine" in done.stdout, done.stdout + done.stderr[-3000:]
