"""Spark finds the windows that `find` finds, on Spark Connect.

In one file, so that no two run at a time: a Connect server has its port for itself.
"""

from __future__ import annotations

import pytest

from tests.spark.session_process import BATCH, STREAMING, SessionProcess

pytestmark = pytest.mark.parametrize("session_process", ["connect"], indirect=True)


@pytest.mark.parametrize("case", BATCH)
def test_batch(session_process: SessionProcess, case: str) -> None:
    session_process.run(case)


@pytest.mark.parametrize("case", STREAMING)
def test_streaming(session_process: SessionProcess, case: str) -> None:
    session_process.run(case)
