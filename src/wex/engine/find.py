"""`wex.find`: the windows of a spec in a table, in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wex.engine.arguments import with_arguments
from wex.engine.data_errors import arrow_errors
from wex.engine.files import read_table, reading
from wex.errors import DataError
from wex.spec import meaning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from wex.engine.columns import Data
    from wex.spec import tree
    from wex.spec.types import Type


def find(
    spec: tree.Spec,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> pa.Table:
    """Return the windows of a spec in some data, one row each."""
    filled = with_arguments(spec, partition_by, order_by)
    from wex.engine.arriving import Arriving  # noqa: PLC0415  (the kernels load numba)
    from wex.engine.running import engine_of  # noqa: PLC0415

    engine = engine_of(filled)
    with arrow_errors():
        arriving = Arriving(engine, data)
        prior = engine.fresh(len(arriving.starts))
        return engine.run(arriving.batch(prior), prior, last=True)[0]


Progress = Callable[[int, int, "int | None"], None]  # rows read, windows found, rows in all


def find_in_file(
    spec: tree.Spec, path: Path, given: str | None = None, progress: Progress | None = None
) -> tuple[pa.Table, int]:
    """Return the windows of a spec in a file, and how many events it has.

    The file is read batch by batch, and may be larger than the memory, if its events come in the
    order of their streams. If they do not, or if something is wrong that may be so because they do
    not, it is read whole, and sorted.
    """
    fields = meaning(spec).fields
    try:
        return _find_in_batches(spec, path, fields, given, progress or _silent)
    except DataError as error:
        if error.code not in OUT_OF_ORDER:
            raise
    table = read_table(path, fields, given)
    return find(spec, table), table.num_rows


# What may be wrong with a batch only because events that belong before others are still to come.
OUT_OF_ORDER = ("late", "assumption", "arithmetic")


def _silent(_read: int, _found: int, _rows: int | None) -> None:
    pass


def _find_in_batches(
    spec: tree.Spec, path: Path, fields: Mapping[str, Type], given: str | None, progress: Progress
) -> tuple[pa.Table, int]:
    import pyarrow as pa  # noqa: PLC0415

    from wex.engine.processor import Processor  # noqa: PLC0415
    from wex.engine.sorting import in_key_order  # noqa: PLC0415

    processor = Processor(spec)
    parts, read, windows = [], 0, 0
    with reading(path, fields, given) as source:
        for batch in source.batches:
            parts.append(processor.feed(batch))
            read += batch.num_rows
            windows += parts[-1].num_rows
            progress(read, windows, source.rows)
    parts.append(processor.close())
    keys = [name.text for name in spec.stream.partition_by]
    # Stream by stream, as `find` has it; within a stream windows are in their order already.
    return in_key_order(pa.concat_tables(parts), keys, fields), read
