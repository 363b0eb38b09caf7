"""`wex.spark.sql`: statements with MATCH_RECOGNIZE, of which everything else stays Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  (the usual name)

from wex.engine.engine import engine_of
from wex.engine.event_rows import LABEL
from wex.errors import WexError
from wex.spark.dataframe import selected_windows, windows
from wex.spark.schemas import quoted
from wex.spec import tree
from wex.sql import require_sqlglot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wex.sql.result import Translation

START = "start_index"  # of a window: what MATCH_NUMBER() counts, and a column that is always there


def sql(spark: SparkSession, query: str) -> DataFrame:
    """Return the result of a statement of Spark SQL that may have MATCH_RECOGNIZE in it.

    Every MATCH_RECOGNIZE becomes a spec, and its matches are found as `windows` finds them, in a
    batch or on a stream. What it reads, and all that is done with the matches, is left to Spark:
    joins, subqueries, WITH, aggregation. A part of a pattern that WEX cannot say is a SpecError
    that points at it.
    """
    require_sqlglot()
    from wex.sql.query import match_at  # noqa: PLC0415
    from wex.sql.reader import Reader  # noqa: PLC0415  (loads sqlglot)
    from wex.sql.statement import statement_of  # noqa: PLC0415
    from wex.sql.translation import translated_query  # noqa: PLC0415

    reader = Reader(query, "spark", "<sql>")
    statement = statement_of(reader)
    if not statement.matches:
        return spark.sql(query)
    frames: dict[str, DataFrame] = {}
    for match in statement.matches:
        rows = _run(spark, match.rows, frames)
        query_part, _ = match_at(reader, match.at, match.table)
        translation = translated_query(reader, query_part, rows.schema)
        frames[match.placeholder] = matches(rows, translation)
    return _run(spark, statement.text, frames)


def _run(spark: SparkSession, text: str, frames: dict[str, DataFrame]) -> DataFrame:
    """Run a text with placeholders; Spark leaves braces alone if there are none to fill."""
    filled: dict[str, Any] = dict(frames)
    return spark.sql(text, **filled) if frames else spark.sql(text.format())


def matches(rows: DataFrame, translation: Translation) -> DataFrame:
    """Return the matches of a translated query in the rows that it reads."""
    spec = translation.spec
    keys = tree.texts(spec.stream.partition_by)
    if translation.rows:
        found = rows.transform(windows(spec, rows=True))
    else:
        read = [old for old, _ in translation.chosen(()) if old is not None]
        if translation.match_number is not None:
            read += [*keys, START]
        found = selected_windows(spec, rows, list(dict.fromkeys(read)) or [START])
    if translation.excluded:
        labels = engine_of(spec).labels
        left_out = F.coalesce(F.col(LABEL).isin(translation.left_out(labels)), F.lit(False))
        found = found.where(~left_out)
    columns = []
    for old, new in translation.chosen(found.columns):
        if old is not None:
            columns.append(F.col(quoted(old)).alias(new))
            continue
        if rows.isStreaming:
            message = (
                "MATCH_NUMBER() counts all matches of a key, which a stream without end cannot"
            )
            raise WexError(
                "match-number", message, "leave it out, or number the rows of the result"
            )
        order = Window.partitionBy(*(F.col(quoted(key)) for key in keys)).orderBy(START)
        columns.append(F.dense_rank().over(order).cast("bigint").alias(new))
    return found.select(*columns)
