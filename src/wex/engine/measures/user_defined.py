"""User-defined aggregates: the methods of a class, folded over panes like all others."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from functools import partial
from operator import setitem
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wex.engine.input.columns import arrow_type
from wex.engine.kernels.folds import range_fold
from wex.engine.measures.fold import (
    Fold,
    FoldItems,
    Parts,
    RelevantRows,
    Result,
    as_numpy,
    passed_on,
    sizes_of,
)
from wex.engine.measures.panes import items_of
from wex.engine.measures.results import storage_of
from wex.engine.state.state import FRAME
from wex.errors import WexError
from wex.spec.aggregates import REGISTRATIONS
from wex.spec.types import BOOL, DATE, DURATION, INT, REAL, STRING, TIMESTAMP, Type
from wex.theory.evaluate import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.engine.input.batch import BatchView
    from wex.engine.measures.panes import Items, Panes, Ranges
    from wex.spec.aggregates import UserDefinedAggregate


class UserDefined(Fold):
    """A fold whose states are objects of the user's class."""

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        return {"state": pa.binary()}

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        own = user_defined_aggregate(self.aggregate.name)
        saved = [
            None if state is None else self._load(state) for state in carried["state"].to_pylist()
        ]
        there = as_numpy(carried["state"].is_valid())
        sizes = sizes_of(panes, relevant.present, there)
        events = self._events(rows)
        call = partial(guarded, self.aggregate.name)
        # By pane: a row whose event makes a state when it is needed, or -1 - the number of a saved state.
        places = panes.spread(np.arange(rows.size), -1 - np.arange(len(saved)))
        if sizes is not None:
            places = places[sizes > 0]

        def state(at: int) -> object:
            place = int(places[at])
            if place < 0:
                return saved[-1 - place]
            return call(own.add, call(own.zero), events(place))

        merge = partial(call, own.merge)
        return _UserDefinedItems(items_of(panes, sizes), len(places), state, merge, self)

    def _events(self, rows: BatchView) -> Callable[[int], object]:
        """Return a function from a row to the arguments of the aggregate."""
        listed = [self.stored(rows, at).to_pylist() for at in range(len(self.arguments))]
        if len(listed) == 1:
            return lambda row: natural(listed[0][row], self.types[0])
        return lambda row: tuple(
            natural(values[row], type_) for values, type_ in zip(listed, self.types, strict=True)
        )

    def result(self, name: str, parts: Parts) -> Result:
        states: list[Any] = parts["states"]
        own, type_ = user_defined_aggregate(name), REGISTRATIONS[name].type
        values = [plain_value(guarded(name, own.result, state), type_, name) for state in states]
        return passed_on(pa.array(values, storage_of(arrow_type(type_))))

    def check(self, parts: Parts, sizes: NDArray[np.int64]) -> None:
        """Do nothing: only the class can read the bytes, and it does so when they are needed."""

    # --- States as bytes

    def dump(self, state: object) -> bytes:
        """Return a state as bytes."""
        own = user_defined_aggregate(self.aggregate.name)
        if hasattr(own, "dump"):
            written = guarded(self.aggregate.name, own.dump, state)
            if not isinstance(written, bytes):
                name, kind = self.aggregate.name, type(written).__name__
                message = f"dump() of the aggregate `{name}` gave a {kind}"
                raise WexError("aggregate-failed", message, "it has to give bytes")
            return written
        try:
            return json.dumps(_tagged(state)).encode()
        except (TypeError, ValueError, RecursionError) as error:
            name = self.aggregate.name
            message = f"the aggregate `{name}` has a state that cannot be kept: {error}"
            hint = "use numbers, texts, lists, tuples and dicts, or give it dump() and load()"
            raise WexError("aggregate-failed", message, hint) from error

    def _load(self, content: bytes) -> object:
        own = user_defined_aggregate(self.aggregate.name)
        if hasattr(own, "load"):
            return guarded(self.aggregate.name, own.load, content)
        with FRAME.reading():
            return _untagged(json.loads(content))


def _tagged(state: object) -> object:
    # By the exact type: an object of a derived class would come back as one of its base.
    kind = type(state)
    if state is None or kind in (bool, int, float, str):
        return state
    if kind is list:
        return [_tagged(part) for part in state]  # type: ignore[attr-defined]
    if kind is tuple:
        return {"t": [_tagged(part) for part in state]}  # type: ignore[attr-defined]
    if kind is dict:
        return {"d": [[_tagged(key), _tagged(value)] for key, value in state.items()]}  # type: ignore[attr-defined]
    raise TypeError(f"a {kind.__name__}")


