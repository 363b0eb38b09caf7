"""The declared names of a spec, the order of its lets, and the types of expressions over events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from wex.errors import did_you_mean
from wex.spec import tree
from wex.spec.aggregates import is_aggregate, signature
from wex.spec.foreign_words import OTHER_FUNCTIONS
from wex.spec.numbers import check_index
from wex.spec.resolve.aggregate_checks import (
    Place,
    aggregate_so_far,
    note_misplaced,
)
from wex.spec.resolve.label_checks import (
    LABEL_CALL,
    check_label,
    note_label_as_value,
    note_label_call,
)
from wex.spec.resolve.type_checker import TypeChecker
from wex.spec.types import FUNCTION_NAMES, PREDICATE, TIMESTAMP, Type
from wex.spec.vocabulary import OPERATOR_WORDS, RESERVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.spec.problems import Problems


_WITH_DASHES = re.compile(r"[^\W\d]\w*(?:-[^\W\d]\w*)+")


@dataclass
class Scope:
    """The declared names and their types. A type of None: the declaration has a noted problem."""

    fields: dict[str, Type | None] = field(default_factory=dict)
    lets: dict[str, Type | None] = field(default_factory=dict)
    values: dict[str, tree.Expr] = field(default_factory=dict)  # of the lets
    constants: set[str] = field(default_factory=set)  # lets that read no event
    running: set[str] = field(default_factory=set)  # lets with an aggregate

    def __contains__(self, name: str) -> bool:
        return name in self.fields or name in self.lets

    def names(self) -> list[str]:
        """Return every declared name."""
        return [*self.fields, *self.lets]


def in_order(lets: tuple[tree.Let, ...], problems: Problems) -> list[tree.Let]:
    """Return the lets, each after those it uses; note cycles and leave them out."""
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
            f"`{cycle[0]}` is defined in terms of itself: {shown}",
            "define one of these lets without the others",
        )
    order: list[tree.Let] = []
    while ready := sorter.get_ready():  # lets in a cycle, and lets that use them, never get ready
        order.extend(by_name[name] for name in ready)
        sorter.done(*ready)
    return order


class EventTypes(TypeChecker):
    """Types of expressions over the last events: predicates, lets and arguments of aggregates.

    `labels` are those of a window, for its measures; None: no label can be used.
    """

    def __init__(
        self, scope: Scope, problems: Problems, place: Place, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(problems)
        self.scope, self.place, self.labels = scope, place, labels

    def at(self, place: Place) -> EventTypes:
        """Return the same for another place of the spec."""
        return EventTypes(self.scope, self.problems, place, self.labels)

    def with_labels(self, labels: Sequence[str]) -> EventTypes:
        """Return the same for the measures of a window that has labels."""
        return EventTypes(self.scope, self.problems, self.place, labels)

    def ref(self, node: tree.Ref) -> Type | None:
        if node.label:
            return self.ref(replace(node, label="")) if check_label(self, node) else None
        if node.name in (self.labels or ()) and node.name not in self.scope:
            note_label_as_value(self, node)
            return None
        if node.name in self.scope.running and self.place.reason:
            note_misplaced(self, node, node.name)
            return None
        if node.offset and node.name in self.scope.constants:
            self._note_constant_lookback(node, node.name)
        for types in (self.scope.fields, self.scope.lets):
            if node.name in types:
                return types[node.name]
        self.unknown(node, node.name)
        return None

    def constant(self, node: tree.Expr) -> tree.Expr:
        while isinstance(node, tree.Ref) and node.name in self.scope.values:
            node = self.scope.values[node.name]
        return node

    def is_constant(self, node: tree.Expr) -> bool:
        """Tell whether an expression reads no event, so that it has one value for all events."""
        return all(
            part.name in self.scope.constants
            if isinstance(part, tree.Ref)
            else not (isinstance(part, tree.IsFirst) or is_aggregate(part))
            for part in tree.walk(node)
        )

    def _note_constant_lookback(self, node: tree.Node, constant: str) -> None:
        message = f"cannot look back at `{constant}`: it is the same at every event"
        self.problems.add("lookback-here", node, message, f"write `{constant}`")

    def unknown(self, node: tree.Node, name: str) -> None:
        """Note a name that is not declared."""
        if self.problems.full:
            return
        hint = OPERATOR_WORDS.get(name) or did_you_mean(
            name, [*self.scope.names(), *(self.labels or ())], "the declared names are"
        )
        if name.lower() in RESERVED:
            hint = f"did you mean `{name.lower()}`? (keywords are lower-case)"
        message = f"there is no field or let called `{name}`"
        self.problems.add("unknown-name", node, message, hint)

    def odd_name(self, node: tree.Binary) -> bool:
        text = self.problems.source.text[slice(*node.span)] if node.span else ""
        names = {part.name for part in tree.walk(node) if isinstance(part, tree.Ref)}
        known = text in self.scope or text.replace("-", "_") in self.scope
        if not _WITH_DASHES.fullmatch(text) or not names.difference(self.scope.names()):
            return False
        if not known and names.intersection(self.scope.names()):
            return False
        hint = f"write such a name in backticks: `` `{text}` ``"
        if text not in self.scope and known:
            hint = f"did you mean `{text.replace('-', '_')}`?"
        message = f"`{text}` is a difference, and there is no `{text.partition('-')[0]}`"
        self.problems.add("unknown-name", node, message, hint)
        return True

    def is_first(self, node: tree.IsFirst) -> Type | None:
        return None if node.label and not check_label(self, node) else PREDICATE

    def call(self, node: tree.Call) -> Type | None:
        name = node.name.text
        if signature(name):
            return aggregate_so_far(self, node)
        self.no_index(node)
        if name in ("prev", "lag"):
            return self._prev(node)
        if name == LABEL_CALL and not node.args:
            note_label_call(self.problems, node)
            return None
        if name in self.scope:
            self.problems.add(
                "wrong-sort",
                node,
                f"`{name}` is a field or let, not a function",
                f"write `{name}`, or `{name}[-1]` to look back",
            )
        else:
            hint = OTHER_FUNCTIONS.get(name.lower()) or did_you_mean(
                name, FUNCTION_NAMES, "the functions are"
            )
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
            self._note_constant_lookback(node, str(node.args[0]))
        return type_


def check_ordered_by_time(
    events: EventTypes, stream: tree.Stream, node: tree.Node, what: str, otherwise: str = ""
) -> None:
    """Note a problem unless a stream is ordered by one timestamp, as `what` at a node needs it."""
    types = [events.scope.fields.get(name.text) for name in stream.order_by]
    if len(types) == 1 and types[0] in (TIMESTAMP, None):
        return
    times = [name for name, type_ in events.scope.fields.items() if type_ == TIMESTAMP]
    hint = f"add `order by {times[0] if times else 'ts'}` to the stream"
    if types:
        hint = f"order the stream by one timestamp only{otherwise}"
    message = f"{what} needs a stream that is ordered by one timestamp"
    events.problems.add("no-order", node, message, hint)
