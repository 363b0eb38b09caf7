"""A real cluster on this machine: Spark's standalone master and its workers, each a process of its own.

The cluster is kept by a process that reads its standard input until it ends: however the process
that uses the cluster ends, also by SIGKILL, its pipe is closed, and then all processes of the cluster
are killed and their folder is removed. A worker that has been killed is replaced.

python -m tests.spark.standalone WORKERS: print the URL of the master, and end with standard input.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pyspark

from tests.spark import JAVA

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent
URL = re.compile(r"Starting Spark master at (spark://\S+)")
MASTER, WORKER = (f"org.apache.spark.deploy.{name}" for name in ("master.Master", "worker.Worker"))
REGISTERED = "Successfully registered with master"
SECONDS = 300.0  # that a process may take to start, on a busy machine
MEMORY = "512m"  # of an executor; Spark takes no less
SETTINGS = {  # of a session on a cluster
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": MEMORY,
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": JAVA,
}


class Cluster:
    """A cluster with some workers of one core each, for a `with` block."""

    def __init__(self, workers: int = 2) -> None:
        self._command = [sys.executable, "-m", __name__, str(workers)]
        self.url = ""

    def __enter__(self) -> Cluster:
        # A session of its own: Ctrl-C ends the users of the cluster first, and then the cluster.
        self._keeper = subprocess.Popen(
            self._command, cwd=ROOT, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._keeper.stdout is not None
        self.url = self._keeper.stdout.readline().strip()
        assert self.url, "the cluster did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keeper.communicate()

    def workers(self) -> list[int]:
        """Return the processes of the workers that are alive."""
        keeper = self._keeper.pid
        children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        alive = []
        for child in children:
            with suppress(OSError):
                if WORKER in Path(f"/proc/{child}/cmdline").read_text():
                    alive.append(int(child))
        return alive


def kill_worker(worker: int) -> None:
    """Kill a worker, given by its process, with its executors and their Python processes.

    They are one session. Python's daemon has a process group of its own, so a group is not enough.
    """
    deadline = time.monotonic() + SECONDS
    while members := members_of(worker):
        assert time.monotonic() < deadline, f"processes do not die: {members}"
        for process in members:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def members_of(leader: int) -> list[int]:
    """Return the living processes of a session."""
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, session, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(session) == leader and state not in "ZX":
                members.append(int(folder.name))
    return members


class _Keeper:
    """Starts the processes of a cluster, and ends them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._workers: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def start_master(self) -> None:
        log = self._start(MASTER, "master", "--port", "0", "--webui-port", "0")
        self.url = self._awaited(log, URL)

    def start_workers(self, count: int) -> None:
        """Start workers up to a number; those that have been killed are replaced."""
        self._workers = [worker for worker in self._workers if worker.poll() is None]
        logs = []
        for _ in range(count - len(self._workers)):
            name = f"worker{len(self._daemons)}"
            logs.append(
                self._start(
                    WORKER, name, "--port", "0", "--webui-port", "0", "--cores", "1",
                    "--memory", MEMORY, "--work-dir", str(self._folder / name), self.url,
                )
            )  # fmt: skip
            self._workers.append(self._daemons[-1])
        for log in logs:
            self._awaited(log, re.compile(f"({REGISTERED})"))

    def end(self) -> None:
        """Kill all processes, executors included."""
        for daemon in self._daemons:
            kill_worker(daemon.pid)
            daemon.wait()

    def _start(self, main: str, name: str, *arguments: str) -> Path:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self._folder / f"{name}-local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JAVA,
            "PYTHONPATH": path,  # so that workers know the tests
        }
        log = self._folder / f"{name}.log"
        with log.open("w") as errors:
            command = [str(SPARK / "bin" / "spark-class"), main, "--host", "127.0.0.1", *arguments]
            self._daemons.append(
                subprocess.Popen(
                    command, env=environment, cwd=self._folder, start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                )
            )  # fmt: skip
        return log

    def _awaited(self, log: Path, pattern: re.Pattern[str]) -> str:
        """Return what a pattern finds in a log, as soon as it is there."""
        deadline = time.monotonic() + SECONDS
        while not (match := pattern.search(log.read_text())):
            alive = all(daemon.poll() is None for daemon in self._daemons[-1:])
            if not alive or time.monotonic() > deadline:
                raise RuntimeError(f"it did not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.05)
        return match[1]


def main(workers: int) -> None:
    """Keep a cluster until standard input ends."""
    folder = Path(tempfile.mkdtemp(prefix="wex-cluster-"))
    keeper = _Keeper(folder)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        keeper.start_master()
        keeper.start_workers(workers)
        print(keeper.url, flush=True)  # noqa: T201
        while not select.select([sys.stdin], [], [], 0.2)[0]:
            keeper.start_workers(workers)
    finally:
        keeper.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
