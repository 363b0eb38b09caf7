"""The guards and letters of a window or an assumption, and its regular expressions over them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from wex.automata.regex import RegexFactory
from wex.compile.measures import deciding_guard
from wex.spec import tree
from wex.spec.aggregates import uses_aggregates
from wex.spec.resolve.expand import expand_expr
from wex.spec.types import CALENDAR_PARTS, CLOCK_PARTS, OTHER, read_moment
from wex.theory.letters import Letters, letters_of
from wex.theory.terms import fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wex.automata.regex import Regex
    from wex.spec import Meaning
    from wex.spec.types import Type
    from wex.theory.terms import Guard


def predicates(node: tree.Node) -> list[tree.Expr]:
    """Return the predicates that decide about windows below a node, in the order of the text."""
    match node:
        case tree.Atom(predicate):
            return [predicate]
        case tree.Until():
            return [asked_behind(node)]
        case tree.Holds() | tree.Call():
            return [tree.held(node)[0]]
    return [predicate for child in node.children() for predicate in predicates(child)]


def asked_behind(until: tree.Until) -> tree.Expr:
    """Return the predicate of `until` as it is asked of the event behind a window.

    Its fields are those of this event; its aggregates end one event earlier, with the window.
    """
    return expand_expr(until.predicate, {}, aggregates_by=-1)


def guards_of(nodes: Iterable[tree.Node], types: Mapping[str, Type]) -> dict[tree.Expr, Guard]:
    """Return the guard of each predicate below some nodes, or of its parts, in the order of the text."""
    written = (predicate for node in nodes for predicate in predicates(node))
    parts = dict.fromkeys(part for predicate in written for part in _parts(predicate))
    return {part: deciding_guard(part, types) for part in parts}


def _parts(predicate: tree.Expr) -> list[tree.Expr]:
    """Return a predicate, or of one with aggregates the parts that have letters of their own."""
    split = _split(predicate)
    return [predicate] if split is None else [split[0], *_parts(split[1])]


def _split(predicate: tree.Expr) -> tuple[tree.Expr, tree.Expr] | None:
    """Return what a predicate with aggregates says of the event alone, and the rest.

    What is said of the event alone is the same for all starts, so that it is evaluated once, and the
    analysis knows what it means. It stays with the rest if it computes anything: arithmetic that
    fails is an error in the one case, and unknown in the other.
    """
    if not isinstance(predicate, tree.And | tree.Or) or not uses_aggregates(predicate):
        return None
    apart = [part for part in predicate.parts if _is_plain(part)]
    rest = [part for part in predicate.parts if not _is_plain(part)]
    kind = type(predicate)
    return (_joined(kind, apart), _joined(kind, rest)) if apart else None


def _is_plain(part: tree.Expr) -> bool:
    """Tell whether a predicate only reads and compares."""
    return not any(isinstance(node, tree.Binary | tree.Neg | tree.Call) for node in tree.walk(part))


def _joined(kind: type[tree.And | tree.Or], parts: Sequence[tree.Expr]) -> tree.Expr:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def as_written(guards: Mapping[tree.Expr, Guard]) -> dict[Guard, tree.Expr]:
    """Return for each guard the first predicate of the text that means it."""
    written: dict[Guard, tree.Expr] = {}
    for predicate, guard in guards.items():
        written.setdefault(guard, predicate)
    return written


def basic_predicates(predicates: Iterable[tree.Expr]) -> list[tree.Expr]:
    """Return the predicates that are not made of shorter ones with `not`, `and` and `or`.

    Guards that operations make are: they would have no letters of their own, and be hard to read.
    """
    basic: dict[tree.Expr, None] = {}

    def is_made(predicate: tree.Expr) -> bool:
        match predicate:
            case tree.Not(operand):
                return operand in basic or is_made(operand)
            case tree.And(parts) | tree.Or(parts):
                return all(part in basic or is_made(part) for part in parts)
        return isinstance(predicate, tree.Bool)

    distinct = list(dict.fromkeys(predicates))
    for predicate in sorted(distinct, key=lambda each: sum(1 for _ in tree.walk(each))):
        if not is_made(predicate):
            basic[predicate] = None
    return [predicate for predicate in distinct if predicate in basic]


class Alphabet:
    """Guards as letters: the alphabet in which expressions and formulas read the grams."""

    def __init__(
        self, guards: Mapping[tree.Expr, Guard], lookback: int, *, pad: bool = False
    ) -> None:
        self.guards = guards
        self.letters: Letters = letters_of(guards.values(), lookback, pad=pad)
        self._sets = {predicate: self.letters.where(guard) for predicate, guard in guards.items()}
        everything = self.letters.everything
        self.factory = RegexFactory(len(self.letters), [everything, *self._sets.values()])

    def where(self, predicate: tree.Expr) -> int:
        """Return the letters of which a predicate is true, as a set of bits."""
        if predicate in self._sets:
            return self._sets[predicate]
        split = _split(predicate)
        assert split is not None
        apart, rest = map(self.where, split)  # the rest may be split in another way again
        return apart & rest if isinstance(predicate, tree.And) else apart | rest

    def regex(self, node: tree.Regex) -> Regex:
        """Return a regular expression over letters."""
        factory = self.factory
        match node:
            case tree.Anything():
                return factory.symbol(self.letters.everything)
            case tree.Empty():
                return factory.empty
            case tree.Atom(predicate):
                return factory.symbol(self.where(predicate))
            case tree.Concat(parts):
                return factory.concat(map(self.regex, parts))
            case tree.Union(parts):
                return factory.union(map(self.regex, parts))
            case tree.Intersection(parts):
                return factory.intersection(map(self.regex, parts))
            case tree.Labelled(_, body):
                return self.regex(body)
            case tree.Complement(body):
                return factory.complement(self.regex(body))
            case tree.Repeat(body, low, high):
                return factory.repeat(self.regex(body), low, high)
        raise TypeError(node)


def deciding_parts(window: tree.Window) -> Sequence[tree.Node]:
    """Return the parts of a window whose predicates decide which windows there are."""
    return [*window.pairs, *(part for part in (window.where, window.until) if part)]


def guarded_fields(meaning: Meaning) -> frozenset[str]:
    """Return the fields that predicates read: a NaN there is skipped or an error.

    So is a NULL, unless a predicate tests the field for NULL (`Meaning.nullable`).
    """
    parts = [
        *meaning.expanded.assumes,
        *(part for window in meaning.expanded.windows for part in deciding_parts(window)),
    ]
    guards = guards_of(parts, meaning.fields).values()
    read = (field for guard in guards for field in fields(guard))
    return frozenset(field.name for field in read if field.type != OTHER)


def moments(meaning: Meaning) -> tuple[tuple[str, bool], ...]:
    """Return the timestamp literals of a spec, each with whether it has a time zone.

    A function of the clock of a zone, as `hour(ts, 'Europe/Berlin')`, has one, too.
    """
    zoned = {}
    for node in tree.walk(meaning.expanded):
        if isinstance(node, tree.Moment):
            moment = read_moment(node.type.text, node.text)
            if isinstance(moment, datetime):
                zoned[str(node)] = moment.tzinfo is not None
        elif (
            isinstance(node, tree.Call)
            and node.name.text in (*CALENDAR_PARTS, *CLOCK_PARTS)
            and len(node.args) == 2
        ):
            zoned[str(node)] = True
    return tuple(zoned.items())
