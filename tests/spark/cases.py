"""Cases of batch jobs for every kind of session, and the helpers that they share with streams."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import wex
from tests.spark.standalone import SETTINGS as CLUSTER_SETTINGS
from tests.strategies.mixed import SCHEMA, mixed_specs, random_streams
from wex import examples
from wex.engine.engine import engine_of
from wex.engine.input.bad_rows import BadRowFilter
from wex.examples import market
from wex.spark import (
    create_view,
    internals,
    long_rows,
    packed_shuffle,
    recovered,
    register,
    sql,
    windows,
)
from wex.spark.batch_job import Job
from wex.spark.errors import error_for_user
from wex.spark.schemas import to_arrow
from wex.spark.worker import engine_of_plan, joined, partition_windows
from wex.stages import plan_of

TREND = examples.spec("trend")
LABELS = wex.parse("""
  stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
  window turn match any down:([price < price[-1]]+) up:([price > price[-1]]+) keep leftmost
    measure last(down.price) as low, first(up.ts) as turned, count(up) as rises, collect(label()) as parts
    having rises > 1
""")


def session(kind: str, **more: str) -> SparkSession:
    """Return a small session, classic, of Spark Connect, or on a cluster with this URL."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    master = kind if kind.startswith("spark:") else "local[2]"
    builder = builder.remote(master) if kind == "connect" else builder.master(master)
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "5",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "OFF",
        **(CLUSTER_SETTINGS if kind.startswith("spark:") else {}),
        **more,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    result: SparkSession = builder.getOrCreate()
    return result


