"""The syntax tree: what a spec says, as data. Frozen, compared by content, spans aside.

Sequences (`and`, `or`, juxtaposition, `|`, `&`) are kept flat, however they were grouped: build
them with `flat`. Meaning lives elsewhere; `str(node)` prints any node as it would be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from wex.spec.tree.items import (
    Assume,
    Field,
    FieldType,
    Item,
    Let,
    Measure,
    Pair,
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
    "Item",
    "Let",
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
    "Real",
    "Ref",
    "Regex",
    "Repeat",
    "Spec",
    "Stream",
    "Text",
    "Union",
    "Until",
    "Window",
    "Within",
    "deeper_than",
    "flat",
    "held",
    "holds_at",
    "walk",
]


MAX_DEPTH = 100  # of nested expressions: tree walkers are recursive, and nobody reads more
MAX_TERMS = 100_000  # of a spec, and of a let: lets of lets grow exponentially


def deeper_than(levels: int, node: Node) -> Node | None:
    """Return a node that lies deeper than so many levels, if there is one; without recursion."""
    level = [node]
    for _ in range(levels):
        level = [child for each in level for child in each.children()]
    return level[0] if level else None


def holds_at(predicate: Expr, position: Expr, span: Span | None = None) -> Expr:
    """Return the formula that a predicate holds at a position: `up(x)` for a name, else `[p](x)`."""
    if isinstance(predicate, Ref) and not predicate.offset:
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
    """Return a sequence node without nesting in its own kind; one part alone stands for itself.

    >>> a, b, c = Ref("a"), Ref("b"), Ref("c")
    >>> str(flat(And, [a, flat(And, [b, c])]))
    'a and b and c'
    """
    merged: list[Node] = []
    for part in parts:
        merged.extend(part.children() if isinstance(part, kind) else [part])
    return merged[0] if len(merged) == 1 else kind(tuple(merged), span=span)  # type: ignore[arg-type, misc]
