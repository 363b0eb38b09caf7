"""Does the Python of the workers have this wex? On one machine that is known before a job starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

import wex
from wex.errors import WexError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASK = "import sys, wex; print(*sys.version_info[:2], wex.__version__)"
SECONDS = 60  # that an answer may take


def check_workers(spark: SparkSession) -> None:
    """Raise a WexError if workers on this machine run a Python that does not have this wex.

    On a cluster nobody knows before they run.
    """
    python = _python_of_workers(spark)
    if python is not None:
        _check(python)


def _python_of_workers(spark: SparkSession) -> str | None:
    """Return what workers on this machine are started with; None: they run elsewhere."""
    if hasattr(spark, "sparkContext"):
        context = spark.sparkContext
        local = str(context.master).startswith("local")
        return str(context.pythonExec) if local else None
    # Spark Connect: a server that PySpark has started in this process takes it from there.
    if "SPARK_LOCAL_REMOTE" not in os.environ:
        return None
    return os.environ.get("PYSPARK_PYTHON") or os.environ.get("PYSPARK_DRIVER_PYTHON") or "python3"


@lru_cache(maxsize=16)
def _check(python: str) -> None:
    found = shutil.which(python)
    if found is not None and os.path.abspath(found) == os.path.abspath(sys.executable):  # noqa: PTH100
        return
    wrong = "there is no such program" if found is None else _wrong_with(found)
    if wrong is not None:
        message = f"Spark's workers on this machine run `{python}`: {wrong}"
        hint = (
            f"before the session is made, say `export PYSPARK_PYTHON={sys.executable}` in the shell,"
            ' or os.environ["PYSPARK_PYTHON"] = sys.executable in Python'
        )
        raise WexError("workers-python", message, hint)


def _wrong_with(python: str) -> str | None:
    """Return why a Python cannot run the jobs of this one; None: it can."""
    try:
        done = subprocess.run(  # noqa: S603  (what Spark is about to run)
            [python, "-c", ASK], capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it does not run"])[-1]
        if "No module named 'wex'" in last:
            return "there is no wex in it"
        return f"wex cannot be loaded there ({last})"
    *version, other = done.stdout.split()
    own = [str(each) for each in sys.version_info[:2]]
    if version != own:
        return f"it is Python {'.'.join(version)}, and this is {'.'.join(own)}"
    if other != wex.__version__:
        return f"it has wex {other}, and this is {wex.__version__}"
    return None
