"""The syntax tree: what a spec says, as data. Frozen, compared by content, spans aside.

Sequences (`and`, `or`, juxtaposition, `|`, `&`) are kept flat, however they were grouped: build
them with `flat`. Meaning lives elsewhere; `str(node)` prints any node as it would be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from wex.spec.tree.expressions import (
    And,
    Between,
    Binary,
    Bool,
    Call,
    Compare,
    CompareOp,
    Duration,
    Expr,
    Holds,
    Iff,
    Implies,
    In,
    Int,
    IsFirst,
    Mark,
    Member,
    Moment,
    Neg,
    Not,
    Or,
    Quantified,
    Real,
    Ref,
    Text,
)
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
from wex.spec.tree.node import Name, Node, walk
from wex.spec.tree.regexes import (
    Anything,
    Atom,
    Complement,
    Concat,
    Empty,
    Intersection,
    Regex,
    Repeat,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.spec.source import Span

__all__ = [
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
    "flat",
    "walk",
]


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
