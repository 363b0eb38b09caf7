"""The windows of a spec in some data.

Every function imports its implementation when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from wex.engine.files.sources import Given
    from wex.engine.input.columns import Data
    from wex.spec import SpecLike


def find(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    *,
    rows: bool = False,
    threads: int | None = None,
) -> pa.Table:
    """Return the windows of a spec in some data, one row each, or a row for each of their events.

    If the number of open starts can grow without bound, the spec runs, and a warning is logged
    once in a process. So is the reason if a window that was not found can never occur.

    Parameters
    ----------
    spec
        The spec, its text, or the path of its file.
    data
        An Arrow table, a dict of arrays, or any object that exports Arrow data, such as a DataFrame
        of pandas or polars or a relation of duckdb.
    partition_by, order_by
        Columns that split the data into streams, and columns that order each stream, if the spec
        does not name them.
    rows
        Return a row for every event of every window, with all columns of the data.
    threads
        How many threads to use: for several streams, or for ranges of one long stream. All cores
        from ten million events on, else one, if it is not given. The windows are the same.

    Examples
    --------
    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ keep longest")
    >>> wex.find(spec, {"x": [1, 2, 3, 1, 5]}).select(["start_index", "end_index"]).to_pylist()
    [{'start_index': 1, 'end_index': 1}, {'start_index': 1, 'end_index': 2}, {'start_index': 4, 'end_index': 4}]
    >>> wex.find(spec, {"x": [1, 2, 3]}, rows=True).select(["window_id", "event_index", "x"]).to_pylist()
    [{'window_id': 'rise/1-1', 'event_index': 1, 'x': 2}, {'window_id': 'rise/1-2', 'event_index': 1, 'x': 2}, {'window_id': 'rise/1-2', 'event_index': 2, 'x': 3}]
    """
    from wex.analysis.boundedness_guard import warn  # noqa: PLC0415
    from wex.engine.find import find  # noqa: PLC0415
    from wex.spec import as_spec  # noqa: PLC0415

    spec = as_spec(spec)
    windows = find(spec, data, partition_by, order_by, rows=rows, threads=threads)
    warn(spec, windows)  # after the windows are found, so that they do not wait for it
    return windows


def label(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> pa.Table:
    """Return the data, all its rows in their own order, with the windows that each row belongs to.

    Three columns are added: ``window_count``, the number of these windows, and two lists in the
    order of `find`, ``window_names`` and ``window_ids``. A row without a window has empty lists.

    Parameters
    ----------
    spec, data, partition_by, order_by
        As for `find`.

    Examples
    --------
    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ window pair match any{2}")
    >>> wex.label(spec, {"x": [1, 2, 1]})["window_ids"].to_pylist()
    [['pair/0-1'], ['rise/1-1', 'pair/0-1', 'pair/1-2'], ['pair/1-2']]
    """
    from wex.analysis.boundedness_guard import warn  # noqa: PLC0415
    from wex.engine.membership import label  # noqa: PLC0415
    from wex.spec import as_spec  # noqa: PLC0415

    spec = as_spec(spec)
    labelled = label(spec, data, partition_by, order_by)
    warn(spec)
    return labelled


def find_in_file(
    spec: SpecLike,
    path: Given,
    *,
    input_format: str | None = None,
    where_key: Mapping[str, object] | None = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    rows: bool = False,
    threads: int | None = None,
    **options: object,
) -> pa.Table:
    r"""Return the windows of a spec in a file, one row each, or a row for each of their events.

    Parameters
    ----------
    spec
        The spec, its text, or the path of its file.
    path
        A file (Parquet, CSV, JSON lines or Arrow), a pattern as ``'data/*.csv'``, a folder, ``'-'`` for
        standard input, or a list of these. Files whose events are in order are read batch by batch.
    input_format
        ``'parquet'``, ``'csv'``, ``'json'`` or ``'arrow'``, if the name of the file does not tell.
    where_key
        The streams to look at, by values of key columns: ``{'symbol': 'A'}``.
    partition_by, order_by, threads
        As for `find`; batch by batch, threads run the windows of the spec side by side.
    rows
        Return a row for every event of every window, with the fields of the stream line.
    options
        How values are written in text files: ``delimiter``, ``quote``, ``no_header``,
        ``timestamp_format``, ``decimal_comma``, ``null``, ``empty_as_text``, ``encoding``, as for
        the command `wex find`. If a file cannot be read, ``options`` of the error has those that
        would help.

    Examples
    --------
    >>> import pathlib, tempfile, wex
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> _ = path.write_text("day;price\n2000-01-01;1,5\n2000-02-01;2,5\n")
    >>> spec = wex.parse("stream s (day date, price real) order by day window up match [price > price[-1]]")
    >>> wex.find_in_file(spec, path, delimiter=";", decimal_comma=True)["window_start"].to_pylist()
    [datetime.date(2000, 2, 1)]
    """
    from wex.analysis.boundedness_guard import warn  # noqa: PLC0415
    from wex.engine.find import Request, find_in_files  # noqa: PLC0415
    from wex.spec import as_spec  # noqa: PLC0415
    from wex.spec.arguments import with_arguments  # noqa: PLC0415

    filled = with_arguments(as_spec(spec), partition_by, order_by)
    request = Request.of(path, input_format, where_key, options, rows=rows, threads=threads)
    windows, _ = find_in_files(filled, request)
    warn(filled, windows)
    return windows
