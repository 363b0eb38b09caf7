"""Cases of streaming queries for every kind of session."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from math import isclose
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import wex
from tests.spark.cases import TREND, letters, rows, wrong
from tests.spark.kept import still_readable
from wex import examples
from wex.engine.engine import engine_of
from wex.engine.input.bad_rows import BadRowFilter
from wex.engine.streaming.bucket import Bucket, Rules
from wex.errors import UnboundedError
from wex.examples import market
from wex.spark import sql, windows
from wex.spark.session import ROCKSDB
from wex.spark.streaming import PROVIDER, check_version
from wex.spark.streaming_job import counts_in

MODIFIED = 1_767_225_600  # seconds: the time of the first file
CLAUSES = wex.parse("""
  stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
  window pair match any{2} until [price > price[-1]] measure count() as n
  window fall match [price < price[-1]]{1,4} within 20 seconds keep longest measure sum(price) as total
  window drop match any [price < first(price)]{1,4} until [price >= max(price)] measure min(price) as least
  window pick match [price > price[-1]] any{0,3}? [price < price[-1]] keep leftmost measure last(price) as dip
  window first match [price > price[-1]] [price <= price[-1]] keep disjoint having n2 > 1 measure count() as n2
  window bucket runs of floor(ts, 2 seconds) measure count() as n3, max(price) as top
  window visit sessions gap 200 milliseconds measure sum(price) as spent
  window known match [price is null or second(ts) % 2 = 0] [price is not null]{1,2} until [price is null] measure count(price) as n4
  window small match [symbol like 'S00_'] [price - first(price) < 1]{0,3} until [ts - first(ts) > 1 second] or end
    keep longest measure last(ts) as latest
  window turn match any down:[price < price[-1]]{1,4} up:[price > price[-1]]{1,4} keep leftmost within 9 events
    until [price <= price[-1]] measure last(down.price) as low, count(up) as rises, mode(label()) as most
