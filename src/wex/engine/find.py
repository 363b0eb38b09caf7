"""`wex.find` and `wex.find_in_file`: the windows of a spec in a table or in files, in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.compile.clauses import clauses_of
from wex.engine.data_errors import arrow_errors
from wex.engine.files.json_files import TypeChangedError
from wex.engine.files.reading import DEFAULTS, concat_tables, source_of
from wex.engine.files.sources import files_of
from wex.engine.input.key_filter import KeyFilter
from wex.errors import DataError
from wex.spec import meaning
from wex.spec.arguments import with_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

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
) -> pa.Table:
    """Return the windows of a spec in some data, one row each."""
    filled = with_arguments(spec, partition_by, order_by)
    from wex.engine.engine import engine_of  # noqa: PLC0415
    from wex.engine.input.prepare import PreparedInput  # noqa: PLC0415  (the kernels load numba)

    engine = engine_of(filled)
    with arrow_errors():
        prepared = PreparedInput(engine, data)
        prior = engine.fresh(len(prepared.starts))
        return engine.run(prepared.batch(prior), prior, last=True)[0]


Progress = Callable[[int, int, "int | None"], None]  # rows read, windows found, rows in all


@dataclass(frozen=True)
class Request:
    """Which files to read, their format, how texts are written in them, and which streams to keep."""

    given: Given
    input_format: str | None = None
    options: TextOptions = DEFAULTS
    where_key: Mapping[str, object] | None = None


def find_in_files(
    spec: tree.Spec, request: Request, progress: Progress | None = None
) -> tuple[pa.Table, int]:
    """Return the windows of a spec in some files, and how many events the files have.

    Files are read batch by batch, so that they may be larger than memory, if the events of each
    stream come in order. If they do not, or if a batch has a fault that may only come from the
    order, all events are read at once and sorted.
    """
    fields = meaning(spec).fields
    chosen = KeyFilter(spec, fields, request.where_key)
    with files_of(request.given, request.input_format) as files:
        try:
            source = source_of(files, fields, request.options, steady=True)
            return _find_in_batches(spec, source, chosen, progress or _silent)
        except TypeChangedError:
            pass
        except DataError as error:
            if error.code not in OUT_OF_ORDER:
                raise
        source = source_of(files, fields, request.options)
        table = concat_tables([chosen.rows(batch) for batch in source.batches])
        chosen.check()
        return find(spec, table), table.num_rows


# The errors that a batch may have only because earlier events come in a later batch.
OUT_OF_ORDER = ("late", "assumption", "arithmetic")


def _silent(_read: int, _found: int, _rows: int | None) -> None:
    pass


def _find_in_batches(
    spec: tree.Spec, source: Source, chosen: KeyFilter, progress: Progress
) -> tuple[pa.Table, int]:
    from wex.engine.input.schemas import concat_to_last_schema  # noqa: PLC0415
    from wex.engine.input.sorting import in_key_order  # noqa: PLC0415
    from wex.engine.processor import Processor  # noqa: PLC0415

    processor = Processor(spec)
    parts, read, windows = [], 0, 0
    for batch in source.batches:
        rows = chosen.rows(batch)
        try:
            parts.append(processor.feed(rows))
        except DataError:
            source.check_columns()
            raise
        read += rows.num_rows
        windows += parts[-1].num_rows
        progress(read, windows, source.rows)
    chosen.check()
    parts.append(processor.close())
    keys = [name.text for name in spec.stream.partition_by]
    windows_found = concat_to_last_schema(parts)
    expanded = meaning(spec).expanded  # where sessions with `at most` are chosen by preference
    if any(clauses_of(window).prefers for window in expanded.windows):
        windows_found = _in_report_order(expanded, windows_found)
    # Sort by stream, as `find` does; within a stream windows are in order already.
    return in_key_order(windows_found, keys, meaning(spec).fields), read


def _in_report_order(spec: tree.Spec, windows: pa.Table) -> pa.Table:
    """Return the windows of an expanded spec by the event that reports them, their place and start.

    Windows by preference come when they are decided, which may be in a later batch.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    names = pa.array([window.name.text for window in spec.windows])
    waits = pa.array([int(window.until is not None) for window in spec.windows])
    place = pc.index_in(windows.column("window_name"), value_set=names)
    reported = pc.add(windows.column("end_index"), waits.take(place.combine_chunks()))
    rank = pa.table({"reported": reported, "place": place, "start": windows.column("start_index")})
    order = pc.sort_indices(rank, [(name, "ascending") for name in rank.column_names])
    return windows.take(order)
