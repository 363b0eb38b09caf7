"""Regular expressions over letters, and their automata by derivatives.

Expressions are kept in a normal form in which equal expressions are one object: unions and
intersections are sets, concatenations are flat, and simplifications are applied. Therefore an
expression has finitely many derivatives, and exploring them gives an automaton directly, also for
`&` and `~`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex import limits
from wex.automata import dfa as automata
from wex.automata.minimise import minimise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wex.automata.dfa import DFA


class Regex:
    """A language of words over letters; equal expressions are the same object."""

    __slots__ = ("key", "nullable", "serial")

    def __init__(self, key: tuple[object, ...], nullable: bool, serial: int) -> None:
        self.key = key
        self.nullable = nullable  # the empty word is in the language
        self.serial = serial


class RegexFactory:
    """Creates expressions and their derivatives, each of them once.

    Letters that are in the same of the given sets form a class; `symbol` takes one of these sets, or
    a combination of them, and expressions contain sets of classes.
    """

    def __init__(self, letters: int, sets: Iterable[int]) -> None:
        distinct = list(dict.fromkeys(sets))
        keys = [tuple(mask >> letter & 1 for mask in distinct) for letter in range(letters)]
        numbers: dict[tuple[int, ...], int] = {}
        self.classes = [numbers.setdefault(key, len(numbers)) for key in keys]
        self.width = len(numbers)
        self._first = [self.classes.index(cls) for cls in range(self.width)]  # of each class
        self._made: dict[tuple[object, ...], Regex] = {}
        self._derived: dict[tuple[int, int], Regex] = {}
        self._work = 0
        self._most_work = limits.current().work
        self.nothing = self._make(("symbol", 0), nullable=False)
        self.empty = self._make(("concat", ()), nullable=True)
        self.everything = self.repeat(self._symbol((1 << self.width) - 1), 0, None)

    def _make(self, key: tuple[object, ...], *, nullable: bool) -> Regex:
        regex = self._made.get(key)
        if regex is None:
            regex = self._made[key] = Regex(key, nullable, len(self._made))
        return regex

    def _symbol(self, members: int) -> Regex:
        return self._make(("symbol", members), nullable=False)

    def symbol(self, letters: int) -> Regex:
        """Return one letter out of a set."""
        members = (1 << cls for cls, letter in enumerate(self._first) if letters >> letter & 1)
        return self._symbol(sum(members))

    def concat(self, parts: Iterable[Regex]) -> Regex:
        """Return one after the other."""
        flat: list[Regex] = []
        for part in parts:
            if part is self.nothing:
                return self.nothing
            if part.key[0] == "concat":
                flat.extend(_parts(part))
            else:
                flat.append(part)
        if len(flat) == 1:
            return flat[0]
        return self._make(("concat", tuple(flat)), nullable=all(part.nullable for part in flat))

    def union(self, parts: Iterable[Regex]) -> Regex:
        """Return the union of some languages."""
        return self._bag("union", parts, self.nothing, self.everything)

    def intersection(self, parts: Iterable[Regex]) -> Regex:
        """Return the intersection of some languages."""
        return self._bag("intersection", parts, self.everything, self.nothing)

    def _bag(self, kind: str, parts: Iterable[Regex], neutral: Regex, whole: Regex) -> Regex:
        members: set[Regex] = set()
        for part in parts:
            members.update(_parts(part) if part.key[0] == kind else [part])
        members.discard(neutral)
        self._work += len(members)
        if self._work > self._most_work:
            limits.require("work", self._work, "the steps of building an automaton")
        if len(members) == 1:
            return members.pop()
        if whole in members:
            return whole
        self._join_symbols(kind, members)
        if kind == "union" and len(members) > 1:
            self._join_counts(members)
        if (
            kind == "union"
            and self.empty in members
            and any(part.nullable for part in members if part is not self.empty)
        ):
            members.discard(self.empty)
        if len(members) <= 1:
            return next(iter(members), neutral)
        ordered = tuple(sorted(members, key=lambda part: part.serial))
        test = any if kind == "union" else all
        return self._make((kind, ordered), nullable=test(part.nullable for part in ordered))

    def _join_symbols(self, kind: str, members: set[Regex]) -> None:
        symbols = [part for part in members if part.key[0] == "symbol"]
        if len(symbols) > 1:
            members.difference_update(symbols)
            masks = [part.key[1] for part in symbols]
            joined = masks[0]
            for mask in masks[1:]:
                assert isinstance(joined, int)
                assert isinstance(mask, int)
                joined = joined | mask if kind == "union" else joined & mask
            assert isinstance(joined, int)
            members.add(self._symbol(joined))

    def _join_counts(self, members: set[Regex]) -> None:
        """Join `r{2} s | r{3,5} s` into `r{2,5} s`: adjacent ranges of counts become one."""
        stretches: dict[tuple[Regex, Regex], list[tuple[int, float, Regex]]] = {}
        for part in members:
            head, *tail = _parts(part) if part.key[0] == "concat" and part.key[1] else (part,)
            if head.key[0] == "repeat":
                low, high = head.key[2:]
                assert isinstance(low, int)
                assert high is None or isinstance(high, int)
                most = float("inf") if high is None else high
                key = (_parts(head)[0], self.concat(tail))
                stretches.setdefault(key, []).append((low, most, part))
        for (body, rest), counts in stretches.items():
            if rest in members and rest is not self.empty and not body.nullable:
                counts.append((0, 0, rest))
            if len(counts) > 1:
                self._join_stretches(
                    members, body, rest, sorted(counts, key=lambda count: count[:2])
                )

    def _join_stretches(
        self, members: set[Regex], body: Regex, rest: Regex, counts: list[tuple[int, float, Regex]]
    ) -> None:
        low, most, *joined = counts[0][0], counts[0][1], counts[0][2]
        for next_low, next_most, part in [*counts[1:], (2**62, 2**62, self.nothing)]:
            if next_low <= most + 1 and part is not self.nothing:
                most = max(most, next_most)
                joined.append(part)
                continue
            if len(joined) > 1:
                members.difference_update(joined)
                high = None if most == float("inf") else int(most)
                members.add(self.concat([self.repeat(body, low, high), rest]))
            low, most, joined = next_low, next_most, [part]

    def complement(self, body: Regex) -> Regex:
        """Return the language of all other words."""
        if body.key[0] == "complement":
            return _parts(body)[0]
        if body is self.nothing:
            return self.everything
        if body is self.everything:
            return self.nothing
        return self._make(("complement", (body,)), nullable=not body.nullable)

    def repeat(self, body: Regex, low: int, high: int | None) -> Regex:
        """Return the language of at least `low` and at most `high` words of a language."""
        if high == 0 or body is self.empty:
            return self.empty
        if body is self.nothing:
            return self.nothing if low else self.empty
        if low == high == 1:
            return body
        if body.nullable:
            low = 0  # the empty word can be repeated
        if (low, high) == (0, 1):
            return self.union([self.empty, body])
        inner = body.key[2:] if body.key[0] == "repeat" else ()
        if (low, high) == (0, None) and inner in ((0, None), (1, None)):  # (r+)* is r*
            return self.repeat(_parts(body)[0], 0, None)
        nullable = low == 0 or body.nullable
        return self._make(("repeat", (body,), low, high), nullable=nullable)

    def derivative(self, regex: Regex, cls: int) -> Regex:
        """Return the language of the words that may follow a letter of a class."""
        key = (regex.serial, cls)
        derived = self._derived.get(key)
        if derived is None:
            derived = self._derived[key] = self._derive(regex, cls)
        return derived

    def _derive(self, regex: Regex, cls: int) -> Regex:
        match regex.key:
            case ("symbol", int(members)):
                return self.empty if members >> cls & 1 else self.nothing
            case ("concat", _):
                return self._derive_concat(_parts(regex), cls)
            case ("union", _):
                return self.union(self.derivative(part, cls) for part in _parts(regex))
            case ("intersection", _):
                return self.intersection(self.derivative(part, cls) for part in _parts(regex))
            case ("complement", _):
                return self.complement(self.derivative(_parts(regex)[0], cls))
            case ("repeat", _, int(low), high):
                body = _parts(regex)[0]
                assert high is None or isinstance(high, int)
                after = self.derivative(body, cls)
                if after is self.nothing:
                    return self.nothing
                rest = self.repeat(body, max(0, low - 1), None if high is None else high - 1)
                return rest if after is self.empty else self.concat([after, rest])
        raise TypeError(regex.key)

    def _derive_concat(self, parts: tuple[Regex, ...], cls: int) -> Regex:
        """Derive the first part, and every later part if all parts before it are nullable."""
        choices = []
        for index, part in enumerate(parts, 1):
            after = self.derivative(part, cls)
            if after is not self.nothing:
                choices.append(self.concat([after, *parts[index:]]))
            if not part.nullable:
                break
        return choices[0] if len(choices) == 1 else self.union(choices)

    def successors(self, roots: Iterable[Regex]) -> Callable[[Regex], list[Regex]]:
        """Return the function from an expression derived from the roots to its derivatives by class.

        Derivatives contain no sets but those of the roots and their unions and intersections. So one
        derivative serves all classes that these sets do not tell apart.
        """
        told_apart = ([mask >> cls & 1 for cls in range(self.width)] for mask in self._masks(roots))
        kinds, _ = automata.common_classes([0] * self.width, *told_apart)
        members = {kind: cls for cls, kind in enumerate(kinds)}  # a class of each kind

        def derivatives(regex: Regex) -> list[Regex]:
            derived = {kind: self.derivative(regex, cls) for kind, cls in members.items()}
            return [derived[kind] for kind in kinds]

        return derivatives

    @staticmethod
    def _masks(roots: Iterable[Regex]) -> list[int]:
        """Return the sets of classes in some expressions."""
        masks: dict[int, None] = {}
        pending = list(roots)
        seen = set(pending)
        while pending:
            kind, content = pending.pop().key[:2]
            if kind == "symbol":
                assert isinstance(content, int)
                masks[content] = None
            else:
                assert isinstance(content, tuple)
                pending += [part for part in content if part not in seen]
                seen.update(content)
        return list(masks)

    def automaton(self, regex: Regex) -> DFA:
        """Return the minimal automaton of an expression."""
        return minimise(automata.build(self.classes, regex, self.successors([regex]), _is_nullable))


def _parts(regex: Regex) -> tuple[Regex, ...]:
    parts = regex.key[1]
    assert isinstance(parts, tuple)
    return parts


def _is_nullable(regex: Regex) -> bool:
    return regex.nullable
