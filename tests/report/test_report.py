"""`wex.report` and `wex report`: the page has the windows of `find`, escapes everything, stays small, and runs."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import wex
from tests.cli.commands import run
from wex import examples
from wex.plot.streams import found
from wex.report.columns import unpacked
from wex.report.content import Room, listed_windows
from wex.report.histograms import gaps_of
from wex.report.page import page_of

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
STOCKS = Path(examples.__file__).parent / "data" / "stocks.wex"
CSV = STOCKS.with_suffix(".csv")
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">'&<!--\u2028\u202e\u0000\u0007\ufeff@data@"


def page(spec: Any, data: Any, **options: Any) -> str:
    return page_of(found(spec, data, **options))


def content(text: str) -> dict[str, Any]:
    """Return the data in a page."""
    marked = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert marked is not None
    value: dict[str, Any] = json.loads(marked[1])
    return value


# --- What is in the page


def test_the_table_has_the_windows_of_find() -> None:
    spec, data = examples.spec("stocks"), examples.data("stocks")
    written = content(page(spec, data))
    columns, windows = unpacked(written["windows"]), wex.find(spec, data)
    assert columns["key0"] == windows["symbol"].to_pylist()
    assert columns["start"] == windows["start_index"].to_pylist()
    ends = [
        start + length - 1
        for start, length in zip(columns["start"], columns["length"], strict=True)
    ]
    assert ends == windows["end_index"].to_pylist()
    days = windows["window_start"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    assert columns["window_start"] == days
    assert written["windows"]["measures"] == ["months", "opening", "top", "closing"]
    for place, name in enumerate(written["windows"]["measures"]):
        assert columns[f"measure{place}"] == windows[name].to_pylist()
    assert (written["events"], written["streams"], written["windowCount"]) == (560, 5, 57)
    assert written["definitions"][0]["bound"] == 1


def test_series_have_all_events_of_little_data() -> None:
    spec, data = examples.spec("stocks"), examples.data("stocks")
    written = content(page(spec, data))
    series = unpacked(written["series"])
    assert (
        series["y"]
        == data.sort_by([("symbol", "ascending"), ("day", "ascending")])["price"].to_pylist()
    )
    assert [stream["key"] for stream in written["series"]["streams"]] == [
        ["AAPL"],
        ["AMZN"],
        ["GOOG"],
        ["IBM"],
        ["MSFT"],
    ]


def test_runs_have_events_predicates_and_states() -> None:
    written = content(page(examples.spec("stocks"), examples.data("stocks")))
    runs = unpacked(written["runs"])
    assert runs["window"] == list(range(57))
    shown = [each["shown"] for each in written["definitions"][0]["predicates"]]
    assert shown == ["down2", "up", "not down2"]
    size = int(runs["size"][0])
    positions = [runs["position"][row] for row in runs["event_rows"][:size]]
    assert positions == list(range(1, 13))  # window 0 is from event 5 to 9
    assert runs["event_window"][:size] == [-1, -1, -1, -1, 1, 1, 1, 1, 2, -2, -2, -2]
    letters = written["runs"]["letters"][0]
    assert [shown[p] for p in letters[str(runs["event_letters"][4])]] == ["up", "not down2"]


def test_gaps_are_the_events_between_windows() -> None:
    spec = "stream s (k string, x int) partition by k window a match [x > 0] window b match any{2}"
    seen = found(spec, {"k": list("aaaaabb"), "x": [1, 0, 0, 1, 1, 1, 1]})
    gaps, known = gaps_of(seen)
    told = {
        (seen.names[seen.name_numbers[w]], int(seen.starts[w])): int(gaps[w]) if known[w] else None
        for w in range(len(gaps))
    }
    assert told == {
        ("a", 0): None, ("a", 3): 2, ("a", 4): 0, ("a", 5): None, ("a", 6): 0,
        ("b", 0): None, ("b", 1): -1, ("b", 2): -1, ("b", 3): -1, ("b", 5): None,
    }  # fmt: skip


def test_histograms_count_every_window() -> None:
    spec, data = examples.spec("stocks"), examples.data("stocks")
    written = content(page(spec, data))
    told = {each["name"]: each for each in written["histograms"]}
    assert list(told) == ["length", "duration", "gap before", "months", "opening", "top", "closing"]
    for each in told.values():
        assert sum(map(sum, each["bins"])) + each["left_out"] == 57
    assert told["length"]["median"] == float(np.median(wex.find(spec, data)["months"].to_numpy()))


def test_a_page_is_the_same_each_time() -> None:
    assert page(examples.spec("seattle"), examples.data("seattle")) == page(
        examples.spec("seattle"), examples.data("seattle")
    )


# --- Windows from elsewhere


def test_windows_that_were_found_elsewhere(tmp_path: Path) -> None:
    spec, data = examples.spec("stocks"), examples.data("stocks")
    windows = wex.find(spec, data)
    seen = found(spec, data, windows=windows.slice(3, 5))
    assert content(page_of(seen, given=True))["given"]
    assert (
        unpacked(content(page_of(seen))["windows"])["start"]
        == windows.slice(3, 5)["start_index"].to_pylist()
    )
    parquet.write_table(windows, tmp_path / "part-0.parquet")
    done = run(
        "report",
        str(STOCKS),
        "--input",
        str(CSV),
        "--windows",
        str(tmp_path),
        "-o",
        str(tmp_path / "a.html"),
        "--where-key",
        "symbol=IBM",
    )
    assert done.returncode == 0, done.stderr
    assert b"14 windows in 123 events" in done.stderr


@pytest.mark.parametrize("name", examples.with_data())
def test_windows_of_find_fit_their_events(name: str) -> None:
    spec, data = examples.spec(name), examples.data(name)
    windows = wex.find(spec, data)
    seen = found(spec, data, windows=windows)
    own = found(spec, data)
    assert seen.windows.equals(own.windows)
    assert seen.owners.tolist() == own.owners.tolist()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"window_name": "trand"}, "there is a window called `trand`"),
        ({"symbol": "SAP"}, "57 of 57 windows do not fit: no event has its key"),
        ({"end_index": 9999}, "it ends behind the last event of its stream"),
        ({"start_index": 9998, "end_index": 3}, "no range"),
        (
            {"window_start": datetime(1999, 1, 1).date()},
            "its window_start is not the day of its event",
        ),
    ],
)
def test_windows_that_do_not_fit(change: dict[str, object], told: str) -> None:
    spec, data = examples.spec("stocks"), examples.data("stocks")
    windows = wex.find(spec, data)
    for name, value in change.items():
        column = pa.array([value] * windows.num_rows).cast(windows.schema.field(name).type)
        windows = windows.set_column(windows.column_names.index(name), name, column)
    with pytest.raises(wex.DataError, match=re.escape(told)) as caught:
        found(spec, data, windows=windows)
    assert caught.value.code == "windows-unfit"
    with pytest.raises(wex.DataError, match="missing-column"):
        found(spec, data, windows=wex.find(spec, data).drop_columns(["start_index"]))


# --- Hostile names and values


class Tags(HTMLParser):
    """Collects the elements of a page and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def hostile() -> tuple[str, dict[str, object]]:
    name = "</script><img src=x onerror=alert(1)>'\"&<!--"
    spec = (
        f"stream s (k string, `{name}` string, x real) partition by k "
        f"window `w{name}` match [`{name}` = '<b>{'a' * 3}</b>' or x > 0] measure last(`{name}`) as `m{name}`, sum(x) as total"
    )
    data = {
        "k": [HOSTILE, HOSTILE, None, "\u05d0\u05d1 rtl"],
        name: [HOSTILE, "<b>aaa</b>", "\u202e\u0001", "</SCRIPT >"],
        "x": pa.array([1.0, -0.0, 1e308, 5.0]),
    }
    return spec, data


