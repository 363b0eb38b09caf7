"""`wex.draw`: golden files, colours, escaping, formats and errors."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.draw.graphs import HOSTILE, HOSTILE_SPEC
from wex import examples
from wex.draw.dot import dot_of
from wex.draw.drawing import Drawing
from wex.draw.graph import Graph, Node, arrows_of
from wex.draw.panels import Panel
from wex.draw.svg import in_theme
from wex.draw.timeline import Timeline, timeline_of
from wex.plot.files import svg_of
from wex.plot.theme import PALETTE

GOLDEN = Path(__file__).parents[1] / "golden" / "drawings"
DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
CHAIN = "stream s (x real) window w match [x > 0] any{40} [x < 0]"
SWING = {(0, 1): "x > 0", (1, 0): "x < 0", (1, 2): "x = 0", (2, 2): "true"}
STREAM = {"x": [1, 2, 30], "name": ["a", "<b>", "c & d"]}


def golden_drawings() -> dict[str, Drawing]:
    return {
        "trend": wex.draw(examples.spec("trend")),
        "trend_regions": wex.draw(examples.spec("trend"), "regions"),
        "turn": wex.draw(examples.spec("turn")),
        "tumbling": wex.draw(examples.spec("tumbling")),
        "long_predicate": wex.draw(examples.spec("arrhythmia"), "regions"),
        "summary": wex.draw(CHAIN),
        "dead_state": wex.draw(wex.KSLA.from_guards(SWING, {1}, {"x": "int"})),
    }


def assert_golden(name: str, content: str, *, update: bool) -> None:
    if update:
        (GOLDEN / name).write_text(content, "utf-8")
    assert content == (GOLDEN / name).read_text("utf-8")


@pytest.mark.parametrize("name", golden_drawings())
def test_the_drawing_is_the_golden_one(name: str, update_golden: bool) -> None:
    drawing = golden_drawings()[name]
    assert_golden(f"{name}.svg", drawing.svg, update=update_golden)
    assert_golden(f"{name}.dot", drawing.dot, update=update_golden)


def test_the_timeline_is_the_golden_one(update_golden: bool) -> None:
    import pyarrow as pa  # noqa: PLC0415

    timeline = timeline_of(pa.table(STREAM), ["x", "name"], [(0, 1), (1, None), (2, 2)])
    assert_golden("timeline.svg", timeline.svg(), update=update_golden)


def test_no_golden_file_is_left_over() -> None:
    names = {f"{name}.{kind}" for name in golden_drawings() for kind in ("svg", "dot")}
    assert {path.name for path in GOLDEN.iterdir()} == names | {"timeline.svg"}


def test_drawings_are_the_same_in_every_process() -> None:
    code = (
        "import wex; from wex import examples; names = ['trend', 'turn', 'session', 'stocks']\n"
        "print(*(wex.draw(examples.spec(name), what).svg + wex.draw(examples.spec(name), what).dot"
        " for name in names for what in ('automata', 'regions')))"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(drawn) == 1


# --- Colours


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_have_contrast(theme: str) -> None:
    colours = PALETTE[theme]  # type: ignore[index]
    texts = ("ink", "muted", "blue", "green", "orange", "purple", "red")
    backgrounds = ("paper", "state", "dead")
    low = {
        pair
        for pair in product(texts, backgrounds)
        if contrast(colours[pair[0]], colours[pair[1]]) < 4.5
    }
    assert low == set()
    assert contrast(colours["edge"], colours["paper"]) >= 3


def test_a_drawing_has_a_light_and_a_dark_theme() -> None:
    drawing = wex.draw(CHAIN).svg
    for theme in PALETTE:
        assert f"--wex-ink: {PALETTE[theme]['ink']};" in drawing
        assert f"[data-theme={theme}] .wex-drawing" in drawing
    assert "@media (prefers-color-scheme: dark)" in drawing


def test_a_drawing_in_one_theme_has_its_colours_and_no_variables() -> None:
    drawing = in_theme(wex.draw(CHAIN).svg, "dark")
    assert PALETTE["dark"]["ink"] in drawing
    assert PALETTE["light"]["ink"] not in drawing
    assert "var(" not in drawing


def test_a_name_that_looks_like_a_variable_stays() -> None:
    drawing = wex.draw("stream s (`var(--wex-ink)` int) window w match [`var(--wex-ink)` > 1]")
    assert in_theme(drawing.svg, "light").count("var(--wex-ink)") == drawing.svg.count(
        "`var(--wex-ink)`"
    )


# --- Escaping


def texts(drawing: str) -> list[str]:
    """Return all texts of a drawing; this fails if it is not XML."""
    return [each.text or "" for each in ET.fromstring(drawing).iter() if each.text]


def elements(drawing: str) -> set[str]:
    return {each.tag.removeprefix(SVG) for each in ET.fromstring(drawing).iter()}


PARTS = {"svg", "style", "title", "g", "rect", "circle", "path", "polygon", "text", "line"}


@pytest.mark.parametrize("what", ["automata", "regions"])
def test_hostile_names_and_values_are_text(what: str) -> None:
    drawing = wex.draw(HOSTILE_SPEC, what)
    assert elements(drawing.svg) <= PARTS
    assert any("<script>" in text for text in texts(drawing.svg))
    assert not re.search("[\x00-\x08\u202e\ud800-\udfff]", drawing.svg + drawing.dot)


def test_hostile_values_of_a_stream_are_text() -> None:
    timeline = Timeline((("event", ("0",)), (HOSTILE, (HOSTILE,))), ((0, None),))
    drawing = timeline.svg(HOSTILE)
    assert elements(drawing) <= PARTS
    assert not re.search("[\x00-\x08\u202e\ud800-\udfff]", drawing)


# A file of DOT without its strings, in which a quote and a backslash are escaped.
DOT_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
DOT_REST = re.compile(r"[\w\s{}\[\];=,>-]*")


@given(st.text(), st.text(), st.text())
def test_any_text_gives_valid_svg_and_dot(title: str, name: str, label: str) -> None:
    graph = Graph((Node(name, initial=True),), arrows_of({(0, 0): label}))
    groups = [[Panel(title, title, graph, {"start": title}, ((name, label),))]]
    assert elements(Drawing(title, groups).svg) <= PARTS
    assert DOT_REST.fullmatch(DOT_STRING.sub("", dot_of(groups)))


# --- Files and errors


def test_a_drawing_is_saved_in_the_format_of_its_name(tmp_path: Path) -> None:
    drawing = wex.draw(CHAIN)
    for name in ("w.svg", "w.DOT", "w.png"):
        drawing.save(tmp_path / name)
    assert (tmp_path / "w.svg").read_text("utf-8") == drawing.svg == drawing._repr_svg_()
    assert (tmp_path / "w.DOT").read_text("utf-8") == drawing.dot
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")


def test_dot_has_all_states() -> None:
    assert "p1_42 [" in wex.draw(CHAIN).dot
    assert "more states" in wex.draw(CHAIN).svg


def test_one_window_can_be_drawn() -> None:
    spec = wex.parse("stream s (x int) window a match [x > 0] window b match [x < 0]")
    assert [text for text in texts(wex.draw(spec, window="b").svg) if ": window" in text] == [
        "b: window automaton"
    ]


def error_code(*args: object, **kwargs: object) -> tuple[str, str]:
    with pytest.raises(wex.WexError) as caught:
        wex.draw(*args, **kwargs)  # type: ignore[arg-type]
    return caught.value.code, str(caught.value.hint)


def test_wrong_arguments_are_errors_with_hints(tmp_path: Path) -> None:
    spec = examples.spec("trend")
    assert error_code(spec, window="trent") == ("unknown-window", "did you mean `trend`?")
    assert error_code(spec, "automaton") == ("wrong-argument", "did you mean `automata`?")
    swing = wex.KSLA.from_guards(SWING, {1}, {"x": "int"})
    assert error_code(swing, "regions")[0] == "wrong-argument"
    for name, code in {"w.jpg": "unknown-format", "no/folder/w.svg": "no-file"}.items():
        with pytest.raises(wex.WexError) as caught:
            wex.draw(spec).save(tmp_path / name)
        assert caught.value.code == code


def test_without_igraph_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["wex.plot"], "find_spec", lambda _name: None)
    code, hint = error_code(examples.spec("trend"))
    assert code == "no-pictures"
    assert "wex-windows[pictures]" in hint


def test_without_vl_convert_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = wex.draw(examples.spec("trend"))
    monkeypatch.setattr(sys.modules["wex.plot"], "find_spec", lambda _name: None)
    with pytest.raises(wex.WexError, match=r"wex-windows\[pictures\]") as caught:
        drawing.png()
    assert caught.value.code == "no-pictures"


# --- The pictures of the documentation


def test_the_pictures_of_the_documentation_are_current(update_golden: bool) -> None:
    """`make docs` makes them, as `--update-golden` does."""
    script = runpy.run_path(str(DOCS / "make_pictures.py"))
    made, charts = script["pictures"](), script["charts"]()
    for name, content in made.items():
        if update_golden:
            (DOCS / "pictures" / name).write_text(f"{content}\n", "utf-8")
        assert (DOCS / "pictures" / name).read_text("utf-8") == f"{content}\n"
    assert {path.name for path in (DOCS / "pictures").iterdir()} == {*made, *charts}
    for name, chart in charts.items():  # letters are as wide as the fonts of a machine
        shown = (DOCS / "pictures" / name).read_text("utf-8")
        (style,) = re.findall("<style>.*?</style>", svg_of(chart), re.DOTALL)
        assert style in shown
        for view in chart.to_dict()["vconcat"]:
            assert escape(view.get("title", {}).get("text", "")) in shown
            assert view.get("title", {}).get("subtitle", "") in shown
