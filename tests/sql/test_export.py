"""Specs as queries: the same windows when they are read again, and errors for the rest."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.strategies import fewer
from tests.strategies.mixed import mixed_specs, random_streams
from wex.spec import meaning, tree
from wex.sql.export import exported

STREAM = "stream ticks (k string, ts timestamp, x int, y real) partition by k order by ts let up = x > x[-1]"
TYPES = {"k": "string", "ts": "timestamp", "x": "int not null", "y": "real not null"}
PREFERENCE = ("leftmost", "preferred")


def query(window: str, dialect: str = "standard") -> list[str]:
    """Return the lines of a query, from its pattern on."""
    text = wex.to_sql(f"{STREAM} window w {window}", dialect=dialect)
    lines = [line.strip(" ,") for line in text.splitlines()]
    return lines[next(at for at, line in enumerate(lines) if line.startswith("PATTERN")) : -1]


def test_a_query() -> None:
    text = wex.to_sql(
        f"{STREAM} window w match any low:([x < x[-1]]+) up+ keep leftmost"
        " measure last(low.x) as bottom, count(low) as n, avg(x) as mean, last(label()) as part"
    )
    assert text == (
        "SELECT *\nFROM ticks MATCH_RECOGNIZE (\n  PARTITION BY k\n  ORDER BY ts\n  MEASURES\n"
        "    LAST(low.x) AS bottom,\n    COUNT(low.*) AS n,\n    AVG(CAST(x AS DOUBLE)) AS mean,\n"
        "    CLASSIFIER() AS part\n  ONE ROW PER MATCH\n  AFTER MATCH SKIP PAST LAST ROW\n"
        "  PATTERN (anything low+ up+)\n  DEFINE\n    low AS x < PREV(x),\n    up AS x > PREV(x)\n)\n"
    )


def test_patterns_and_conditions() -> None:
    assert query("match (up any | [y > 1 or not up])*? any{2,3} keep preferred") == [
        "PATTERN ((up anything | event)*? anything{2,3})", "DEFINE", "up AS x > PREV(x)",
        "event AS y > 1 OR x <= PREV(x) OR PREV(x) IS NULL",
    ]  # fmt: skip
    assert query("after () match up [ts - ts[-2] < 90 minutes]+ until [false] or end keep leftmost") == [
        "PATTERN (^ up event+ $)", "DEFINE", "up AS x > PREV(x)",
        "event AS ts < PREV(ts, 2) + INTERVAL '90' MINUTE",
    ]  # fmt: skip
    assert query("match any up+ keep leftmost", "flink")[2:] == ["up AS x > LAST(x, 1)"]


def test_going_on_at_a_label() -> None:
    window = "match any low:([x < x[-1]]+) up+ keep leftmost resuming at {}"
    assert "AFTER MATCH SKIP TO LAST low\n" in wex.to_sql(
        f"{STREAM} window w {window.format('last low')}"
    )
    both = "match any move:(low:([x < x[-1]]+) up+) keep leftmost resuming at first move"
    text = wex.to_sql(f"{STREAM} window w {both}")
    assert "AFTER MATCH SKIP TO FIRST move_rows\n" in text
    assert "SUBSET move_rows = (low, move)\n" in text


def test_names_that_sql_would_misread() -> None:
    text = (
        'stream "the table" (`order` int, `a"b` int) window w match [`order` > `a"b`] keep leftmost'
    )
    assert 'event AS "order" > "a""b"' in wex.to_sql(text.replace('"the table"', "`the table`"))
    assert "`order`" in wex.to_sql(text.replace('"the table"', "`the table`"), dialect="spark")


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("match up+", "at most one match"),
        ("match up & any keep leftmost", "neither `&` nor `~`"),
        ("after up match any keep leftmost", "before a match"),
        ("match any until [up] keep leftmost", "behind the match"),
        ("match [x % 2 = 1] keep leftmost", "rounds in another way"),
        ("match any within 3 events keep leftmost", "no such clause"),
        ("match any up+ keep leftmost sharing 1 event", "no such clause"),
        ("match l:up any keep leftmost resuming at last l", "begin where this one did"),
        ("match any l:up* any keep leftmost resuming at last l", "no row to go on at"),
        ("match up unpadded keep leftmost", "not all earlier rows"),
        ("match any keep leftmost measure median(x) as m", "no such aggregate"),
        ("match [is_first] keep leftmost", "no such condition"),
        ("match [max(x)[-1] < x] keep leftmost", "earlier row"),
    ],
)
def test_what_sql_cannot_say(window: str, message: str) -> None:
    with pytest.raises(wex.SpecError, match=message) as caught:
        wex.to_sql(f"{STREAM} window w {window}")
    assert caught.value.code == "sql"
    assert caught.value.line == 1


@pytest.mark.parametrize("window", ["match up any | up keep leftmost", "match up keep leftmost"])
def test_what_flink_cannot_say(window: str) -> None:
    with pytest.raises(wex.SpecError, match="Flink"):
        wex.to_sql(f"{STREAM} window w {window}", dialect="flink")


def test_a_spec_that_was_built_has_places_too() -> None:
    spec = replace(wex.parse(f"{STREAM} window w match ~up keep leftmost"), source=None)
    with pytest.raises(wex.SpecError, match="neither"):
        wex.to_sql(spec)


def test_one_of_several_windows() -> None:
    text = f"{STREAM} window a match up keep leftmost window b match any keep leftmost"
    assert "PATTERN (anything)" in wex.to_sql(text, "b")
    with pytest.raises(wex.WexError, match="several windows"):
        wex.to_sql(text)


def simple(spec: tree.Spec, keep: str) -> tree.Spec:
    """Return a spec with the expressions of another one, and no clauses that SQL does not have."""
    windows = [
        tree.Window(one.name, (tree.Pair(None, one.pairs[0].match),), keep=tree.Name(keep))
        for one in spec.windows
        if one.pairs
    ]
    stream = replace(spec.stream, nulls=None)
    assume(windows)
    return wex.parse(str(replace(spec, stream=stream, windows=tuple(windows), source=None)))


@fewer(2)
@given(mixed_specs(), st.sampled_from(PREFERENCE), st.randoms(use_true_random=False))
def test_a_query_that_is_read_again_has_the_same_windows(
    spec: tree.Spec, keep: str, chance: Random
) -> None:
    spec, table = simple(spec, keep), random_streams(chance, 3)
    # Events at one time are ordered by all fields, of which a query has fewer.
    moments = pa.array(range(table.num_rows), pa.int64()).cast(table.schema.field("t").type)
    table = table.set_column(table.column_names.index("t"), "t", moments)
    nullable = meaning(spec).nullable
    types = {
        one.name.text: f"{one.type}{'' if one.name.text in nullable else ' not null'}"
        for one in spec.stream.fields
    }
    for window in spec.windows:
        try:
            again = wex.from_sql(exported(spec, window.name.text, "standard"), types).spec
        except wex.WexError:
            continue
        try:
            windows, same = wex.find(spec, table), wex.find(again, table)
        except wex.DataError:  # of the data itself, or of a NULL that SQL compares otherwise
            return
        mine = windows.filter(pc.equal(windows["window_name"], window.name.text))
        assert places(mine) == places(same)


def places(windows: pa.Table) -> list[tuple[object, ...]]:
    columns = [windows[name].to_pylist() for name in ("key", "start_index", "end_index")]
    return sorted(zip(*columns, strict=True), key=repr)