""")


def agree(result: pa.Table, expected: pa.Table) -> None:
    """Check that windows are the same; sums of floats depend on how rows were cut into batches."""
    ours, theirs = rows(result), rows(expected)
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        for our, their in zip(one, two, strict=True):
            same = our == their
            close = (
                isinstance(our, float)
                and isinstance(their, float)
                and isclose(our, their, abs_tol=1e-6)
            )
            assert same or close, (one, two)


def written(table: pa.Table, folder: Path, parts: int, *, shuffle: int = 0) -> None:
    """Write a table as files, in the order of time; `shuffle`: rows are that far from their place."""
    order = np.arange(table.num_rows)
    if shuffle:
        order = np.argsort(order + np.random.default_rng(1).uniform(0, shuffle, table.num_rows))
    table = table.take(pa.array(order))
    folder.mkdir(exist_ok=True)
    begin = len(list(folder.glob("*.parquet")))
    for index, chunk in enumerate(np.array_split(np.arange(table.num_rows), parts)):
        path = folder / f"{begin + index:04d}.parquet"
        hidden = path.with_name(f".{path.name}")  # Spark reads no file that is half written
        pq.write_table(table.take(pa.array(chunk)), hidden)
        # Spark reads files in the order of their time, to the millisecond.
        os.utime(hidden, (MODIFIED + begin + index,) * 2)
        hidden.rename(path)


def source(spark: SparkSession, folder: Path, delay: str | None = None) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
    frame = reader.option("latestFirst", "false").parquet(str(folder))
    return frame if delay is None else frame.withWatermark("ts", delay)


def run(frame: DataFrame, work: Path, name: str) -> tuple[pa.Table, list[dict[str, int]]]:
    """Run a query over what there is; return the windows in its sink, and its counts."""
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(work / f"{name}-out"))
        .option("checkpointLocation", str(work / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = [counts_in(batch) for batch in query.recentProgress]
    out = frame.sparkSession.read.schema(frame.schema).parquet(str(work / f"{name}-out"))
    return out.toArrow(), [counts for counts in progress if counts]


def final_watermark(table: pa.Table, seconds: int) -> pa.Table:
    """Return the rows that the last watermark has passed."""
    last = pc.max(table["ts"]).as_py() - timedelta(seconds=seconds)
    return table.filter(pc.less_equal(table["ts"], pa.scalar(last, table["ts"].type)))


def so_far(spec: wex.Spec, table: pa.Table) -> pa.Table:
    """Return the windows of streams that have not ended."""
    return wex.Processor(spec).feed(table)


def without_bad(spec: wex.Spec, table: pa.Table, seconds: int) -> tuple[pa.Table, list[str]]:
    """Return the windows of the good rows that the last watermark has passed, and all dead letters.

    A row that is wrong by itself is reported when it comes, others when the watermark has passed them.
    """
    engine = engine_of(spec)
    row_filter = BadRowFilter(engine, "divert")
    last = pc.max(table["ts"]).as_py() - timedelta(seconds=seconds)
    fine = row_filter.without_bad_rows(table)
    passed = fine.filter(pc.less_equal(fine["ts"], pa.scalar(last, fine["ts"].type)))
    result, _ = row_filter.feed_good_rows(
        lambda part: by_watermark(spec, part, last),
        lambda part: engine.fresh(len(part.starts)),
        passed,
    )
    return result, sorted(row_filter.lines)


def by_watermark(spec: wex.Spec, table: pa.Table, last: datetime) -> pa.Table:
    """Return the windows that a watermark reports, in one step."""
    bucket = Bucket.of(engine_of(spec), Rules())
    bucket.arrive(table, 0)
    moment = pa.scalar(last, table["ts"].type).cast(pa.timestamp("us", "UTC"))
    return bucket.advance(moment.cast(pa.int64()).as_py())


def window_of(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("symbol", "window_name", "start_index", "end_index"))


# --- The cases


def trades_without_price(count: int, symbols: int) -> pa.Table:
    """Return trades in the order of time, of which some have no price."""
    table = market.trades(count, symbols).sort_by("ts")
    prices = [None if n % 17 == 3 else price for n, price in enumerate(table["price"].to_pylist())]
    return table.set_column(2, "price", pa.array(prices, pa.float64()))


def any_batches(spark: SparkSession, work: Path) -> None:
    trades, gappy = market.trades(6_000, 20).sort_by("ts"), trades_without_price(6_000, 20)
    for spec, table, parts in ((TREND, trades, 4), (CLAUSES, gappy, 3)):
        name = f"plain{parts}"
        written(table, work / f"{name}-in", parts)
        frame = source(spark, work / f"{name}-in").transform(windows(spec, buckets=4))
        result, seen = run(frame, work, name)
        agree(result, so_far(spec, table))
        assert sum(counts["processed"] for counts in seen) == table.num_rows
        assert sum(counts["windows"] for counts in seen) == result.num_rows
        assert seen[-1]["streams"] == 20


def within_the_watermark(spark: SparkSession, work: Path) -> None:
    trades, gappy = market.trades(6_000, 20).sort_by("ts"), trades_without_price(6_000, 20)
    for spec, table, parts in ((TREND, trades, 5), (CLAUSES, gappy, 4)):
        name, passed = f"marked{parts}", final_watermark(table, 20)
        written(table, work / f"{name}-in", parts, shuffle=600)
        frame = source(spark, work / f"{name}-in", "20 seconds").transform(windows(spec, buckets=4))
        result, seen = run(frame, work, name)
        last = pc.max(table["ts"]).as_py() - timedelta(seconds=20)
        agree(result, by_watermark(spec, passed, last))
        # Time reports more than the events do, and nothing that the whole data does not have.
        reported = [set(map(window_of, found.to_pylist())) for found in
                    (so_far(spec, passed), result, wex.find(spec, table))]  # fmt: skip
        assert reported[0] <= reported[1] <= reported[2]
        assert (reported[0] < reported[1]) == (spec is CLAUSES)
        assert sum(counts["late"] for counts in seen) == 0
        assert sum(counts["processed"] for counts in seen) == passed.num_rows
        assert max(counts["buffered"] for counts in seen) > 0


def rows_of_short_windows(spark: SparkSession, work: Path) -> None:
    """Rows on a stream without end: each window says how many events it has at most."""
    spec = wex.parse("""
      stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
      window fall match [price < price[-1]]+ within 6 events keep longest measure sum(price) as total
      window pair match any{2} until [price > price[-1]] within 2 events
    """)
    table = market.trades(3_000, 10).sort_by("ts")
    noted = table.append_column("note", pa.array(["not declared"] * table.num_rows))
    written(noted, work / "rows-in", 3, shuffle=300)
    passed = final_watermark(table, 20)
    frame = source(spark, work / "rows-in", "20 seconds")
    result, _ = run(frame.transform(windows(spec, buckets=4, rows=True)), work, "rows")
    expected = wex.Processor(spec, rows=True).feed(passed)
    assert result.column_names == expected.column_names
    assert expected.num_rows > 1_000
    agree(result, expected)
    # A checkpoint with rows goes on with rows only, and TREND says nothing about its length.
    written(table.slice(0, 10), work / "rows-in", 1)
    without = frame.transform(windows(spec, buckets=4))
    assert "rows=True" in str(wrong(lambda: run(without, work, "rows"), "state-spec"))
    error = wrong(lambda: frame.transform(windows(TREND, rows=True)), "rows-unbounded")
    assert "within 1000 events" in str(error.hint)


def statements_on_streams(spark: SparkSession, work: Path) -> None:
    table = market.trades(1_500, 4).sort_by("ts")
    written(table, work / "in", 3)
    source(spark, work / "in").createOrReplaceTempView("live")
    query = """
      SELECT symbol, bottom * 2 AS twice FROM live MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY ts
        MEASURES LAST(down.price) AS bottom{number}
        PATTERN (a down{{2}} up) DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
    result, _ = run(sql(spark, query.format(number="")), work, "statement")
    plain = (
        query.format(number="").replace("bottom * 2 AS twice", "bottom").replace("live", "trades")
    )
    expected = wex.from_sql(plain, table.schema).find(table)
    found = sorted(zip(result["symbol"].to_pylist(), result["twice"].to_pylist(), strict=True))
    assert found == sorted((row["symbol"], row["bottom"] * 2) for row in expected.to_pylist())
    assert len(found) > 10
    wrong(lambda: sql(spark, query.format(number=", MATCH_NUMBER() AS n")), "match-number")


