"""Arguments of a backend, checked: the order of rows, and the rules of endless streams."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from wex.engine.streaming.bucket import Rules
from wex.errors import WexError
from wex.spec.arguments import with_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.engine.input.bad_rows import BadRows
    from wex.spec import SpecLike, tree


def with_order(
    spec: SpecLike,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> tree.Spec:
    """Return a spec with its arguments filled in, for rows that come in no particular order.

    >>> with_order("stream s (t int) window w match any", order_by="t").stream.order_by[0].text
    't'
    """
    filled = with_arguments(spec, partition_by, order_by)
    if not filled.stream.order_by:
        raise WexError(
            "no-order",
            "rows of a distributed table have no order of their own, and the spec gives none",
            "write `order by` in the stream line, or give order_by",
        )
    return filled


def rules_of(
    late: str,
    expire_after: timedelta | None,
    max_open: int | None,
    buckets: int,
    bad_rows: BadRows = "fail",
) -> Rules:
    """Return the rules of endless streams; an argument of another type or range is an error."""
    counts: dict[str, object] = {"buckets": buckets}
    if max_open is not None:
        counts["max_open"] = max_open
    silence: object = expire_after
    if late not in ("drop", "error"):
        message = f"late must be 'drop' or 'error', got {late!r}"
        raise WexError("wrong-argument", message, "say 'drop' or 'error'")
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            message = f"{name} must be a positive whole number, got {value!r}"
            raise WexError("wrong-argument", message, "give 1 or more")
    if silence is not None and not (isinstance(silence, timedelta) and silence > timedelta(0)):
        message = f"expire_after must be a positive timedelta, got {silence!r}"
        raise WexError("wrong-argument", message, "give a timedelta, as timedelta(hours=1)")
    microseconds = None if expire_after is None else expire_after // timedelta(microseconds=1)
    return Rules(late, microseconds, max_open, buckets, bad_rows)
