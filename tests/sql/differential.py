"""Compare translated queries with the oracle: `python -m tests.sql.differential N SEED`.

A query that is refused does not count; the reasons are counted and printed.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

import wex
from tests.sql import oracle as o
from tests.sql.generator import COLUMNS, Generator
from tests.sql.labels import LABELS
from tests.sql.writing import query_text
from wex.engine.find import find
from wex.sql.reader import DIALECTS
from wex.sql.result import Translation

ARROW = {"string": pa.string(), "int": pa.int64(), "bool": pa.bool_()}
NULL_ERRORS = ("null", "assumption")


@dataclass(frozen=True)
class Outcome:
    """What a comparison has shown: `same`, `refused`, `nulls`, `limit` or `different`.

    `without labels`: the same matches, compared without the measures, which need labels.
    """

    kind: str
    detail: str = ""
    matches: int = 0


def compared(random: Random) -> Outcome:
    """Compare one random query with the oracle on random streams."""
    generator = Generator(random)
    return compared_on(generator.query(), generator.table(), random.choice(list(DIALECTS)))


def compared_on(query: o.Query, streams: list[list[o.Row]], dialect: str = "standard") -> Outcome:
    """Compare one query with the oracle on some streams; random queries mean the same in all dialects."""
    text = query_text(query)
    try:
        translation = wex.from_sql(text, COLUMNS, dialect=dialect)
    except wex.SpecError as error:
        if error.code == "sql":
            return Outcome("refused", error.message)
        if not LABELS and query.measures and error.code in {"character", "syntax"}:
            outcome = compared_on(replace(query, measures={}), streams, dialect)
            return replace(outcome, kind="without labels") if outcome.kind == "same" else outcome
        raise AssertionError(f"{text}\n{error}") from error
    expected = expected_matches(query, streams)
    if expected is None:
        return Outcome("different", f"{text}\nSQL fails, WEX does not\n{translation}")
    data = {
        name: pa.array([row[name] for rows in streams for row in rows], ARROW[type_])
        for name, type_ in COLUMNS.items()
    }
    try:
        found = found_matches(translation, query, data)
    except wex.LimitError:
        return Outcome("limit")
    except wex.DataError as error:
        # The spec says that a column must not be NULL: loud, and only with NULL in the data.
        if error.code in NULL_ERRORS and any(column.null_count for column in data.values()):
            return Outcome("nulls")
        raise AssertionError(f"{text}\n{translation}\n{error}") from error
    if found != expected:
        return Outcome("different", shown_difference(text, translation, streams, expected, found))
    return Outcome("same", "", len(expected))


def expected_matches(query: o.Query, streams: list[list[o.Row]]) -> list[Any] | None:
    """Return the matches by definition, or None where SQL fails."""
    rows: list[Any] = []
    try:
        for stream in streams:
            for number, (start, end, values) in enumerate(o.matches(query, stream)):
                rows.append((stream[0]["k"], start, end, number, tuple(values.values())))
    except o.SkipError:
        return None
    return sorted(rows, key=lambda row: row[:2])


def found_matches(translation: Translation, query: o.Query, data: dict[str, Any]) -> list[Any]:
    """Return the matches that the translation finds."""
    table = find(translation.spec, data).to_pylist()
    table.sort(key=lambda row: (row["k"], row["start_index"]))
    numbers: Counter[str] = Counter()
    rows = []
    for row in table:
        values = tuple(row[name] for name in query.measures)
        rows.append((row["k"], row["start_index"], row["end_index"], numbers[row["k"]], values))
        numbers[row["k"]] += 1
    return rows


def shown_difference(
    text: str,
    translation: Translation,
    streams: list[list[o.Row]],
    expected: list[Any],
    found: list[Any],
) -> str:
    lines = [text, str(translation)]
    keys = {row[0] for row in expected if row not in found} | {
        row[0] for row in found if row not in expected
    }
    for stream in streams:
        key = stream[0]["k"]
        if key in keys:
            lines.extend(str(row) for row in stream)
            lines.append(f"SQL: {[row for row in expected if row[0] == key]}")
            lines.append(f"WEX: {[row for row in found if row[0] == key]}")
            break
    return "\n".join(lines)


def main(count: int, seed: int) -> int:
    """Compare some queries and print what was found."""
    kinds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    matches = 0
    began = time.monotonic()
    for number in range(count):
        try:
            outcome = compared(Random(f"{seed}-{number}"))
        except AssertionError as error:
            outcome = Outcome("different", str(error))
        kinds[outcome.kind] += 1
        matches += outcome.matches
        if outcome.kind == "refused":
            reasons[outcome.detail.split("(")[0].split("`")[0][:70]] += 1
        if outcome.kind == "different":
            print(f"query {seed}-{number}\n{outcome.detail}\n")  # noqa: T201
        if (number + 1) % 500 == 0:
            seconds = time.monotonic() - began
            shown = f"{number + 1:,} queries, {dict(kinds)}, {matches:,} matches, {seconds:.0f} s"
            print(shown, flush=True)  # noqa: T201
    print(f"{count:,} queries: {dict(kinds)}; {matches:,} matches are the same")  # noqa: T201
    for reason, times in reasons.most_common():
        print(f"  refused {times:,} times: {reason}")  # noqa: T201
    return 1 if kinds["different"] else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
