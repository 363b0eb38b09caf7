"""`wex.find`: the windows of a spec in a table, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.arguments import with_arguments
from wex.engine.by_definition import find_by_definition

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from wex.engine.columns import Data
    from wex.spec import tree


def find(
    spec: tree.Spec,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> pa.Table:
    """Return the windows of a spec in some data, one row each.

    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ keep longest")
    >>> wex.find(spec, {"x": [1, 2, 3, 1, 5]}).select(["start_index", "end_index"]).to_pylist()
    [{'start_index': 1, 'end_index': 1}, {'start_index': 1, 'end_index': 2}, {'start_index': 4, 'end_index': 4}]
    """
    filled = with_arguments(spec, partition_by, order_by)
    if any(window.where is not None for window in filled.windows):
        return find_by_definition(filled, data)  # formulas are not compiled
    from wex.engine.arriving import Arriving  # noqa: PLC0415  (the kernels load numba)
    from wex.engine.running import engine_of  # noqa: PLC0415

    engine = engine_of(filled)
    arriving = Arriving(engine, data)
    prior = engine.fresh(len(arriving.starts))
    return engine.run(arriving.batch(prior), prior, last=True)[0]
