"""Predicates of a spec as they are put together: atoms with `and`, `or`, and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Formula:
    """A predicate that is true or false of a row."""


@dataclass(frozen=True)
class Atom(Formula):
    """One test. `opposite` is its negation, if that is not just `not`; `own` atoms have aggregates."""

    text: str
    own: bool = False
    opposite: str = ""
    negated: bool = False  # with `not`, which is true also where NULL makes the atom false


@dataclass(frozen=True)
class Both(Formula):
    """A conjunction; of nothing it is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Either(Formula):
    """A disjunction; of nothing it is false."""

    parts: tuple[Formula, ...]


TRUE = Both(())
FALSE = Either(())


def both(*parts: Formula) -> Formula:
    """Return a conjunction, without constants and repetitions.

    >>> show(both(TRUE, Atom("x > 1"), Atom("x > 1"), either(Atom("y"), Atom("z"))))
    'x > 1 and (y or z)'
    """
    flat: list[Formula] = []
    for part in parts:
        for one in part.parts if isinstance(part, Both) else (part,):
            if one == FALSE:
                return FALSE
            if one not in flat:
                flat.append(one)
    return flat[0] if len(flat) == 1 else Both(tuple(flat))


def either(*parts: Formula) -> Formula:
    """Return a disjunction, without constants and repetitions."""
    flat: list[Formula] = []
    for part in parts:
        for one in part.parts if isinstance(part, Either) else (part,):
            if one == TRUE:
                return TRUE
            if one not in flat:
                flat.append(one)
    return flat[0] if len(flat) == 1 else Either(tuple(flat))


def negated(formula: Formula) -> Formula:
    """Return the formula that is true where this one is false."""
    match formula:
        case Atom(text, own, opposite, _) if opposite:
            return Atom(opposite, own, text)
        case Atom(text, own, _, was_negated):
            return Atom(text, own, negated=not was_negated)
        case Both(parts):
            return either(*map(negated, parts))
        case Either(parts):
            return both(*map(negated, parts))
    raise TypeError(formula)


def atoms(formula: Formula) -> Iterator[Atom]:
    """Return the atoms of a formula."""
    match formula:
        case Atom():
            yield formula
        case Both(parts) | Either(parts):
            for part in parts:
                yield from atoms(part)


def show(formula: Formula) -> str:
    """Return a formula as a spec writes it."""
    match formula:
        case Atom(text, _, _, is_negated):
            return f"not {text}" if is_negated else text
        case Both(parts):
            shown = (
                f"({show(one)})" if isinstance(one, Either) and one.parts else show(one)
                for one in parts
            )
            return " and ".join(shown) or "true"
        case Either(parts):
            return " or ".join(map(show, parts)) or "false"
    raise TypeError(formula)