def late_rows(spark: SparkSession, work: Path) -> None:
    table = market.trades(4_000, 10).sort_by("ts")
    early, rest = table.slice(0, 100), table.slice(100)
    written(rest, work / "late-in", 2)
    written(early, work / "late-in", 1)
    frame = source(spark, work / "late-in", "10 seconds").transform(windows(TREND, buckets=4))
    result, seen = run(frame, work, "late")
    assert sum(counts["late"] for counts in seen) == 100
    agree(result, so_far(TREND, final_watermark(rest, 10)))
    strict = source(spark, work / "late-in", "10 seconds")
    strict = strict.transform(windows(TREND, buckets=4, late="error"))
    wrong(lambda: run(strict, work, "strict"), "late")


def silent_keys(spark: SparkSession, work: Path) -> None:
    spec = wex.parse(
        "stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts"
        " window all after () match any+ until [false] or end keep longest measure count() as n"
    )
    table = market.trades(3_000, 3).sort_by("ts")
    start = table["ts"][0].as_py()
    silent = pc.and_(
        pc.equal(table["symbol"], "S000"),
        pc.greater(table["ts"], pa.scalar(start + timedelta(seconds=5), table["ts"].type)),
    )
    table = table.filter(pc.invert(silent))
    written(table, work / "silent-in", 3)
    chosen = windows(spec, buckets=2, expire_after=timedelta(seconds=10), allow_unbounded=True)
    result, _ = run(source(spark, work / "silent-in", "1 second").transform(chosen), work, "silent")
    assert result["symbol"].to_pylist() == ["S000"]
    assert result["n"].to_pylist() == [pc.sum(pc.equal(table["symbol"], "S000")).as_py()]


