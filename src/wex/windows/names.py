"""Names for what a translation writes: lets that say the same, positions that clash with nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from wex.errors import SpecError
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.spec.vocabulary import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wex.spec import Meaning


def named_again(meaning: Meaning) -> dict[tree.Expr, tree.Expr]:
    """Return the lets that are predicates, by what they stand for."""
    found: dict[tree.Expr, tree.Expr] = {}
    for let in meaning.spec.lets:
        atom = tree.Atom(tree.Ref(let.name.text))
        window = tree.Window(tree.Name("w"), (tree.Pair(None, atom),))
        try:
            expanded = meaning_of(replace(meaning.spec, windows=(window,), source=None)).expanded
        except SpecError:
            continue  # a value, not a predicate
        match expanded.windows[0].pairs[0].match:
            case tree.Atom(predicate):
                found.setdefault(predicate, tree.Ref(let.name.text))
    return found


def renamed(predicate: tree.Expr, names: Mapping[tree.Expr, tree.Expr]) -> tree.Expr:
    """Return a predicate with lets for what they stand for."""
    if predicate in names:
        return names[predicate]
    match predicate:
        case tree.Not(operand):
            return tree.Not(renamed(operand, names))
        case tree.And(parts) | tree.Or(parts):
            return type(predicate)(tuple(renamed(part, names) for part in parts))
    return predicate


def with_lookback(spec: tree.Spec, before: Meaning) -> tree.Spec:
    """Return a rewritten spec that says the lookback of each window where its text gives less."""
    after = meaning_of(spec)
    windows = tuple(
        replace(window, lookback=tree.Int(needed)) if needed > found else window
        for window, needed, found in zip(
            spec.windows, before.lookbacks, after.lookbacks, strict=True
        )
    )
    return replace(spec, windows=windows)


def fresh_names(spec: tree.Spec) -> Iterator[str]:
    """Yield names for positions that nothing else has."""
    taken = {field.name.text for field in spec.stream.fields} | {let.name.text for let in spec.lets}
    plain = ["x", "y", "z", "u", "v", "w"]
    for name in chain(plain, (f"x{number}" for number in count(1))):
        if name not in taken and name not in RESERVED:
            yield name
