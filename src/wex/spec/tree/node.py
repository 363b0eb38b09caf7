"""What every node of the syntax tree has."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.spec.source import Span


@dataclass(frozen=True)
class Node:
    """A piece of a spec. The span says where it stood; nodes built in Python have none."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        from wex.spec.printer import show  # noqa: PLC0415  (the printer is written in terms of nodes)

        return show(self)

    def children(self) -> Iterator[Node]:
        """Yield the nodes right below this one, in the order of the text."""
        for each in fields(self):
            value = getattr(self, each.name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, without recursion."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(top.children())


@dataclass(frozen=True)
class Name(Node):
    """A name that is declared, listed or chosen: of a field, a let, a window, an option."""

    text: str