def keys_that_come_and_go(spark: SparkSession, work: Path) -> None:
    spec = wex.parse("""
      stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
      window burst match any{1,4} until [price < price[-1]] or end keep longest measure count() as n
      window rise match [price > price[-1]]+ within 2 seconds measure max(price) as top
    """)
    random = np.random.default_rng(3)
    keys, events = 2_000, 8
    begins = np.repeat(np.sort(random.uniform(0, 300, keys)), events)
    times = ((begins + random.uniform(0, 3, keys * events)) * 1e6).astype(np.int64)
    table = pa.table({
        "symbol": [f"K{index // events}" for index in range(keys * events)],
        "ts": pa.array(times + MODIFIED * 1_000_000, pa.timestamp("us", "UTC")),
        "price": 100 + random.integers(-3, 4, keys * events),
    }).sort_by("ts")  # fmt: skip
    table = table.set_column(2, "price", table["price"].cast(pa.float64()))
    written(table, work / "many-in", 6)
    chosen = windows(spec, buckets=4, expire_after=timedelta(seconds=10), allow_unbounded=True)
    result, seen = run(source(spark, work / "many-in", "1 second").transform(chosen), work, "many")
    last = pc.max(table["ts"]).as_py() - timedelta(seconds=1)
    passed = final_watermark(table, 1)
    ends = table.group_by("symbol").aggregate([("ts", "max")])
    expired = ends.filter(
        pc.less(ends["ts_max"], pa.scalar(last - timedelta(seconds=10), ends["ts_max"].type))
    )["symbol"]
    silent = pc.is_in(passed["symbol"], value_set=expired.combine_chunks())
    ended = wex.find(spec, passed.filter(silent))
    going = so_far(spec, passed.filter(pc.invert(silent)))
    agree(result, pa.concat_tables([ended, going]))
    # All keys of a bucket expire at the latest when it is next called.
    assert seen[-1]["streams"] < keys // 4
    assert sum(count["processed"] for count in seen) == passed.num_rows


def like_session_window(spark: SparkSession, work: Path) -> None:
    """Sessions come out in the same micro-batches as those of Spark's own `session_window`."""
    spec = wex.parse("""
      stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
      window session sessions gap 7 seconds measure count() as n, sum(price) as total
    """)
    random = np.random.default_rng(5)
    seconds = np.sort(random.integers(0, 1_000, 1_500))  # whole, so that some pauses are just 7
    table = pa.table({
        "symbol": [f"K{key}" for key in random.integers(0, 40, len(seconds))],
        "ts": pa.array((MODIFIED + seconds) * 1_000_000, pa.timestamp("us", "UTC")),
        "price": random.integers(0, 100, len(seconds)).astype(np.float64),
    })  # fmt: skip
    written(table, work / "visits-in", 4, shuffle=30)
    frame = source(spark, work / "visits-in", "20 seconds")
    sessions = frame.groupBy(F.session_window("ts", "7 seconds").alias("session"), "symbol").agg(
        F.count("*").alias("n"), F.sum("price").alias("total")
    )
    theirs = sessions.select(
        "symbol",
        F.col("session.start").alias("window_start"),
        (F.col("session.end") - F.expr("INTERVAL 7 SECONDS")).alias("window_end"),
        "n",
        "total",
    )
    ours = frame.transform(windows(spec, buckets=4)).select(theirs.columns)
    reports = []
    for name, query in (("theirs", theirs), ("ours", ours)):
        run(query, work, name)
        reports.append(by_batch(spark, work / f"{name}-out"))
    assert reports[0] == reports[1]
    assert len([batch for batch in reports[0].values() if batch]) > 3


def by_batch(spark: SparkSession, folder: Path) -> dict[int, list[tuple[object, ...]]]:
    """Return the rows that each micro-batch has written to files, as the log of the sink has them."""
    batches = {}
    for log in (folder / "_spark_metadata").glob("[0-9]*"):
        lines = log.read_text().splitlines()[1:]
        files = [json.loads(line)["path"] for line in lines]
        result = spark.read.parquet(*files).toArrow() if files else None
        batches[int(log.name)] = [] if result is None else rows(result)
    return batches


def not_paid_in_time(spark: SparkSession, work: Path) -> None:
    """Report an order after an hour of silence, whether or not anything happens to it later."""
    spec = examples.spec("unpaid")
    minutes = {"a": {0: "placed", 30: "changed"}, "b": {5: "placed", 40: "paid"},
               "c": {10: "placed", 200: "paid"}, "d": {150: "placed"}, "e": {240: "placed"}}  # fmt: skip
    happened = sorted((at, key, kind) for key, own in minutes.items() for at, kind in own.items())
    table = pa.table({
        "id": [key for _, key, _ in happened],
        "ts": pa.array([(MODIFIED + 60 * at) * 1_000_000 for at, _, _ in happened], pa.timestamp("us", "UTC")),
        "kind": [kind for _, _, kind in happened],
    })  # fmt: skip
    written(table, work / "orders-in", 3)
    frame = source(spark, work / "orders-in", "1 minute").transform(windows(spec, buckets=2))
    result, seen = run(frame, work, "orders")
    assert sorted(result["id"].to_pylist()) == ["a", "c", "d"]
    assert sum(counts["processed"] for counts in seen) == table.num_rows - 1  # the last one waits


