"""`wex.find` and `wex.find_in_file`: the windows of a spec in a table or in files, in this process.

Functions that import an engine do so when they are called: the kernels load numba.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.compile.clauses import clauses_of
from wex.engine.data_errors import arrow_errors
from wex.engine.files.json_files import TypeChangedError
from wex.engine.files.options import text_options
from wex.engine.files.reading import DEFAULTS, concat_tables, source_of
from wex.engine.files.sources import files_of
from wex.engine.input.columns import table_of
from wex.engine.input.key_filter import KeyFilter
from wex.errors import DataError, WexError
from wex.spec import meaning
from wex.spec.arguments import with_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from wex.engine.engine import Engine
    from wex.engine.files.options import TextOptions
    from wex.engine.files.reading import Source
    from wex.engine.files.sources import Given
    from wex.engine.input.columns import Data
    from wex.spec import SpecLike, tree


def find(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    *,
    rows: bool = False,
    threads: int | None = None,
) -> pa.Table:
    """Return the windows of a spec in some data, one row each or, with `rows`, one for each event."""
    check_threads(threads)
    filled = with_arguments(spec, partition_by, order_by)
    from wex.engine.engine import engine_of  # noqa: PLC0415
    from wex.engine.event_rows import rows_engine, with_row_index  # noqa: PLC0415

    if not rows:
        return _run_once(engine_of(filled), data, threads)
    table = table_of(data)
    engine = rows_engine(filled, tuple(table.column_names), numbered=True)
    return _run_once(engine, with_row_index(table), threads)


def check_threads(threads: int | None) -> None:
    """Raise an error unless a number of threads is None or at least 1."""
    if threads is not None and (type(threads) is not int or threads < 1):
        message = f"threads must be a positive whole number, got {threads!r}"
        raise WexError("wrong-argument", message, "leave it out to use all cores for much data")


def _run_once(engine: Engine, data: Data, threads: int | None = None) -> pa.Table:
    """Return what an engine finds in data that is all there is."""
    from wex.engine.engine import windows_in_threads  # noqa: PLC0415
    from wex.engine.ranges.division import find_divided  # noqa: PLC0415

    with arrow_errors(), windows_in_threads(threads):
        return find_divided(engine, table_of(data), threads)


# Rows read, windows found, and the part of the input that has been read, if it is known.
Progress = Callable[[int, int, "float | None"], None]


@dataclass(frozen=True)
class Request:
    """Which files to read, their format, how texts are written in them, and which streams to keep.

    With `rows`, the result has a row for every event of every window. `threads` are those to use; None: as
    many as help.
    """

    given: Given
    input_format: str | None = None
    options: TextOptions = DEFAULTS
    where_key: Mapping[str, object] | None = None
    rows: bool = False
    threads: int | None = None

    @classmethod
    def of(
        cls,
        given: Given,
        input_format: str | None,
        where_key: Mapping[str, object] | None,
        options: Mapping[str, object],
        *,
        rows: bool,
        threads: int | None,
    ) -> Request:
        """Return a request with the options of text files as a user gives them, by name."""
        return cls(given, input_format, text_options(**options), where_key, rows, threads)


def find_in_files(
    spec: tree.Spec, request: Request, progress: Progress | None = None
) -> tuple[pa.Table, int]:
    """Return the windows of a spec in some files, and how many events the files have.

    Files are read batch by batch, so that they may be larger than memory, if the events of each
    stream come in order. If they do not, or if a batch has a fault that may only come from the
    order, all events are read at once and sorted.
    """
    from wex.engine.engine import engine_of, windows_in_threads  # noqa: PLC0415
    from wex.engine.event_rows import rows_engine  # noqa: PLC0415

    check_threads(request.threads)
    fields = meaning(spec).fields
    chosen = KeyFilter(spec, fields, request.where_key)
    side_by_side = windows_in_threads(request.threads)
    with files_of(request.given, request.input_format) as files, side_by_side:
        engine = rows_engine(spec, numbered=True) if request.rows else engine_of(spec)
        try:
            source = source_of(files, fields, request.options, steady=True)
            return _find_in_batches(spec, engine, source, chosen, progress or _silent)
        except TypeChangedError:
            pass
        except DataError as error:
            if error.code not in OUT_OF_ORDER:
                raise
        source = source_of(files, fields, request.options)
        table = concat_tables([chosen.rows(batch) for batch in _batches(source, engine)])
        chosen.check()
        return _run_once(engine, table, request.threads), table.num_rows


def events_in_files(
    spec: tree.Spec, request: Request, progress: Progress | None = None
) -> pa.Table:
    """Return the events of some files, as a table."""
    fields = meaning(spec).fields
    chosen = KeyFilter(spec, fields, request.where_key)
    with files_of(request.given, request.input_format) as files:
        source = source_of(files, fields, request.options)
        parts, read = [], 0
        for batch in source.batches:
            parts.append(chosen.rows(batch))
            read += parts[-1].num_rows
            (progress or _silent)(read, 0, source.meter.share)
        chosen.check()
        return concat_tables(parts)


# The errors that a batch may have only because earlier events come in a later batch.
OUT_OF_ORDER = ("late", "assumption", "arithmetic")


def _silent(_read: int, _found: int, _share: float | None) -> None:
    pass


def _batches(source: Source, engine: Engine) -> Iterator[pa.Table]:
    """Yield the batches of a source, with the number of each row if its engine wants rows."""
    from wex.engine.event_rows import with_row_index  # noqa: PLC0415

    read = 0
    for batch in source.batches:
        yield with_row_index(batch, read) if engine.rows else batch
        read += batch.num_rows


def _find_in_batches(
    spec: tree.Spec, engine: Engine, source: Source, chosen: KeyFilter, progress: Progress
) -> tuple[pa.Table, int]:
    from wex.engine.event_rows import window_count  # noqa: PLC0415
    from wex.engine.input.schemas import concat_to_last_schema  # noqa: PLC0415
    from wex.engine.input.sorting import in_key_order  # noqa: PLC0415
    from wex.engine.running_streams import RunningStreams  # noqa: PLC0415

    streams = RunningStreams(engine)
    parts, read, windows = [], 0, 0
    for batch in _batches(source, engine):
        rows = chosen.rows(batch)
        try:
            parts.append(streams.feed(rows))
        except DataError:
            source.check_columns()
            raise
        read += rows.num_rows
        windows += window_count(parts[-1])
        progress(read, windows, source.meter.share)
    chosen.check()
    parts.append(streams.close())
    keys = [name.text for name in spec.stream.partition_by]
    windows_found = concat_to_last_schema(parts)
    expanded = meaning(spec).expanded  # where sessions with `at most` are chosen by preference
    if any(clauses_of(window).prefers for window in expanded.windows):
        windows_found = _in_report_order(expanded, windows_found)
    # Sort by stream, as `find` does; within a stream windows are in order already.
    return in_key_order(windows_found, keys, meaning(spec).fields), read


def _in_report_order(spec: tree.Spec, windows: pa.Table) -> pa.Table:
    """Return the windows of an expanded spec by the event that reports them, their place and start.

    The rows of a window stay in their order. Windows by preference come when they are decided, which may be in a later batch.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    from wex.engine.event_rows import EVENT_INDEX  # noqa: PLC0415

    names = pa.array([window.name.text for window in spec.windows])
    waits = pa.array([int(window.until is not None) for window in spec.windows])
    place = pc.index_in(windows.column("window_name"), value_set=names)
    reported = pc.add(windows.column("end_index"), waits.take(place.combine_chunks()))
    rank = pa.table({"reported": reported, "place": place, "start": windows.column("start_index")})
    if EVENT_INDEX in windows.column_names:
        rank = rank.append_column(EVENT_INDEX, windows.column(EVENT_INDEX))
    order = pc.sort_indices(rank, [(name, "ascending") for name in rank.column_names])
    return windows.take(order)
