"""One process with a Spark session for each kind of session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.session_process import KINDS, SessionProcess


@pytest.fixture(scope="module", params=KINDS)
def session_process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SessionProcess]:
    """Return a process with a session; pytest runs all tests of one kind before the next."""
    process = SessionProcess(request.param, tmp_path_factory.mktemp(request.param) / "log")
    yield process
    process.close()
