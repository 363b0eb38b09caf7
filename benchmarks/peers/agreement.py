"""Whether Flink finds the matches that WEX finds, in the queries of docs/compare that it can run.

Each query runs on the data of its page, and on rows drawn from that data. On both, three results are
compared: Flink's matches, the windows of what `wex.from_sql` makes of the query, and the windows of the
spec that stands beside it, where the page says that the spec means the same. A query that Flink refuses
is counted with Flink's reason.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import wex
from benchmarks.peers import flink
from benchmarks.peers.pages import PAGES, Query, queries

ROW, TIME = "wex_row", "wex_time"
BOUNDS = [f"FIRST({ROW}) AS wex_first, LAST({ROW}) AS wex_last"]
DRAWN_ROWS, DRAWN_KEYS = 90, 3
TYPES = {
    "string": "STRING",
    "int": "BIGINT",
    "real": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP(3)",
}

# Where Flink differs from the standard, or from its own documentation.
KNOWN = {
    (
        "flink",
        "38",
    ): "Flink's WITHIN is less than the interval, its documentation has it at most that",
    ("flink", "42"): "Flink prefers to leave out `B?`; the standard and its documentation do not",
    ("snowflake", "8"): "Flink ignores ^",
    ("snowflake", "9"): "Flink ignores $",
}

Matches = list[tuple[Any, ...]]


@dataclass
class Trial:
    """A query on some data, ready for Flink."""

    query: Query
    spec: wex.Spec
    table: pa.Table
    drawn: bool  # whether the rows are drawn from those of the page
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The columns of the partition."""
        return [name.text for name in self.spec.stream.partition_by]

    @property
    def order(self) -> str:
        """The column that Flink can order by: it wants a time."""
        (first, *_) = [name.text for name in self.spec.stream.order_by] or [TIME]
        return first if self.types.get(first) == "timestamp" else TIME

    @property
    def types(self) -> dict[str, str]:
        """The types of the stream's fields."""
        return {one.name.text: str(one.type).split()[0] for one in self.spec.stream.fields}

    def job(self, path: Path) -> dict[str, Any]:
        """Write the data, and return the job for Flink."""
        table = numbered(self.table, self.keys)
        csv.write_csv(_as_text(table), path, csv.WriteOptions(include_header=False))
        declared = {**self.types, ROW: "int", TIME: "timestamp"}
        return {
            "table": self.spec.stream.name.text,
            "columns": {name: TYPES[declared[name]] for name in table.column_names},
            "order": self.order,
            "path": str(path),
            "parallelism": 1,
            "query": self.query.statement(self.spec, self.order, BOUNDS + self.query.measures),
            "otherwise": self.query.statement(self.spec, self.order, BOUNDS),
        }

    def of_flink(self) -> Matches:
        """Return Flink's matches: their keys, and the numbers of their first and last rows."""
        width = len(self.keys) + 2
        return sorted(tuple(row[:width]) for row in self.answer["rows"])

    def of_spec(self, *, ended: bool = False) -> Matches:
        """Return the windows of the page's spec; of several windows, those of the first.

        Flink does not report what the next event might change, nor does WEX until the data has ended.
        """
        windows = self._windows(self.spec, ended)
        if len(self.spec.windows) > 1:
            first = self.spec.windows[0].name.text
            windows = windows.filter(pc.equal(windows["window_name"], first))
        return self._bounds(windows)

    def of_translation(self, *, ended: bool = False) -> Matches:
        """Return the windows of what `from_sql` makes of the query; raise a SpecError if it refuses."""
        return self._bounds(self._windows(self._translation([]).spec, ended))

    def measures_of_flink(self) -> Matches | None:
        """Return the result with the query's own measures; None if Flink ran it without them."""
        keys = len(self.keys)
        if all(len(row) == keys + 2 for row in self.answer["rows"]):
            return None
        return _sorted([row[:keys] + row[keys + 2 :] for row in self.answer["rows"]])

    def measures_of_translation(self) -> Matches:
        """Return the result of what `from_sql` makes of the query, measures included."""
        translation = self._translation(self.query.measures)
        windows = self._windows(translation.spec)
        return _sorted([list(row.values()) for row in translation.result(windows).to_pylist()])

    def _translation(self, measures: list[str]) -> Any:
        (first, *_) = [name.text for name in self.spec.stream.order_by] or [TIME]
        text = self.query.statement(self.spec, first, measures)
        types = {name: f"{type_} not null" for name, type_ in self.types.items()}
        return wex.from_sql(text, types, dialect="flink")

    def _windows(self, spec: wex.Spec, ended: bool = False) -> pa.Table:
        return wex.find(spec, self.table) if ended else wex.Processor(spec).feed(self.table)

    def _bounds(self, windows: pa.Table) -> Matches:
        chosen = windows.select([*self.keys, "start_index", "end_index"])
        return sorted(tuple(row.values()) for row in chosen.to_pylist())


@dataclass
class Result:
    """What the trials of a page have shown."""

    page: str
    queries: int = 0
    ran: int = 0
    same: int = 0
    translated: int = 0
    matches: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    known: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def numbered(table: pa.Table, keys: list[str]) -> pa.Table:
    """Add the number of each row in its stream, and a time that rises with every row."""
    seen: Counter[Any] = Counter()
    numbers = []
    for row in table.select(keys).to_pylist() if keys else [{}] * table.num_rows:
        key = tuple(row.values())
        numbers.append(seen[key])
        seen[key] += 1
    times = pa.array(np.arange(table.num_rows) * 1000, pa.timestamp("ms"))
    return table.append_column(ROW, pa.array(numbers, pa.int64())).append_column(TIME, times)


