"""From the syntax tree to what it means: names resolved, types checked, lookback counted.

The stages, in order; each notes its problems and the next goes on with what is known:
stream → lets → assumes → windows → windows together → expand → lookback.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.resolve.expand import expand
from wex.spec.resolve.items import (
    check_assume,
    check_lets,
    check_stream,
    check_window,
    check_windows_together,
)
from wex.spec.resolve.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wex.spec.problems import Problems
    from wex.spec.types import Type


@dataclass(frozen=True)
class Meaning:
    """What a spec means. `expanded` says the same without lets, chains, `between` and `in`.

    `lookbacks` has the k of each window, `assume_lookbacks` of each assume, `measures` the names
    and types of each window's measures, all in the order of the spec.
    """

    spec: tree.Spec
    expanded: tree.Spec
    fields: Mapping[str, Type]
    lookbacks: tuple[int, ...]
    assume_lookbacks: tuple[int, ...]
    measures: tuple[Mapping[str, Type], ...]

    @property
    def skip_nulls(self) -> bool:
        """Tell whether events with a NULL that matters are skipped; else they are an error."""
        nulls = self.spec.stream.nulls
        return nulls is not None and nulls.text == "skip"


def resolve(spec: tree.Spec, problems: Problems, broken: Iterable[str] = ()) -> Meaning | None:
    """Return the meaning of a spec, or None after noting why it has none.

    `broken` are names whose declarations had mistakes of their own: nothing is said about them.
    """
    scope = Scope(lets=dict.fromkeys(broken))
    check_stream(spec.stream, scope, problems)
    check_lets(spec.lets, scope, problems)
    for assume in spec.assumes:
        check_assume(assume, scope, problems)
    measures = [check_window(window, spec.stream, scope, problems) for window in spec.windows]
    check_windows_together(spec.windows, measures, problems)
    if problems.found:
        return None
    expanded = expand(spec, problems)
    if problems.found:
        return None
    return Meaning(
        spec,
        expanded,
        {name: type_ for name, type_ in scope.fields.items() if type_},
        tuple(map(_window_lookback, expanded.windows)),
        tuple(_deepest([assume.regex]) for assume in expanded.assumes),
        tuple({name: type_ for name, type_ in each.items() if type_} for each in measures),
    )


def _window_lookback(window: tree.Window) -> int:
    """Return the k of a window: the deepest lookback that decides about it, or the clause's."""
    parts = [*window.pairs, window.where, window.until]
    clause = window.lookback.value if window.lookback else 0
    return max(clause, _deepest(part for part in parts if part))


def _deepest(parts: Iterable[tree.Node]) -> int:
    nodes = (node for part in parts for node in tree.walk(part))
    return max((-n.offset for n in nodes if isinstance(n, tree.Ref | tree.IsFirst)), default=0)
