"""Fields that may be NULL: those that a predicate which decides about windows tests for NULL.

An atom that reads a NULL is false. In an expanded spec this is written out: if a predicate says
`x is null` somewhere, then `x > 3` becomes `not x is null and x > 3` wherever it decides about
windows.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from wex.spec import tree
from wex.spec.aggregates import is_aggregate

if TYPE_CHECKING:
    from collections.abc import Iterator

AnyNode = TypeVar("AnyNode", bound=tree.Node)


def nullable_fields(spec: tree.Spec) -> frozenset[str]:
    """Return the fields that predicates of an expanded spec test for NULL."""
    return frozenset(
        test.value.name
        for part in _deciding(spec)
        for test in tree.walk(part)
        if isinstance(test, tree.IsNull) and isinstance(test.value, tree.Ref)
    )


def _deciding(spec: tree.Spec) -> Iterator[tree.Node]:
    yield from spec.assumes
    for window in spec.windows:
        yield from window.pairs
        yield from (part for part in (window.where, window.until) if part)


def with_null_tests(spec: tree.Spec) -> tree.Spec:
    """Return an expanded spec in which an atom about a field that may be NULL tests it first."""
    nullable = nullable_fields(spec)
    if not nullable:
        return spec
    return replace(
        spec,
        assumes=tuple(_mapped(assume, nullable) for assume in spec.assumes),
        windows=tuple(
            replace(
                window,
                pairs=tuple(_mapped(pair, nullable) for pair in window.pairs),
                where=window.where and _mapped(window.where, nullable),
                until=window.until and _mapped(window.until, nullable),
            )
            for window in spec.windows
        ),
    )


def _mapped(node: AnyNode, nullable: frozenset[str]) -> AnyNode:
    """Return a node with tests before the atoms of all predicates below it."""
    match node:
        case tree.Atom(predicate):
            return replace(node, predicate=_tested(predicate, nullable))
        case tree.Until(predicate):
            return replace(node, predicate=_tested(predicate, nullable))
        case tree.Holds() | tree.Call():
            predicate, position = tree.held(node)
            return tree.holds_at(_tested(predicate, nullable), position, node.span)  # type: ignore[return-value]
    changed: dict[str, object] = {}
    for member in fields(node):
        value = getattr(node, member.name)
        if isinstance(value, tree.Node):
            changed[member.name] = _mapped(value, nullable)
        elif isinstance(value, tuple) and value and isinstance(value[0], tree.Node):
            changed[member.name] = tuple(_mapped(item, nullable) for item in value)
    return replace(node, **changed)  # type: ignore[arg-type]


def _once(parts: tuple[tree.Expr, ...], nullable: frozenset[str]) -> Iterator[tree.Expr]:
    """Yield the parts of a conjunction with their tests, each test once."""
    tests: set[tree.Expr] = set()
    for part in parts:
        tested = _tested(part, nullable)
        for piece in tested.parts if isinstance(tested, tree.And) else (tested,):
            is_test = isinstance(piece, tree.Not) and isinstance(piece.operand, tree.IsNull)
            if not is_test or piece not in tests:
                yield piece
            if is_test:
                tests.add(piece)


def _tested(predicate: tree.Expr, nullable: frozenset[str]) -> tree.Expr:
    match predicate:
        case tree.Not(operand):
            return replace(predicate, operand=_tested(operand, nullable))
        case tree.And(parts):
            return tree.flat(tree.And, _once(parts, nullable), predicate.span)
        case tree.Or(parts):
            return tree.flat(tree.Or, [_tested(p, nullable) for p in parts], predicate.span)
        case tree.IsNull():
            return predicate
    read = dict.fromkeys(
        part
        for part in _outside_aggregates(predicate)
        if isinstance(part, tree.Ref) and part.name in nullable
    )
    tests = [tree.Not(tree.IsNull(field, span=field.span), span=field.span) for field in read]
    return tree.flat(tree.And, [*tests, predicate], predicate.span)


def _outside_aggregates(node: tree.Node) -> Iterator[tree.Node]:
    """Yield a node and all below it, except for the arguments of aggregates, which skip NULLs."""
    if is_aggregate(node):
        return
    yield node
    for child in node.children():
        yield from _outside_aggregates(child)
