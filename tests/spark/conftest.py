"""A process with a Spark session, of the kind that a module asks for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.session_process import SessionProcess


@pytest.fixture(scope="module")
def session_process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SessionProcess]:
    """Return a process with a session, which all tests of a module share."""
    process = SessionProcess(request.param, tmp_path_factory.mktemp(request.param) / "log")
    yield process
    process.close()