def is_classic(spark: SparkSession) -> bool:
    """Tell whether a session is a classic one, and not of Spark Connect."""
    return hasattr(spark, "sparkContext")


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return windows to compare: sorted, the zone of times left out."""
    plain = [
        tuple(
            value.replace(tzinfo=None)
            if isinstance(value, datetime)
            else str(value)
            if isinstance(value, Decimal)
            else value
            for value in row.values()
        )
        for row in table.to_pylist()
    ]
    return sorted(plain, key=repr)


def same(
    spark: SparkSession, spec: wex.Spec, table: pa.Table, frame: DataFrame | None = None
) -> int:
    """Check that Spark finds what `find` finds, and return how many windows that are."""
    given = spark.createDataFrame(table) if frame is None else frame
    result = given.transform(windows(spec)).toArrow()
    expected = wex.find(spec, table)
    assert result.column_names == expected.column_names
    assert rows(result) == rows(expected)
    return int(expected.num_rows)


# --- The cases


def shuffles(spark: SparkSession) -> None:
    """Packed or row by row, in few buckets or in many, with workers that sort on disk: the same windows."""
    table = market.trades(20_000, 40)
    frame = spark.createDataFrame(table)

    def without_mean(windows_found: pa.Table) -> list[tuple[object, ...]]:
        return rows(windows_found.drop_columns(["mean"]))  # a sum of parts may round differently

    expected = without_mean(wex.find(TREND, table))
    assert without_mean(frame.transform(windows(TREND, shuffle="rows")).toArrow()) == expected
    with patch("wex.spark.packed_shuffle.BUCKET_BYTES", 20_000):
        packed = frame.transform(windows(TREND))
        assert without_mean(packed.toArrow()) == expected
    if is_classic(spark):
        with redirect_stdout(StringIO()) as plan:
            packed.explain()
        assert "pack(" in plan.getvalue()
    with (
        patch("wex.spark.packed_shuffle.MEMORY", 1),
        patch("wex.spark.row_packing.MOST_ROWS", 900),
    ):
        assert without_mean(frame.transform(windows(TREND)).toArrow()) == expected
    # Somebody has partitioned the rows already.
    by_key = frame.repartition(3, "symbol").sortWithinPartitions("symbol", "ts", "price")
    for apart in (by_key, frame.repartitionByRange(3, "symbol"), frame.coalesce(1)):
        result = apart.select("price", "ts", "symbol").transform(windows(TREND))
        assert without_mean(result.toArrow()) == expected
        if is_classic(spark):
            with redirect_stdout(StringIO()) as plan:
                result.explain()
            assert "pack(" not in plan.getvalue()
            assert internals.partitioned_by(frame.hint("rebalance", "symbol")) is None
    # Decimals that are one real are one key, and a column of no type is one.
    by_decimal = wex.parse("stream s (k real, t int) partition by k order by t window w match any")
    exact = spark.sql(
        "SELECT CAST(CASE WHEN id % 2 = 0 THEN '0.2009651139027379071' ELSE '0.2009651139027379072' END"
        " AS DECIMAL(38, 19)) AS k, id AS t FROM range(10)"
    )
    for frame_of_one in (exact, exact.withColumn("k", F.lit(None))):
        for shuffle in ("packed", "rows"):
            ends = frame_of_one.transform(windows(by_decimal, shuffle=shuffle)).toArrow()
            assert sorted(ends["end_index"].to_pylist()) == list(range(10))
    wrong(lambda: windows(TREND, shuffle="sorted"), "wrong-argument")  # type: ignore[arg-type]


@contextmanager
def limit_of_batches(spark: SparkSession, limit: object) -> Iterator[None]:
    """Set the bytes of the batches that Spark hands to workers for the time of a block."""
    before = spark.conf.get(long_rows.LIMIT, None)
    spark.conf.set(long_rows.LIMIT, str(limit))
    try:
        yield
    finally:
        spark.conf.unset(long_rows.LIMIT) if before is None else spark.conf.set(
            long_rows.LIMIT, before
        )


def two_ways_to_workers(spark: SparkSession) -> None:
    """Whether Spark measures the batches for workers or not, and however: the same windows."""
    one_column = wex.parse("stream s (t int) order by t window w match [t > t[-1]] any{2}")
    numbers = pa.table({"t": np.arange(1_000)})
    frame = spark.createDataFrame(market.trades(2_000, 9))
    ways = [
        (long_rows.UNLIMITED, "MapInArrow", (shuffles, every_type, few_rows, no_key)),
        ("1g", "MapInArrow", ()),
        ("1k", "[pack(", (every_type,)),
    ]
    for limit, way, other_cases in ways:
        with limit_of_batches(spark, limit):
            for case in other_cases:
                case(spark)
            for plain in (None, spark.createDataFrame(numbers).repartition(7)):
                assert same(spark, one_column, numbers, plain) == 997
            if is_classic(spark):
                with redirect_stdout(StringIO()) as plan:
                    frame.transform(windows(TREND)).explain()
                assert way in plan.getvalue()
    # Each batch is packed by itself; rows are computed anew each time they are asked for.
    with limit_of_batches(spark, "64m"), patch("wex.spark.row_packing.MOST_ROWS", 1):
        assert same(spark, TREND, market.trades(3_000, 300)) > 0
        drawn = frame.select("symbol", "ts", (F.col("price") + F.rand(3)).alias("price"))
        assert drawn.transform(windows(TREND)).count() > 10


def functions_of_columns(spark: SparkSession) -> None:
    """Rows that workers get as arguments of a function: Spark neither refuses queries for it nor hands over more."""
    table = market.trades(2_000, 9)
    frame = spark.createDataFrame(table)
    frame.createOrReplaceTempView("trades_of_functions")
    create_view(spark, "windows_of_functions", TREND, "trades_of_functions")
    symbols = "(SELECT DISTINCT symbol FROM trades_of_functions) AS t"
    lateral = "LATERAL (SELECT n FROM windows_of_functions AS w WHERE w.symbol = t.symbol)"
    expected = wex.find(TREND, table).num_rows
    assert spark.sql(f"SELECT n FROM {symbols}, {lateral}").count() == expected > 10
    above = "price > (SELECT avg(mean) FROM windows_of_functions)"
    assert spark.sql(f"SELECT sum(int({above})) FROM trades_of_functions").first()[0] > 10  # type: ignore[index]
    # The only column is computed by a function of the same kind, whose times have another unit.
    moments = wex.parse("stream s (t timestamp) order by t window w match [t > t[-1]]")

    def nanoseconds(parts: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for part in parts:
            yield pc.multiply(part, 1000).cast(pa.timestamp("ns"))

    times = F.arrow_udf(nanoseconds, "timestamp")("id")  # type: ignore[call-overload]
    computed = spark.range(50).select(times.alias("t"))
    ends = computed.transform(windows(moments)).toArrow()["window_end"].cast(pa.int64())
    assert sorted(ends.to_pylist()) == list(range(1, 50))
    if is_classic(spark):
        # Right above a cache or files, Spark would hand over whole batches of these.
        with redirect_stdout(StringIO()) as plan:
            frame.cache().transform(windows(TREND)).explain()
        frame.unpersist()
        _, _, below = plan.getvalue().partition("ArrowEvalPython")
        assert " Project " in below.splitlines()[1]


def small_batches_of_blobs(spark: SparkSession) -> None:
    """Blobs come to a worker in batches of some bytes, although Spark counts rows alone."""
    spec = wex.parse("stream s (t int, x real) order by t window w match any")
    frame = spark.range(4_000_000).select(F.col("id").alias("t"), F.rand(1).alias("x"))

    def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            blobs = sum(blob.is_valid for blob in batch.column("rows"))
            yield pa.record_batch({"bytes": [batch.nbytes], "blobs": [blobs]})

    with limit_of_batches(spark, long_rows.UNLIMITED):
        blobs = packed_shuffle.shuffled(frame, engine_of(spec), ["t", "x"])
        found = blobs.mapInArrow(sizes, "bytes long, blobs long").toArrow()
    assert pc.sum(found["bytes"]).as_py() > 32_000_000  # the reals alone
    assert pc.min(found["blobs"]).as_py() > 10
    assert pc.max(found["bytes"]).as_py() < 1.1 * long_rows.BATCH_BYTES


def many_and_skewed_keys(spark: SparkSession) -> None:
    table = market.trades(20_000, 40)
    assert same(spark, TREND, table) > 100
    as_sorted = table.sort_by([("symbol", "ascending"), ("ts", "ascending")])
    assert same(spark, TREND, as_sorted) > 100
    assert same(spark, examples.spec("trend_formula"), table) > 100
    assert same(spark, LABELS, table) > 100
    one = market.trades(3_000, 1)
    few = pa.concat_tables([one, table.slice(0, 50)])
    shuffled = few.take(pa.array(np.random.default_rng(1).permutation(few.num_rows)))
    assert same(spark, TREND, shuffled) > 50


def adaptive_or_not(spark: SparkSession) -> None:
    table = market.trades(2_000, 5)
    for on in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", on)
        same(spark, TREND, table)
    spark.conf.set("spark.sql.adaptive.enabled", "true")


def every_type(spark: SparkSession) -> None:
    spec = wex.parse("""
      stream s (k string, t timestamp, d date, n int, x real, m real, side enum('a', 'b'), ok bool, `end` int, v other)
        partition by k order by t, d
      let gap = t - t[-1]
      window w match [n > 1 and ok]+ until [not ok or side = 'b'] or end
        measure sum(n) as s, avg(m) as a, max(k) as top, first(d) as day, last(t) as at, collect(side) as sides,
          first(v) as payload, max(gap) as longest, count_distinct(x) as different
      window v match [`end` >= 0] any keep disjoint measure var(x) as spread, every(ok) as fine
      window tracked match any [n <= max(n) and avg(m) < 8]* [n > first(n) and first(side) != side] measure count() as events
      window preferred match [n > 1] any*? [ok and n % 2 = 0] keep leftmost sharing 1 event
      window resumed match [n > 1] l:([n > 3]*) any*? [ok] keep leftmost resuming at last l
      window run runs of side, ok
      window odd match [(x is null or x > 1) and hour(t) = 10 and (k is null or k like '_')]{2}
    """)
    random = np.random.default_rng(3)
    count = 400
    start = datetime(2026, 1, 31, 10)
    table = pa.table({
        "extra": ["never looked at"] * count,
        "k": [[None, "a", "b", "ü"][n] for n in random.integers(0, 4, count)],
        "t": pa.array([start + timedelta(seconds=int(n)) for n in random.integers(0, 200, count)]),
        "d": [date(2026, 1, 1) + timedelta(days=int(n)) for n in random.integers(0, 3, count)],
        "n": pa.array(random.integers(0, 9, count), pa.int32()),
        "x": [[None, 1.5, -0.0, 0.0, 2.5][n] for n in random.integers(0, 5, count)],
        "m": [Decimal(int(n)).scaleb(-1) for n in random.integers(0, 99, count)],
        "side": [["a", "b"][n] for n in random.integers(0, 2, count)],
        "ok": random.random(count) < 0.7,
        "end": pa.array(random.integers(-1, 2, count), pa.int16()),
        "v": [{"p": int(n)} for n in range(count)],
    })  # fmt: skip
    # Rows that are equal but for `v` have no order of their own.
    keys = ["k", "t", "d", "n", "x", "m", "side", "ok", "end"]
    seen: set[tuple[object, ...]] = set()
    kept = []
    for index, row in enumerate(table.select(keys).to_pylist()):
        key = tuple(map(repr, row.values()))
        if key not in seen:
            kept.append(index)
        seen.add(key)
    assert same(spark, spec, table.take(pa.array(kept))) > 50


def few_rows(spark: SparkSession) -> None:
    table = market.trades(100, 2)
    frame = spark.createDataFrame(table)
    assert frame.where("price < 0").transform(windows(TREND)).toArrow().num_rows == 0
    one_each = market.trades(30, 1000)
    assert same(spark, wex.parse(str(TREND)), one_each) == 0
    single = wex.parse(
        "stream s (symbol string, ts timestamp, price real) partition by symbol order by ts window w match any"
    )
    assert same(spark, single, one_each) == 30


def no_key(spark: SparkSession) -> None:
    spec = wex.parse(
        "stream s (ts timestamp, price real) order by ts window w match [price > price[-1]]{3,} keep longest"
    )
    assert same(spark, spec, market.trades(3_000, 1).drop_columns(["symbol"])) > 10


def arguments(spark: SparkSession) -> None:
    text = (
        "stream s (symbol string, ts timestamp, price real) window w match [price > price[-1]]{2}"
    )
    table = market.trades(500, 3)
    open_spec = wex.parse(text)
    for spec in (open_spec, text):
        out = spark.createDataFrame(table).transform(windows(spec, "symbol", ["ts"])).toArrow()
        assert rows(out) == rows(wex.find(open_spec, table, partition_by="symbol", order_by="ts"))
    wrong(lambda: windows([text]), "not-a-spec")  # type: ignore[arg-type]


def views(spark: SparkSession) -> None:
    table = market.trades(2_000, 5)
    spark.createDataFrame(table).createOrReplaceTempView("trades")
    create_view(spark, "trends", str(TREND), "trades")
    (row,) = spark.sql("SELECT count(*) AS n, max(mean) AS top FROM trends WHERE n > 3").collect()
    expected = wex.find(TREND, table).to_pandas().query("n > 3")
    assert (row["n"], row["top"]) == (len(expected), expected["mean"].max())


def table_functions(spark: SparkSession) -> None:
    table = market.trades(2_000, 5)
    spark.createDataFrame(table).createOrReplaceTempView("trades")
    register(spark, "trend", str(TREND))
    expected = wex.find(TREND, table)
    by_key = spark.sql("SELECT * FROM trend(TABLE(trades) PARTITION BY symbol ORDER BY ts)")
    assert rows(by_key.toArrow()) == rows(expected)
    fast = spark.sql("""
      WITH found AS (
        SELECT * FROM trend(TABLE(SELECT * FROM trades DISTRIBUTE BY symbol SORT BY symbol, ts))
      )
      SELECT found.* FROM found JOIN (SELECT DISTINCT symbol FROM trades) USING (symbol)
    """)
    assert rows(fast.toArrow()) == rows(expected)
    lateral = spark.sql("""
      SELECT s.symbol, t.n FROM (SELECT DISTINCT symbol FROM trades) s,
        LATERAL (SELECT count(*) AS n FROM trend(TABLE(trades) PARTITION BY symbol ORDER BY ts) w
                 WHERE w.symbol = s.symbol) t
    """)
    counts = expected.group_by("symbol").aggregate([("n", "count")])
    assert {row["symbol"]: row["n"] for row in lateral.collect() if row["n"]} == dict(
        zip(counts["symbol"].to_pylist(), counts["n_count"].to_pylist(), strict=True)
    )
    # Without either, rows come as they lie in the partitions: out of order is an error.
    wrong(lambda: spark.sql("SELECT * FROM trend(TABLE(trades))").toArrow(), "unsorted")
    other = wex.parse(
        "stream s (t int, v other) order by t window w match any measure first(v) as f"
    )
    wrong(lambda: register(spark, "other", other), "no-type")


V = """
    MATCH_RECOGNIZE (
      PARTITION BY symbol ORDER BY ts
      MEASURES FIRST(ts) AS since, LAST(down.price) AS bottom, COUNT(*) AS n{measures}
      {rows} ROW{s} PER MATCH
      PATTERN (a down{{2,}} up+) DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
ONE = V.format(measures=", MATCH_NUMBER() AS number", rows="ONE", s="")
ALL = V.format(measures=", CLASSIFIER() AS part", rows="ALL", s="S").replace(
    "FIRST(", "FINAL FIRST("
)
ALL = ALL.replace("LAST(", "FINAL LAST(").replace("COUNT(", "FINAL COUNT(")


def statements(spark: SparkSession) -> None:
    table = market.trades(2_000, 5)
    frame = spark.createDataFrame(table)
    frame.createOrReplaceTempView("trades")
    expected = wex.from_sql(f"SELECT * FROM trades {ONE}", frame).find(table)
    assert expected.num_rows > 20
    assert rows(sql(spark, f"SELECT * FROM trades {ONE};").toArrow()) == rows(expected)
    (row,) = sql(
        spark,
        f"""
        WITH recent AS (SELECT *, '{{}}' AS brackets FROM trades -- all of them
                        WHERE price IS NOT NULL),
             found AS (SELECT * FROM recent {ONE})
        SELECT sum(f.n) AS n, max(f.number) AS number, count(m.bottom) AS pairs
        FROM found f LEFT JOIN (SELECT * FROM trades) {ONE} AS m
          ON f.symbol = m.symbol AND f.since = m.since
        """,
    ).collect()
    assert row["n"] == sum(expected["n"].to_pylist())
    assert (row["number"], row["pairs"]) == (max(expected["number"].to_pylist()), expected.num_rows)
    every = wex.from_sql(f"SELECT symbol, ts, part, n FROM trades {ALL}", frame).find(table)
    assert rows(sql(spark, f"SELECT symbol, ts, part, n FROM trades {ALL}").toArrow()) == rows(
        every
    )
    nothing_read = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS price > 0)"
    assert sql(spark, f"SELECT count(*) AS n FROM trades {nothing_read}").collect()[0]["n"] == 2_000
    assert sql(spark, "SELECT '{}' AS x").collect()[0]["x"] == "{}"
    wrong(
        lambda: sql(spark, f"SELECT * FROM trades {ONE.replace('price <', 'prise <')}"),
        "unknown-name",
    )


