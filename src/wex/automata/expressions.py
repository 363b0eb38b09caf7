"""Regular expressions over sets of letters as trees, for printing.

They are built with `concat`, `union` and `repeat`, which simplify.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable


class Expression:
    """A regular expression; None stands for the empty language."""

    @cached_property
    def size(self) -> int:
        """Return the number of symbols."""
        return 1

    @property
    def nullable(self) -> bool:
        """Tell whether the empty word is in the language."""
        return False


@dataclass(frozen=True)
class Epsilon(Expression):
    """The empty word."""

    @cached_property
    def size(self) -> int:
        return 0

    @property
    def nullable(self) -> bool:
        return True


@dataclass(frozen=True)
class Symbol(Expression):
    """One letter out of a set."""

    letters: int


@dataclass(frozen=True)
class Concat(Expression):
    """A sequence of expressions."""

    parts: tuple[Expression, ...]

    @cached_property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def nullable(self) -> bool:
        return all(part.nullable for part in self.parts)


@dataclass(frozen=True)
class Union(Expression):
    """A choice between expressions."""

    parts: tuple[Expression, ...]

    @cached_property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def nullable(self) -> bool:
        return any(part.nullable for part in self.parts)


@dataclass(frozen=True)
class Repeat(Expression):
    """At least `low` and at most `high` repetitions of an expression."""

    body: Expression
    low: int
    high: int | None

    @cached_property
    def size(self) -> int:
        return self.body.size

    @property
    def nullable(self) -> bool:
        return self.low == 0 or self.body.nullable


EPSILON = Epsilon()


def concat(parts: Iterable[Expression]) -> Expression:
    """Return a sequence; `r r*` becomes `r+`, `r r` becomes `r{2}`."""
    flat: list[Expression] = []
    for part in parts:
        for item in part.parts if isinstance(part, Concat) else (part,):
            if isinstance(item, Epsilon):
                continue
            if isinstance(item, Repeat) and isinstance(item.body, Concat):
                count = len(item.body.parts)
                if tuple(flat[-count:]) == item.body.parts:  # a b (a b)* is (a b)+
                    del flat[-count:]
                    high = None if item.high is None else item.high + 1
                    flat.append(Repeat(item.body, item.low + 1, high))
                    continue
            joined = _join(flat[-1], item) if flat else None
            if joined is None:
                flat.append(item)
            else:
                flat[-1] = joined
    if not flat:
        return EPSILON
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def _join(left: Expression, right: Expression) -> Expression | None:
    """Return two neighbours as one repetition, if they repeat the same expression."""
    one = left if isinstance(left, Repeat) else Repeat(left, 1, 1)
    two = right if isinstance(right, Repeat) else Repeat(right, 1, 1)
    if one.body != two.body:
        return None
    high = None if one.high is None or two.high is None else one.high + two.high
    return Repeat(one.body, one.low + two.low, high)


def union(parts: Iterable[Expression]) -> Expression | None:
    """Return a choice; None if there is nothing to choose from."""
    flat: list[Expression] = []
    letters = 0
    empty = False
    for part in parts:
        for item in part.parts if isinstance(part, Union) else (part,):
            match item:
                case Symbol(mask):
                    letters |= mask
                case Epsilon():
                    empty = True
                case _ if item not in flat:
                    flat.append(item)
    if letters:
        flat.insert(0, Symbol(letters))
    if not flat:
        return EPSILON if empty else None
    chosen = factored(flat)
    return repeat(chosen, 0, 1) if empty and not chosen.nullable else chosen


def factored(parts: list[Expression]) -> Expression:
    """Return a choice with common beginnings and ends factored out: `a b | a c` is `a (b | c)`."""
    if len(parts) == 1:
        return parts[0]
    sequences = [part.parts if isinstance(part, Concat) else (part,) for part in parts]
    front = _shared(sequences)
    rest = [sequence[front:] for sequence in sequences]
    back = _shared([sequence[::-1] for sequence in rest])
    if not front and not back:
        return Union(tuple(parts))
    middle = union(concat(sequence[: len(sequence) - back]) for sequence in rest)
    assert middle is not None
    ending = rest[0][len(rest[0]) - back :]
    return concat([*sequences[0][:front], middle, *ending])


def _shared(sequences: list[tuple[Expression, ...]]) -> int:
    """Return the length of the common beginning of all sequences."""
    count = 0
    for members in zip(*sequences, strict=False):
        if any(member != members[0] for member in members):
            break
        count += 1
    return count


def repeat(body: Expression, low: int, high: int | None) -> Expression:
    """Return a repetition; `(r+)?` and `(r?)*` become `r*`."""
    if isinstance(body, Epsilon) or high == 0:
        return EPSILON
    if (low, high) == (1, 1):
        return body
    if isinstance(body, Repeat) and body.low <= 1:
        inner, outer = body.high is None, high is None
        if body.high == 1 and body.low == 0 and outer:
            return Repeat(body.body, 0, None)
        if inner and low <= 1 and (outer or high == 1):
            return Repeat(body.body, min(body.low, low), None)
    if isinstance(body, Union) and high is None and low == 0:
        parts = [
            part.body if isinstance(part, Repeat) and _starred(part) else part
            for part in body.parts
        ]
        simpler = union(parts)
        if simpler is not None and simpler != body:
            return repeat(simpler, 0, None)
    return Repeat(body, low, high)


def _starred(part: Repeat) -> bool:
    """Tell whether a repetition inside a star can be replaced by its body."""
    return part.low <= 1 and part.high in (1, None)
