"""Queries from the manuals of Flink, Trino, Oracle, Snowflake and Databricks, as specs."""

from __future__ import annotations

from datetime import datetime, timedelta
from textwrap import dedent

import pyarrow as pa
import pytest

import wex
from tests.sql.labels import needs_labels
from wex.sql.reader import DIALECTS

TICKER = {
    "symbol": "varchar(10)",
    "ts": "timestamp(3)",
    "price": "decimal(10, 2) not null",
    "size": "bigint not null",
}


def translated(query: str, dialect: str = "standard", schema: object = TICKER) -> str:
    return str(wex.from_sql(dedent(query), schema, dialect=dialect))


def window(query: str, dialect: str = "standard", schema: object = TICKER) -> list[str]:
    """Return the lines of a translated window, without its name."""
    text = translated(query, dialect, schema)
    return [line.strip() for line in text.partition("window ")[2].splitlines()[1:] if line.strip()]


def test_a_v_shape_of_oracle() -> None:
    query = """
        SELECT * FROM Ticker MATCH_RECOGNIZE (
          PARTITION BY symbol
          ORDER BY ts
          MEASURES strt.ts AS start_ts, FINAL LAST(up.ts) AS end_ts
          ONE ROW PER MATCH
          AFTER MATCH SKIP TO LAST up
          PATTERN (strt down+ up+)
          DEFINE
            down AS down.price < PREV(down.price),
            up AS up.price > PREV(up.price)
        ) mr"""
    assert translated(query, "oracle") == dedent("""\
        stream Ticker (symbol string, ts timestamp, price real)
          partition by symbol
          order by ts

        let down = price < price[-1]
        let up = price > price[-1]

        window ticker_match
          match any down+ up+
          keep leftmost sharing 1 event
          measure first(ts) as start_ts, last(ts) as end_ts
        """)


@pytest.mark.parametrize(
    ("skip", "pattern", "match", "keep"),
    [
        ("TO LAST down", "strt down+ up+", "any DOWN:down+ up+", "resuming at last DOWN"),
        ("TO down", "strt down+ up+", "any DOWN:down+ up+", "resuming at last DOWN"),
        ("TO FIRST up", "strt down+ up+", "any down+ UP:up+", "resuming at first UP"),
        ("TO LAST down", "down{2,3} up+", "DOWN:down{2,3} up+", "resuming at last DOWN"),
        ("TO LAST up", "strt down+ up+", "any down+ up+", "sharing 1 event"),
        ("TO FIRST move", "strt strt? (down | up)+", "any any? (MOVE:down | MOVE:up)+", "resuming at first MOVE"),
    ],
)  # fmt: skip
def test_going_on_in_the_middle_of_a_match(skip: str, pattern: str, match: str, keep: str) -> None:
    query = f"""
        SELECT * FROM Ticker MATCH_RECOGNIZE (
          ORDER BY ts AFTER MATCH SKIP {skip} PATTERN ({pattern}) SUBSET move = (down, up)
          DEFINE down AS price < PREV(price), up AS price > PREV(price)
        ) mr"""
    text = translated(query, "oracle")
    assert f"  match {match}\n  keep leftmost {keep}\n" in text


def test_falling_prices_of_flink() -> None:
    query = """
        SELECT * FROM Ticker MATCH_RECOGNIZE (
          PARTITION BY symbol ORDER BY ts
          MEASURES START_ROW.ts AS start_tstamp, LAST(PRICE_UP.ts) AS end_tstamp
          ONE ROW PER MATCH
          AFTER MATCH SKIP TO LAST PRICE_UP
          PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
          DEFINE
            PRICE_DOWN AS
              (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
            PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price)
        ) MR"""
    text = translated(query, "flink")
    assert "let price_down = price < price[-1]\n" in text  # the same in the first row and later
    assert "match any price_down+ price_up\n" in text


def test_an_average_so_far_and_a_time_limit_of_flink() -> None:
    query = """
        SELECT * FROM Ticker MATCH_RECOGNIZE (
          PARTITION BY symbol ORDER BY ts
          MEASURES FIRST(A.ts) AS start_ts, LAST(A.ts) AS end_ts
          ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
          PATTERN (A+ B) WITHIN INTERVAL '1' HOUR
          DEFINE A AS AVG(A.price) < 15
        ) MR"""
    assert window(query, "flink") == [
        "match [avg(price) < 15]+ any",
        "within 3599999999 microseconds",  # less than an hour
        "keep leftmost",
        "measure first(ts) as start_ts, nth(ts, -2) as end_ts",
    ]


