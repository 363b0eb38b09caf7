"""Measures are arithmetic on aggregates; `having` is a predicate on measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.spec.aggregates import signature
from wex.spec.resolve.events import Events, aggregate_hint
from wex.spec.resolve.expressions import Expressions
from wex.spec.suggest import did_you_mean
from wex.spec.types import NUMBERS, PREDICATE, Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wex.spec import tree
    from wex.spec.problems import Problems


class Measures(Expressions):
    """The values of a window: aggregates of its events, and arithmetic on them."""

    def __init__(self, events: Events) -> None:
        super().__init__(events.problems)
        self.events = events

    def measure(self, node: tree.Expr) -> Type | None:
        """Return the type of a measure."""
        type_ = self.infer(node)
        if type_ != PREDICATE:
            return type_
        self.problems.add(
            "wrong-sort",
            node,
            "this is a predicate, and a measure is a value",
            "of the events say `some(p)`, `every(p)` or `count_if(p)`; of measures say `having`",
        )
        return None

    def ref(self, node: tree.Ref) -> Type | None:
        type_ = self.events.ref(node)
        if type_ is not None:
            hint = f"say which: `first({node})`, `last({node})`"
            if type_ in NUMBERS:
                hint = f"say which: `last({node})`, `max({node})`, `avg({node})`"
            elif type_ == PREDICATE:
                hint = f"say how often, or whether: `count_if({node})`, `some({node})`, `every({node})`"
            message = f"a window has many values of `{node}`"
            self.problems.add("field-outside-aggregate", node, message, hint)
        return None

    def is_first(self, node: tree.IsFirst) -> Type | None:
        message = "`is_first` is asked of an event, not of a window"
        self.problems.add("wrong-sort", node, message, f"write `some({node})`")
        return None

    def call(self, node: tree.Call) -> Type | None:
        aggregate = signature(node.name.text)
        if node.filter is not None:
            self.events.predicate(node.filter)
        if aggregate is None:
            message = f"there is no aggregate called `{node.name.text}`"
            hint = aggregate_hint(node.name.text)
            self.problems.add("unknown-aggregate", node.name, message, hint)
            return None
        if not self.arity(node, aggregate.takes):
            return None
        types = [self.events.infer(arg) for arg in node.args]
        known = [type_ for type_ in types if type_ is not None]
        if len(known) < len(types):
            return None
        result = aggregate.result(*known)
        if result is None:
            shown = " and ".join(map(str, known))
            hint = f"it takes {aggregate.wants}"
            message = f"`{node.name.text}` makes no sense of {shown}"
            self.problems.add("wrong-type", node, message, hint)
        return result


class Having(Expressions):
    """A predicate over the measures of one window."""

    def __init__(self, measures: Mapping[str, Type | None], problems: Problems) -> None:
        super().__init__(problems)
        self.measures = measures

    def ref(self, node: tree.Ref) -> Type | None:
        if node.offset:
            message = "a window has no window before it to look back at"
            self.problems.add("lookback-here", node, message, f"write `{node.name}`")
            return None
        if node.name in self.measures:
            return self.measures[node.name]
        hint = "name what you need: `measure count() as n having n > 3`"
        if self.measures:
            hint = did_you_mean(node.name, self.measures, "the measures of this window are")
        message = f"this window has no measure called `{node.name}`"
        self.problems.add("unknown-name", node, message, hint)
        return None

    def is_first(self, node: tree.IsFirst) -> Type | None:
        hint = "measure it, `some(is_first) as started`, and name that here"
        self.problems.add("wrong-sort", node, "`is_first` is asked of an event", hint)
        return None

    def call(self, node: tree.Call) -> Type | None:
        name = node.name.text
        if signature(name):
            self.problems.add(
                "aggregate-here",
                node,
                "`having` speaks about measures by their names",
                f"measure it, `measure {node} as m`, and write `m` here",
            )
        else:
            hint = did_you_mean(name, ("abs",), "in `having` there is only")
            message = f"there is no function called `{name}` here"
            self.problems.add("unknown-aggregate", node.name, message, hint)
        return None
