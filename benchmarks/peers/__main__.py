"""Print what `make bench-peers` shows: whether Flink agrees with WEX, and how fast both are."""

from __future__ import annotations

import logging
import platform
import sys
from collections import Counter
from importlib.metadata import version

from benchmarks.peers import agreement, flink, speed


def main() -> int:
    """Compare with Flink; return 1 if it finds other matches than WEX does."""
    logging.getLogger("wex").setLevel(logging.ERROR)  # warnings about the specs of the pages
    try:
        flink.python()
    except flink.FlinkMissingError as error:
        print(f"skipped: {error}")
        return 0
    print(
        f"Flink {flink.version()}, Spark {version('pyspark')}, Python {platform.python_version()},"
        f" {speed.CORES} cores\n"
    )
    results = agreement.main()
    print_agreement(results)
    print_speed()
    return 1 if any(result.differences for result in results) else 0


def print_agreement(results: list[agreement.Result]) -> None:
    print(
        "| page | queries with data | Flink runs | same matches | of these read by from_sql | matches |"
    )
    print("|---|---|---|---|---|---|")
    for one in results:
        print(
            f"| {one.page} | {one.queries} | {one.ran} | {one.same} | {one.translated} | {one.matches} |"
        )
    print()
    refusals: Counter[str] = sum((one.refusals for one in results), Counter())
    for reason, times in refusals.most_common():
        print(f"refused by Flink, {times} times: {reason}")
    for one in results:
        for text in one.known:
            print(f"known difference: {text}")
        for text in one.differences:
            print(f"DIFFERENT: {text}")
    print(flush=True)


def print_speed() -> None:
    print("| query | events | system | whole s | CPU s | ratio | matching s | CPU s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for line in speed.main():
        for name, costs in (
            (f"Flink, {line.mode}", line.flink),
            ("WEX on Spark", line.spark),
            ("WEX in process", line.process),
        ):
            cells = []
            for ours, theirs in zip(costs, line.flink, strict=True):
                ratio = theirs.seconds / ours.seconds
                cells += [f"{ours.seconds:.3g}", f"{ours.cpu:.3g}", f"{ratio:.3g}"]
            print(
                f"| {line.load.name} | {line.load.events:,} | {name} | {' | '.join(cells)} |",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
