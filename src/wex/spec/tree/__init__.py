"""The syntax tree of a spec. Nodes are frozen data, compared by content but not by span.

Sequences (`and`, `or`, juxtaposition, `|`, `&`) are flat, however they were grouped: build them
with `flat`. `str(node)` prints any node in the syntax of the language.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, overload

from wex.spec.tree.items import (
    Assume,
    Field,
    FieldType,
    Item,
    Let,
    Measure,
    Pair,
    Rate,
    Resuming,
    Runs,
    RunsOf,
    RunsWhere,
    Sessions,
    Sharing,
    Spec,
    Stream,
    Until,
    Window,
    Within,
)
from wex.spec.tree.nodes import (
    And,
    Anything,
    Atom,
    Between,
    Binary,
    Bool,
    Call,
    Compare,
    CompareOp,
    Complement,
    Concat,
    Duration,
    Empty,
    Expr,
    Holds,
    Iff,
    Implies,
    In,
    Int,
    Intersection,
    IsFirst,
    IsNull,
    Labelled,
    Like,
    Mark,
    Member,
    Moment,
    Name,
    Neg,
    Node,
    Not,
    Or,
    Quantified,
    Real,
    Ref,
    Regex,
    Repeat,
    Text,
    Union,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.spec.problems import Span

__all__ = [
    "MAX_DEPTH",
    "MAX_TERMS",
    "And",
    "Anything",
    "Assume",
    "Atom",
    "Between",
    "Binary",
    "Bool",
    "Call",
    "Compare",
    "CompareOp",
    "Complement",
    "Concat",
    "Duration",
    "Empty",
    "Expr",
    "Field",
    "FieldType",
    "Holds",
    "Iff",
    "Implies",
    "In",
    "Int",
    "Intersection",
    "IsFirst",
    "IsNull",
    "Item",
    "Labelled",
    "Let",
    "Like",
    "Mark",
    "Measure",
    "Member",
    "Moment",
    "Name",
    "Neg",
    "Node",
    "Not",
    "Or",
    "Pair",
    "Quantified",
    "Rate",
    "Real",
    "Ref",
    "Regex",
    "Repeat",
    "Resuming",
    "Runs",
    "RunsOf",
    "RunsWhere",
    "Sessions",
    "Sharing",
    "Spec",
    "Stream",
    "Text",
    "Union",
    "Until",
    "Window",
    "Within",
    "at_label",
    "deeper_than",
    "flat",
    "held",
    "holds_at",
    "labels_in",
    "texts",
    "unlabelled",
    "walk",
]

MAX_DEPTH = 100  # levels of nesting: functions on trees are recursive
MAX_TERMS = 100_000  # of a spec and of a let: lets inside lets grow exponentially


def texts(names: Iterable[Name]) -> list[str]:
    """Return names as strings.

    >>> texts((Name("symbol"), Name("ts")))
    ['symbol', 'ts']
    """
    return [name.text for name in names]


def labels_in(node: Node) -> list[str]:
    """Return the labels below a node, each once, in the order of the text."""
    ordered: dict[str, None] = {}
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Labelled):
            ordered.setdefault(top.name.text)
        stack.extend(reversed(list(top.children())))
    return list(ordered)


def unlabelled(regex: Regex) -> Regex:
    """Return an expression without its labels: the same language.

    >>> from wex.spec import parse
    >>> spec = parse("stream s (up bool) window w match any a:(up b:(up+) | any)?")
    >>> str(unlabelled(spec.windows[0].pairs[0].match))
    'any (up up+ | any)?'
    """
    match regex:
        case Labelled(_, body):
            return unlabelled(body)
        case Concat(parts) | Union(parts) | Intersection(parts):
            return flat(type(regex), map(unlabelled, parts), regex.span)
        case Complement(body) | Repeat(body):
            return replace(regex, body=unlabelled(body))
    return regex


def at_label(node: Expr, label: str) -> Expr:
    """Return an expression whose fields are read at events with a label.

    >>> str(at_label(Binary("-", Ref("price"), Ref("price", -1)), "down"))
    'down.price - down.price[-1]'
    """
    if isinstance(node, Ref | IsFirst):
        return replace(node, label=label)
    changed: dict[str, object] = {}
    for member in fields(node):
        value = getattr(node, member.name)
        if isinstance(value, Expr):
            changed[member.name] = at_label(value, label)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expr):
            changed[member.name] = tuple(at_label(item, label) for item in value)
    return replace(node, **changed) if changed else node  # type: ignore[arg-type]


def deeper_than(levels: int, node: Node) -> Node | None:
    """Return a node more than this many levels below a node, or None; without recursion."""
    level = [node]
    for _ in range(levels):
        level = [child for parent in level for child in parent.children()]
    return level[0] if level else None


def holds_at(predicate: Expr, position: Expr, span: Span | None = None) -> Expr:
    """Return the formula for a predicate at a position: `up(x)` for a name, `[p](x)` otherwise."""
    if isinstance(predicate, Ref) and not predicate.offset and not predicate.label:
        return Call(Name(predicate.name, span=predicate.span), (position,), span=span)
    return Holds(predicate, position, span=span)


def held(node: Holds | Call) -> tuple[Expr, Expr]:
    """Return the predicate and the position of a formula that `holds_at` made."""
    if isinstance(node, Holds):
        return node.predicate, node.position
    return Ref(node.name.text, span=node.name.span), node.args[0]


@overload
def flat(kind: type[And | Or], parts: Iterable[Expr], span: Span | None = None) -> Expr: ...
@overload
def flat(
    kind: type[Concat | Union | Intersection], parts: Iterable[Regex], span: Span | None = None
) -> Regex: ...
def flat(kind: type[Node], parts: Iterable[Node], span: Span | None = None) -> Node:
    """Return a sequence node without parts of its own kind; of a single part, that part.

    >>> a, b, c = Ref("a"), Ref("b"), Ref("c")
    >>> str(flat(And, [a, flat(And, [b, c])]))
    'a and b and c'
    """
    merged: list[Node] = []
    for part in parts:
        merged.extend(part.children() if isinstance(part, kind) else [part])
    return merged[0] if len(merged) == 1 else kind(tuple(merged), span=span)  # type: ignore[arg-type, misc]
