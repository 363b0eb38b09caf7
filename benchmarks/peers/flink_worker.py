"""Jobs of Flink SQL, run by the Python of Flink's environment: `flink_worker.py REQUEST ANSWER`.

Nothing of WEX is imported here. A request is JSON: a list of jobs, each a table in a CSV file and a
query. The answer is JSON, too: for each job its rows, its seconds, or why Flink refused it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflink.table import TableEnvironment  # type: ignore[import-not-found]


def main(request: str, answer: str) -> None:
    """Run all jobs of a request, in one JVM."""
    answers = [answered(job) for job in json.loads(Path(request).read_text("utf-8"))]
    Path(answer).write_text(json.dumps(answers), "utf-8")


def answered(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job; a job with `rounds` is measured, others return their rows."""
    try:
        environment = environment_of(job)
        if "rounds" in job:
            return {"runs": [measured(environment, job) for _ in range(job["rounds"])]}
        with environment.execute_sql(job["query"]).collect() as rows:
            return {"rows": [[plain(value) for value in row] for row in rows]}
    except Exception as error:  # noqa: BLE001 - Flink's refusals have no class in common
        if "otherwise" in job:
            query = job.pop("otherwise")
            return answered({**job, "query": query})
        return {"refused": reason(str(error))}


def environment_of(job: dict[str, Any]) -> TableEnvironment:
    """Return an environment with the table of a job, and one that swallows its result."""
    from pyflink.table import EnvironmentSettings, TableEnvironment  # noqa: PLC0415

    settings = EnvironmentSettings.new_instance()
    streaming = job.get("mode") == "streaming"
    settings = settings.in_streaming_mode() if streaming else settings.in_batch_mode()
    environment = TableEnvironment.create(settings.build())
    environment.get_config().set("parallelism.default", str(job["parallelism"]))
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in job["columns"].items())
    environment.execute_sql(
        f"CREATE TEMPORARY TABLE `{job['table']}` ({columns},"
        f" WATERMARK FOR `{job['order']}` AS `{job['order']}`) WITH ('connector' = 'filesystem',"
        f" 'path' = '{Path(job['path']).as_uri()}', 'format' = 'csv', 'csv.null-literal' = 'NULL')"
    )
    return environment


def measured(environment: TableEnvironment, job: dict[str, Any]) -> dict[str, float]:
    """Return the seconds and CPU seconds of one run, whose rows are thrown away.

    Rows that are collected go through Python one by one, which would be measured instead of Flink.
    """
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in job["sink"].items())
    environment.execute_sql(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS sink ({columns}) WITH ('connector' = 'blackhole')"
    )
    wall, cpu = time.perf_counter(), cpu_seconds()
    environment.execute_sql(f"INSERT INTO sink {job['query']}").wait()
    return {"seconds": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all that it started: a JVM, and its workers."""
    fields = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text("utf-8", "replace")
        except OSError:  # it has ended meanwhile; its parent counts it
            continue
        fields[int(folder.name)] = text.rpartition(")")[2].split()
    family = {os.getpid()}
    while new := {one for one, of in fields.items() if int(of[1]) in family} - family:
        family |= new
    ticks = sum(int(ticks) for one in family if one in fields for ticks in fields[one][11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def plain(value: object) -> object:
    """Return a value as JSON can write it."""
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def reason(text: str) -> str:
    """Return the innermost cause that a Java stack trace names."""
    lines = [line for line in text.splitlines() if "Exception: " in line]
    return lines[-1].partition("Exception: ")[2].strip() if lines else text.strip().splitlines()[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