def test_a_match_within_an_hour_lasts_less_than_an_hour() -> None:
    query = """SELECT * FROM Ticker MATCH_RECOGNIZE (
        ORDER BY ts MEASURES COUNT(*) AS n AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B+) WITHIN INTERVAL '1' HOUR DEFINE B AS price > 1)"""
    start = datetime(2026, 1, 31)
    for last, count in ((timedelta(hours=1), 2), (timedelta(minutes=59, seconds=59), 3)):
        times = [start, start + timedelta(minutes=5), start + last]
        found = wex.from_sql(query, TICKER, dialect="flink").find({"ts": times, "price": [2.0] * 3})
        assert found.to_pylist() == [{"n": count}]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a b | c", "match any b | c"),
        ("a (b | c)+? b", "match any (b | c)+? b"),
        ("a b{2} c{2,} b{,3} c{1,4}?", "match any b{2} c{2,} b{0,3} c{1,4}?"),
        ("a b{2}?", "match any b{2}"),
        ("PERMUTE(b, c)", "match b c | c b"),
        ("^ a b", "after () match any b"),
        ("^ a b | c", "after () match any b or match c"),
        ("a {- b+ -} c", "match any b+ c"),
        ("(a b)*? (c ())", "match (any b)*? c ()"),
        ('"a" b', "match any b"),
    ],
)
def test_patterns(pattern: str, expected: str) -> None:
    query = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN ({pattern}) DEFINE B AS price > 1, C AS price < 1)"
    if "c" not in pattern:
        query = query.replace(", C AS price < 1", "")
    if "b" not in pattern:
        query = query.replace("B AS price > 1, ", "")
    assert " ".join(window(query)) == f"{expected} keep leftmost"


def test_the_end_of_the_data() -> None:
    lines = window(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a+ $) DEFINE a AS price > 1)"
    )
    assert lines == ["match a+", "until [false] or end", "keep leftmost"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("NOT (price > 1 AND size = 2)", "price <= 1 or size != 2"),
        ("NOT (price > PREV(price))", "price <= price[-1]"),
        ("price NOT BETWEEN 1 AND PREV(price, 2)", "price < 1 or price > price[-2]"),
        ("size IN (1, 2) AND size NOT IN (3, NULL)", "false"),
        ("PREV(price) IS NULL", "is_first"),
        ("PREV(price, 2) IS NOT NULL", "not is_first and not is_first[-1]"),
        ("MOD(size, 2) = 0 OR size % 3 <> 0", "size % 2 = 0 or size % 3 != 0"),
        ("ts - PREV(ts) > INTERVAL '90' MINUTE", "ts - ts[-1] > 90 minutes"),
        ("ts >= TIMESTAMP '2026-01-31 10:00:00'", "ts >= timestamp '2026-01-31 10:00:00'"),
        ("EXTRACT(HOUR FROM ts) = 9", "hour(ts) = 9"),
        ("-price * (size + 1) - (2 - price) < 3", "-price * (size + 1) - (2 - price) < 3"),
        ("CAST(size AS DOUBLE) / 2 > 1", "size * 1.0 / 2 > 1"),
        ("CASE WHEN size > 1 THEN price ELSE 0 END > 5", "size > 1 and price > 5 or not size > 1 and 0 > 5"),
        ("(price > 1) IS NOT TRUE", "not price > 1"),
        ("price > AVG(price)", "price > avg(price)"),
        ("COUNT(*) < 3", "count() < 3"),
    ],
)  # fmt: skip
def test_conditions(condition: str, expected: str) -> None:
    query = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS {condition})"
    text = translated(query)
    assert f"let a = {expected}\n" in text or f"match [{expected}]\n" in text


def test_counts_of_other_variables_in_a_loop() -> None:
    query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (b a+) DEFINE a AS price > COUNT(b.*))"
    with pytest.raises(wex.SpecError, match="cannot be told"):
        wex.from_sql(query, TICKER)
    assert (
        window(query.replace("COUNT(b.*)", "COUNT(a.*)"))[0] == "match any [price > count() - 1]+"
    )