def random_specs(spark: SparkSession) -> None:
    """Many random specs in one job: each case is a key, and comes back as the bytes of its table."""
    result = random_cases(mixed_specs(), 30)
    plans = [plan_of(spec).to_bytes() for spec, _ in result]
    tables = [
        table.append_column("case", pa.array([index] * table.num_rows, pa.int64()))
        for index, (_, table) in enumerate(result)
    ]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = pa.Table.from_batches(list(batches))
        for case in sorted(set(whole["case"].to_pylist())) if whole.num_rows else []:
            own = whole.filter(pa.compute.equal(whole["case"], case)).drop_columns(["case"])
            engine = engine_of_plan(plans[case])
            pieces = joined(iter(own.to_batches()), 3)
            results = list(partition_windows(engine, pieces, tally=False))
            if not results:
                continue
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, results[0].schema) as writer:
                for batch in results:
                    writer.write_batch(batch)
            yield pa.record_batch({"case": [case], "table": [sink.getvalue().to_pybytes()]})

    frame = spark.createDataFrame(pa.concat_tables(tables)).withColumn(
        "t", F.col("t").cast("timestamp_ntz")
    )
    ordered = frame.repartition("case").sortWithinPartitions("case", *SCHEMA.names)
    results = {
        row["case"]: row["table"]
        for row in ordered.mapInArrow(run, "case long, table binary").collect()
    }
    assert len(results) > 15
    for case, (spec, table) in enumerate(result):
        expected = wex.find(spec, table)
        if case in results:
            assert rows(pa.ipc.open_stream(results[case]).read_all()) == rows(expected), spec
        else:
            assert not expected.num_rows, spec
    # As users run them, with the shuffle, the sort and the types of Spark; many windows in a job.
    for spec, table in random_cases(mixed_specs(least=6, most=8), 4):
        as_given = spark.createDataFrame(table).withColumn("t", F.col("t").cast("timestamp_ntz"))
        assert same(spark, spec, table, as_given) > 0