def _untagged(state: object) -> object:
    match state:
        case list():
            return [_untagged(part) for part in state]
        case {"t": list(parts)}:
            return tuple(_untagged(part) for part in parts)
        case {"d": list(pairs)}:
            return {_untagged(key): _untagged(value) for key, value in pairs}
    return state


class _UserDefinedItems(FoldItems):
    """States of a user-defined aggregate, folded as numbers are."""

    def __init__(
        self,
        items: Items,
        count: int,
        state: Callable[[int], object],
        merge: Callable[[object, object], object],
        fold: UserDefined,
    ) -> None:
        self._items, self._count, self._state = items, count, state
        self._merge, self._fold = merge, fold

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        name = self._fold.aggregate.name
        zero = partial(guarded, name, user_defined_aggregate(name).zero)
        filled = ranges.low < ranges.high
        nodes: dict[int, object] = {}
        folded: dict[int, object] = {}
        range_fold(self._node, setitem, self._merge)(
            ranges.low[filled].tolist(),
            ranges.high[filled].tolist(),
            0,
            nodes,
            nodes,
            list(range(1, self._count + 1)),
            [0] * (self._count + 1),
            folded,
        )
        states = iter(folded[at] for at in range(len(folded)))
        return {"states": [next(states) if there else zero() for there in filled.tolist()]}

    def _node(self, nodes: dict[int, object], at: int) -> object:
        if at not in nodes:
            nodes[at] = self._state(at)
        return nodes[at]

    def keep(self, held: Ranges) -> Parts:
        ranges = self._items.ranges(held)
        states = self.fold(held)["states"]
        filled: NDArray[np.bool_] = ranges.low < ranges.high
        dumped = [
            self._fold.dump(state) if there else None
            for state, there in zip(states, filled.tolist(), strict=True)
        ]
        return {"state": pa.array(dumped, pa.binary())}


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY = date(1970, 1, 1).toordinal()
MICROSECOND = timedelta(microseconds=1)


def natural(value: object, type_: Type) -> object:
    """Return a value, in which times are whole numbers, as a Python value."""
    if value is None or not isinstance(value, int):
        return value
    try:
        if type_ == TIMESTAMP:
            return EPOCH + timedelta(microseconds=value)
        if type_ == DATE:
            return date.fromordinal(FIRST_DAY + value)
        return timedelta(microseconds=value) if type_ == DURATION else value
    except (OverflowError, ValueError) as error:
        message = f"a {type_} lies beyond the times that Python has"
        raise WexError("aggregate-failed", message, "filter such events") from error


_WANTED: dict[Type, tuple[type, ...]] = {
    BOOL: (bool,), INT: (int,), REAL: (float, int), STRING: (str,),
    TIMESTAMP: (datetime,), DATE: (date,), DURATION: (timedelta,),
}  # fmt: skip


def plain_value(value: object, type_: Type, name: str) -> object:
    """Return the result of an aggregate with times as whole numbers."""
    if value is None:
        return None
    fits = isinstance(value, _WANTED[type_])
    if isinstance(value, bool | datetime):  # which are an int and a date, too
        fits = type_ == (BOOL if isinstance(value, bool) else TIMESTAMP)
    if not fits:
        message = f"the aggregate `{name}` says {type_}, and gave a {type(value).__name__}"
        raise WexError("aggregate-failed", message, "mend its result(), or its result_type")
    try:
        return _plain(value, type_)
    except (OverflowError, UnicodeError) as error:
        message = f"the aggregate `{name}` gave a value that does not fit into {type_}"
        raise WexError(
            "aggregate-failed", message, "keep it smaller, or mend its result()"
        ) from error


def _plain(value: object, type_: Type) -> object:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - EPOCH) // MICROSECOND
    if isinstance(value, timedelta):
        return value // MICROSECOND
    if isinstance(value, date):
        return value.toordinal() - FIRST_DAY
    if isinstance(value, str):
        value.encode()
    if type_ == INT and value not in WHOLE:
        raise OverflowError
    return float(value) if type_ == REAL and isinstance(value, int) else value


def user_defined_aggregate(name: str) -> UserDefinedAggregate:
    """Return the registered aggregate of a name; a plan may come from another process."""
    if name not in REGISTRATIONS:
        hint = "register it with wex.aggregate in every process that runs the spec"
        raise WexError("unknown-aggregate", f"no aggregate `{name}` is registered here", hint)
    return REGISTRATIONS[name].instance


def guarded(name: str, function: Callable[..., object], *args: object) -> object:
    """Return the result of a method of an aggregate; an exception becomes a WexError."""
    try:
        return function(*args)
    except Exception as error:
        message = f"the aggregate `{name}` failed: {type(error).__name__}: {error}"
        raise WexError(
            "aggregate-failed", message, "mend the class, or filter such events"
        ) from error
