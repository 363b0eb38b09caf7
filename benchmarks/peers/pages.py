"""The queries of docs/compare: MATCH_RECOGNIZE as a page has it, with the specs and data beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import wex
from wex.engine.input.columns import table_of

FOLDER = Path(__file__).parents[2] / "docs" / "compare"
PAGES = ("flink", "trino", "oracle", "snowflake")
CLAUSES = ("MEASURES", "ONE ROW", "ALL ROWS", "AFTER MATCH", "PATTERN", "SUBSET", "DEFINE")
CARRIED = ("PATTERN", "DEFINE")  # to a query with a pattern or measures of its own; to others, all
BLOCK = re.compile(
    r"^### (?P<title>[^\n]+)$|^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass
class Query:
    """A query of a page, with what the page finds for it."""

    page: str
    title: str
    clauses: dict[str, str]
    runs: list[tuple[wex.Spec, pa.Table]] = field(default_factory=list)

    @property
    def number(self) -> str:
        """The number of its section."""
        return self.title.partition(".")[0]

    def statement(self, spec: wex.Spec, order: str, measures: list[str]) -> str:
        """Return the whole statement with these measures, on the stream of a spec.

        Fields are in backticks: some of their names are reserved words of Flink.
        """
        clauses = {"MEASURES": ", ".join(measures), "AFTER MATCH": "SKIP PAST LAST ROW"}
        clauses |= {name: text for name, text in self.clauses.items() if name != "MEASURES"}
        lines = [f"{name} {clauses[name]}" for name in CLAUSES if clauses.get(name)]
        body = "\n".join(lines)
        for one in spec.stream.fields:
            body = re.sub(rf"\b{one.name.text}\b(?!\s*\()", f"`{one.name.text}`", body)
        keys = ", ".join(f"`{name.text}`" for name in spec.stream.partition_by)
        partition = f"PARTITION BY {keys} " if keys else ""
        table = f"`{spec.stream.name.text}`"
        return f"SELECT * FROM {table} MATCH_RECOGNIZE (\n{partition}ORDER BY `{order}`\n{body}\n)"

    @property
    def measures(self) -> list[str]:
        """The measures of the query."""
        text = self.clauses.get("MEASURES", "")
        return [text] if text else []


def queries(page: str) -> list[Query]:
    """Run a page, and return its queries: one for each section with a pattern in SQL."""
    recorder = _Recorder(page)
    with (
        patch.object(wex, "find", recorder.find),
        patch.object(wex, "Processor", recorder.processor),
    ):
        for block in BLOCK.finditer((FOLDER / f"{page}.md").read_text("utf-8")):
            recorder.take(block["title"], block["language"], block["text"])
    return recorder.queries


class _Recorder:
    """Runs the blocks of a page, and notes which specs ran on which data."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.title, self.stream = "", ""
        self.queries: list[Query] = []
        self.namespace: dict[str, Any] = {}
        self.clauses: dict[str, str] = {}
        self._find, self._processor = wex.find, wex.Processor

    def take(self, title: str | None, language: str | None, text: str | None) -> None:
        """Take the next heading or block of the page."""
        if title is not None:
            self.title = title
        elif language == "sql" and text is not None:
            self._query(text)
        elif language == "wex" and text is not None:
            own = re.search(r"^stream\b", text, re.M)
            self.stream = text if own else self.stream
            self.namespace["last_spec"] = wex.parse(text if own else f"{self.stream}\n{text}")
        elif language == "python" and text is not None:
            exec(compile(text, f"{self.page}.md", "exec"), self.namespace)

    def find(self, spec: wex.Spec, data: Any, **options: Any) -> pa.Table:
        """Find windows as `wex.find` does."""
        self._note(spec, data)
        return self._find(spec, data, **options)

    def processor(self, spec: wex.Spec, **options: Any) -> Any:
        """Return a processor that notes what it is fed with."""
        processor = self._processor(spec, **options)
        feed = processor.feed

        def noted(data: Any) -> pa.Table:
            self._note(spec, data)
            return feed(data)

        vars(processor)["feed"] = noted
        return processor

    def _note(self, spec: wex.Spec, data: Any) -> None:
        if self.queries and self.queries[-1].title == self.title and isinstance(spec, wex.Spec):
            self.queries[-1].runs.append((spec, table_of(data)))

    def _query(self, text: str) -> None:
        """Take a query; what it does not say is as in the query before it."""
        clauses = dict(_clauses(text))
        if not clauses:
            return
        names = CLAUSES if clauses.keys().isdisjoint(("PATTERN", "MEASURES")) else CARRIED
        inherited = {name: text for name, text in self.clauses.items() if name in names}
        self.clauses = {**inherited, **clauses}
        self.queries.append(Query(self.page, self.title, _used(self.clauses)))


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """Split the text of a query at the words that begin its clauses."""
    places = [
        (place.start(), place.end(), name)
        for name in CLAUSES
        for place in re.finditer(rf"^\s*{name}\b", text, re.M)
    ]
    places.sort()
    ends = [*(start for start, _, _ in places[1:]), len(text)]
    for (_, start, name), end in zip(places, ends, strict=True):
        yield name, text[start:end].strip()


def _used(clauses: dict[str, str]) -> dict[str, str]:
    """Leave out definitions of variables that the pattern does not have."""
    if "DEFINE" not in clauses or "PATTERN" not in clauses:
        return clauses
    variables = {name.upper() for name in re.findall(r"\w+", clauses["PATTERN"])}
    parts = re.split(r",\s*(?=\w+\s+AS\b)", clauses["DEFINE"])
    kept = [part for part in parts if part.split()[0].upper() in variables]
    used = {name: text for name, text in clauses.items() if name != "DEFINE"}
    return {**used, "DEFINE": ", ".join(kept)} if kept else used
