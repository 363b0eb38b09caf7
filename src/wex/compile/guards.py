"""The guards of a window or an assumption, and its regular expressions over their letters."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from wex.automata.regex import RegexFactory
from wex.spec import tree
from wex.spec.types import read_moment
from wex.theory.letters import Letters, letters_of
from wex.theory.terms import fields
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wex.automata.regex import Regex
    from wex.spec import Meaning
    from wex.spec.types import Type
    from wex.theory.terms import Guard


def predicates(node: tree.Node) -> list[tree.Expr]:
    """Return the predicates that decide about windows below a node, in the order of the text."""
    match node:
        case tree.Atom(predicate) | tree.Until(predicate):
            return [predicate]
        case tree.Holds() | tree.Call():
            return [tree.held(node)[0]]
    return [each for child in node.children() for each in predicates(child)]


class Reading:
    """How the regular expressions of one window read its grams: by letters."""

    def __init__(
        self,
        nodes: Iterable[tree.Node],
        types: Mapping[str, Type],
        lookback: int,
        *,
        pad: bool = False,
    ) -> None:
        written = dict.fromkeys(each for node in nodes for each in predicates(node))
        self.guards: dict[tree.Expr, Guard] = {each: guard_of(each, types) for each in written}
        self.letters: Letters = letters_of(self.guards.values(), lookback, pad=pad)
        self._sets = {each: self.letters.where(guard) for each, guard in self.guards.items()}
        everything = self.letters.everything
        self.workshop = RegexFactory(len(self.letters), [everything, *self._sets.values()])

    def where(self, predicate: tree.Expr) -> int:
        """Return the letters of which a predicate is true."""
        return self._sets[predicate]

    def regex(self, node: tree.Regex) -> Regex:
        """Return a regular expression over letters."""
        shop = self.workshop
        match node:
            case tree.Anything():
                return shop.symbol(self.letters.everything)
            case tree.Empty():
                return shop.empty
            case tree.Atom(predicate):
                return shop.symbol(self._sets[predicate])
            case tree.Concat(parts):
                return shop.concat(map(self.regex, parts))
            case tree.Union(parts):
                return shop.union(map(self.regex, parts))
            case tree.Intersection(parts):
                return shop.intersection(map(self.regex, parts))
            case tree.Complement(body):
                return shop.complement(self.regex(body))
            case tree.Repeat(body, low, high):
                return shop.repeat(self.regex(body), low, high)
        raise TypeError(node)


def deciding_parts(window: tree.Window) -> Sequence[tree.Node]:
    """Return the parts of a window whose predicates decide about it."""
    parts: list[tree.Node] = list(window.pairs)
    return [*parts, *(each for each in (window.where, window.until) if each)]


def guarded_fields(meaning: Meaning) -> frozenset[str]:
    """Return the fields that some predicate reads: there a NULL is not let through."""
    parts = [
        *meaning.expanded.assumes,
        *(part for each in meaning.expanded.windows for part in deciding_parts(each)),
    ]
    guards = [guard_of(each, meaning.fields) for part in parts for each in predicates(part)]
    return frozenset(field.name for guard in guards for field in fields(guard))


def moments(meaning: Meaning) -> tuple[tuple[str, bool], ...]:
    """Return the timestamps that a spec writes, and of each whether it has a time zone."""
    found = {}
    for node in tree.walk(meaning.expanded):
        if isinstance(node, tree.Moment):
            moment = read_moment(node.type.text, node.text)
            if isinstance(moment, datetime):
                found[str(node)] = moment.tzinfo is not None
    return tuple(found.items())
