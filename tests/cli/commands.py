"""Running commands as a user does, and reading the files that they write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyarrow import parquet

from wex import examples

WEX = str(Path(sys.executable).with_name("wex"))
TREND = Path(examples.__file__).parent / "trend.wex"
SMALL = ("--buckets", "2", "--conf", "spark.sql.shuffle.partitions=2")


def run(
    *args: str, stdin: str | bytes = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run `wex` with some arguments, in a process of its own."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run(
        [WEX, *args],
        input=given,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def output_files(folder: Path) -> list[Path]:
    """Return the files with the windows of a job.

    An endless job has a list of them: of a micro-batch that was interrupted, others may be left in the folder.
    """
    lists = list((folder / "_spark_metadata").glob("[0-9]*"))
    if not lists:
        return sorted(folder.glob("part-*.parquet"))
    lines = [line for path in lists for line in path.read_text().splitlines()[1:]]
    return sorted({folder / Path(json.loads(line)["path"]).name for line in lines})


def written(folder: Path) -> int:
    """Return how many windows a job has written."""
    return sum(parquet.read_table(path).num_rows for path in output_files(folder))


def letters(folder: Path) -> list[dict[str, Any]]:
    """Return the dead letters in a folder."""
    lines = [line for each in folder.glob("*.jsonl") for line in each.read_text().splitlines()]
    return [json.loads(line) for line in sorted(lines)]
