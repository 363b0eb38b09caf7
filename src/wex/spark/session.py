"""Sessions for the command line, and the check of the Python that workers run."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import wex
from wex.errors import WexError
from wex.spark.internals import TRACE_LOGGERS, python_of_local_workers, started_by_spark_submit
from wex.spark.long_rows import LIMIT, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


QUIET = Path(__file__).with_name("log4j2.properties")
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
SETTINGS = {
    # By default Spark measures a batch of rows for Python after every row, which takes longer than all
    # else that a job of WEX does. Without that, batches have 10,000 rows, however long these are.
    LIMIT: str(UNLIMITED),
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    CHANGELOG: "true",  # a micro-batch writes what has changed in its states, not a snapshot
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={QUIET}",
}

# Every partition of an endless job has its own state store and worker in each micro-batch; the
# checkpoint fixes the number of partitions.
ENDLESS = {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}


def new_session(
    master: str | None, conf: Mapping[str, str], *, progress: bool, quiet: bool = False
) -> SparkSession:
    """Return a session on a master, by default on all cores of this machine.

    With `progress`, Spark shows its progress bar; with `quiet`, it writes nothing to standard error.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # Workers on this machine run the same Python, unless spark-submit has chosen one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for logger in TRACE_LOGGERS:
        logging.getLogger(logger).disabled = True
    if quiet:  # the bridge logs stack traces, too, when the Java process has ended
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        logging.getLogger("py4j").propagate = False
    builder = SparkSession.builder.appName("wex")
    if master is not None or not started_by_spark_submit():
        builder = builder.master(master or "local[*]")
    shown = {"spark.ui.showConsoleProgress": str(progress).lower()}
    for name, value in {**SETTINGS, **shown, **conf}.items():
        builder = builder.config(name, value)
    try:
        with _silence() if quiet else nullcontext():
            return builder.getOrCreate()
    except Exception as error:
        message = f"Spark did not start: {str(error).splitlines()[0]}"
        raise WexError(
            "no-spark", message, "it needs Java 17 or later: see `java -version`"
        ) from error


def end_session(spark: SparkSession) -> None:
    """End a session, also if its Java process has already ended."""
    with suppress(Exception):
        spark.stop()


@contextmanager
def _silence() -> Iterator[None]:
    """Discard the standard error of the processes that are started in this block.

    Java and the workers log there; their errors arrive as exceptions as well.
    """
    try:
        own = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    discard = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(discard, 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(discard)


# Prints the version of a Python and, if it has wex, that of wex.
ASK_VERSIONS = """
import importlib.util, sys
print(*sys.version_info[:2])
if importlib.util.find_spec("wex"):
    import wex
    print(wex.__version__)
"""
SECONDS = 60  # that an answer may take


def check_workers(spark: SparkSession) -> None:
    """Raise a WexError if workers on this machine run a Python that does not have this wex.

    The Python of workers on a cluster is known only when they run.
    """
    python = python_of_local_workers(spark)
    if python is not None:
        _check(python)


@lru_cache(maxsize=16)
def _check(python: str) -> None:
    program = shutil.which(python)
    if program is not None and os.path.abspath(program) == os.path.abspath(sys.executable):  # noqa: PTH100
        return
    reason = "there is no such program" if program is None else _mismatch(program)
    if reason is not None:
        message = f"Spark's workers on this machine run `{python}`: {reason}"
        hint = (
            f"before the session is made, say `export PYSPARK_PYTHON={sys.executable}` in the shell,"
            ' or os.environ["PYSPARK_PYTHON"] = sys.executable in Python'
        )
        raise WexError("workers-python", message, hint)


def _mismatch(python: str) -> str | None:
    """Return why a Python cannot run the jobs of this one; None if it can."""
    try:
        done = subprocess.run(  # noqa: S603  (the program that Spark is about to run)
            [python, "-c", ASK_VERSIONS], capture_output=True, text=True, check=False, timeout=SECONDS
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it does not run"])[-1]
        return f"wex cannot be loaded there ({last})"
    version, *installed = done.stdout.splitlines() or [""]
    if not installed:
        return "there is no wex in it"
    own = " ".join(map(str, sys.version_info[:2]))
    if version != own:
        return f"it is Python {version.replace(' ', '.')}, and this is {own.replace(' ', '.')}"
    if installed != [wex.__version__]:
        return f"it has wex {installed[0]}, and this is {wex.__version__}"
    return None
