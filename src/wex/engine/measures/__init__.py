"""Measures: aggregates over panes, by folds.

A fold *lifts* the events of a batch to items, folds ranges of items, and an aggregate is read off
the result. Aggregates with the same arguments share a fold: `avg(x)` and `max(x)` are read off one.
The columns of a fold are all that a pane keeps of past events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.measures.fold import Fold, FoldItems, Parts, Result
from wex.engine.measures.order_statistics import Mode, Nth, Percentile
from wex.engine.measures.pass_through import Collect, Distinct, PassThrough
from wex.engine.measures.statistics import Best, FloatStats, Spread
from wex.engine.measures.sums import Count, Truths, WholeSum
from wex.engine.measures.user_defined import UserDefined
from wex.spec.types import REAL

if TYPE_CHECKING:
    from wex.theory.terms import Aggregate

__all__ = ["Fold", "FoldItems", "Parts", "Result", "fold_of", "shared_key"]


def fold_of(aggregate: Aggregate) -> Fold:
    """Return the fold that an aggregate is read off."""
    name, types = aggregate.name, aggregate.types
    if name in ("sum", "avg", "min", "max") and types[0] == REAL:
        return FloatStats(aggregate)
    return _FOLDS.get(name, UserDefined)(aggregate)


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
    "first": PassThrough,
    "last": PassThrough,
    "collect": Collect,
    "count_distinct": Distinct,
    "nth": Nth,
    "median": Percentile,
    "percentile": Percentile,
    "mode": Mode,
}


def shared_key(aggregate: Aggregate) -> tuple[object, ...]:
    """Return a key that is the same for aggregates that are read off one fold."""
    fold = type(fold_of(aggregate))
    own = aggregate.name if fold in (Best, PassThrough, UserDefined) else ""
    return (fold, own, aggregate.arguments, aggregate.filter, aggregate.label)
