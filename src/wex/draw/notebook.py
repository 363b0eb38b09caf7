"""What a notebook shows: HTML of specs, reports, comparisons, explanations and automata."""

from __future__ import annotations

from functools import singledispatch
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.analysis.check import Report, WindowReport
from wex.analysis.compare import SpecComparison
from wex.analysis.explain import Explanation
from wex.compile.automaton_pairs import AutomatonPair, SpecAutomata
from wex.compile.ksla import KSLA
from wex.draw.drawing import Drawing, draw
from wex.draw.highlight import tokens
from wex.draw.html import Markup, page_part, table, tag
from wex.draw.subjects import of_ksla, of_pairs
from wex.draw.timeline import held_timeline, timeline_of
from wex.engine.files.writing import shown_rows
from wex.errors import counted
from wex.spec import meaning as meaning_of
from wex.spec.tree import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.analysis.answers import Finding
    from wex.draw.subjects import Groups
    from wex.spec import Meaning

SHOWN = 20  # rows of a table
BADGES = {"bounded": "wex-good", "unbounded": "wex-bad", "unknown": "wex-unsure"}
COMPARED = {
    True: ("holds", "wex-good"),
    False: ("does not hold", "wex-bad"),
    None: ("unknown", "wex-unsure"),
}


@singledispatch
def html_of(value: object) -> str | None:  # noqa: ARG001
    """Return the HTML of a value, or None if a notebook is to show its text."""
    return None


@html_of.register(Spec)
def _(spec: Spec) -> str:
    return page_part(highlighted(spec))


def highlighted(spec: Spec) -> Markup:
    """Return the text of a spec in colours, as it was written."""
    text = str(spec) if spec.source is None else spec.source.text
    parts = (
        tag("span", token, cls=f"wex-{kind}") if kind not in {"space", "other", "name"} else token
        for kind, token in tokens(text.strip())
    )
    return tag("pre", *parts)


# --- Reports and comparisons


@html_of.register(Report)
def _(report: Report) -> str:
    return page_part(*report_parts(report))


def report_parts(report: Report) -> Iterator[Markup]:
    """Yield the parts of a report: for each window a verdict, its answers and a stream that shows it."""
    meaning = meaning_of(report.spec)
    for index, window in enumerate(report):
        yield from _window(meaning, index, window)
    yield from _findings(report.findings)
    size = report.size_in_words
    if size is not None:
        yield tag("p", size, cls="wex-muted")
    if not report.windows:
        yield tag("p", "no windows", cls="wex-muted")


def _window(meaning: Meaning, index: int, window: WindowReport) -> Iterator[Markup]:
    verdict = window.held.verdict
    badge = tag("span", verdict.upper(), cls=f"wex-badge {BADGES[verdict]}")
    yield tag("h4", tag("span", window.name), badge)
    yield tag("p", window.sentence)
    shown = held_timeline(meaning, index, window)
    if shown is not None:
        caption, timeline = shown
        yield tag("p", caption, cls="wex-muted")
        yield Markup(timeline.svg(f"{window.name}: {caption}"))
    rows = [(name, str(answer), answer.reason) for name, answer in window.answers.items()]
    rows += [] if window.labels_in_words is None else [("labels", *window.labels_in_words)]
    yield table(rows)
    yield from (tag("p", sentence) for sentence in window.keeps_in_words)
    yield from _findings(window.findings)


def _findings(findings: Iterable[Finding]) -> Iterator[Markup]:
    yield from (tag("p", tag("b", "note: "), str(finding)) for finding in findings)


@html_of.register(SpecComparison)
def _(comparison: SpecComparison) -> str:
    word, cls = COMPARED[comparison.holds]
    parts = [tag("p", tag("span", word, cls=f"wex-badge {cls}"), comparison.reason)]
    if comparison.witness is not None:
        spans = [] if comparison.window is None else [comparison.window[1:]]
        names = comparison.witness.column_names
        parts.append(Markup(timeline_of(comparison.witness, names, spans).svg(comparison.reason)))
    return page_part(*parts)


# --- Automata


@html_of.register(Explanation)
def _(explanation: Explanation) -> str:
    drawn = []
    if find_spec("igraph") is not None and explanation.spec.windows:
        drawn.append(Markup(draw(explanation.spec).svg))
    return page_part(*drawn, tag("pre", str(explanation)))


@html_of.register(KSLA)
def _(automaton: KSLA) -> str:
    return _drawn("automaton", of_ksla(automaton), automaton)


@html_of.register(AutomatonPair)
def _(pair: AutomatonPair) -> str:
    return _drawn("pair of automata", list(of_pairs("window", [pair])), "\n".join(pair.lines()))


@html_of.register(SpecAutomata)
def _(automata: SpecAutomata) -> str:
    groups = [group for name, pairs in automata.items() for group in of_pairs(name, pairs)]
    return _drawn("automata", groups, automata)


def _drawn(label: str, groups: Groups, otherwise: object) -> str:
    """Return a drawing, or a text where igraph is not installed."""
    if find_spec("igraph") is None:
        return page_part(tag("pre", str(otherwise)))
    return Drawing(label, groups).svg


# --- Tables of windows


@html_of.register(pa.Table)
def _(windows: pa.Table) -> str:
    shown = windows.slice(0, SHOWN)
    head = tag("tr", *(tag("th", name) for name in shown.column_names))
    rows = (tag("tr", *(tag("td", cell) for cell in row)) for row in shown_rows(shown))
    more = f", the first {SHOWN} shown" if windows.num_rows > SHOWN else ""
    count = tag("p", f"{counted(windows.num_rows, 'row')}{more}", cls="wex-muted")
    return page_part(tag("table", head, *rows), count)
