"""Sets of letters as predicates, and expressions over letters as readable regular expressions."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from wex.automata import expressions
from wex.errors import SpecError
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.spec.vocabulary import RESERVED
from wex.theory.letters import Literal, cover

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wex.spec import Meaning
    from wex.theory.letters import Letters


def predicate_of(letters: Letters, written: Sequence[tree.Expr], chosen: int) -> tree.Expr:
    """Return a short predicate that is true of exactly the chosen letters.

    `written` are the guards as predicates. For combinations of guards that no gram has, the
    predicate may be true or false, whichever is shorter.
    """
    everything = letters.everything
    if chosen == everything:
        return tree.Bool(True)
    if not chosen:
        return tree.Bool(False)
    plain = cover(letters, chosen)
    negated = cover(letters, everything & ~chosen)
    if _length(negated) + 1 < _length(plain):
        return tree.Not(_disjunction(negated, written))
    return _disjunction(plain, written)


def _length(cubes: list[list[Literal]]) -> int:
    return sum(1 if holds else 2 for cube in cubes for _, holds in cube)


def _disjunction(cubes: list[list[Literal]], written: Sequence[tree.Expr]) -> tree.Expr:
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


def names_of_lets(meaning: Meaning) -> dict[tree.Expr, tree.Expr]:
    """Return the names of the lets that are predicates, by their expanded predicates."""
    names: dict[tree.Expr, tree.Expr] = {}
    for let in meaning.spec.lets:
        atom = tree.Atom(tree.Ref(let.name.text))
        window = tree.Window(tree.Name("w"), (tree.Pair(None, atom),))
        try:
            expanded = meaning_of(replace(meaning.spec, windows=(window,), source=None)).expanded
        except SpecError:
            continue  # a value, not a predicate
        match expanded.windows[0].pairs[0].match:
            case tree.Atom(predicate):
                names.setdefault(predicate, tree.Ref(let.name.text))
    return names


def with_lets(predicate: tree.Expr, names: Mapping[tree.Expr, tree.Expr]) -> tree.Expr:
    """Return a predicate with the names of lets instead of their predicates."""
    if predicate in names:
        return names[predicate]
    match predicate:
        case tree.Not(operand):
            return tree.Not(with_lets(operand, names))
        case tree.And(parts) | tree.Or(parts):
            return type(predicate)(tuple(with_lets(part, names) for part in parts))
    return predicate


def with_lookback(spec: tree.Spec, before: Meaning) -> tree.Spec:
    """Return a rewritten spec with a `lookback` clause where the new text looks back less far than before."""
    after = meaning_of(spec)
    windows = tuple(
        replace(window, lookback=tree.Int(needed)) if needed > given else window
        for window, needed, given in zip(
            spec.windows, before.lookbacks, after.lookbacks, strict=True
        )
    )
    return replace(spec, windows=windows)


def fresh_names(spec: tree.Spec) -> Iterator[str]:
    """Yield names for positions that no field or let has."""
    taken = {field.name.text for field in spec.stream.fields} | {let.name.text for let in spec.lets}
    plain = ["x", "y", "z", "u", "v", "w"]
    for name in chain(plain, (f"x{number}" for number in count(1))):
        if name not in taken and name not in RESERVED:
            yield name