def drawn(query: Query, spec: wex.Spec, table: pa.Table) -> pa.Table:
    """Return rows whose values are drawn from the columns of a table, ordered as its stream is."""
    seed = sum(query.page.encode()) * 1000 + int(query.number)
    random = np.random.default_rng(seed)
    keys = {name.text for name in spec.stream.partition_by}
    order = [name.text for name in spec.stream.order_by]
    columns = {}
    for name in table.column_names:
        values = table[name].combine_chunks()
        if name in order:
            columns[name] = _rising(values, random)
        elif name in keys and pa.types.is_string(values.type):
            columns[name] = pa.array([f"k{n}" for n in random.integers(0, DRAWN_KEYS, DRAWN_ROWS)])
        else:
            columns[name] = values.take(pa.array(random.integers(0, len(values), DRAWN_ROWS)))
    return pa.table(columns)


def _rising(values: pa.Array, random: np.random.Generator) -> pa.Array:
    """Return an order column: steps are drawn from those of the page's own data."""
    numbers = values.cast(pa.int64() if not pa.types.is_date32(values.type) else pa.int32())
    plain = np.sort(numbers.to_numpy(zero_copy_only=False))
    steps = np.unique(np.diff(plain))
    steps = steps[steps > 0] if (steps > 0).any() else np.array([1])
    rising = plain[0] + np.cumsum(random.choice(steps, DRAWN_ROWS))
    return pa.array(rising.astype(plain.dtype)).cast(values.type)


def _as_text(table: pa.Table) -> pa.Table:
    """Write times as Flink's CSV reads them, and NULL as a word."""
    columns = [
        pc.strftime(column, "%Y-%m-%d %H:%M:%S")
        if pa.types.is_timestamp(column.type)
        else column.cast(pa.string())
        for column in (
            pc.cast(one, pa.timestamp("s")) if pa.types.is_timestamp(one.type) else one
            for one in table.columns
        )
    ]
    return pa.table([pc.fill_null(column, "NULL") for column in columns], names=table.column_names)


def _sorted(rows: list[list[Any]]) -> Matches:
    """Return rows in an order of their own, their values written as Flink and Arrow both can."""
    return sorted(
        tuple(
            round(v, 9) if isinstance(v, float) else v if isinstance(v, int) else str(v)
            for v in row
        )
        for row in rows
    )


def trials(page: str) -> Iterator[Trial]:
    """Return the trials of a page: each query on the page's own data, and on drawn data."""
    for query in queries(page):
        if not query.runs:
            continue
        for spec, table in query.runs[:1]:
            names = [one.name.text for one in spec.stream.fields]
            data = table.select([name for name in table.column_names if name in names])
            yield Trial(query, spec, data, drawn=False)
            yield Trial(query, spec, drawn(query, spec, data), drawn=True)


def judged(page: str, tried: list[Trial]) -> Result:
    """Compare what the trials of a page have given."""
    result = Result(page)
    by_query: dict[str, list[Trial]] = {}
    for trial in tried:
        by_query.setdefault(trial.query.title, []).append(trial)
    for title, group in by_query.items():
        result.queries += 1
        refusal = next((one.answer["refused"] for one in group if "refused" in one.answer), None)
        if refusal:
            result.refusals[refusal] += 1
            continue
        result.ran += 1
        result.matches += sum(len(trial.of_flink()) for trial in group)
        differences = [text for trial in group for text in _differences(trial)]
        result.translated += _translates(group[0])
        result.same += not differences
        known = KNOWN.get((page, group[0].query.number))
        if differences and known:
            result.known.append(f"{page} {title}: {known}")
        else:
            result.differences += [f"{page} {title}: {text}" for text in differences]
    return result


def _translates(trial: Trial) -> bool:
    try:
        trial.of_translation()
    except wex.SpecError:
        return False
    return True


def _differences(trial: Trial) -> Iterator[str]:
    expected = trial.of_flink()
    data = "drawn rows" if trial.drawn else "the page's rows"
    if "(says)" in trial.query.title and (ours := trial.of_spec()) != expected:
        yield f"the spec on {data}: {_first(ours, expected)}"
    try:
        ours = trial.of_translation()
    except wex.SpecError:
        return
    if ours != expected:
        yield f"from_sql on {data}: {_first(ours, expected)}"
    elif (theirs := trial.measures_of_flink()) is not None:
        try:
            ours = trial.measures_of_translation()
        except wex.SpecError:
            return
        if ours != theirs:
            yield f"measures of from_sql on {data}: {_first(ours, theirs)}"


def _first(ours: Matches, theirs: Matches) -> str:
    only, also = (
        [one for one in ours if one not in theirs],
        [one for one in theirs if one not in ours],
    )
    return f"only WEX {only[:3]}, only Flink {also[:3]}"


def main() -> list[Result]:
    """Run all queries on Flink in one JVM, and compare."""
    tried = {page: list(trials(page)) for page in PAGES}
    everything = [trial for group in tried.values() for trial in group]
    with tempfile.TemporaryDirectory() as folder:
        jobs = [trial.job(Path(folder, f"{n}.csv")) for n, trial in enumerate(everything)]
        for trial, answer in zip(everything, flink.run(jobs), strict=True):
            trial.answer = answer
    return [judged(page, group) for page, group in tried.items()]
