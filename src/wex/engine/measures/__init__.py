"""Aggregates over panes: how each is lifted from events, folded over ranges, and read off.

Aggregates with the same arguments share a fold: `avg(x)` and `max(x)` are read off one. The parts
of a fold, its columns, are what a pane keeps of events that are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.measures.fold import Fold, Lifted, Parts, Result
from wex.engine.measures.ordered import Best, FloatStats, Spread
from wex.engine.measures.pass_through import Collect, Distinct, Passing
from wex.engine.measures.sums import Count, Truths, WholeSum
from wex.engine.measures.user_defined import Own
from wex.spec.types import REAL

if TYPE_CHECKING:
    from wex.compile.measures import Aggregate

__all__ = ["Fold", "Lifted", "Parts", "Result", "fold_of", "shared_key"]


def fold_of(aggregate: Aggregate) -> Fold:
    """Return the fold that an aggregate is read off."""
    name, types = aggregate.name, aggregate.types
    if name in ("sum", "avg", "min", "max") and types[0] == REAL:
        return FloatStats(aggregate)
    return _FOLDS.get(name, Own)(aggregate)


_FOLDS: dict[str, type[Fold]] = {
    "count": Count,
    "count_if": Truths,
    "some": Truths,
    "every": Truths,
    "sum": WholeSum,
    "avg": WholeSum,
    "min": Best,
    "max": Best,
    "min_by": Best,
    "max_by": Best,
    "var": Spread,
    "stddev": Spread,
    "first": Passing,
    "last": Passing,
    "collect": Collect,
    "count_distinct": Distinct,
}


def shared_key(aggregate: Aggregate) -> tuple[object, ...]:
    """Return what two aggregates that are read off one fold have in common."""
    fold = type(fold_of(aggregate))
    own = aggregate.name if fold in (Best, Passing, Own) else ""
    return (fold, own, aggregate.arguments, aggregate.filter)
