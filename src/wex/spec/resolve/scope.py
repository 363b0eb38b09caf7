"""Names that stand for something of an event: fields, and lets over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from wex.errors import closest, did_you_mean
from wex.spec import tree
from wex.spec.aggregates import AGGREGATES, SYNONYMS, USER_DEFINED, signature
from wex.spec.numbers import check_index
from wex.spec.resolve.expressions import Expressions
from wex.spec.types import PREDICATE, Type
from wex.spec.vocabulary import ALIKE, RESERVED

if TYPE_CHECKING:
    from wex.spec.problems import Problems


@dataclass
class Scope:
    """What names mean in a spec. A type of None: declared, but with a mistake noted already."""

    fields: dict[str, Type | None] = field(default_factory=dict)
    lets: dict[str, Type | None] = field(default_factory=dict)
    values: dict[str, tree.Expr] = field(default_factory=dict)  # of the lets
    constants: set[str] = field(default_factory=set)  # lets that read no event

    def __contains__(self, name: str) -> bool:
        return name in self.fields or name in self.lets

    def names(self) -> list[str]:
        """Return every name that is declared."""
        return [*self.fields, *self.lets]


class Events(Expressions):
    """Expressions over the last events: guards, lets, and the arguments of aggregates."""

    def __init__(self, scope: Scope, problems: Problems) -> None:
        super().__init__(problems)
        self.scope = scope

    def ref(self, node: tree.Ref) -> Type | None:
        if node.offset and node.name in self.scope.constants:
            self._looks_at_nothing(node, node.name)
        for names in (self.scope.fields, self.scope.lets):
            if node.name in names:
                return names[node.name]
        self.unknown(node, node.name)
        return None

    def constant(self, node: tree.Expr) -> tree.Expr:
        while isinstance(node, tree.Ref) and node.name in self.scope.values:
            node = self.scope.values[node.name]
        return node

    def is_constant(self, node: tree.Expr) -> bool:
        """Tell whether an expression reads no event, so that it has the same value at each."""
        return all(
            each.name in self.scope.constants
            if isinstance(each, tree.Ref)
            else not isinstance(each, tree.IsFirst)
            for each in tree.walk(node)
        )

    def _looks_at_nothing(self, node: tree.Node, constant: str) -> None:
        message = f"`{constant}` is the same at every event, so there is nothing to look back at"
        self.problems.add("lookback-here", node, message, f"write `{constant}`")

    def unknown(self, node: tree.Node, name: str) -> None:
        """Note a name that is not declared."""
        if self.problems.full:
            return
        hint = did_you_mean(name, self.scope.names(), "the names declared here are")
        if name.lower() in RESERVED:
            hint = f"did you mean `{name.lower()}`? (keywords are written small)"
        message = f"there is no field or let called `{name}`"
        self.problems.add("unknown-name", node, message, hint)

    def is_first(self, node: tree.IsFirst) -> Type | None:
        return PREDICATE

    def call(self, node: tree.Call) -> Type | None:
        name = node.name.text
        if name == "prev":
            return self._prev(node)
        if signature(name):
            self.problems.add(
                "aggregate-here",
                node,
                f"`{name}` is an aggregate, and there is no window to aggregate over here",
                "aggregates stand in `measure`, one not inside another",
            )
        elif name in self.scope:
            self.problems.add(
                "wrong-sort",
                node,
                f"`{name}` is a field or let, not a function",
                f"write `{name}`, or `{name}[-1]` to look back",
            )
        else:
            hint = did_you_mean(name, ("abs", "prev"), "the functions are")
            message = f"there is no function called `{name}`"
            self.problems.add("unknown-aggregate", node.name, message, hint)
        return None

    def _prev(self, node: tree.Call) -> Type | None:
        self.no_filter(node)
        if not self.arity(node, (1, 2)):
            return None
        type_ = self.infer(node.args[0])
        if len(node.args) == 2:
            steps = node.args[1]
            back = tree.Int(-steps.value, span=steps.span) if isinstance(steps, tree.Int) else steps
            check_index(self.problems, str(node.args[0]), back)
            if back == tree.Int(0):
                return type_
        if type_ is not None and self.is_constant(node.args[0]):
            self._looks_at_nothing(node, str(node.args[0]))
        return type_


def aggregate_hint(name: str) -> str:
    """Return a hint for an aggregate that does not exist."""
    meant = SYNONYMS.get(name.lower()) or closest(name, [*AGGREGATES, *USER_DEFINED], ALIKE)
    return f"did you mean `{meant}`?" if meant else f"the aggregates are {', '.join(AGGREGATES)}"


def in_order(lets: tuple[tree.Let, ...], problems: Problems) -> list[tree.Let]:
    """Return the lets so that each comes after those it uses; cycles are noted and left out."""
    by_name = {let.name.text: let for let in lets}
    uses = {
        name: {
            node.name
            for node in tree.walk(let.value)
            if isinstance(node, tree.Ref) and node.name in by_name
        }
        for name, let in by_name.items()
    }
    sorter = TopologicalSorter(uses)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        shown = " uses ".join(reversed(cycle[:6])) + (" …" if len(cycle) > 6 else "")
        problems.add(
            "let-cycle",
            by_name[cycle[0]].name,
            f"`{cycle[0]}` is defined by itself: {shown}",
            "define one of them without the others",
        )
    order: list[tree.Let] = []
    while ready := sorter.get_ready():  # a cycle blocks itself and what uses it
        order.extend(by_name[name] for name in ready)
        sorter.done(*ready)
    return order
