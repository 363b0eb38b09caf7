"""What a notebook shows, and the notebook of the documentation."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pyarrow as pa
import pytest
from nbclient import NotebookClient

import wex
from tests.draw.graphs import HOSTILE_SPEC
from wex import examples, notebook
from wex.analysis.answers import Kind
from wex.draw import notebook as shown
from wex.draw.highlight import tokens

TOUR = Path(__file__).parents[2] / "docs" / "tour.ipynb"
UNBOUNDED = "stream s (x int) window w match [x = 0] any* [x < x[-1]]"
ALLOWED = {"div", "style", "pre", "span", "h4", "p", "b", "table", "tr", "th", "td"} | {
    "svg", "title", "g", "rect", "circle", "path", "polygon", "text", "line"
}  # fmt: skip


class Tags(HTMLParser):
    """The elements of some HTML, and its text without styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.seen.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def html_of(value: Any) -> str:
    html: str = value._repr_html_()
    tags = Tags(html)
    assert tags.open == []
    assert tags.seen <= ALLOWED
    return html


def text_of(value: Any) -> str:
    return Tags(html_of(value)).text


def values(spec: wex.Spec) -> dict[str, Any]:
    automata = wex.automata(spec)
    ((pair, *_), *_) = automata.values()
    return {
        "spec": spec,
        "report": wex.check(spec),
        "explanation": wex.explain(spec),
        "automata": automata,
        "pair": pair,
        "automaton": pair.window,
        "comparison": wex.is_empty(spec),
        "drawing": wex.draw(spec),
    }


def test_everything_is_shown_in_both_themes() -> None:
    for name, value in values(examples.spec("trend")).items():
        html = html_of(value)
        assert "prefers-color-scheme: dark" in html, name
        assert "[data-theme=dark]" in html, name


def test_hostile_names_and_values_are_text() -> None:
    for name, value in values(wex.parse(HOSTILE_SPEC)).items():
        html = html_of(value)
        assert "alert(1)" in html, name
        assert not re.search("[\x00-\x08\u202e]", html), name


def test_a_spec_is_shown_as_it_was_written() -> None:
    text = examples.text("trend")
    assert text_of(wex.parse(text)).strip() == text.strip()
    built = wex.to_regex(wex.parse(text))
    assert text_of(built).strip() == str(built).strip()


@pytest.mark.parametrize("name", [*examples.names(), *examples.with_data()])
def test_tokens_are_the_whole_text(name: str) -> None:
    pairs = list(tokens(examples.text(name)))
    assert "".join(token for _, token in pairs) == examples.text(name)
    assert {kind for kind, _ in pairs}.isdisjoint({"other"})


def test_a_report_has_verdict_bound_stream_and_findings() -> None:
    text = text_of(wex.check(examples.spec("trend")))
    assert "BOUNDED" in text
    assert "1 start held at once" in text
    assert "reached by this stream, with 1 held at its end" in text
    report = wex.check(UNBOUNDED)
    html = html_of(report)
    assert "wex-bad" in html
    assert html.count("still open") >= 3
    remedies = [each.text for each in report["w"].findings if each.kind is Kind.REMEDY]
    assert remedies
    assert all(remedy in text_of(report) for remedy in remedies)


def test_a_comparison_shows_the_stream_that_makes_the_difference() -> None:
    stream = "stream s (x int) window w "
    same = wex.equivalent(stream + "match any any*", stream + "match any+")
    assert "holds" in text_of(same)
    other = wex.equivalent(stream + "match [x > 0]+", stream + "match [x > 1]+")
    assert "does not hold" in text_of(other)
    assert "<svg" in html_of(other)


def test_without_igraph_automata_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    without = {"explanation", "automata", "pair", "automaton"}
    all_values = values(examples.spec("trend"))
    monkeypatch.setattr(shown, "find_spec", lambda _name: None)
    for name in without:
        assert "<svg" not in html_of(all_values[name])
        assert "down2" in text_of(all_values[name]) or "price[-2]" in text_of(all_values[name])


def test_other_values_are_shown_as_text() -> None:
    assert notebook.html_of(object()) is None


def test_the_tour_runs_without_errors() -> None:
    """The notebook is stored without outputs: they would differ with every run."""
    tour = nbformat.read(TOUR, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in tour.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    NotebookClient(tour, timeout=300, kernel_name="python3").execute()
    kinds = [{kind for out in cell.outputs for kind in out.get("data", {})} for cell in code]
    assert not [out for cell in code for out in cell.outputs if out.output_type == "error"]
    assert all("text/html" in kind for kind in kinds)


def test_an_arrow_table_is_a_table_if_asked_for() -> None:
    """Hostile names and values are texts; long tables are cut, and say so."""
    registered: dict[tuple[str, str], Any] = {}

    class Formatter:
        def for_type_by_name(self, module: str, name: str, function: Any) -> None:
            registered[module, name] = function

    class Shell:
        class display_formatter:  # noqa: N801
            formatters = {"text/html": Formatter()}  # noqa: RUF012

    wex.load_ipython_extension(Shell())
    show = registered[pa.Table.__module__, pa.Table.__name__]
    page = Tags(show(pa.table({"<b>": ["</td><script>", None], "n": [1, 2]})))
    assert page.seen <= ALLOWED
    assert "</td><script>" in page.text
    assert "2 rows" in page.text
    assert "30 rows, the first 20 shown" in Tags(show(pa.table({"n": range(30)}))).text
