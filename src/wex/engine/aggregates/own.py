"""Aggregates of the user's own, over the same panes: any merge that is associative."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wex.engine.aggregates.base import (
    Fold,
    Given,
    Lifted,
    Parts,
    Result,
    as_numpy,
    passed_on,
    sizes_of,
)
from wex.engine.columns import arrow_type
from wex.engine.natural import guarded, natural, own_aggregate, plain_value
from wex.engine.panes import items_of
from wex.engine.results import storage_of
from wex.engine.state import FRAME
from wex.errors import WexError
from wex.spec.own import OWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.engine.batch import Whole
    from wex.engine.panes import Items, Panes, Ranges


class Own(Fold):
    """A fold whose states are objects that only the user's class understands."""

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        return {"state": pa.binary()}

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        own = own_aggregate(self.aggregate.name)
        saved = [
            None if each is None else self._load(each) for each in carried["state"].to_pylist()
        ]
        there = as_numpy(carried["state"].is_valid())
        sizes = sizes_of(panes, given.present, there)
        events = self._events(rows)
        call = partial(guarded, self.aggregate.name)
        # By pane: a state that is there, or what makes it of an event when it is asked for.
        places = panes.spread(np.arange(rows.size), -1 - np.arange(len(saved)))
        if sizes is not None:
            places = places[sizes > 0]

        def state(at: int) -> object:
            place = int(places[at])
            if place < 0:
                return saved[-1 - place]
            return call(own.add, call(own.zero), events(place))

        merge = partial(call, own.merge)
        return _OwnFolded(items_of(panes, sizes), len(places), state, merge, self)

    def _events(self, rows: Whole) -> Callable[[int], object]:
        """Return a function from a row to what the aggregate is given of it."""
        listed = [self.stored(rows, at).to_pylist() for at in range(len(self.arguments))]
        if len(listed) == 1:
            return lambda row: natural(listed[0][row], self.types[0])
        return lambda row: tuple(
            natural(each[row], type_) for each, type_ in zip(listed, self.types, strict=True)
        )

    def result(self, name: str, parts: Parts) -> Result:
        states: list[Any] = parts["states"]
        own, type_ = own_aggregate(name), OWN[name].type
        found = [plain_value(guarded(name, own.result, each), type_, name) for each in states]
        return passed_on(pa.array(found, storage_of(arrow_type(type_))))

    def check(self, parts: Parts, sizes: NDArray[np.int64]) -> None:
        """Pass: the bytes are the class's own, and are read when they are needed."""

    # --- States as bytes

    def dump(self, state: object) -> bytes:
        """Return a state as bytes."""
        own = own_aggregate(self.aggregate.name)
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
        own = own_aggregate(self.aggregate.name)
        if hasattr(own, "load"):
            return guarded(self.aggregate.name, own.load, content)
        with FRAME.reading():
            return _untagged(json.loads(content))


def _tagged(state: object) -> object:
    # By the exact type: what is derived from these would come back as something else.
    kind = type(state)
    if state is None or kind in (bool, int, float, str):
        return state
    if kind is list:
        return [_tagged(each) for each in state]  # type: ignore[attr-defined]
    if kind is tuple:
        return {"t": [_tagged(each) for each in state]}  # type: ignore[attr-defined]
    if kind is dict:
        return {"d": [[_tagged(key), _tagged(value)] for key, value in state.items()]}  # type: ignore[attr-defined]
    raise TypeError(f"a {kind.__name__}")


def _untagged(state: object) -> object:
    match state:
        case list():
            return [_untagged(each) for each in state]
        case {"t": list(parts)}:
            return tuple(_untagged(each) for each in parts)
        case {"d": list(pairs)}:
            return {_untagged(key): _untagged(value) for key, value in pairs}
    return state


class _OwnFolded(Lifted):
    """Path compression, as the kernels do it: see `wex.engine.kernels.folds`."""

    def __init__(
        self,
        items: Items,
        count: int,
        state: Callable[[int], object],
        merge: Callable[[object, object], object],
        fold: Own,
    ) -> None:
        self._items, self._count, self._state = items, count, state
        self._merge, self._fold = merge, fold

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        own = own_aggregate(self._fold.aggregate.name)
        after = np.arange(1, self._count + 1)
        nodes: dict[int, object] = {}
        found: list[object] = []
        for low, high in zip(ranges.low.tolist(), ranges.high.tolist(), strict=True):
            if low == high:
                found.append(guarded(self._fold.aggregate.name, own.zero))
                continue
            path = [low]
            while after[path[-1]] < high:
                path.append(int(after[path[-1]]))
            whole = self._node(nodes, path[-1])
            for node in reversed(path[:-1]):
                whole = nodes[node] = self._merge(self._node(nodes, node), whole)
                after[node] = high
            found.append(whole)
        return {"states": found}

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