def rows_of_windows(spark: SparkSession) -> None:
    """Spark has the rows that `find` has: all columns, but no place of a row in the data."""

    def expected(spec: wex.Spec, table: pa.Table) -> pa.Table:
        return wex.find(spec, table, rows=True).drop_columns(["row_index"])

    def same_rows(spec: wex.Spec, table: pa.Table, frame: DataFrame) -> None:
        result = frame.transform(windows(spec, rows=True)).toArrow()
        wanted = expected(spec, table)
        assert result.column_names == wanted.column_names
        assert rows(result) == rows(wanted)

    table = market.trades(2_000, 5)
    notes = [{"note": f"n{number}"} for number in range(table.num_rows)]
    table = table.append_column("a.note", pa.array(notes))
    frame = spark.createDataFrame(table)
    with patch("wex.spark.dataframe.BATCH_ROWS", 100):  # windows that lie in several batches
        same_rows(TREND, table, frame)
    no_key = wex.parse(
        "stream s (ts timestamp, price real) order by ts window w match [price > price[-1]]{2,} keep longest"
    )
    same_rows(no_key, table, frame)
    for spec, data in random_cases(mixed_specs(least=6, most=8), 3):
        given = spark.createDataFrame(data).withColumn("t", F.col("t").cast("timestamp_ntz"))
        same_rows(spec, data, given)
    # Counts are of windows and events; bad rows are left out, and so is the column that marks them.
    spoilt = frame.withColumn(
        "price", F.expr("CASE WHEN symbol = 'S001' THEN CAST(NULL AS DOUBLE) ELSE price END")
    ).withColumn("_corrupt_record", F.lit(None).cast("string"))
    others = table.filter(pa.compute.not_equal(table["symbol"], "S001"))
    observed = Observation()
    found = spoilt.transform(windows(TREND, rows=True, bad_rows="skip", observation=observed))
    assert rows(found.toArrow()) == rows(expected(TREND, others))
    counts = observed.get
    assert counts["windows"] == wex.find(TREND, others).num_rows
    assert (counts["events"], counts["bad"]) == (
        others.num_rows,
        table.num_rows - others.num_rows,
    )
    frame.createOrReplaceTempView("noted")
    create_view(spark, "trend_rows", TREND, "noted", rows=True)
    (row,) = spark.sql("SELECT count(DISTINCT window_id) AS n FROM trend_rows").collect()
    assert row["n"] == wex.find(TREND, table).num_rows
    clash = frame.withColumn("mean", F.lit(1.0))
    assert "another name" in str(
        wrong(lambda: clash.transform(windows(TREND, rows=True)), "column-clash")
    )


