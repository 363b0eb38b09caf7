"""Formulas: guarded monadic second-order logic over positions, with `begin` and `end` free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from wex.errors import did_you_mean
from wex.spec import tree
from wex.spec.numbers import MAX_COUNT
from wex.spec.types import BOOL, PREDICATE

if TYPE_CHECKING:
    from wex.spec.resolve.scope import Events

Bound = dict[str, Literal["position", "set"]]


def check_formula(node: tree.Expr, bound: Bound, events: Events) -> None:
    """Check a formula; `bound` says what its variables stand for."""
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
                message = "this compares values of an event, and a formula has to say of which"
                events.problems.add("wrong-sort", node, message, f"`[{node}](begin)`")
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


def _check_call(node: tree.Call, bound: Bound, events: Events) -> None:
    """`up(begin)`: a predicate by name, at a position."""
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
                f"`{name}` is a value of type {type_.name}, not a predicate",
                f"say what has to hold of it: `[{name} > …]({', '.join(map(str, node.args))})`",
            )
    if events.arity(node, (1,)):
        _check_position(node.args[0], bound, events)


def _check_position(node: tree.Expr, bound: Bound, events: Events) -> None:
    """Check a position: `begin`, `end`, a bound variable, or one of these plus or minus a number."""
    match node:
        case tree.Mark():
            return
        case tree.Binary("+" | "-", place, tree.Int(steps)):
            _check_position(place, bound, events)
            if abs(steps) > MAX_COUNT:
                message = f"a distance of {abs(steps):,} is over the most that is possible"
                hint = f"positions are at most {MAX_COUNT:,} apart"
                events.problems.add("count-too-large", node.right, message, hint)
            return
        case tree.Ref(name, 0) if bound.get(name) == "position":
            return
        case tree.Ref(name, 0) if bound.get(name) == "set":
            events.problems.add(
                "wrong-sort",
                node,
                f"`{name}` is a set, and a position belongs here",
                f"to ask for membership write `x in {name}`",
            )
            return
        case tree.Ref(name, 0):
            _note_unbound(node, name, bound, events)
            return
    events.problems.add(
        "wrong-sort",
        node,
        f"`{node}` is not a position",
        "positions are `begin`, `end`, bound variables, and these plus or minus a number: `x + 1`",
    )


def _names_positions(operands: tuple[tree.Expr, ...], bound: Bound) -> bool:
    return any(
        isinstance(node, tree.Mark) or (isinstance(node, tree.Ref) and node.name in bound)
        for operand in operands
        for node in tree.walk(operand)
    )


def _compares_values(operands: tuple[tree.Expr, ...], bound: Bound, events: Events) -> bool:
    return any(
        isinstance(node, tree.Ref) and node.name in events.scope and node.name not in bound
        for operand in operands
        for node in tree.walk(operand)
    )


def _note_unbound(node: tree.Expr, name: str, bound: Bound, events: Events) -> None:
    positions = [word for word, kind in bound.items() if kind == "position"]
    bind = f"bind it: `exists {name}: …`; known are"
    hint = did_you_mean(name, [*positions, "begin", "end"], bind)
    message = f"no quantifier binds the position `{name}`"
    events.problems.add("unknown-name", node, message, hint)


def _check_set(name: tree.Name, bound: Bound, events: Events) -> None:
    kind = bound.get(name.text)
    if kind == "position":
        events.problems.add(
            "wrong-sort",
            name,
            f"`{name.text}` is a position, and a set belongs here",
            "to compare positions write `x = y`",
        )
    elif kind is None:
        sets = [word for word, kind in bound.items() if kind == "set"]
        bind = f"bind it: `exists set {name.text}: …`"
        hint = did_you_mean(name.text, sets, f"{bind}; known are") if sets else bind
        message = f"no quantifier binds the set `{name.text}`"
        events.problems.add("unknown-name", name, message, hint)


def _note_not_formula(node: tree.Expr, bound: Bound, events: Events) -> None:
    hint = "formulas are made of `up(x)`, `[predicate](x)`, `x < y` and `x in X`"
    if isinstance(node, tree.Ref) and node.name in events.scope:
        hint = f"say at which position: `{node}(begin)`"
        if node.offset:
            hint = f"say at which position: `{node.name}(begin - {-node.offset})`"
    elif isinstance(node, tree.In | tree.Between):
        hint = "predicates of an event stand in brackets: `[x in (1, 2)](begin)`"
    elif isinstance(node, tree.Ref) and bound.get(node.name) == "position":
        hint = f"compare it, `{node.name} < end`, or say what holds there, `[p]({node.name})`"
    message = f"`{node}` is not a formula"
    events.problems.add("wrong-sort", node, message, hint)
