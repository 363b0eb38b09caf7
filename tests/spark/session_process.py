"""A process with a Spark session that runs cases by name.

A process has either a classic session or one of Spark Connect, so each kind gets a process of its
own, which all cases share. `python -m tests.spark.session_process classic|connect|URL` reads the names
of cases from standard input and answers each with a line of JSON: null, or the traceback. The URL is
that of the master of a cluster.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark import cases, cluster_cases, range_cases, streams
from wex.spark.session import ROCKSDB
from wex.spark.streaming import PROVIDER

BATCH = {case.__name__: case for case in (*cases.CASES, *range_cases.CASES)}
STREAMING = {case.__name__: case for case in streams.CASES}
CLUSTER = {case.__name__: case for case in cluster_cases.CASES}
PARTITIONS = "spark.sql.shuffle.partitions"
LINES = 60  # of the log, shown when a process has ended


class SessionProcess:
    """A process with a session of a kind; its log is a file."""

    def __init__(self, kind: str, log: Path) -> None:
        self._log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, kind],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip

    def run(self, case: str) -> None:
        """Run a case; its failure is a failure of the test that calls this."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(case, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            end = "\n".join(self._log.read_text().splitlines()[-LINES:])
            pytest.fail(f"the process with the session has ended:\n{end}", pytrace=False)
        failure = json.loads(answer)
        if failure is not None:
            pytest.fail(failure, pytrace=False)

    def close(self) -> None:
        """End the session and the process."""
        self._process.communicate()


def run_case(spark: SparkSession, name: str) -> None:
    """Run a case with the settings of its kind."""
    if name in BATCH:
        spark.conf.set(PARTITIONS, "5")
        BATCH[name](spark)
        return
    spark.conf.set(PARTITIONS, "2")
    spark.conf.set(PROVIDER, ROCKSDB)
    with tempfile.TemporaryDirectory() as folder:
        (STREAMING | CLUSTER)[name](spark, Path(folder))


def main(kind: str) -> None:
    """Answer the names of cases until standard input ends."""
    logging.getLogger("wex").setLevel(logging.ERROR)  # warnings about specs cost an analysis each
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed goes to the log
    spark = cases.session(kind)
    for line in sys.stdin:
        failure = None
        try:
            run_case(spark, line.strip())
        except BaseException:  # noqa: BLE001  (the test fails with it)
            failure = traceback.format_exc()
        print(json.dumps(failure), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
