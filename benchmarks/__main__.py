"""Run all benchmarks and print one table; status 1 when a goal is missed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks import compiling, engine, spark, starts, startup, streaming

if TYPE_CHECKING:
    from benchmarks.measure import Row


def main() -> int:
    rows: list[Row] = [
        *startup.rows(),
        *compiling.rows(),
        *engine.rows(),
        *starts.rows(),
        *spark.rows(),
        *streaming.rows(),
    ]
    table = Table("what", "against", "ratio", "goal", "met", title="WEX benchmarks")
    for row in rows:
        met = "" if row.goal is None else "yes" if row.met else "NO"
        goal = "" if row.goal is None else f"<= {row.goal:g}"
        table.add_row(row.what, row.against, f"{row.ratio:.3g}", goal, met)
    Console(width=120).print(table)
    return 0 if all(row.met for row in rows) else 1


sys.exit(main())
