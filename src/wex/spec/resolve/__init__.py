"""The resolver: names, types, expansion of lets, and lookback of a syntax tree.

The steps, in order: stream → lets → assumptions → windows → windows together → expand → lookback.
Each step notes its problems, and the next one goes on with the names and types that are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.resolve.aggregate_checks import Place
from wex.spec.resolve.expand import deepest_lookback, expand
from wex.spec.resolve.item_checks import (
    check_assume,
    check_lets,
    check_stream,
    check_window,
    check_windows_together,
)
from wex.spec.resolve.nulls import nullable_fields
from wex.spec.resolve.rates import check_rate, rate_limits
from wex.spec.resolve.scope import EventTypes, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wex.spec import tree
    from wex.spec.problems import Problems
    from wex.spec.resolve.rates import RateLimit
    from wex.spec.types import Type


@dataclass(frozen=True)
class Meaning:
    """A spec with its names resolved. `expanded` is the same spec without lets and sugar.

    `lookbacks` has the k of each window, `assume_lookbacks` that of each assumption, `measures` the
    names and types of each window's measures, `runs` the clause `runs` or `sessions` of each window
    without lets, all in the order of the spec. `nullable` are the fields that predicates test for
    NULL.
    """

    spec: tree.Spec
    expanded: tree.Spec
    fields: Mapping[str, Type]
    lookbacks: tuple[int, ...]
    assume_lookbacks: tuple[int, ...]
    measures: tuple[Mapping[str, Type], ...]
    runs: tuple[tree.Runs | None, ...]
    nullable: frozenset[str]

    @property
    def skip_nulls(self) -> bool:
        """Tell whether events with a NULL in a field that decides about windows are skipped."""
        nulls = self.spec.stream.nulls
        return nulls is not None and nulls.text == "skip"

    @property
    def rates(self) -> tuple[RateLimit, ...]:
        """Return how many events a stream has in any time of some lengths, by all assumptions."""
        return rate_limits(self.spec.rates, unchecked=True)


def resolve(spec: tree.Spec, problems: Problems, broken: Iterable[str] = ()) -> Meaning | None:
    """Return the meaning of a spec, or None after noting its problems.

    `broken` are the names of lets with syntax errors: uses of these names are not reported.
    """
    scope = Scope(lets=dict.fromkeys(broken))
    check_stream(spec.stream, scope, problems)
    check_lets(spec.lets, scope, problems)
    for assume in spec.assumes:
        check_assume(assume, scope, problems)
    for rate in spec.rates:
        check_rate(rate, spec.stream, EventTypes(scope, problems, Place.ASSUME))
    measures = [check_window(window, spec.stream, scope, problems) for window in spec.windows]
    check_windows_together(spec.windows, measures, problems)
    if problems.diagnostics:
        return None
    expanded, runs = expand(spec, problems)
    if problems.diagnostics:
        return None
    return Meaning(
        spec,
        expanded,
        {name: type_ for name, type_ in scope.fields.items() if type_},
        tuple(map(_window_lookback, expanded.windows)),
        tuple(deepest_lookback(assume.regex) for assume in expanded.assumes),
        tuple({name: type_ for name, type_ in types.items() if type_} for types in measures),
        runs,
        nullable_fields(expanded),
    )


def _window_lookback(window: tree.Window) -> int:
    """Return the k of a window: its deepest lookback outside of measures, or that of the clause."""
    parts = [*window.pairs, window.where, window.until]
    clause = window.lookback.value if window.lookback else 0
    return max([clause, *(deepest_lookback(part) for part in parts if part)])