def restarts(spark: SparkSession, work: Path) -> None:
    table = market.trades(6_000, 20).sort_by("ts")
    written(table.slice(0, 2_500), work / "again-in", 2)
    for begin in (2_500, 6_000):
        frame = source(spark, work / "again-in").transform(windows(TREND, buckets=4))
        result, _ = run(frame, work, "again")
        agree(result, so_far(TREND, table.slice(0, begin)))
        if begin < 6_000:
            written(table.slice(2_500), work / "again-in", 2)


def upgrades(spark: SparkSession, work: Path) -> None:
    """Go on with a spec that finds the same, however it is written; say of any other what changed."""
    head = "stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts"
    first = f"""{head}
      window up match [price > price[-1]] [price >= price[-1]]{{0,3}} keep longest measure count() as n
      window low match [price < 100] [price < 100] measure min(price) as least"""
    same = f"""{head}
      let still = price >= price[-1]
      window low match [price < 100 and price < 101]{{2}} measure min(price) as least
      window up match [price > price[-1]] | [price > price[-1]] [still] [still]{{0,2}} keep longest
        measure count() as n"""
    table = market.trades(4_000, 10).sort_by("ts")
    steps = ((first, 0), (same, 1_000), (same, 2_000), (first, 3_000))
    columns = table
    for text, begin in steps:
        written(table.slice(begin, 1_000), work / "new-in", 1)
        frame = source(spark, work / "new-in").transform(windows(wex.parse(text), buckets=4))
        result, _ = run(frame, work, "new")
        columns = so_far(wex.parse(first), table.slice(0, begin + 1_000))
        agree(result.select(columns.column_names), columns)
    written(table.slice(0, 10), work / "new-in", 1)

    def refused(old: str, new: str) -> str:
        other = wex.parse(first.replace(old, new))
        frame = source(spark, work / "new-in").transform(windows(other, buckets=4))
        error = wrong(lambda: run(frame, work, "new"), "state-spec")
        assert isinstance(error, wex.StateError)
        return error.message

    assert "the measures were count() as n, and are sum(price) as n" in refused(
        "count() as n", "sum(price) as n"
    )
    assert "only the old spec has the window `low`" in refused("[price < 100] [", "[price < 99] [")
    assert "the windows were low, up, and are low, upward" in refused("window up", "window upward")
    frame = source(spark, work / "new-in").transform(windows(wex.parse(first), buckets=8))
    error = wrong(lambda: run(frame, work, "new"), "state-buckets")
    assert "buckets=4" in str(error)
    frame = source(spark, work / "new-in").transform(windows(wex.parse(first), buckets=4))
    result, seen = run(frame, work, "new")  # what was refused has done no harm
    assert seen[-1]["late"] == 10
    agree(result.select(columns.column_names), columns)


def downstream(spark: SparkSession, work: Path) -> None:
    """Use windows in event time: count them, and join them with what happens at the same time."""
    table = market.trades(9_000, 20).sort_by("ts")
    written(table, work / "down-in", 6, shuffle=300)
    events = source(spark, work / "down-in", "10 seconds")
    result = events.transform(windows(TREND, buckets=4))
    counted = result.groupBy(F.window("window_end", "5 seconds")).agg(F.count("*").alias("n"))
    by_time, _ = run(counted.select("window.end", "n"), work, "counted")
    passed = final_watermark(table, 10)
    last = pc.max(table["ts"]).as_py() - timedelta(seconds=10)
    ends = so_far(TREND, passed)["window_end"].to_pylist()
    closes = [
        end - timedelta(seconds=end.second % 5, microseconds=end.microsecond) + timedelta(seconds=5)
        for end in ends
    ]
    wanted = {close: closes.count(close) for close in closes if close <= last}
    assert dict(zip(by_time["end"].to_pylist(), by_time["n"].to_pylist(), strict=True)) == wanted
    # Each trend with the high prices of its symbol in the second before its end.
    high = source(spark, work / "down-in", "10 seconds").where("price > 110").alias("high")
    trends = events.transform(windows(TREND, buckets=4)).alias("trend")
    near = "high.symbol = trend.symbol AND ts BETWEEN window_end - INTERVAL 1 SECOND AND window_end"
    joined = trends.join(high, F.expr(near)).select("trend.symbol", "end_index", "ts")
    pairs, _ = run(joined, work, "joined")
    prices = table.filter(pc.greater(table["price"], 110)).to_pylist()
    together = sorted(
        (row["symbol"], row["end_index"], price["ts"])
        for row in so_far(TREND, passed).to_pylist()
        for price in prices
        if price["symbol"] == row["symbol"]
        and row["window_end"] - timedelta(seconds=1) <= price["ts"] <= row["window_end"]
    )
    assert together
    assert sorted(tuple(row.values()) for row in pairs.to_pylist()) == together