def test_a_column_of_a_condition_that_is_dropped_still_may_not_be_null() -> None:
    query = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(x) AS m
        PATTERN (a b) DEFINE a AS x > LAST(b.x) OR ts > 0)"""
    translation = wex.from_sql(query, {"ts": "int", "x": "int"})
    assert "assume" in str(translation)
    with pytest.raises(wex.DataError):
        translation.find({"ts": [1, 2], "x": [1, None]})


def test_rows_that_a_predicate_tells_from_the_others() -> None:
    query = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (x a b* c)
        DEFINE x AS price BETWEEN 5 AND 10, a AS price > 10, b AS price < 5,
               c AS c.price > LAST(a.price) OR SUM(b.price) > 7)"""
    told = "price > last(price) filter [price > 10][-1] or sum(price) filter [price < 5][-1] > 7"
    assert window(query)[0] == f"match x a b* [{told}]"


def test_columns_that_may_be_null_say_so() -> None:
    query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(y) AS y PATTERN (a) DEFINE a AS NOT (x > 1) AND name NOT LIKE 'A%')"
    schema = {"ts": "int", "x": "int", "y": "int", "name": "string"}
    text = translated(query, schema=schema)
    assert "let a = x <= 1 and name is not null and name not like 'A%'" in text
    assert "assume [not y is null]*\n" in text or "assume [y is not null]*\n" in text
    assert text.count("unchecked") == 2
    found = wex.from_sql(query, schema).find(
        {"ts": [1, 2, 3, 4], "x": [1, None, 0, 0], "y": [7, 8, 9, 9], "name": ["B", "B", "C", None]}
    )
    assert found.to_pylist() == [{"y": 7}, {"y": 9}]


def test_escapes_of_like_follow_the_dialect() -> None:
    query = (
        r"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS symbol LIKE '5\%')"
    )
    assert r"like '5\\%'" in translated(query, "trino")
    assert r"like '5\%'" in translated(query.replace(r"\%", r"\\%"), "databricks")
    escaped = query.replace(r"'5\%'", "'5!%!!_' ESCAPE '!'")
    assert r"like '5\%!_'" in translated(escaped, "trino")


def test_names_in_the_quotes_of_each_dialect() -> None:
    for dialect, quote in (("flink", "`"), ("databricks", "`"), ("trino", '"'), ("snowflake", '"')):
        query = f"""SELECT {quote}m{quote} FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS {quote}m{quote}
            AFTER MATCH SKIP PAST LAST ROW PATTERN (a) DEFINE a AS {quote}the end{quote} > 1) AS x"""
        text = translated(query, dialect, {"ts": "int", "the end": "int not null"})
        assert "let a = `the end` > 1" in text


def test_the_result_has_the_columns_of_sql() -> None:
    query = """
        SELECT m.top AS high, n, Symbol FROM ticks MATCH_RECOGNIZE (
          PARTITION BY symbol ORDER BY ts
          MEASURES LAST(price) AS top, MATCH_NUMBER() AS n
          AFTER MATCH SKIP TO NEXT ROW
          PATTERN (a up+) DEFINE up AS price > PREV(price)) AS m"""
    translation = wex.from_sql(query, TICKER)
    assert translation.columns == ("high", "n", "Symbol")
    start = datetime(2026, 1, 31)
    data: dict[str, list[object]] = {
        "symbol": ["B", "A", "A", "A", "B", None, None],
        "ts": [start + timedelta(minutes=n) for n in range(7)],
        "price": [1.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0],
    }
    assert translation.find(data).to_pylist() == [
        {"high": 2.0, "n": 1, "Symbol": None},
        {"high": 3.0, "n": 1, "Symbol": "A"},
        {"high": 3.0, "n": 2, "Symbol": "A"},
        {"high": 4.0, "n": 1, "Symbol": "B"},
    ]
    assert translation.find({name: values[:1] for name, values in data.items()}).num_rows == 0


