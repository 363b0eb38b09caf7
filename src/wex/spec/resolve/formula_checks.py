"""Checks of formulas: monadic second-order logic over positions, with `begin` and `end` free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from wex.errors import did_you_mean
from wex.spec import tree
from wex.spec.numbers import MAX_COUNT
from wex.spec.resolve.label_checks import check_label
from wex.spec.types import BOOL, PREDICATE

if TYPE_CHECKING:
    from wex.spec.resolve.scope import EventTypes

Bound = dict[str, Literal["position", "set"]]


def check_formula(node: tree.Expr, bound: Bound, events: EventTypes) -> None:
    """Check a formula; `bound` has the variables of the quantifiers around it."""
    match node:
        case tree.And(parts) | tree.Or(parts):
            for part in parts:
                check_formula(part, bound, events)
        case tree.Implies(left, right) | tree.Iff(left, right):
            check_formula(left, bound, events)
            check_formula(right, bound, events)
        case tree.Not(operand):
            check_formula(operand, bound, events)
        case tree.Quantified(_, variable, body, of_set):
            kind: Literal["position", "set"] = "set" if of_set else "position"
            check_formula(body, {**bound, variable.text: kind}, events)
        case tree.Holds(predicate, position):
            events.predicate(predicate)
            _check_position(position, bound, events)
        case tree.Call():
            _check_call(node, bound, events)
        case tree.Compare(operands):
            if not _names_positions(operands, bound) and _compares_values(operands, bound, events):
                message = "expected a formula, got a predicate without a position"
                hint = f"name the position where it holds: `[{node}](begin)`"
                events.problems.add("wrong-sort", node, message, hint)
                return
            for operand in operands:
                _check_position(operand, bound, events)
        case tree.Member(position, name):
            _check_position(position, bound, events)
            _check_set(name, bound, events)
        case tree.Bool():
            pass
        case _:
            _note_not_formula(node, bound, events)


def _check_call(node: tree.Call, bound: Bound, events: EventTypes) -> None:
    """Check a predicate by name at a position: `up(begin)`."""
    events.no_filter(node)
    name = node.name.text
    if name not in events.scope:
        events.unknown(node.name, name)
    else:
        type_ = events.ref(tree.Ref(name, span=node.name.span))
        if type_ is not None and type_ not in (BOOL, PREDICATE):
            events.problems.add(
                "wrong-sort",
                node.name,
                f"expected a predicate, got `{name}` of type {type_.name}",
                f"compare it: `[{name} > …]({', '.join(map(str, node.args))})`",
            )
    if events.arity(node, (1,)):
        _check_position(node.args[0], bound, events)


def _check_position(node: tree.Expr, bound: Bound, events: EventTypes) -> None:
    """Check a position: `begin`, `end`, a bound variable, or one of these plus or minus a number."""
    match node:
        case tree.Mark():
            return
        case tree.Binary("+" | "-", position, tree.Int(steps)):
            _check_position(position, bound, events)
            if abs(steps) > MAX_COUNT:
                message = f"the distance {abs(steps):,} exceeds the maximum of {MAX_COUNT:,}"
                hint = "use a smaller distance"
                events.problems.add("count-too-large", node.right, message, hint)
            return
        case tree.Ref(name, 0) if bound.get(name) == "position":
            return
        case tree.Ref(name, 0) if bound.get(name) == "set":
            events.problems.add(
                "wrong-sort",
                node,
                f"expected a position, got the set `{name}`",
                f"to test membership write `x in {name}`",
            )
            return
        case tree.Ref(name, 0):
            _note_unbound(node, name, bound, events)
            return
    events.problems.add(
        "wrong-sort",
        node,
        f"expected a position, got `{node}`",
        "a position is `begin`, `end` or a bound variable, plus or minus a number: `x + 1`",
    )


def _names_positions(operands: tuple[tree.Expr, ...], bound: Bound) -> bool:
    return any(
        isinstance(node, tree.Mark) or (isinstance(node, tree.Ref) and node.name in bound)
        for operand in operands
        for node in tree.walk(operand)
    )


def _compares_values(operands: tuple[tree.Expr, ...], bound: Bound, events: EventTypes) -> bool:
    return any(
        isinstance(node, tree.Ref) and node.name in events.scope and node.name not in bound
        for operand in operands
        for node in tree.walk(operand)
    )


def _note_unbound(node: tree.Expr, name: str, bound: Bound, events: EventTypes) -> None:
    if isinstance(node, tree.Ref) and node.label:
        check_label(events, node)
        return
    positions = [word for word, kind in bound.items() if kind == "position"]
    bind = f"bind it with `exists {name}: …`, or use one of"
    hint = did_you_mean(name, [*positions, "begin", "end"], bind)
    message = f"position `{name}` is not bound by a quantifier"
    events.problems.add("unknown-name", node, message, hint)


def _check_set(name: tree.Name, bound: Bound, events: EventTypes) -> None:
    kind = bound.get(name.text)
    if kind == "position":
        events.problems.add(
            "wrong-sort",
            name,
            f"expected a set, got the position `{name.text}`",
            "to compare positions write `x = y`",
        )
    elif kind is None:
        sets = [word for word, kind in bound.items() if kind == "set"]
        bind = f"bind it with `exists set {name.text}: …`"
        hint = did_you_mean(name.text, sets, f"{bind}, or use one of") if sets else bind
        message = f"set `{name.text}` is not bound by a quantifier"
        events.problems.add("unknown-name", name, message, hint)


def _note_not_formula(node: tree.Expr, bound: Bound, events: EventTypes) -> None:
    hint = "formulas are made of `up(x)`, `[predicate](x)`, `x < y` and `x in X`"
    if isinstance(node, tree.Ref) and node.name in events.scope:
        hint = f"name the position where it holds: `{node}(begin)`"
        if node.offset:
            hint = f"name the position where it holds: `{node.name}(begin - {-node.offset})`"
    elif isinstance(node, tree.In | tree.Between):
        hint = "put a predicate in brackets and name its position: `[x in (1, 2)](begin)`"
    elif isinstance(node, tree.Ref) and bound.get(node.name) == "position":
        hint = f"compare it, `{node.name} < end`, or state a predicate there, `[p]({node.name})`"
    message = f"expected a formula, got `{node}`"
    events.problems.add("wrong-sort", node, message, hint)
