"""`wex sql`: run a query with MATCH_RECOGNIZE, in this process or with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wex.cli import FINE
from wex.cli.terminal import PATH, WIDE, Setting, deliver, reading_progress, require_spark
from wex.engine.files.writing import check_output
from wex.errors import SpecError, WexError, counted, hint_for_path

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.sql.reader import Reader
    from wex.sql.statement import Statement


@click.command(short_help="Run a query with MATCH_RECOGNIZE.")
@click.argument("query")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    type=Setting(),
    metavar="NAME=PATH",
    help="A table of the query, and the file or folder that it is read from. Repeatable.",
)
@click.option("-o", "--output", type=PATH, help="File for the result; its ending gives the format.")
@click.option(
    "--json", "json_wanted", is_flag=True, help="Print the result as JSON, one object per line."
)
@WIDE
@click.option("--master", help="URL of the Spark master.  [default: local[*]]")
def sql(
    query: str,
    inputs: tuple[tuple[str, str], ...],
    output: str | None,
    json_wanted: bool,
    wide: bool,
    master: str | None,
) -> int:
    """Run QUERY, the text of a query or a file that ends in .sql, on files.

    A query that is nothing but a MATCH_RECOGNIZE runs in this process. Any other one is Spark SQL:
    Spark runs it, except for the MATCH_RECOGNIZE in it.
    """
    if output is not None:
        check_output(Path(output), None)
    from wex.sql import require_sqlglot  # noqa: PLC0415

    require_sqlglot()
    from wex.sql.reader import Reader  # noqa: PLC0415
    from wex.sql.statement import statement_of  # noqa: PLC0415

    text, name = query_text(query)
    reader = Reader(text, "spark", name)
    statement = statement_of(reader)
    tables = dict(inputs)
    result = alone(reader, statement, tables)
    if result is None:
        result = with_spark(text, tables, master)
    deliver(result, counted(result.num_rows, "row"), output, json_wanted=json_wanted, wide=wide)
    return FINE


def query_text(query: str) -> tuple[str, str]:
    """Return the text of a query and its name in error messages."""
    if not query.lower().endswith(".sql"):
        return query, "<sql>"
    try:
        return Path(query).read_text(encoding="utf-8"), query
    except (OSError, ValueError) as error:  # text that is not UTF-8 is a ValueError
        reason = getattr(error, "strerror", None) or "cannot read this file as UTF-8"
        hint = hint_for_path(query, "give the path of a query")
        raise WexError("no-file", f"{query}: {reason}", hint) from error


def alone(reader: Reader, statement: Statement, tables: dict[str, str]) -> pa.Table | None:
    """Return the result of a query that is nothing but a MATCH_RECOGNIZE; None for any other."""
    from wex.sql.query import match_at  # noqa: PLC0415
    from wex.sql.selection import parsed_query  # noqa: PLC0415
    from wex.sql.translation import translated_query  # noqa: PLC0415

    for match in statement.matches:  # their mistakes are told before Spark starts
        match_at(reader, match.at, match.table)
    try:
        query = parsed_query(reader)
    except SpecError:
        return None  # there is more around it
    from wex.engine.files.schema import schema_of  # noqa: PLC0415
    from wex.engine.find import Request, find_in_files  # noqa: PLC0415

    path = next((path for name, path in tables.items() if name.upper() == query.table.key), None)
    if path is None:
        message = f"there is no --input for the table `{query.table.text}`"
        hint = f"name its file: --input {query.table.text}=PATH"
        reader.fail("unknown-name", query.table.span, message, hint)
    translation = translated_query(reader, query, schema_of(path))
    with reading_progress() as progress:
        windows, _ = find_in_files(translation.spec, Request(path, rows=translation.rows), progress)
    return translation.result(windows)


def with_spark(text: str, tables: dict[str, str], master: str | None) -> pa.Table:
    """Return the result of a query that Spark runs."""
    require_spark()
    from wex.spark import sql as run  # noqa: PLC0415
    from wex.spark.batch_job import Job, format_of  # noqa: PLC0415
    from wex.spark.errors import error_for_user  # noqa: PLC0415
    from wex.spark.session import end_session, new_session  # noqa: PLC0415

    spark = new_session(master, {}, progress=False, quiet=True)
    try:
        for name, path in tables.items():
            kind = format_of(path)
            options = {"header": "true", "inferSchema": "true"} if kind == "csv" else {}
            frame = spark.read.format(kind).options(**options).load(path)
            frame.createOrReplaceTempView(name)
        return run(spark, text).toArrow()
    except WexError:
        raise
    except Exception as error:
        explained = error_for_user(error, Job(", ".join(tables.values()), ""))
        if explained.code == "spark-refused":
            explained.hint = "correct the query; its tables are those that --input names"
        raise explained from error
    finally:
        end_session(spark)