def random_cases(specs: st.SearchStrategy[wex.Spec], count: int) -> list[tuple[wex.Spec, pa.Table]]:
    """Return specs with streams in which they find windows."""
    result: list[tuple[wex.Spec, pa.Table]] = []

    @settings(max_examples=2 * count, phases=[Phase.generate], database=None, deadline=None,
              derandomize=True, suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(specs, st.integers(0, 2**32))
    def collect(spec: wex.Spec, seed: int) -> None:
        table = random_streams(Random(seed), 4)
        with suppress(wex.DataError):
            if len(result) < count and wex.find(spec, table).num_rows:
                result.append((spec, table))

    collect()
    assert len(result) > count / 2
    return result


def wrong(call: Callable[[], object], code: str) -> wex.WexError:
    """Return the WexError that a call ends with, on this side or from a worker."""
    try:
        call()
    except wex.WexError as error:
        result: wex.WexError | None = error
    except Exception as error:  # noqa: BLE001  (Spark's own, of many kinds)
        result = recovered(error)
        assert result is not None, error
    else:
        raise AssertionError("nothing was wrong")
    assert result is not None
    assert result.code == code, result
    return result


def mistakes_before_the_job(spark: SparkSession) -> None:
    assert internals.python_of_local_workers(spark) == sys.executable
    frame = spark.createDataFrame(market.trades(10, 1))
    no_order = wex.parse("stream s (price real) window w match any")
    assert "order by" in str(wrong(lambda: windows(no_order), "no-order"))
    renamed = frame.withColumnRenamed("price", "prise")
    assert "prise" in str(wrong(lambda: renamed.transform(windows(TREND)), "missing-column"))
    text = frame.withColumn("price", F.lit("text"))
    assert "declare" in str(wrong(lambda: text.transform(windows(TREND)), "wrong-column-type"))
    struct = frame.withColumn("price", F.struct("price", "ts"))
    assert "price" in str(wrong(lambda: struct.transform(windows(TREND)), "wrong-column-type"))


def bad_rows(spark: SparkSession) -> None:
    """Say what is wrong, and where; `nulls skip` leaves such rows out."""
    table = market.trades(100, 2)
    frame = spark.createDataFrame(table)
    for bad in ("CAST(NULL AS DOUBLE)", "CAST('NaN' AS DOUBLE)"):
        spoilt = frame.withColumn(
            "price", F.expr(f"CASE WHEN symbol = 'S001' THEN {bad} ELSE price END")
        )
        error = wrong(lambda frame=spoilt: frame.transform(windows(TREND)).toArrow(), "null")  # type: ignore[misc]
        assert isinstance(error, wex.DataError)
        assert (error.column, error.key, error.position) == ("price", ("S001",), 0)
        assert "bad_rows" in error.hint  # type: ignore[operator]
        skipping = wex.parse(str(TREND).replace("order by ts", "order by ts nulls skip"))
        expected = wex.find(skipping, table.filter(pa.compute.equal(table["symbol"], "S000")))
        assert rows(spoilt.transform(windows(skipping)).toArrow()) == rows(expected)


def bad_rows_aside(spark: SparkSession) -> None:
    """Find the windows without bad rows; count and report each bad row once."""
    spec = wex.parse("""
      stream s (k string, t int, x int, y real, side enum('a', 'b')) partition by k order by t
      window up match [x - x[-1] > 0]+ keep longest measure sum(y) as total""")
    far, count = 2**62 + 2**61, 600
    columns: dict[str, list[Any]] = {
        "k": [f"K{index % 7}" for index in range(count)],
        "t": [None if index % 83 == 0 else index for index in range(count)],
        "x": [None if index % 29 == 3 else far if index % 97 == 5 else -far if index % 31 == 6 else index * index % 11
              for index in range(count)],
        "y": [2**60 if index % 71 == 7 else index for index in range(count)],
        "side": ["c" if index % 53 == 8 else "ab"[index % 2] for index in range(count)],
    }  # fmt: skip
    table = pa.table(columns)
    frame = spark.createDataFrame(table).withColumn("_corrupt_record", F.expr(
        "CASE WHEN t % 101 = 9 THEN 'half a mess' END"))  # fmt: skip
    engine = engine_of(spec)
    row_filter = BadRowFilter(engine, "divert")
    marks = [None if t is None or t % 101 != 9 else "half a mess" for t in columns["t"]]
    fine = row_filter.without_bad_rows(table.append_column("_corrupt_record", pa.array(marks)))
    expected, left = row_filter.feed_good_rows(
        lambda part: wex.find(spec, part), lambda part: engine.fresh(len(part.starts)), fine
    )
    seen = Observation()
    skipping = windows(spec, bad_rows="skip", observation=seen)
    assert rows(frame.transform(skipping).toArrow()) == rows(expected)
    assert seen.get == {"events": left, "streams": 7, "windows": expected.num_rows, "bad": count - left}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "bad rows"
        result = frame.transform(windows(spec, bad_rows="divert", bad_rows_to=to))
        for again in (result, result.union(result).limit(1), result):  # however often it is run
            again.toArrow()
        assert rows(result.toArrow()) == rows(expected)
        assert letters(to) == sorted(row_filter.lines)
        wrong(lambda: frame.transform(windows(spec, bad_rows="divert", bad_rows_to=to)), "output-exists")  # fmt: skip
        wrong(lambda: windows(spec, bad_rows="skip", bad_rows_to=to), "wrong-argument")
        at_a_file = next(to.glob("*.jsonl"))
        wrong(lambda: windows(spec, bad_rows="divert", bad_rows_to=at_a_file), "bad-rows-to")
    wrong(lambda: windows(spec, bad_rows="divert"), "wrong-argument")
    wrong(lambda: windows(spec, bad_rows="divert", bad_rows_to="nowhere://x"), "bad-rows-to")
    wrong(lambda: windows(spec, bad_rows="drop"), "wrong-argument")  # type: ignore[arg-type]
    total = wex.parse(str(spec).replace("sum(y)", "sum(x)").replace("x - x[-1] > 0", "x > 3"))
    big = spark.createDataFrame(pa.table({
        "k": ["a"] * 2, "t": [1, 2], "x": [far, far], "y": [1.0, 2.0], "side": ["a"] * 2}))  # fmt: skip
    # A sum that overflows has no row to blame.
    failing = wrong(lambda: big.transform(windows(total, bad_rows="skip")).toArrow(), "arithmetic")
    assert "bad_rows" not in str(failing)


def letters(folder: Path) -> list[str]:
    """Return all dead letters of a folder."""
    files = sorted(folder.glob("*.jsonl"))
    assert all(file.stat().st_size for file in files)
    return sorted(line for file in files for line in file.read_text().splitlines())


def readable_errors(spark: SparkSession) -> None:
    """Show the message of an error first, whatever the data says."""
    spoilt = spark.createDataFrame(market.trades(100, 2)).withColumn("price", F.lit(None).cast("double"))  # fmt: skip
    spoilt = spoilt.withColumn("symbol", F.lit('WEX1:{"code": "x"}:WEX1 [wex:e30=:00] \'"'))
    text = ""
    try:
        spoilt.transform(windows(TREND)).toArrow()
    except Exception as error:  # noqa: BLE001  (Spark's own)
        text, recovered_error = str(error), recovered(error)
        assert recovered_error is not None
        assert recovered_error.code == "null"
    shown = text.partition("WorkerError: ")[2].splitlines()
    assert shown[0] == "error[null]: NULL in a field that decides about windows"
    assert shown[2].startswith("  = help: ")
    assert shown[3].startswith("[wex:")


def errors_by_condition(spark: SparkSession) -> None:
    """Recognise the errors of Spark, whichever way an interface reports them."""

    # Inside, so that it is sent to the workers by value: they cannot import tests.
    def killed_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = Job(str(folder / "in"), str(folder / "out"))
        for path, text in {
            "headers/1.csv": "k,x\na,1\n", "headers/2.csv": "x,k\n1,a\n", "text.csv": "k,x\na,abc\n",
            "text.json": '{"k": "a", "x": "abc"}\n', "no.parquet": "this is text",
        }.items():  # fmt: skip
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        few = spark.range(3)
        few.write.parquet(str(folder / "ids"))
        header = spark.read.option("header", "true")
        strict = header.option("enforceSchema", "false")
        ids = str(folder / "ids")

        def stream(frame: DataFrame, to: str) -> None:
            query = frame.writeStream.format("parquet").option(
                "checkpointLocation", f"{folder}/{to}-c"
            )
            query.trigger(availableNow=True).start(f"{folder}/{to}").awaitTermination()

        calls: list[tuple[str, Callable[[], object]]] = [
            ("output-exists", lambda: few.write.parquet(ids)),
            ("no-file", lambda: spark.read.parquet(str(folder / "none")).collect()),
            ("columns-differ", lambda: strict.csv(str(folder / "headers")).write.parquet(job.target)),
            ("wrong-value", lambda: header.csv(f"{folder}/text.csv").select(F.col("x").cast("int")).collect()),
            ("wrong-value", lambda: spark.read.schema("k string, x int").option("mode", "FAILFAST")
                .json(f"{folder}/text.json").collect()),
            ("unreadable", lambda: spark.read.parquet(f"{folder}/no.parquet").collect()),
            ("unreadable", lambda: spark.read.schema("id string").parquet(ids).collect()),
            ("spark-refused", lambda: few.select("nothing").collect()),
            ("spark-failed", lambda: few.mapInArrow(killed_worker, "id long").collect()),
            ("columns-differ", lambda: stream(spark.readStream.schema("k string, x string").option("header", "true")
                .option("enforceSchema", "false").csv(str(folder / "headers")), "headers-out")),
            ("spark-failed", lambda: stream(spark.readStream.schema("id long").parquet(ids)
                .mapInArrow(killed_worker, "id long"), "killed-out")),
        ]  # fmt: skip
        for number, (code, call) in enumerate(calls):
            try:
                call()
            except Exception as error:  # noqa: BLE001  (Spark's own, of many kinds)
                explanation = error_for_user(error, job)
                assert explanation.code == code, (number, code, explanation, error)
                if code == "spark-failed":
                    assert explanation.message.startswith("a Python worker was killed"), explanation
            else:
                raise AssertionError(f"call {number} does not end with {code}")


def without_converters(spark: SparkSession) -> None:
    """Convert schemas in the documented way where PySpark does not have its own functions."""
    types = "k string, t timestamp, n timestamp_ntz, d date, b boolean, i int, l long, x double, m decimal(9,2)"
    schema = spark.createDataFrame(
        [], f"{types}, a array<int>, s struct<p: string, q: date>, o map<string, long>"
    ).schema
    arrow = to_arrow(schema)
    with patch.object(internals, "_converters", None):
        slow = to_arrow(schema)
        assert slow.names == arrow.names
        assert all(
            one == two or pa.types.is_nested(one)
            for one, two in zip(slow.types, arrow.types, strict=True)
        )
        assert same(spark, TREND, market.trades(500, 3)) > 5
        documented = internals.spark_schema_of(arrow)
    assert documented.simpleString() == internals.spark_schema_of(arrow).simpleString()


CASES = [
    shuffles, two_ways_to_workers, functions_of_columns, small_batches_of_blobs, many_and_skewed_keys, adaptive_or_not, every_type, few_rows, no_key, arguments, views, table_functions, statements, random_specs,
    rows_of_windows, mistakes_before_the_job, bad_rows, bad_rows_aside, readable_errors,
    errors_by_condition, without_converters,
]  # fmt: skip
