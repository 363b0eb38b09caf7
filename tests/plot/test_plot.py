"""`wex.plot` and `wex plot`: what is drawn, what is said of it, and mistakes explained."""

from __future__ import annotations

import json
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

import wex
from tests.cli.commands import run
from tests.draw.test_drawings import contrast
from wex import examples
from wex.plot.files import save, svg_of
from wex.plot.theme import NEUTRAL, PALETTE, WINDOW_COLOURS

STOCKS = Path(examples.__file__).parent / "data" / "stocks.wex"
CSV = STOCKS.with_suffix(".csv")
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u2028\u202e\u0007{{}}"


def drawn(*args: Any, **options: Any) -> dict[str, Any]:
    specification: dict[str, Any] = wex.plot(*args, **options).to_dict()
    return specification


def titles(specification: dict[str, Any]) -> list[str]:
    views = [view.get("title", {}) for view in specification["vconcat"]]
    return [title["subtitle"] for title in views if "subtitle" in title]


def test_the_windows_of_a_chart_are_those_of_find() -> None:
    spec, data = examples.spec("stocks"), examples.data("stocks")
    chart = drawn(spec, data, key="IBM")
    windows = wex.find(spec, data).filter(pa.compute.field("symbol") == "IBM")
    rows = chart["datasets"]["windows0"]
    assert [(row["b"], row["e"]) for row in rows] == list(
        zip(windows["start_index"].to_pylist(), windows["end_index"].to_pylist(), strict=True)
    )
    assert titles(chart) == ["123 events; 14 windows"]
    assert len(chart["datasets"]["events0"]) == 123
    depth = chart["vconcat"][2]["title"]["text"]
    assert depth == "windows around an event; trend: at most 1 on any stream"


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ("match any{3}", "at most 3 on any stream"),
        ("match any+", "unbounded on some stream"),
    ],
)
def test_the_bound_is_told(window: str, told: str) -> None:
    chart = drawn(f"stream s (x int) window w {window}", {"x": [1, 2, 3, 4]})
    assert chart["vconcat"][2]["title"]["text"] == f"windows around an event; w: {told}"
    highest = max(row["d"] for row in chart["datasets"]["depths0"])
    assert highest == (2 if "{3}" in window else 6)


def test_much_data_is_thinned_and_the_chart_says_so() -> None:
    values = np.sin(np.arange(100_000) / 50)
    values[77_777] = 40
    spec = "stream s (x real) window w match [x > 0]+ keep disjoint window v match [x > 30]"
    chart = drawn(spec, {"x": values}, width=400)
    (told,) = titles(chart)
    found = re.fullmatch(
        r"100,000 events, ([\d,]+) drawn; ([\d,]+) windows, the 500 longest drawn", told
    )
    assert found is not None
    assert int(found[1].replace(",", "")) == len(chart["datasets"]["events0"]) <= 2000
    assert int(found[2].replace(",", "")) == wex.find(spec, {"x": values}).num_rows
    assert 40 in [row["y"] for row in chart["datasets"]["events0"]]
    assert max(row["d"] for row in chart["datasets"]["depths0"] if row["w"] == "v") == 1


def test_missing_and_infinite_values_are_gaps() -> None:
    data = {"x": [1.0, float("nan"), None, float("inf"), 2.0], "y": [1, 2, 3, 4, 5]}
    chart = drawn("stream s (x real, y int) window w match [y > 4]", data, field="x")
    assert [row["y"] for row in chart["datasets"]["events0"]] == [1.0, None, None, None, 2.0]
    assert titles(chart) == ["5 events; 1 window; 1 infinite value not drawn"]
    json.dumps(chart, allow_nan=False)


def test_texts_are_strips_and_streams_without_fields_ticks() -> None:
    spec = "stream s (k string) window w match [k is not null and k = 'a']+"
    chart = drawn(spec, {"k": ["a", "a", None, "b"]})
    rows = [(row["x"], row["x2"], row["y"]) for row in chart["datasets"]["events0"]]
    assert rows == [(0, 0, "a"), (1, 1, "a"), (2, 2, "NULL"), (3, 3, "b")]  # only where events are
    chart = drawn(spec, {"k": ["a"] * 900 + ["b"] * 300}, width=100)
    assert [(row["x"], row["x2"]) for row in chart["datasets"]["events0"]] == [
        (0, 899),
        (900, 1199),
    ]
    chart = drawn("stream s (ts int) order by ts window w match any", {"ts": [3, 1, 2]})
    assert chart["datasets"]["events0"] == [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]


def test_a_value_has_one_colour_in_all_streams() -> None:
    spec = "stream s (k string, page string) partition by k window w match [page = 'a']"
    chart = drawn(spec, {"k": ["1", "1", "2", "2"], "page": ["a", "b", "b", "c"]})
    strips = [view["layer"][1]["layer"] for view in chart["vconcat"] if len(view.get("layer", [])) == 2
              and "layer" in view["layer"][1]]  # fmt: skip
    scales = [part["encoding"]["color"]["scale"] for strip in strips for part in strip]
    first, second = (dict(zip(s["domain"], s["range"], strict=True)) for s in scales[::2])
    assert (set(first), set(second)) == ({"a", "b"}, {"b", "c"})
    assert first["b"] == second["b"]
    assert len({first["a"], first["b"], second["c"]}) == 3


