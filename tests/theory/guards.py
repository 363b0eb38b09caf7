"""Guards from written predicates, and the digits of values."""

from __future__ import annotations

import wex
from tests.strategies import specs
from tests.strategies.specs import FIELDS
from wex.spec import meaning, tree
from wex.spec.resolve.expand import expand_expr
from wex.spec.resolve.nulls import with_null_tests
from wex.theory.digits import Digits
from wex.theory.terms import Guard
from wex.theory.translate import guard_of


def guards_of(written: list[tree.Expr]) -> list[Guard]:
    lets: dict[str, tree.Expr] = {}
    for name, value in specs.LETS.items():
        lets[name] = expand_expr(value, lets)
    atoms = (tree.Atom(expand_expr(predicate, lets)) for predicate in written)
    window = tree.Window(tree.Name("w"), tuple(tree.Pair(None, atom) for atom in atoms))
    spec = with_null_tests(tree.Spec(tree.Stream(tree.Name("s"), ()), windows=(window,)))
    matches = [pair.match for pair in spec.windows[0].pairs]
    return [guard_of(atom.predicate, FIELDS) for atom in matches if isinstance(atom, tree.Atom)]


def guard(text: str, fields: str = "x real, y real, n int, m int, c string") -> Guard:
    found = meaning(wex.parse(f"stream s ({fields}) window w match [{text}]"))
    atom = found.expanded.windows[0].pairs[0].match
    assert isinstance(atom, tree.Atom)
    return guard_of(atom.predicate, found.fields)


def of_digits(own: Digits, value: int) -> dict[str, int]:
    """Return the digits of a value."""
    rest, event = value + own.shift, {}
    for index, place in reversed(list(enumerate(own.places))):
        event[own.field(index, 0).name], rest = divmod(rest, place)
    return event