def test_schemas_of_arrow() -> None:
    schema = pa.schema(
        [
            pa.field("symbol", pa.string()),
            pa.field("ts", pa.timestamp("us", "UTC")),
            pa.field("price", pa.float32(), nullable=False),
        ]
    )
    query = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts PATTERN (a) DEFINE a AS price > 1)"
    assert "(symbol string, ts timestamp, price real)" in translated(query, schema=schema)
    assert "assume" not in translated(query, schema=schema)
    table = schema.empty_table()
    assert translated(query, schema=table) == translated(query, schema=schema)
    frame = pa.table({"symbol": ["A"], "ts": [1], "price": [1.5]}).to_pandas()
    assert "(symbol string, ts int, price real)" in translated(query, schema=frame)


def test_schemas_of_spark() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    schema = types.StructType(
        [
            types.StructField("ts", types.TimestampNTZType()),
            types.StructField("size", types.LongType(), nullable=False),
            types.StructField("price", types.DecimalType(10, 2), nullable=False),
        ]
    )
    query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS price > size)"
    assert "(ts timestamp, price real, size int)" in translated(query, "spark", schema)


ALL_ROWS = """
    SELECT * FROM ticks MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts
      MEASURES MATCH_NUMBER() AS number, CLASSIFIER() AS variable, FINAL LAST(price) AS top
      ALL ROWS PER MATCH
      PATTERN (a down+ up+) DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
TICKS = {
    "k": ["x"] * 8 + ["y"] * 3,
    "ts": list(range(11)),
    "price": [3.0, 2.0, 1.0, 2.0, 3.0, 1.0, 5.0, 5.0, 2.0, 1.0, 4.0],
    "note": list("abcdefghijk"),
}


def test_all_rows_of_a_match() -> None:
    types = {"k": "string", "ts": "int not null", "price": "real"}
    rows = wex.from_sql(ALL_ROWS, types).find(TICKS)
    assert rows.column_names == ["k", "ts", "number", "variable", "top", "price", "note"]
    assert rows["note"].to_pylist() == list("abcdeijk")
    assert rows["number"].to_pylist() == [1] * 8
    assert rows["variable"].to_pylist() == ["A", "DOWN", "DOWN", "UP", "UP", "A", "DOWN", "UP"]
    assert rows["top"].to_pylist() == [3.0] * 5 + [4.0] * 3
    excluding = ALL_ROWS.replace("down+ up", "{- down+ -} up").replace("*", "note, ts AS at", 1)
    less = wex.from_sql(excluding, types | {"note": "string"}).find(TICKS)
    assert less.to_pydict() == {"note": list("adeik"), "at": [0, 3, 4, 8, 10]}


def test_all_rows_are_a_flag() -> None:
    query = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES FINAL COUNT(*) AS n, CLASSIFIER() AS c
        ALL ROWS PER MATCH PATTERN (a {- b -}) DEFINE a AS price > 1)"""
    try:
        translation = wex.from_sql(query, TICKER)
    except wex.SpecError:
        pytest.skip("the language has no labels yet")
    assert (translation.rows, translation.classifier) == (True, "c")
    assert translation.excluded == ("B",)


@needs_labels
def test_measures_of_variables_are_measures_of_labels() -> None:
    query = """
        SELECT * FROM Ticker MATCH_RECOGNIZE (
          ORDER BY ts
          MEASURES LAST(down.price) AS bottom, COUNT(u.*) AS n, SUM(up.size * up.price) AS turnover, CLASSIFIER() AS c
          PATTERN (strt down+ up+) SUBSET u = (strt, up)
          DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
    assert window(query) == [
        "match U:STRT:any DOWN:down+ U:UP:up+",
        "keep leftmost",
        "measure last(DOWN.price) as bottom, count(U) as n, sum(UP.size * UP.price) as turnover, last(label()) as c",
    ]


def test_offsets_of_first_and_last_in_every_dialect() -> None:
    """Spark's own LAST(x, 1) means something else, and sqlglot's parser of Spark drops the 1."""
    query = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(x, 1) AS second
      AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+) DEFINE b AS x > LAST(x, 1))"""
    data = {"ts": [1, 2, 3, 4], "x": [5, 6, 7, 3]}
    for dialect in DIALECTS:
        translation = wex.from_sql(query, {"ts": "int", "x": "int"}, dialect=dialect)
        assert translation.find(data).to_pylist() == [{"second": 6}], dialect
