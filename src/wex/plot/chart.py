"""`wex.plot`: streams with their windows over them, as a Vega-Lite chart.

The chart is written as a Vega-Lite specification, in which names and values of the user are data
and titles, never parts of expressions, and then given to altair.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from wex.analysis.regions.graph import Budget
from wex.analysis.verdicts import Analysis
from wex.compile.guards import guarded_fields
from wex.errors import DataError, WexError, clean, did_you_mean
from wex.plot import require_pictures
from wex.plot.panels import NULL, OTHERS, SEVERAL_VALUES, Counts, Panel, Rows
from wex.plot.streams import POSITION, found
from wex.plot.theme import NEUTRAL, WINDOW_COLOURS
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import altair as alt

    from wex.analysis.answers import Answer
    from wex.engine.input.columns import Data
    from wex.plot.streams import StreamWindows
    from wex.spec import SpecLike, tree

Json = dict[str, Any]

MOST_STREAMS = 4  # that are drawn if none is chosen
HEIGHTS = {"line": 200, "strip": 40, "ticks": 24, "depth": 60}
LANE = 6  # pixels
STRIP = 16  # pixels: the height of a strip of values
TICK = 3  # pixels: the width of a single event in it
GREYS = {OTHERS: "#BBBBBB", SEVERAL_VALUES: "#888888", NULL: "#EEEEEE"}  # in a strip
# Paul Tol's light colours, for the values of a strip: none is that of a window.
VALUE_COLOURS = (
    "#77AADD",
    "#EE8866",
    "#44BB99",
    "#FFAABB",
    "#EEDD88",
    "#99DDFF",
    "#BBCC33",
    "#AAAA00",
)


def plot(
    spec: SpecLike,
    data: Data,
    *,
    field: str | None = None,
    key: object = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    width: int = 800,
) -> alt.VConcatChart:
    """Return a chart of streams with their windows over them and the overlap depth below."""
    require_pictures("altair", "vl_convert")
    if type(width) is not int or not 100 <= width <= 10_000:
        message = f"width must be a number of pixels, 100 to 10,000, got {width!r}"
        raise WexError("wrong-argument", message, "leave it out for 800")
    seen = found(spec, data, partition_by, order_by)
    streams = chosen_streams(seen, key)
    chosen = chosen_field(seen, field)
    import altair as alt  # noqa: PLC0415

    specification = specification_of(seen, streams, chosen, overlaps(seen.spec), width)
    datasets = specification.pop("datasets")  # altair would look at each row, for a minute
    chart: alt.VConcatChart = alt.VConcatChart.from_dict(specification)
    chart.datasets = datasets
    return chart


def overlaps(spec: tree.Spec) -> list[Answer]:
    """Return for each window of a spec how many windows can share a position."""
    meaning = meaning_of(spec)
    count = len(meaning.expanded.windows)
    return [Analysis(meaning, at, Budget.of_window(count)).overlap for at in range(count)]


# --- Choices


def chosen_field(seen: StreamWindows, field: str | None) -> str | None:
    """Return the field to draw: one that predicates read, if there is one, and a number rather than a text.

    None: the stream has only keys and an order, so that its events are drawn as ticks.
    """
    plain = seen.plain_fields()
    if field is not None:
        if field not in seen.fields:
            hint = did_you_mean(str(field), plain or seen.fields, "the fields are")
            raise WexError("unknown-field", f"the stream has no field `{field}`", hint)
        if seen.fields[field].name == "other":
            hint = did_you_mean("", plain, "the fields that can be drawn are")
            raise WexError("unknown-field", f"`{field}` is of type other: it has no values", hint)
        return field
    read = guarded_fields(meaning_of(seen.spec))
    ranked = sorted(plain, key=lambda name: (name not in read, not seen.is_number(name)))
    return ranked[0] if ranked else None


def chosen_streams(seen: StreamWindows, key: object) -> list[int]:
    """Return the streams to draw: those with the given keys, or those with most windows."""
    count = len(seen.batch.first)
    if key is None:
        return [int(stream) for stream in seen.busiest(MOST_STREAMS)]
    if not seen.batch.keys:
        hint = "leave `key` out, or add `partition by` to the stream line"
        raise WexError("not-a-key", "the stream has no key", hint)
    texts = {text: at for at, text in enumerate(seen.key_texts(np.arange(count)))}
    wanted = key if isinstance(key, list) else [key]
    return [_stream(seen, texts, each) for each in wanted]


def _stream(seen: StreamWindows, texts: dict[tuple[str, ...], int], key: object) -> int:
    if isinstance(key, dict):
        if set(key) != set(seen.batch.keys):
            hint = f"give a value for each of {', '.join(seen.batch.keys)}"
            raise WexError("not-a-key", f"{key!r} is not a key of the stream", hint)
        key = tuple(key[name] for name in seen.batch.keys)
    parts = key if isinstance(key, tuple) else (key,)
    text = tuple(_text(part) for part in parts)
    if text in texts:
        return texts[text]
    names = [", ".join(each) for each in texts]
    hint = did_you_mean(", ".join(text), names, "the keys are")
    raise DataError("unknown-key", f"no stream has the key {', '.join(text)}", hint)


def _text(value: object) -> str:
    return NULL if value is None else str(value).lower() if isinstance(value, bool) else str(value)


# --- The specification


def specification_of(
    seen: StreamWindows,
    streams: Sequence[int | np.int64],
    field: str | None,
    answers: Sequence[Answer],
    width: int,
) -> Json:
    """Return the Vega-Lite specification of a chart."""
    panels = [Panel(seen, int(stream), field, width) for stream in streams]
    title = {"text": clean(seen.spec.stream.name.text), "anchor": "start"}
    if len(panels) < len(seen.batch.first):
        title["subtitle"] = f"{len(panels)} of {len(seen.batch.first):,} streams drawn"
    datasets: dict[str, Rows] = {}
    drawn = [panel.stream_rows() for panel in panels]
    values = _values(row for rows, _ in drawn for row in rows)
    views = [
        view
        for at, panel in enumerate(panels)
        for view in _views(
            panel, at, drawn[at], values, _key(seen, int(streams[at])), answers, width, datasets
        )
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": title,
        "vconcat": views,
        "datasets": datasets,
        "params": [
            {
                "name": f"zoom{at}",
                "select": {"type": "interval", "encodings": ["x"]},
                "bind": "scales",
                "views": [f"stream{at}", f"windows{at}", f"depth{at}"],
            }
            for at in range(len(panels))
        ],
        "resolve": {"scale": {"color": "independent"}},
        "config": {"view": {"stroke": None}, "axis": {"gridOpacity": 0.5}},
        "spacing": 6,
    }


def _key(seen: StreamWindows, stream: int) -> str:
    (texts,) = seen.key_texts(np.array([stream]))
    parts = zip(seen.batch.keys, texts, strict=True) if texts else ()
    return ", ".join(f"{name} {text}" for name, text in parts)


def _values(rows: Iterable[Json]) -> list[str]:
    """Return the values of a strip that have a colour each."""
    return sorted({str(row["y"]) for row in rows if "y" in row} - GREYS.keys())


def _views(
    panel: Panel,
    at: int,
    drawn: tuple[Rows, Counts],
    values: Sequence[str],
    key: str,
    answers: Sequence[Answer],
    width: int,
    datasets: dict[str, Rows],
) -> list[Json]:
    """Return the three views of a stream, and put their rows into the datasets of the chart."""
    rows, counts = drawn
    windows, depths = panel.window_rows(), panel.depth_rows()
    datasets |= {f"events{at}": rows, f"windows{at}": windows, f"depths{at}": depths}
    title = {
        "text": clean(key) if key else clean(panel.field or ""),
        "subtitle": str(counts),
        "anchor": "start",
        "fontSize": 12,
        "subtitleColor": NEUTRAL,
    }
    colour = _colours(panel.names) | ({"legend": None} if at else {})
    shared = {"width": width}
    lanes = 1 + max((int(row["lane"]) for row in windows), default=0)
    return [
        {**shared, "title": title, **_stream_view(panel, at, rows, values, lanes, colour)},
        {
            **shared,
            "name": f"windows{at}",
            "height": lanes * LANE,
            "data": {"name": f"windows{at}"},
            "mark": {"type": "rule", "clip": True, "strokeWidth": LANE - 2, "strokeCap": "square"},
            "encoding": {
                "x": {**_x(panel, axis=False)},
                "x2": {"field": "x2"},
                "y": {
                    "field": "lane",
                    "type": "quantitative",
                    "axis": None,
                    "scale": {"domain": [-0.5, lanes - 0.5], "reverse": True, "nice": False},
                },
                "color": {**colour, "legend": None},
                "tooltip": _window_tooltip(panel),
            },
        },
        {**shared, **_depth_view(panel, at, depths, answers, colour)},
    ]


def _colours(names: Sequence[str]) -> Json:
    colours = WINDOW_COLOURS["light"]
    return {
        "field": "w",
        "type": "nominal",
        "title": "window",
        "scale": {
            "domain": list(names),
            "range": [colours[at % len(colours)] for at in range(len(names))],
        },
    }


def _x(panel: Panel, *, axis: bool) -> Json:
    seen = panel.seen
    scale: Json = {"domain": panel.domain(), "nice": False, "zero": False}
    if seen.is_time:
        scale |= {"type": "utc"}
        del scale["zero"]
    title = clean(seen.axis) if seen.axis != POSITION else "position of the event"
    return {
        "field": "x",
        "type": "temporal" if seen.is_time else "quantitative",
        "scale": scale,
        "axis": {"title": title, "labelOverlap": "greedy", "labelSeparation": 8, "tickCount": 8}
        if axis
        else {"labels": False, "ticks": False, "title": None},
    }


def _window_tooltip(panel: Panel) -> list[Json]:
    kind = "temporal" if panel.seen.is_time else "quantitative"
    time = {"format": "%Y-%m-%d %H:%M:%S"} if panel.seen.is_time else {}
    return [
        {"field": "w", "type": "nominal", "title": "window"},
        {"field": "b", "type": "quantitative", "title": "first event"},
        {"field": "e", "type": "quantitative", "title": "last event"},
        {"field": "x", "type": kind, "title": "from", **time},
        {"field": "x2", "type": kind, "title": "to", **time},
    ]


def _stream_view(
    panel: Panel, at: int, rows: Rows, values: Sequence[str], lanes: int, colour: Json
) -> Json:
    shaded = {
        "name": f"stream{at}",
        "data": {"name": f"windows{at}"},
        "mark": {
            "type": "rect",
            "clip": True,
            "fillOpacity": max(0.02, min(0.14, 0.5 / lanes)),
            "strokeOpacity": 0.5,
            "strokeWidth": 0.7,
        },
        "encoding": {
            "x": _x(panel, axis=False),
            "x2": {"field": "x2"},
            "color": colour,
            "stroke": {**colour, "legend": None},
            "tooltip": _window_tooltip(panel),
        },
    }
    if panel.field is None:
        shown: Json = {
            "mark": {"type": "tick", "clip": True, "color": NEUTRAL},
            "encoding": {"x": _x(panel, axis=False)},
        }
        kind = "ticks"
    elif panel.seen.is_number(panel.field):
        kind, shown = "line", _line(panel, panel.field, rows)
    else:
        kind, shown = "strip", _strip(panel, panel.field, rows, values)
    return {
        "height": HEIGHTS[kind],
        "layer": [shaded, {"data": {"name": f"events{at}"}, **shown}],
        "resolve": {"scale": {"color": "independent"}},
    }


def _line(panel: Panel, field: str, rows: Rows) -> Json:
    y: Json = {
        "field": "y",
        "type": "quantitative",
        "title": clean(field),
        "scale": {"zero": False},
    }
    if panel.seen.fields[field].name in ("timestamp", "date"):
        y |= {"type": "temporal", "scale": {"type": "utc"}}
    return {
        "mark": {
            "type": "line",
            "clip": True,
            "color": NEUTRAL,
            "strokeWidth": 1.3,
            "point": {"color": NEUTRAL, "size": 14} if len(rows) <= 200 else False,
        },
        "encoding": {"x": _x(panel, axis=False), "y": y, "order": {"field": "n"}},
    }


def _strip(panel: Panel, field: str, rows: Rows, values: Sequence[str]) -> Json:
    """Return the view of texts; a value has the colour that it has in the other streams, if they are few."""
    if len(values) > len(VALUE_COLOURS):
        values = _values(rows)
    shades = dict(zip(values, cycle(VALUE_COLOURS)))
    shown = [*_values(rows), *(text for text in GREYS if any(row["y"] == text for row in rows))]
    colour: Json = {
        "field": "y",
        "type": "nominal",
        "title": clean(field),
        "scale": {"domain": shown, "range": [(shades | GREYS)[text] for text in shown]},
        # Above the strip: beside it, many values would be higher than it is.
        "legend": {
            "orient": "top",
            "columns": max(1, panel.width // 90),
            "labelLimit": 80,
            "symbolType": "square",
        },
    }
    encoding = {
        "x": _x(panel, axis=False),
        "color": colour,
        "tooltip": [{"field": "y", "type": "nominal", "title": clean(field)}],
    }
    top, height = {"expr": f"height - {STRIP}"}, {"expr": "height"}
    tick = {"type": "tick", "clip": True, "opacity": 1, "thickness": TICK, "size": STRIP, "y": {"expr": f"height - {STRIP / 2}"}}  # fmt: skip
    return {
        "layer": [  # an event is a tick, and events side by side with one value are a bar
            {
                "mark": {"type": "rect", "clip": True, "y": top, "y2": height},
                "encoding": {**encoding, "x2": {"field": "x2"}},
            },
            {"mark": tick, "encoding": encoding},
        ],
    }


def _depth_view(panel: Panel, at: int, rows: Rows, answers: Sequence[Answer], colour: Json) -> Json:
    names = panel.names
    bounds: Rows = [
        {"b": answer.bound, "w": name, "t": f"bound {answer.bound:,}"}
        for name, answer in zip(names, answers, strict=True)
        if answer.bound is not None
    ]
    told = "; ".join(
        f"{name}: {bound_text(answer)}" for name, answer in zip(names, answers, strict=True)
    )
    highest = max((row["d"] for row in rows), default=0)
    shown = [row for row in bounds if row["b"] <= 4 * max(highest, 1)]
    plain = {**colour, "legend": None}
    top = max([1, highest, *(row["b"] for row in shown)])
    y: Json = {
        "field": "d",
        "type": "quantitative",
        "title": "overlap",
        "axis": {"values": sorted({0, top // 2, top}), "format": "d"},
        "scale": {"domain": [0, 1.1 * top]},
    }
    return {
        "height": HEIGHTS["depth"],
        "title": {"text": clean(f"windows around an event; {told}"), "fontWeight": "normal",
                  "fontSize": 11, "anchor": "start", "color": NEUTRAL},
        "layer": [
            {
                "name": f"depth{at}",
                "data": {"name": f"depths{at}"},
                "mark": {"type": "line", "clip": True, "interpolate": "step-after", "strokeWidth": 1.5},
                "encoding": {"x": _x(panel, axis=True), "y": y, "color": plain},
            },
            {
                "data": {"values": shown},
                "mark": {"type": "rule", "strokeDash": [5, 3]},
                "encoding": {
                    "y": {"field": "b", "type": "quantitative"},
                    "color": plain,
                    "tooltip": [{"field": "t", "type": "nominal", "title": "proved"}],
                },
            },
        ],
    }  # fmt: skip


def bound_text(answer: Answer) -> str:
    """Return what is proved of the overlap on any stream."""
    if answer.bound is None:
        return "unbounded on some stream" if answer.verdict == "unbounded" else "bound unknown"
    return f"at most {answer.bound:,} on any stream"
