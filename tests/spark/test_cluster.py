"""Jobs on a real cluster, a master and two workers with processes of their own, find what `find` finds.

Workers are killed in the middle of jobs; see `cluster_cases`. `python -m tests.spark.cluster_torture`
kills them for as long as one likes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wex
from tests.cli.commands import output_files
from tests.spark.cases import TREND
from tests.spark.session_process import CLUSTER, SessionProcess
from tests.spark.standalone import SETTINGS, Cluster, kill_worker, members_of
from tests.spark.streams import agree, written
from wex.examples import market

WEX = str(Path(sys.executable).with_name("wex"))
USER = """
import sys, time
from tests.spark.standalone import Cluster
with Cluster(1) as cluster:
    print(*cluster.workers(), flush=True)
    time.sleep(600)
"""
CONF = [part for name, value in SETTINGS.items() for part in ("--conf", f"{name}={value}")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.fixture(scope="module")
def on_cluster(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SessionProcess]:
    process = SessionProcess(cluster.url, tmp_path_factory.mktemp("cluster") / "log")
    yield process
    process.close()


# First the tests with processes of their own: the session of the others takes the whole cluster.


def test_command_line(cluster: Cluster, tmp_path: Path) -> None:
    table = market.trades(4_000, 10)
    written(table, tmp_path / "in", 3)
    done = run(cluster, tmp_path)
    _, errors = done.communicate()
    assert done.returncode == 0, errors
    agree(output(tmp_path), wex.find(TREND, table))


def test_command_line_stream_killed(cluster: Cluster, tmp_path: Path) -> None:
    """`wex run --stream` goes on when a worker is killed."""
    table = market.trades(4_000, 10).sort_by("ts")
    written(table, tmp_path / "in", 5)
    commits = tmp_path / "checkpoint" / "commits"
    done = run(
        cluster, tmp_path, "--stream", "--checkpoint", "checkpoint", "--buckets", "4",
        "--option", "maxFilesPerTrigger=1", "--conf", "spark.sql.shuffle.partitions=2",
    )  # fmt: skip
    while done.poll() is None and not (commits / "0").exists():
        time.sleep(0.02)
    kill_worker(cluster.workers()[0])
    assert not (commits / "4").exists(), "it had committed the last micro-batch already"
    _, errors = done.communicate()
    assert done.returncode == 0, errors
    assert "4,000 events" in errors
    agree(output(tmp_path), wex.find(TREND, table))


def test_nothing_is_left() -> None:
    """The processes of a cluster end with the process that uses it, even if that is killed."""
    pipe = subprocess.PIPE
    user = subprocess.Popen([sys.executable, "-c", USER], stdout=pipe, stderr=pipe, text=True)
    assert user.stdout is not None
    worker = int(user.stdout.readline())
    assert members_of(worker)
    user.kill()
    user.communicate()  # the keeper of the cluster has the same standard error, and must end, too
    assert not members_of(worker)


@pytest.mark.parametrize("case", CLUSTER)
def test_session(on_cluster: SessionProcess, case: str) -> None:
    on_cluster.run(case)


def run(cluster: Cluster, folder: Path, *options: str) -> subprocess.Popen[str]:
    (folder / "trend.wex").write_text(str(TREND))
    return subprocess.Popen(
        [WEX, "run", "trend.wex", "--input", "in", "--output", "out", "--master", cluster.url, *CONF,
         *options],
        cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**os.environ, "TZ": "UTC"},
    )  # fmt: skip


def output(folder: Path) -> pa.Table:
    """Return the windows that a job has written."""
    return pa.concat_tables(map(pq.read_table, output_files(folder / "out")))
