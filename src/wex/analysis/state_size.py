"""How many bytes of state a stream has: its columns, uncompressed, at the bound of its held starts.

A text counts as 12 bytes, 8 letters and where they begin. Aggregates such as `median` keep a value of each
event of an open window: the event of each start is included, every further one adds `event_bytes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from wex.analysis.labels import most_kept_events
from wex.engine.engine import engine_of
from wex.engine.input.columns import arrow_type
from wex.engine.input.schemas import held_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wex.analysis.answers import Answer
    from wex.analysis.window_tables import AnalysedWindow
    from wex.engine.engine import Engine
    from wex.spec import Meaning, tree

OFFSET = 4  # bytes: where a text or a list begins
TEXT = 12  # bytes of a text, and of any other value without a fixed size


class StateSize:
    """The sizes of the parts of a stream's state."""

    def __init__(self, spec: tree.Spec) -> None:
        self._engine: Engine = engine_of(spec)
        fields = [(name, arrow_type(type_)) for name, type_ in self._engine.stream.fields]
        self._events = pa.schema(fields)
        self._held = [
            list(held_columns(self._engine, at, self._events).values())
            for at in range(len(self._engine.windows))
        ]

    @property
    def _event(self) -> int:
        return _width(self._events.types)

    def at_most(self, held: Sequence[Answer], rows: Sequence[int | None]) -> int | None:
        """Return about how many bytes a stream has at most, or None if there is no bound.

        `rows` are the rows that each window may need for its starts.
        """
        engine = self._engine
        if None in rows:
            return None
        starts = sum(
            (count or 0) * _width(columns) for count, columns in zip(rows, self._held, strict=True)
        )
        kept = [held[at].bound or 0 for at in engine.keeping]
        tail = engine.tail + max(kept, default=0)
        times = engine.conformity_check.most_times * 8
        fixed = engine.fresh(0, self._events.empty_table()).streams.schema.types
        return _width(fixed) + tail * self._event + times + starts

    def per_event(self) -> int:
        """Return how many bytes an event adds that is not a start, while a start before it is held."""
        lists = [
            type_.value_type for held in self._held for type_ in held if pa.types.is_list(type_)
        ]
        return _width(lists) + (self._event if self._engine.keeping else 0)


def rows_of_starts(meaning: Meaning, window: AnalysedWindow, held: Answer) -> int | None:
    """Return how many rows of a state the starts of a window need at most.

    A start that waits by preference may need a second row, where its candidate ends, unless a start or
    another candidate has one there.
    """
    if held.bound is None or not window.clauses.prefers:
        return held.bound
    most = most_kept_events(meaning, window)
    return 2 * held.bound if most is None else max(held.bound, min(2 * held.bound, most))


def _width(types: Iterable[pa.DataType]) -> int:
    return sum(map(_bytes, types))


def _bytes(type_: pa.DataType) -> int:
    if pa.types.is_list(type_):
        return OFFSET + _bytes(type_.value_type)  # a value of the start itself
    try:
        return -(-int(type_.bit_width) // 8)
    except ValueError:
        return TEXT