def two_specs(spark: SparkSession, work: Path) -> None:
    """Find the windows of two specs in one query, under names that Spark has trouble with."""
    odd = {"symbol": "a.key", "ts": "bucket", "price": "a`b"}
    table = market.trades(2_000, 5).sort_by("ts")
    named = table.rename_columns(list(odd.values()))
    written(named, work / "odd-in", 2)
    head = "stream s (`a.key` string, bucket timestamp, `a``b` real) partition by `a.key` order by bucket"
    specs = [
        wex.parse(
            f"{head} window up match [`a``b` > `a``b`[-1]]{{2}} measure max(`a``b`) as `A.Key`"
        ),
        wex.parse(
            f"{head} window down match [`a``b` < `a``b`[-1]]{{2}} measure max(`a``b`) as `A.Key`"
        ),
    ]
    passed = final_watermark(table, 1).rename_columns(list(odd.values()))
    # Each with a source of its own: Spark gives a watermark that is used twice to one of them only.
    up, down = (
        source(spark, work / "odd-in")
        .withWatermark("bucket", "1 second")
        .transform(windows(spec, buckets=2))
        for spec in specs
    )
    columns = [f"c{index}" for index in range(len(up.columns))]
    result, seen = run(up.toDF(*columns).union(down.toDF(*columns)), work, "odd")
    expected = pa.concat_tables([so_far(spec, passed).rename_columns(columns) for spec in specs])
    agree(result, expected)
    assert sum(counts["processed"] for counts in seen) == 2 * passed.num_rows
    batch = spark.read.parquet(str(work / "odd-in")).transform(windows(specs[0]))
    agree(batch.toDF(*columns).toArrow(), so_far(specs[0], named).rename_columns(columns))


def zones(spark: SparkSession, work: Path) -> None:
    """Go on in another time zone: moments are the same everywhere."""
    zone = "spark.sql.session.timeZone"
    before = spark.conf.get(zone)
    table = market.trades(2_000, 5).sort_by("ts")
    for index, name in enumerate(("UTC", "Europe/Berlin")):
        spark.conf.set(zone, name)
        written(table.slice(1_000 * index, 1_000), work / "zone-in", 1)
        frame = source(spark, work / "zone-in", "1 second").transform(windows(TREND, buckets=2))
        run(frame, work, "zone")
    spark.conf.set(zone, str(before))
    out = spark.read.parquet(str(work / "zone-out")).toArrow()
    agree(out, so_far(TREND, final_watermark(table, 1)))


def output_modes(spark: SparkSession, work: Path) -> None:
    """Append is the mode; Spark refuses complete, and update, where a sink takes it, is the same."""
    table = market.trades(1_000, 2).sort_by("ts")
    written(table, work / "mode-in", 2)
    frame = source(spark, work / "mode-in").transform(windows(TREND, buckets=2))
    for mode in ("complete", "update"):
        writer = frame.writeStream.format("memory").queryName(f"in_{mode}").outputMode(mode)
        writer = writer.option("checkpointLocation", str(work / mode)).trigger(availableNow=True)
        try:
            writer.start().awaitTermination()
        except Exception as error:
            if mode == "update":
                raise
            assert "complete" in str(error).lower()
    agree(spark.table("in_update").toArrow(), so_far(TREND, table))
    assert not spark.catalog.tableExists("in_complete") or not spark.table("in_complete").count()


