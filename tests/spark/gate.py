"""A gate in a job: one task waits there while something happens to its worker.

So a test is certain that a job is in the middle of its work, without waiting for some time and hoping.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SECONDS = 600.0  # that anybody waits, on a busy machine


@dataclass(frozen=True)
class Gate:
    """A gate, which is a folder that the test and all workers see.

    Rows pass freely until the gate is closed. Then the first task with rows waits until it is opened.
    """

    folder: Path

    def on(self, frame: DataFrame) -> DataFrame:
        """Return the rows of a frame, which pass through this gate."""
        return frame.mapInArrow(self._passed, frame.schema)

    def close(self) -> None:
        """Let the next task wait."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._opened.unlink(missing_ok=True)
        self._caught.unlink(missing_ok=True)
        self._closed.touch()

    def caught(self) -> int:
        """Wait until a task waits; return the worker of its executor, by its process."""
        _wait_for(self._caught)
        return int(self._caught.read_text())

    def open(self) -> None:
        """Let the task go on, if it still lives."""
        self._opened.touch()

    def _passed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                self._wait()
            yield batch

    def _wait(self) -> None:
        mine = self.folder / f"mine-{os.getpid()}"
        try:
            self._closed.rename(mine)  # of many tasks one succeeds
        except FileNotFoundError:
            return
        mine.write_text(str(os.getsid(0)))  # a worker is the leader of the session of its executors
        mine.rename(self._caught)
        _wait_for(self._opened)

    @property
    def _closed(self) -> Path:
        return self.folder / "closed"

    @property
    def _caught(self) -> Path:
        return self.folder / "caught"

    @property
    def _opened(self) -> Path:
        return self.folder / "opened"


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody has made {path}")
        time.sleep(0.02)
