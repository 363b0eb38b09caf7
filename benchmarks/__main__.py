"""Run all benchmarks, or those of the modules named: each row is printed as it is measured, then one table.

The status is 1 when a goal is missed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks import compiling, engine, spark, starts, startup, streaming

if TYPE_CHECKING:
    from benchmarks.measure import Row


BENCHMARKS = {
    "startup": startup.rows,
    "compiling": compiling.rows,
    "engine": engine.rows,
    "starts": starts.rows,
    "spark": spark.rows,
    "streaming": streaming.rows,
}


def main(names: list[str]) -> int:
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
        return 2
    rows: list[Row] = []
    for name in names or BENCHMARKS:
        for row in BENCHMARKS[name]():
            print(f"{row.what} / {row.against}: {row.ratio:.3g}", flush=True)
            rows.append(row)
    table = Table("what", "against", "ratio", "goal", "met", title="WEX benchmarks")
    for row in rows:
        met = "" if row.goal is None else "yes" if row.met else "NO"
        goal = "" if row.goal is None else f"<= {row.goal:g}"
        table.add_row(row.what, row.against, f"{row.ratio:.3g}", goal, met)
    Console(width=120).print(table)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
