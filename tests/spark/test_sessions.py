"""Spark finds what `find` finds: on a classic session and on Spark Connect, each in a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.spark.cases import CASES


@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_all_cases(kind: str) -> None:
    command = [sys.executable, "-m", "tests.spark.cases", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("fine") == len(CASES)
