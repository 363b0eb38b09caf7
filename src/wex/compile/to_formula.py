"""Regular expressions to formulas: a formula for each part of an expression, sets only for loops.

`between(R, x, y)` is the formula for "the grams from x up to, not including, y are in R". Both x
and y are *boundaries*: a position and an offset. The end of the window is the boundary `end + 1`,
which is not a position. So a quantified boundary lies before it, and the case that nothing follows
a boundary has a formula of its own.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from wex.compile.to_predicate import fresh_names, with_lookback
from wex.compile.window import ANYWHERE
from wex.errors import WexError
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.spec.aggregates import uses_aggregates
from wex.spec.resolve.label_checks import uses_labels
from wex.spec.resolve.runs import spelled_out
from wex.spec.vocabulary import PREFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.spec import Meaning

Op = Literal["=", "<", "<="]
TRUE, FALSE = tree.Bool(True), tree.Bool(False)


@dataclass(frozen=True)
class Boundary:
    """The boundary `offset` events after a position; `first`: the first position of the stream."""

    position: tree.Expr
    offset: int = 0
    first: bool = False

    def plus(self, offset: int) -> Boundary:
        """Return the boundary `offset` events later."""
        return replace(self, offset=self.offset + offset)


def with_formulas(spec: tree.Spec) -> tree.Spec:
    """Return a spec whose windows are all given by formulas."""
    meaning = meaning_of(spec)
    windows = tuple(
        window if window.where is not None else _translated(spec, meaning, number)
        for number, window in enumerate(spec.windows)
    )
    return with_lookback(replace(spec, windows=windows, source=None), meaning)


def _translated(spec: tree.Spec, meaning: Meaning, number: int) -> tree.Window:
    window = spelled_out(spec.windows[number], spec.stream)
    if any(map(uses_aggregates, meaning.expanded.windows[number].pairs)):
        message = f"window `{window.name.text}` has aggregates in `match`, and formulas have none"
        raise WexError("formula-aggregate", message, "keep the regular expression")
    if window.keep and window.keep.text in PREFERENCE:
        message = f"a formula has no order of preference, which `keep {window.keep.text}` needs"
        hint = "keep the regular expression, or choose another option of `keep`"
        raise WexError("formula-preference", message, hint)
    if any(map(uses_labels, meaning.expanded.windows[number].measures)):
        message = f"window `{window.name.text}` has measures of labels, and formulas have no labels"
        raise WexError("formula-labels", message, "keep the regular expression")
    writer = _Writer(fresh_names(spec))
    begin, end = Boundary(tree.Mark("begin")), Boundary(tree.Mark("end"), 1)
    pairs = [
        both(
            [
                writer.before(pair.after or ANYWHERE, begin),
                writer.between(tree.unlabelled(pair.match), begin, end),
            ]
        )
        for pair in window.pairs
    ]
    formula = either(pairs)
    if tree.deeper_than(tree.MAX_DEPTH, formula) is not None:
        raise _too_deep()
    return replace(window, pairs=(), where=formula)


def _too_deep() -> WexError:
    message = f"the formula of this expression is nested more than {tree.MAX_DEPTH} levels deep"
    hint = "keep the regular expression, or make the counts in it smaller"
    return WexError("formula-depth", message, hint)


class _Writer:
    def __init__(self, names: Iterator[str]) -> None:
        self.names = names
        self._depth = 0

    def before(self, regex: tree.Regex, begin: Boundary) -> tree.Expr:
        """Return the formula for "all grams before a boundary are in a language"."""
        name = next(self.names)
        formula = self.between(regex, Boundary(tree.Ref(name), first=True), begin)
        if tree.Ref(name) not in tree.walk(formula):
            return formula
        other = next(self.names)
        nothing_before = tree.Quantified(
            "forall", tree.Name(other), tree.Compare((tree.Ref(name), tree.Ref(other)), ("<=",))
        )
        return tree.Quantified("exists", tree.Name(name), both([nothing_before, formula]))

    def between(self, regex: tree.Regex, x: Boundary, y: Boundary) -> tree.Expr:
        """Return the formula for "the grams between two boundaries are in a language"."""
        with self._deeper():
            return self._between(regex, x, y)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        """Raise an error if the formula is nested too deeply to be read again."""
        self._depth += 1
        if self._depth > tree.MAX_DEPTH:
            raise _too_deep()
        yield
        self._depth -= 1

    def _between(self, regex: tree.Regex, x: Boundary, y: Boundary) -> tree.Expr:
        match regex:
            case tree.Empty():
                return _compare(x, "=", y)
            case tree.Anything():
                return _compare(x.plus(1), "=", y)
            case tree.Atom(predicate):
                return both([self._at(predicate, x), _compare(x.plus(1), "=", y)])
            case tree.Concat(parts):
                return self._sequence(list(parts), x, y)
            case tree.Union(parts):
                return either([self.between(part, x, y) for part in parts])
            case tree.Intersection(parts):
                return both([self.between(part, x, y) for part in parts])
            case tree.Complement(body):
                return both([_compare(x, "<=", y), negated(self.between(body, x, y))])
            case tree.Repeat(body, low, high):
                return self._repeated(body, low, high, x, y)
        raise TypeError(regex)

    @staticmethod
    def _at(predicate: tree.Expr, x: Boundary) -> tree.Expr:
        if predicate == TRUE:
            return TRUE
        if predicate == FALSE:
            return FALSE
        return tree.holds_at(predicate, _position(x))

    def _sequence(self, parts: list[tree.Regex], x: Boundary, y: Boundary) -> tree.Expr:
        """Return the formula of a sequence: parts of a fixed length first, from both sides."""
        before: list[tree.Expr] = []
        while parts and (length := _length(parts[0])) is not None:
            before.append(self.between(parts.pop(0), x, x.plus(length)))
            x = x.plus(length)
        behind: list[tree.Expr] = []
        inside = False
        while parts and (length := _length(parts[-1])) is not None:
            # A predicate that holds at a place implies that the place exists.
            inside = isinstance(parts[-1], tree.Atom) and parts[-1].predicate not in (TRUE, FALSE)
            behind.insert(0, self.between(parts.pop(), y.plus(-length), y))
            y = y.plus(-length)
        if not parts:
            return both([*before, *behind, _compare(x, "=", y)])
        if x.first and parts == [ANYWHERE] and inside:
            return both([*before, *behind])
        if len(parts) == 1:
            return both([*before, *behind, self.between(parts[0], x, y)])
        return both([*before, *behind, self._split(parts[0], parts[1:], x, y)])

    def _split(
        self, first: tree.Regex, rest: list[tree.Regex], x: Boundary, y: Boundary
    ) -> tree.Expr:
        """Return the formula for "a boundary splits the grams", or for an empty rest."""
        name = next(self.names)
        z = Boundary(tree.Ref(name))
        with self._deeper():
            parts = [self.between(first, x, z), self._sequence(list(rest), z, y)]
        inside = both([_compare(x, "<=", z), _compare(z, "<", y), *parts])
        choices: list[tree.Expr] = [tree.Quantified("exists", tree.Name(name), inside)]
        if all(map(_nullable, rest)):
            choices.append(self.between(first, x, y))
        return either(choices)

    def _repeated(
        self, body: tree.Regex, low: int, high: int | None, x: Boundary, y: Boundary
    ) -> tree.Expr:
        predicate = _one_gram(body)
        if predicate is not None:
            length = [_compare(x.plus(low), "=" if low == high else "<=", y)]
            if high is not None and high != low:
                length.append(_compare(y, "<=", x.plus(high)))
            return both([*length, self._all(predicate, x, y)])
        if (low, high) == (0, None):
            return self._loop(body, x, y)
        if high is None:
            copies = [body] * low
            return self._sequence([*copies, tree.Repeat(body, 0, None)], x, y)
        if (low, high) == (0, 1):
            return either([_compare(x, "=", y), self.between(body, x, y)])
        optional = [tree.Repeat(body, 0, 1)] * (high - low)
        return self._sequence([*[body] * low, *optional], x, y)

    def _all(self, predicate: tree.Expr, x: Boundary, y: Boundary) -> tree.Expr:
        """Return the formula for "a predicate holds at every position between two boundaries"."""
        if predicate == TRUE:
            return TRUE
        name = next(self.names)
        z = Boundary(tree.Ref(name))
        inside = both([_compare(x, "<=", z), _compare(z, "<", y)])
        here = self._at(predicate, z)
        body = here if inside == TRUE else tree.Implies(inside, here)
        return tree.Quantified("forall", tree.Name(name), body)

    def _loop(self, body: tree.Regex, x: Boundary, y: Boundary) -> tree.Expr:
        """Return the formula of a repeated part, by the set of boundaries at which it begins.

        From each boundary in the set the part leads to a later one in the set, or to the end.
        """
        chosen, u, v = next(self.names).upper(), next(self.names), next(self.names)
        here, there = Boundary(tree.Ref(u)), Boundary(tree.Ref(v))
        onwards = tree.Quantified(
            "exists",
            tree.Name(v),
            both(
                [
                    _compare(here, "<", there),
                    _compare(there, "<", y),
                    tree.Member(tree.Ref(v), tree.Name(chosen)),
                    self.between(body, here, there),
                ]
            ),
        )
        every = tree.Quantified(
            "forall",
            tree.Name(u),
            tree.Implies(
                tree.Member(tree.Ref(u), tree.Name(chosen)),
                both([_compare(here, "<", y), either([self.between(body, here, y), onwards])]),
            ),
        )
        begins = tree.Member(_position(x), tree.Name(chosen))
        some = tree.Quantified("exists", tree.Name(chosen), both([begins, every]), of_set=True)
        return either([_compare(x, "=", y), some])


# --- Pieces of formulas


def both(parts: list[tree.Expr]) -> tree.Expr:
    """Return the conjunction of some parts, without constants and repeated parts."""
    kept = [part for part in dict.fromkeys(parts) if part != TRUE]
    if FALSE in kept:
        return FALSE
    return tree.flat(tree.And, kept) if kept else TRUE


def either(parts: list[tree.Expr]) -> tree.Expr:
    """Return the disjunction of some parts, without constants and repeated parts."""
    kept = [part for part in dict.fromkeys(parts) if part != FALSE]
    if TRUE in kept:
        return TRUE
    return tree.flat(tree.Or, kept) if kept else FALSE


def negated(formula: tree.Expr) -> tree.Expr:
    """Return the negation of a formula."""
    match formula:
        case tree.Bool(value):
            return tree.Bool(not value)
        case tree.Not(operand):
            return operand
    return tree.Not(formula)


def _position(boundary: Boundary) -> tree.Expr:
    if not boundary.offset:
        return boundary.position
    op: Literal["+", "-"] = "+" if boundary.offset > 0 else "-"
    return tree.Binary(op, boundary.position, tree.Int(abs(boundary.offset)))


def _compare(left: Boundary, op: Op, right: Boundary) -> tree.Expr:
    """Return a comparison of two boundaries in its shortest form."""
    gap = left.offset - right.offset
    if left.position == right.position:
        return tree.Bool({"=": gap == 0, "<=": gap <= 0, "<": gap < 0}[op])
    if op == "<=" and gap == 1:
        op, gap = "<", 0
    elif op == "<" and gap == -1:
        op, gap = "<=", 0
    if op == "<=" and gap <= 0 and (left.first or right.position == tree.Mark("end")):
        return TRUE  # no position lies before the first one, or after the end
    sides = (
        _position(Boundary(left.position, max(gap, 0))),
        _position(Boundary(right.position, max(-gap, 0))),
    )
    return tree.Compare(sides, (op,))


# --- Properties of regular expressions


def _length(regex: tree.Regex) -> int | None:
    """Return the length of all words of a language, if they have one length."""
    match regex:
        case tree.Empty():
            return 0
        case tree.Anything() | tree.Atom():
            return 1
        case tree.Concat(parts):
            lengths = [_length(part) for part in parts]
            return None if None in lengths else sum(filter(None, lengths))
        case tree.Union(parts) | tree.Intersection(parts):
            distinct = {_length(part) for part in parts}
            return distinct.pop() if len(distinct) == 1 else None
        case tree.Repeat(body, low, high) if low == high:
            inner = _length(body)
            return None if inner is None else inner * low
    return None


def _nullable(regex: tree.Regex) -> bool:
    match regex:
        case tree.Empty():
            return True
        case tree.Concat(parts) | tree.Intersection(parts):
            return all(map(_nullable, parts))
        case tree.Union(parts):
            return any(map(_nullable, parts))
        case tree.Complement(body):
            return not _nullable(body)
        case tree.Repeat(body, low, _):
            return low == 0 or _nullable(body)
    return False


def _one_gram(regex: tree.Regex) -> tree.Expr | None:
    """Return the predicate of a language of single grams, if it is one."""
    match regex:
        case tree.Anything():
            return TRUE
        case tree.Atom(predicate):
            return predicate
        case tree.Union(parts):
            predicates = [_one_gram(part) for part in parts]
            if None not in predicates:
                return tree.flat(tree.Or, filter(None, predicates))
    return None
