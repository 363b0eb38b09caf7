"""When Spark fails: `wex run` names the cause, says that nothing is lost, and goes on when asked to."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyarrow import parquet

import wex
from tests.cli.commands import SMALL, TREND, WEX, run, written
from wex import examples
from wex.examples import market
from wex.spark import windows
from wex.spark.batch_job import Job
from wex.spark.errors import failure

KILLED = """
import os, signal, sys

class Killer:
    def find_spec(self, name, path=None, target=None):
        if name == "wex.spark.worker":
            os.kill(os.getpid(), signal.SIGKILL)

if "pyspark.daemon" in sys.orig_argv:
    sys.meta_path.insert(0, Killer())
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of its own that is soon full."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:  # fmt: skip
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_worker_is_killed(tmp_path: Path) -> None:
    market.write(market.trades(1_000, 3), tmp_path / "in")
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(KILLED)
    paths = os.pathsep.join([str(tmp_path / "hook"), os.environ.get("PYTHONPATH", "")])
    out = tmp_path / "out"
    args = ("run", str(TREND), "--input", str(tmp_path / "in"), "--output", str(out))
    done = run(*args, PYTHONPATH=paths)
    assert done.returncode == 3, done.stderr
    first, hint = done.stderr.decode().splitlines()
    assert first.startswith("error[spark-failed]: a Python worker was killed")
    assert "nothing was written, and nothing is lost" in hint
    assert not out.exists()


def test_the_disk_is_full(tmp_path: Path, small_disk: Path) -> None:
    """In an endless job; with more space it goes on from the same checkpoint."""
    table = market.trades(30_000, 40).sort_by("ts")
    (tmp_path / "in").mkdir()
    parquet.write_table(table, tmp_path / "in" / "0.parquet")
    out = small_disk / "out"
    args = ("run", str(TREND), "--input", str(tmp_path / "in"), "--output", str(out), "--stream",
            "--checkpoint", str(tmp_path / "checkpoint"), *SMALL)  # fmt: skip
    done = run(*args)
    assert done.returncode == 3, done.stderr
    first, hint = done.stderr.decode().splitlines()
    assert first == "error[spark-failed]: a disk is full"
    assert "nothing is lost" in hint
    assert f"{out} has 0 MB left" in hint
    assert "start it again with the same --checkpoint" in hint
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    again = run(*args)
    assert again.returncode == 0, again.stderr
    assert written(out) == wex.Processor(examples.spec("trend")).feed(table).num_rows


def test_java_is_killed(tmp_path: Path) -> None:
    """The process that Spark is goes, as when the system kills it."""
    (tmp_path / "in").mkdir()
    parquet.write_table(market.trades(100, 2), tmp_path / "in" / "0.parquet")
    command = [WEX, "run", str(TREND), "--input", "in", "--output", "out", "--stream", "--checkpoint", "c",
               "--trigger", "1 second", *SMALL]  # fmt: skip
    job = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True)
    offsets = tmp_path / "c" / "offsets"  # the first micro-batch has begun
    while job.poll() is None and not (offsets.is_dir() and any(offsets.iterdir())):
        time.sleep(0.2)
    for process in java_of(job.pid):
        os.kill(process, signal.SIGKILL)
    _, errors = job.communicate()
    assert job.returncode == 3, errors
    # PySpark's own server of accumulators may complain, too, before or after, from a thread.
    assert b"error[spark-failed]: the Java process of Spark has ended" in errors, errors
    assert b"start it again with the same --checkpoint" in errors, errors


def java_of(parent: int) -> list[int]:
    """Return the Java processes below a process, also where a shell has started them."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,comm"], capture_output=True, text=True, check=True)  # fmt: skip
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()[1:]]
    below, result = {parent}, []
    for pid, ppid, name in sorted(rows, key=lambda row: int(row[0])):
        if int(ppid) in below:
            below.add(int(pid))
            result += [int(pid)] if "java" in name else []
    return result


STAGE = "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in stage 1.0"


@pytest.mark.parametrize(
    ("text", "message"),
    [  # failures that one machine does not have, or that would take its memory
        ("Job aborted\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat x", "Java has no memory left"),
        (f"{STAGE} (TID 7) (10.0.0.1 executor 3): java.lang.OutOfMemoryError: x\n\tat x", "Java has no memory left"),
        (f"{STAGE} (TID 7) (10.0.0.1 executor 3): ExecutorLostFailure (executor 3 exited caused by one of the"
         " running tasks) Reason: Container killed by YARN", "an executor was lost"),
    ],
)  # fmt: skip
def test_failures_of_clusters(text: str, message: str) -> None:
    job = Job("in", "out")
    error = failure(RuntimeError(text), job, "c")
    assert error is not None
    assert error.message.startswith(message)
    assert "nothing is lost, c has what was done" in str(error.hint)
    over = failure(RuntimeError(text), Job("in", "out", mode="overwrite"))
    assert over is not None
    assert "what out had before may be gone" in str(over.hint)
    assert failure(RuntimeError("something else"), job) is None


def test_other_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers with another Python are noticed before a job starts, and the hint has the line to set."""
    other = tmp_path / "python3"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    # A session that would start `python3`; tests/spark reads the program from real ones.
    session = Mock(**{"conf.get.return_value": "local[1]", "sparkContext.pythonExec": "python3"})
    with pytest.raises(wex.WexError) as caught:
        windows(examples.spec("trend"))(Mock(sparkSession=session))
    assert caught.value.code == "workers-python"
    assert "run `python3`: there is no wex in it" in caught.value.message
    assert f"export PYSPARK_PYTHON={sys.executable}" in str(caught.value.hint)