def test_a_chart_follows_the_page(tmp_path: Path) -> None:
    """Whatever Vega writes in a colour of paper or ink has a rule with a colour of the theme."""
    spec = "stream s (k string, x int) partition by k window w match [x > 0] window v match any any"
    chart = wex.plot(spec, {"k": ["a", "a"], "x": [1, 2]})
    picture = svg_of(chart)
    root = ET.fromstring(picture)
    assert root.attrib["class"] == "marks wex-plot"
    style = root[0].text or ""
    assert "prefers-color-scheme: dark" in style
    assert "[data-theme=dark] .wex-plot" in style
    for number, colour in enumerate(WINDOW_COLOURS["light"][:2]):
        assert f'stroke="{colour}"' in picture
        assert f'[stroke="{colour}"] {{ stroke: var(--wex-window-{number}); }}' in style
    known = {
        "none",
        "white",
        "#000",
        "#888",
        "#ddd",
        "transparent",
        NEUTRAL,
        *WINDOW_COLOURS["light"],
    }
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', picture.partition("</style>")[2])) <= known
    save(chart, tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text("utf-8")
    assert not re.search("@(dark|colours|vega|specification)@", page)


def test_colours_of_windows_are_those_of_a_report_and_seen_in_both_themes() -> None:
    program = (files("wex.report") / "page.js").read_text("utf-8")
    for theme, colours in WINDOW_COLOURS.items():
        assert f"{theme}: [{', '.join(map(json.dumps, colours))}]" in program
    assert all(contrast(colour, PALETTE["dark"]["paper"]) > 6 for colour in WINDOW_COLOURS["dark"])


def test_the_streams_with_most_windows_are_drawn() -> None:
    keys = [key for key in "abcdef" for _ in range(ord(key) - 90)]
    spec = "stream s (k string, x int) partition by k window w match any"
    chart = drawn(spec, {"k": keys, "x": list(range(len(keys)))})
    assert chart["title"]["subtitle"] == "4 of 6 streams drawn"
    shown = [v["title"]["text"] for v in chart["vconcat"] if "subtitle" in v.get("title", {})]
    assert shown == ["k c", "k d", "k e", "k f"]


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"field": "prise"}, "unknown-field", "did you mean `price`?"),
        ({"key": "IBN"}, "unknown-key", "did you mean `IBM`?"),
        ({"key": {"symbl": "IBM"}}, "not-a-key", "give a value for each of symbol"),
        ({"width": 3}, "wrong-argument", "leave it out for 800"),
    ],
)
def test_mistakes_are_explained(options: dict[str, Any], code: str, hint: str) -> None:
    with pytest.raises(wex.WexError) as caught:
        wex.plot(examples.spec("stocks"), examples.data("stocks"), **options)
    assert (caught.value.code, caught.value.hint) == (code, hint)


def test_no_events_and_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = "stream s (x int) window w match any"
    with pytest.raises(wex.WexError, match="no-events"):
        wex.plot(spec, {"x": pa.array([], pa.int64())})
    with pytest.raises(wex.WexError, match="has no key"):
        wex.plot(spec, {"x": [1]}, key=1)
    monkeypatch.setattr(sys.modules["wex.plot"], "find_spec", lambda _: None)
    with pytest.raises(wex.WexError, match="no-pictures"):
        wex.plot(spec, {"x": [1]})


def test_hostile_names_and_values_are_text(tmp_path: Path) -> None:
    name = (
        HOSTILE.replace("\u0007", "").replace('"', "").replace("\u2028", "").replace("\u202e", "")
    )
    spec = f"stream s (`{name}` string, k string) partition by k window w match any"
    chart = wex.plot(spec, {name: [HOSTILE, "b"], "k": [HOSTILE, HOSTILE]})
    for ending in ("svg", "html", "json", "png"):
        save(chart, tmp_path / f"chart.{ending}")
    ET.parse(tmp_path / "chart.svg")  # it is well-formed
    assert "<img" not in (tmp_path / "chart.svg").read_text("utf-8")
    page = (tmp_path / "chart.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert page.count("</script>") == 2
    assert "http-equiv" in page


def test_a_chart_is_the_same_each_time(tmp_path: Path) -> None:
    contents = []
    for path in (tmp_path / "a.svg", tmp_path / "b.svg"):
        save(wex.plot(examples.spec("seattle"), examples.data("seattle")), path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_the_command_draws_files(tmp_path: Path) -> None:
    picture = tmp_path / "ibm.svg"
    done = run("plot", str(STOCKS), str(CSV), "-o", str(picture), "--where-key", "symbol=IBM")
    assert done.returncode == 0, done.stderr
    assert b"symbol IBM: 123 events; 14 windows" in done.stderr
    assert picture.read_text("utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "x.svgg"], b"did you mean .svg?"),
        (["-o", "x.svg", "--field", "prise"], b"did you mean `price`?"),
        (["-o", "x.svg", "--where-key", "symbol=IBN"], b"did you mean IBM?"),
        (["-o", "/no/such/folder/x.svg"], b"No such file or directory"),
        ([], b"Missing option '-o'"),
    ],
)
def test_mistakes_of_a_call(arguments: list[str], told: bytes, tmp_path: Path) -> None:
    placed = [str(tmp_path / each) if each == "x.svg" else each for each in arguments]
    done = run("plot", str(STOCKS), str(CSV), *placed)
    assert done.returncode == 2
    assert told in done.stderr