def test_hostile_names_and_values_stay_text() -> None:
    spec, data = hostile()
    text = page(spec, data)
    tags = Tags()
    tags.feed(text)
    assert not [
        attributes
        for tag, attributes in tags.seen
        if any(name.startswith("on") for name in attributes)
    ]
    assert "img" not in {tag for tag, _ in tags.seen}
    assert [tag for tag, _ in tags.seen].count("script") == 2
    assert not [a for _, a in tags.seen if "src" in a or str(a.get("href", "#")).startswith("http")]
    (policy,) = [
        a["content"] for t, a in tags.seen if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert HOSTILE in unpacked(content(text)["windows"])["key0"]


def test_numbers_without_a_place_are_kept() -> None:
    spec = "stream s (x real, y int) window w match [y > 0] measure last(x) as v"
    values = [float("nan"), float("inf"), None, -0.0, 1.5]
    text = page(spec, {"x": values, "y": [1, 1, 1, 1, 1]})
    measured = unpacked(content(text)["windows"])["measure0"]
    assert str(measured) == "[nan, inf, None, -0.0, 1.5]"
    (told,) = [each for each in content(text)["histograms"] if each["name"] == "v"]
    assert told["left_out"] == 3


@pytest.mark.parametrize("order", [[-1e308, 1.0, 1e308], [1.0, 2.0, float("inf")]])
def test_numbers_that_are_too_far_apart(order: list[float]) -> None:
    spec = (
        "stream s (t real, x real) order by t window w match any measure last(x) as v, last(t) as u"
    )
    written = content(page(spec, {"t": order, "x": [1.7e308, -1.7e308, 0.0]}))
    assert written["axis"]["name"] == "event"
    assert written["windowCount"] == 3
    assert "v" not in [each["name"] for each in written["histograms"]]
    wex.plot(spec, {"t": order, "x": [1.7e308, -1.7e308, 0.0]}).to_dict()


# --- Size


def test_a_hundred_thousand_windows_are_less_than_five_megabytes() -> None:
    rng = np.random.default_rng(1)
    count = 300_000
    data = {
        "k": [f"key {n % 7}" for n in range(count)],
        "ts": pa.array(np.cumsum(rng.integers(1, 10_000_000, count)), pa.timestamp("us")),
        "x": rng.normal(size=count),
    }
    measures = "avg(x) as a, stddev(x) as b, sum(x) as c, max(x) as d, min(x) as e"
    spec = f"stream s (k string, ts timestamp, x real) partition by k order by ts window w match [x > 0] [x <= 0] [x > 0] measure {measures}"
    seen = found(spec, data)
    assert seen.windows.num_rows < 100_000
    spec = spec.replace("[x > 0] [x <= 0] [x > 0]", "[x > -0.4] any")
    seen = found(spec, data)
    assert seen.windows.num_rows > 100_000
    text = page_of(seen)
    assert len(text.encode()) < 5_000_000
    written = content(text)
    columns = unpacked(written["windows"])
    listed = listed_windows(seen, written["windows"]["count"])
    assert len(columns["start"]) == written["windows"]["count"]
    assert written["windowCount"] == seen.windows.num_rows
    assert set(columns["number"]) <= set(range(seen.windows.num_rows))
    assert len(listed) <= written["windows"]["count"]


def test_each_stream_has_a_share_of_a_table_that_is_too_long() -> None:
    keys = ["a"] * 500 + ["b"] * 20 + ["c"] * 3
    spec = "stream s (k string, x int) partition by k window w match any"
    seen = found(spec, {"k": keys, "x": list(range(len(keys)))})
    written = content(page_of(seen, room=Room(windows=50)))
    chosen = unpacked(written["windows"])
    counts = {key: chosen["key0"].count(key) for key in "abc"}
    assert counts == {"a": 27, "b": 20, "c": 3}
    assert sum(map(sum, written["histograms"][0]["bins"])) == len(keys)


# --- In a browser


def dom(path: Path, fragment: str = "") -> str:
    """Return the page after its program has run."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=20000",
            "--dump-dom",
            f"{path.as_uri()}{fragment}",
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return done.stdout.decode()


def body(text: str) -> str:
    """Return the text of a page, without its program and data."""
    return html.unescape(
        re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL))
    )


def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    path = tmp_path / "stocks.html"
    wex.report(examples.spec("stocks"), examples.data("stocks"), path)
    text = dom(path, "#window=3&theme=dark")
    assert 'data-ready="yes"' in text
    assert "data-error" not in text
    assert text.count("<tr tabindex") == 25
    assert re.search(r'<tr[^>]*data-window="3"[^>]*class="chosen"', text)
    assert 'data-theme="dark"' in text
    shown = " ".join(body(text).split())
    assert "560 events, 5 streams, 57 windows" in shown
    assert "Window 3: trend, AAPL, events 33 to 35" in shown
    assert (
        "Opened at event 33: the 33 events before it match after any* down2 : the prefix automaton is in state 1, which accepts"
        in shown
    )
    assert (
        "Closed at event 35: event 35 satisfies down2 , and the window automaton goes from state 1 to state 2, which is final"
        in shown
    )
    assert text.count("<figure>") == 7
    assert text.count("data-event=") == 10


def test_a_browser_shows_hostile_texts_as_texts(tmp_path: Path) -> None:
    spec, data = hostile()
    path = tmp_path / "hostile.html"
    wex.report(spec, data, path)
    text = dom(path)
    assert 'data-ready="yes"' in text
    assert "data-error" not in text
    assert "<img" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "<title>owned" not in text


@pytest.mark.parametrize("name", ["burst", "overlap", "session", "trend_formula", "turn", "unpaid"])
def test_a_browser_shows_every_kind_of_window(name: str, tmp_path: Path) -> None:
    spec = examples.spec(name)
    rng = np.random.default_rng(3)
    made: dict[str, object] = {}
    for field in spec.stream.fields:
        kind = field.type.name.text
        values: dict[str, Any] = {
            "string": ["p", "q"] * 30,
            "timestamp": pa.array(np.arange(60) * 600, pa.timestamp("s")),
            "real": rng.normal(80, 20, 60),
            "int": np.arange(60),
            "bool": rng.random(60) > 0.8,
            "enum": rng.choice([text.value for text in field.type.values], 60)
            if kind == "enum"
            else None,
        }
        made[field.name.text] = values[kind]
    path = tmp_path / "page.html"
    wex.report(spec, made, path)
    text = dom(path)
    assert 'data-ready="yes"' in text
    assert "data-error" not in text
    if wex.find(spec, made).num_rows:
        assert "Opened" in body(text)


def test_a_page_without_windows(tmp_path: Path) -> None:
    path = tmp_path / "none.html"
    wex.report("stream s (x int) window w match [x > 9]", {"x": [1]}, path)
    assert "There is no window." in dom(path)


# --- The command


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    done = run("report", str(STOCKS), "--input", str(CSV), "-o", str(tmp_path / "r.html"))
    assert done.returncode == 0, done.stderr
    assert b"57 windows in 560 events" in done.stderr
    assert content((tmp_path / "r.html").read_text("utf-8"))["windowCount"] == 57


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "x.pdf"], b"ends in .html"),
        (["-o", "/no/such/folder/x.html"], b"No such file or directory"),
        (["-o", "x.html", "--where-key", "symbol=IBN"], b"did you mean IBM?"),
    ],
)
def test_mistakes_of_a_call(arguments: list[str], told: bytes, tmp_path: Path) -> None:
    placed = [str(tmp_path / each) if each.startswith("x.") else each for each in arguments]
    done = run("report", str(STOCKS), "--input", str(CSV), *placed)
    assert done.returncode == 2
    assert told in done.stderr
