"""How much a running plan keeps for one stream."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wex.engine.processor import Processor
from wex.errors import WexError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from wex.analysis.answers import Answer
    from wex.spec import tree

UNSIZED = 16  # bytes that are taken for a value of a type without a fixed size


def state_bytes(spec: tree.Spec, held: Sequence[Answer]) -> int | None:
    """Return about how many bytes of state a stream has at most, or None if there is no bound.

    Measured on a stream that holds starts; values that `collect` and `count_distinct` gather come
    on top.
    """
    bounds = [answer.bound for answer in held]
    if None in bounds:
        return None
    processor = Processor(spec)
    shown = next((answer for answer in held if answer.bound and answer.exact), None)
    if shown is not None:
        with suppress(WexError):  # no stream was found: then what is fixed is all that is known
            processor.feed(shown.witness(1))
    state = processor.everything()
    fixed = _width(state.streams.schema) + sum(
        _width(state.lists["tail"].schema) for _ in range(state.lists["tail"].num_rows)
    )
    starts = sum(
        (bound or 0) * _width(state.lists[f"held.{at}"].schema) for at, bound in enumerate(bounds)
    )
    return fixed + starts


def _width(schema: pa.Schema) -> int:
    return sum(_bytes(field.type) for field in schema)


def _bytes(type_: pa.DataType) -> int:
    try:
        return -(-int(type_.bit_width) // 8)
    except ValueError:
        return UNSIZED