def refusals(spark: SparkSession, work: Path) -> None:
    written(market.trades(100, 2).sort_by("ts"), work / "no-in", 1)
    frame = source(spark, work / "no-in")
    text = "stream s (symbol string, ts timestamp, price real) partition by symbol order by ts window w match "
    grows = wex.parse(text + "[price > 0]* [price < 0]")
    error = wrong(lambda: frame.transform(windows(grows)), "unbounded")
    assert "unbounded number of open starts" in str(error)
    assert isinstance(error, UnboundedError)
    assert error.witness.num_rows == 3
    assert "the stream price = " in str(error)
    limited = frame.transform(windows(grows, allow_unbounded=True, max_open=5, buckets=2))
    wrong(lambda: run(limited, work, "open"), "max-open")
    elsewhere = frame.withColumn("other", frame["ts"]).withWatermark("other", "1 second")
    wrong(lambda: elsewhere.transform(windows(TREND)), "watermark")
    for given in (
        {"late": "never"}, {"buckets": True}, {"buckets": 2.5}, {"max_open": 0},
        {"expire_after": 5}, {"expire_after": timedelta(seconds=-5)},
    ):  # fmt: skip
        wrong(lambda given=given: frame.transform(windows(TREND, **given)), "wrong-argument")  # type: ignore[misc]
    wrong(lambda: frame.transform(windows(TREND, expire_after=timedelta(hours=1))), "watermark")
    unproved = wex.parse(
        text + "[price * price[-1] > price[-2] * price[-1]]* [price / price[-1] < 0]"
    )
    assert "not proved" in str(wrong(lambda: frame.transform(windows(unproved)), "unbounded"))
    assert "4.1" in str(wrong(lambda: check_version("4.0.2"), "spark-version"))
    spark.conf.set(
        PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    )
    assert PROVIDER in str(wrong(lambda: frame.transform(windows(TREND)), "state-store"))
    spark.conf.set(PROVIDER, ROCKSDB)


def poison(spark: SparkSession, work: Path) -> None:
    """Go on after a row that cannot be an event, mended or put aside."""
    spec = wex.parse("""
      stream s (symbol string, ts timestamp, price real, n int) partition by symbol order by ts
      window up match [n - n[-1] > 0 and price > 0]{1,3} measure count() as n""")
    far, count = 2**62 + 2**61, 1_200
    trades = market.trades(count, 6).sort_by("ts")
    numbers = [far if index % 150 < 15 else -far if index % 150 < 30 else index * index % 11 for index in range(count)]  # fmt: skip
    good = trades.append_column("n", pa.array(numbers, pa.int64()))
    prices = [float("nan") if index % 97 == 7 else None if index % 89 == 8 else price
              for index, price in enumerate(trades["price"].to_pylist())]  # fmt: skip
    table = good.set_column(2, "price", pa.array(prices, pa.float64()))
    parts = [table.slice(index * 300, 300) for index in range(4)]

    def query(bad_rows: str, to: Path | None = None) -> tuple[pa.Table, list[dict[str, int]]]:
        choice = windows(spec, buckets=4, bad_rows=bad_rows, bad_rows_to=to)  # type: ignore[arg-type]
        return run(source(spark, work / "in", "1 second").transform(choice), work, "poison")

    # A row that is wrong by itself fails its micro-batch when it comes, and mending it helps.
    written(parts[0], work / "in", 1)
    error = wrong(lambda: query("fail"), "null")
    assert "--bad-rows divert" in str(error)
    assert isinstance(error, wex.DataError)
    file = work / "in" / "0000.parquet"
    pq.write_table(good.slice(0, 300), file)
    os.utime(file, (MODIFIED,) * 2)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    # One that fails in its stream is in the state by then: the next start says what becomes of it.
    written(good.slice(300, 300), work / "in", 1)
    wrong(lambda: query("fail"), "arithmetic")
    to = work / "bad"
    mended = pa.concat_tables([good.slice(0, 600), *parts[2:]])
    for part in (2, 3):
        written(parts[part], work / "in", 1)
        result, seen = query("divert", to)
        assert sum(counts["bad"] for counts in seen) > 0
        expected, dead = without_bad(spec, mended.slice(0, 300 * (part + 1)), 1)
        agree(result, expected)
        assert letters(to) == dead
    assert len({json.loads(line)["code"] for line in letters(to)}) == 2


CASES: list[Callable[[SparkSession, Path], None]] = [
    any_batches, within_the_watermark, rows_of_short_windows, statements_on_streams, late_rows, silent_keys, keys_that_come_and_go,
    like_session_window, not_paid_in_time, restarts, upgrades, downstream,
    output_modes, two_specs, zones, poison, still_readable, refusals,
]  # fmt: skip
