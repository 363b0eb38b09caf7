"""Random specs that mix all kinds of windows and clauses, and streams on which they find windows.

The specs of `tests.strategies.specs` combine everything with everything, and few of them find a
window. These are made of predicates that are often true, in forms that often match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
from hypothesis import strategies as st

import wex
from tests.strategies.specs import (
    parsed,
    with_preference,
    with_scales,
)
from wex.spec import tree

STREAM = (
    "stream s (key string, t timestamp, x int, y real, s string, side enum('a', 'b', 'c'), ok bool, m real)"
    " partition by key order by t"
)
LETS = "let up = x > x[-1] let odd = x % 2 = 1 let late = t - t[-1] > 2 seconds let named = s like 'a%' let d = x - x[-1]"
TESTS = [  # of an event and those before it
    "up", "odd", "late", "named", "ok", "not up", "x > 0", "x <= 1", "x > x[-1]", "not x > x[-2]", "2 * y > x", "is_first or ok",
    "side = 'a'", "side in ('a', 'c')", "x // 2 = 1", "x % 3 != 0", "floor(x, 3) = 0", "hour(t) = 10", "second(t) % 4 < 2",
    "floor(t, 4 seconds) = floor(t[-1], 4 seconds)", "t - t[-1] <= 1 second", "starts_with(s, 'b')", "s not like '_b%'",
    "s is null", "s is not null and s != 'a'", "abs(d) < 2", "d = d[-1]", "prev(up)", "0 <= x <= 2", "side != side[-1] or ok",
    "m is null or x > 1", "weekday(t) = 6 and y > 0", "x between 0 and 2", "x * 2305843009213693952 > 0",
]  # fmt: skip
OWN = [  # of the window so far
    "x <= first(x)", "x < max(x)", "sum(x) <= 3", "count() < 4", "y >= avg(y)", "s = min(s)", "x > max(x)[-1]", "x >= max(x)",
    "x >= min(x) filter [y > 0]", "sum(x) filter [ok] < 3", "last(s) != first(s)", "max_by(side, x) = side", "count(s) < 3",
    "count_if(up) < 2", "some(odd)", "every(x >= 0)", "avg(x) < 1.5", "y / sum(y) < 0.7", "x - first(x) < 2",
    "t - first(t) <= 4 seconds", "floor(first(t), 4 seconds) = floor(t, 4 seconds)", "sum(x) % 3 != 1", "count() % 2 = 1",
    "up and count() > 1", "not x < avg(x)[-1]", "avg(t - t[-1]) <= 1 second", "sum(x * 4611686018427387904) > 0",
    "max(s)[-2] = s or x = 1", "x = 0 or ok and x < max(x)", "x > 0 and (named or count() < 3 and ok)", "-min(x) < abs(max(x))", "hour(last(t)) = 10 and ok", "sum(d) >= 0", "max(t) - min(t) < 5 seconds",
]  # fmt: skip
FORMS = [
    "any [{}]* [{}]", "[{}]+", "[{}]* [{}]", "[{}] ([{}] | [{}])+", "any{{2}} & ([{}] any)", "[{}] any* [{}]", "[{}]{{1,3}}",
    "~([{}] any*) & any{{1,3}}", "any [{}]* [not ({})]", "([{}] [{}])+", "[{}] | [{}] [{}]", "[{}]? [{}]+", "([{}] | any [{}])*",
    "any{{3}}", "any+", "[{}] any{{0,2}}", "(any* [{}]) & ([{}]+)",
]  # fmt: skip
FORMULAS = [
    "[{}](begin) and [{}](end)", "forall p: begin <= p and p <= end implies [{}](p)", "begin + 1 = end and not [{}](end - 1)",
    "exists p: begin < p and p <= end and [{}](p) and end < begin + 4",
    "[{}](end) and exists set X: begin in X and end in X and forall p: begin <= p and p < end implies (p in X iff p + 1 not in X)",
]  # fmt: skip
RUNS = [
    "runs of x", "runs of side, ok", "runs of floor(t, 4 seconds)", "runs of d", "runs of hour(t), ok", "runs of x // 2",
    "runs where {}", "runs where not ({})", "sessions gap 1 second", "sessions gap 3 seconds",
]  # fmt: skip
MEASURES = [
    "sum(x) as total{}", "max(m) as top{}", "collect(s) as names{}", "min_by(s, y) as by{}", "avg(y) filter [x > 0] as mean{}",
    "first(t[-1]) as before{}", "every(up) as rising{}", "count_distinct(side) as sides{}", "last(floor(t, 4 seconds)) as bucket{}",
    "count_if(s is null) as unnamed{}", "max(x) - min(x) as range{}", "sum(m) / count() as share{}", "last(x % 2) as rest{}",
    "sum(x * 576460752303423488) as large{}", "max(t) - min(t) as length{}", "stddev(y) as spread{}",
]  # fmt: skip
KEEPS = ["", "keep all", "keep shortest", "keep longest", "keep disjoint"]
KINDS = ["pairs", "own", "own", "formula", "runs", "choice", "choice"]


def _filled(draw: st.DrawFn, text: str, tests: list[str]) -> str:
    holes = text.replace("{{", "").count("{}")
    return text.format(*(draw(st.sampled_from(tests)) for _ in range(holes)))


def _expression(draw: st.DrawFn, tests: list[str]) -> str:
    text = _filled(draw, draw(st.sampled_from(FORMS)), tests)
    match draw(st.integers(0, 9)):
        case 0:
            return f"({text}) | ({_filled(draw, draw(st.sampled_from(FORMS)), tests)})"
        case 1:
            return f"({text}) ({_filled(draw, draw(st.sampled_from(FORMS)), tests)})"
        case 2:
            return f"({text}){draw(st.sampled_from(['+', '{1,2}', '?']))}"
    return text


def _window(draw: st.DrawFn, number: int, kind: str) -> str:
    own = kind == "own"
    tests = [*OWN, *OWN, *TESTS] if own else TESTS
    if kind == "formula":
        body = "where " + _filled(draw, draw(st.sampled_from(FORMULAS)), TESTS)
    elif kind == "runs":
        body = _filled(draw, draw(st.sampled_from(RUNS)), TESTS)
    else:
        pairs = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            after = draw(st.sampled_from(["", "", "", "after any* [{}]", "after any?"]))
            pairs.append(f"{_filled(draw, after, TESTS)} match {_expression(draw, tests)}")
        body = " or ".join(pairs)
    if kind != "runs":
        until = draw(st.sampled_from(["", "", "until [{}]", "until [{}] or end"]))
        body += " " + _filled(draw, until, tests)
    measures = draw(st.lists(st.sampled_from(MEASURES), max_size=2, unique=True))
    having = ["", "", "", f"having n{number} != 2", f"having n{number} > 1"]
    if MEASURES[0] in measures:
        having.append(f"having total{number} > 1 or n{number} < 2")
    if MEASURES[1] in measures:
        having.append(f"having not top{number} > 1")
    clauses = [
        draw(st.sampled_from(["", "", "within 3 events", "within 4 seconds"])),
        "" if kind == "choice" else draw(st.sampled_from(KEEPS)),
        "" if kind == "runs" else draw(st.sampled_from(["", "", "unpadded"])),
        draw(st.sampled_from(["", "", "", "lookback 3"])),
        "measure " + ", ".join(each.format(number) for each in ("count() as n{}", *measures)),
        draw(st.sampled_from(having)),
    ]
    return f"window w{number} {body} {' '.join(clauses)}"


@st.composite
def mixed_specs(
    draw: st.DrawFn, *, least: int = 1, most: int = 3, of: Sequence[str] = KINDS
) -> tree.Spec:
    """Return specs of so many windows, of every kind or of some, and with every clause."""
    kinds = draw(st.lists(st.sampled_from(of), min_size=least, max_size=most))
    nulls = draw(st.sampled_from(["", "", "nulls skip"]))
    assume = draw(st.sampled_from(["", "", "", "assume [x < 9]*", "assume [t >= t[-1]]*"]))
    written = [_window(draw, number, kind) for number, kind in enumerate(kinds)]
    spec = wex.parse("\n".join([f"{STREAM} {nulls}", LETS, assume, *written]))
    windows = []
    for window, kind in zip(spec.windows, kinds, strict=True):
        chosen = kind == "choice" or (kind == "own" and draw(st.booleans()))
        windows.append(draw(with_preference(window)) if chosen else window)
    return parsed(with_scales(replace(spec, windows=tuple(windows), source=None)))


# --- Streams

FIRST = 1_769_853_596_000_000  # 2026-01-31 09:59:56
SECOND = 1_000_000
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("t", pa.timestamp("us")),
        ("x", pa.int64()),
        ("y", pa.float64()),
        ("s", pa.string()),
        ("side", pa.string()),
        ("ok", pa.bool_()),
        ("m", pa.float64()),
    ]
)


def random_streams(chance: Random, count: int, *, longest: int = 10) -> pa.Table:
    """Return a table of streams; in one table of four, values are missing or too large."""
    gaps = chance.random() < 0.25
    rows = []
    for stream in range(count):
        time = FIRST
        for _ in range(chance.randint(0, longest)):
            time += chance.choice((0, 1, 1, 1, 2, 5)) * SECOND
            rows.append({"key": f"k{stream:03}", "t": time, **_values(chance, gaps=gaps)})
    chance.shuffle(rows)
    columns = [[row[field.name] for row in rows] for field in SCHEMA]
    storage = [pa.int64() if field.name == "t" else field.type for field in SCHEMA]
    arrays = [pa.array(*pair) for pair in zip(columns, storage, strict=True)]
    return pa.table(arrays, SCHEMA.names).cast(SCHEMA)


def _values(chance: Random, *, gaps: bool) -> dict[str, object]:
    nothing = gaps and chance.random() < 0.1
    return {
        "x": chance.choice((None, 5, 2, 3) if nothing else (-1, 0, 1, 1, 2, 3)),
        "y": chance.choice((-1.0, 0.0, 0.5, 2.0)),
        "s": None if nothing else chance.choice(("a", "b", "ab")),
        "side": chance.choice("abc"),
        "ok": chance.random() < 0.6,
        "m": chance.choice((None, 1.0, 2.0, float("nan") if nothing else 0.5)),
    }
