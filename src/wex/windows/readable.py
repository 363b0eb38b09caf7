"""From sets of letters and expressions over them back to predicates that a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.automata import expressions
from wex.spec import tree
from wex.theory.letters import Literal, cover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.theory.letters import Letters


def predicate_of(letters: Letters, written: Sequence[tree.Expr], chosen: int) -> tree.Expr:
    """Return a short predicate that is true of exactly the chosen letters.

    `written` are the guards as predicates. Combinations of guards that no gram has are left to
    chance, which makes it shorter.
    """
    everything = letters.everything
    if chosen == everything:
        return tree.Bool(True)
    if not chosen:
        return tree.Bool(False)
    plain = cover(letters, chosen)
    negated = cover(letters, everything & ~chosen)
    if _length(negated) + 1 < _length(plain):
        return tree.Not(_written(negated, written))
    return _written(plain, written)


def _length(cubes: list[list[Literal]]) -> int:
    return sum(1 if holds else 2 for cube in cubes for _, holds in cube)


def _written(cubes: list[list[Literal]], written: Sequence[tree.Expr]) -> tree.Expr:
    choices = [
        tree.flat(
            tree.And,
            [written[guard] if holds else tree.Not(written[guard]) for guard, holds in cube],
        )
        for cube in cubes
    ]
    return tree.flat(tree.Or, choices)


def regex_of(
    expression: expressions.Expression | None, letters: Letters, written: Sequence[tree.Expr]
) -> tree.Regex:
    """Return an expression over letters as a regular expression over predicates."""

    def convert(node: expressions.Expression) -> tree.Regex:
        match node:
            case expressions.Epsilon():
                return tree.Empty()
            case expressions.Symbol(mask):
                if mask == letters.everything:
                    return tree.Anything()
                return tree.Atom(predicate_of(letters, written, mask))
            case expressions.Concat(parts):
                return tree.flat(tree.Concat, map(convert, parts))
            case expressions.Union(parts):
                return tree.flat(tree.Union, map(convert, parts))
            case expressions.Repeat(body, low, high):
                return tree.Repeat(convert(body), low, high)
        raise TypeError(node)

    return tree.Atom(tree.Bool(False)) if expression is None else convert(expression)
