"""The definition of `assume` as code: each prefix can be continued to a sequence of R.

Read it beside "Assumptions" (docs/semantics.md). Sequences are taken one gram at a time from the
expression itself, by Brzozowski's derivatives; continuations are searched one letter at a time.
Of the compiler it uses only the letters: the combinations of truth values that predicates can have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from wex.compile.guards import predicates
from wex.engine.data_errors import assumption_error
from wex.reference.windows import Grams
from wex.spec import tree
from wex.spec.resolve.rates import rate_limits
from wex.theory.letters import letters_of
from wex.theory.terms import Always
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wex.reference.streams import Stream
    from wex.spec import Meaning
    from wex.theory.terms import Guard

Letter = frozenset[tree.Expr]  # the predicates that are true of a gram
State = tuple[
    int, tuple[tree.Regex, ...]
]  # the next position; for each assumption, what may follow


class Assumptions:
    """The assumptions of a spec that are checked at run time; with `unchecked`, all of them."""

    def __init__(self, meaning: Meaning, *, unchecked: bool = False) -> None:
        assumes = [
            (assume, lookback)
            for assume, lookback in zip(
                meaning.expanded.assumes, meaning.assume_lookbacks, strict=True
            )
            if unchecked or not assume.unchecked
        ]
        self._texts = tuple(str(assume) for assume, _ in assumes)
        self._lookbacks = [lookback for _, lookback in assumes]
        self._longest = max(self._lookbacks, default=0)
        self._guards = [
            {predicate: guard_of(predicate, meaning.fields) for predicate in predicates(assume)}
            for assume, _ in assumes
        ]
        self._initial: State = (0, tuple(assume.regex for assume, _ in assumes))
        self._letters = [list(self._letters_at(p)) for p in range(self._longest + 1)]
        self._continued: dict[State, bool] = {}  # the answers of `can_be_continued`
        self._rates = [
            (str(rate), limit)
            for rate in meaning.spec.rates
            for limit in rate_limits([rate], unchecked=unchecked)
        ]
        self._clock = meaning.spec.stream.order_by[0].text if self._rates else ""

    def check(self, stream: Stream) -> None:
        """Raise a DataError at the first event after which a stream cannot be continued."""
        state = self._initial
        for position in range(len(stream.events)):
            letter = frozenset(
                predicate
                for lookback, guards in self._readers(position)
                for predicate, guard in guards.items()
                if Grams(stream, lookback).holds(guard, position)
            )
            state = self._step(state, letter)
            if not self.can_be_continued(state):
                raise assumption_error(self._texts, stream.key, position)
            self._check_rates(stream, position)

    def _check_rates(self, stream: Stream, position: int) -> None:
        """Raise a DataError if too many events up to a position are less than a duration before it.

        An interval with too many events contains one that begins with an event and ends with another.
        """
        times = [event[self._clock] for event in stream.events[: position + 1] if self._rates]
        for text, limit in self._rates:
            near = [time for time in times if times[-1] - time < limit.length]  # type: ignore[operator]
            if len(near) > limit.events:
                raise assumption_error((text,), stream.key, position)

    def can_be_continued(self, state: State) -> bool:
        """Tell whether some further letters lead to a sequence that every assumption has."""
        if state in self._continued:
            return self._continued[state]
        before: dict[State, State | None] = {state: None}
        queue = [state]
        for current in queue:
            if self._continued.get(current) or all(map(has_empty, current[1])):
                step: State | None = current
                while step is not None:  # so can every state on the way there
                    self._continued[step] = True
                    step = before[step]
                return True
            for letter in self._letters[current[0]]:
                after = self._step(current, letter)
                if after not in before:
                    before[after] = current
                    queue.append(after)
        self._continued.update(dict.fromkeys(queue, False))
        return False

    def _readers(self, position: int) -> list[tuple[int, Mapping[tree.Expr, Guard]]]:
        """Return lookback and guards of the assumptions that have a gram at a position."""
        pairs = zip(self._lookbacks, self._guards, strict=True)
        return [(lookback, guards) for lookback, guards in pairs if lookback <= position]

    def _letters_at(self, position: int) -> Iterable[Letter]:
        """Yield the letters that the gram at a position can have."""
        guards = {p: guard for _, own in self._readers(position) for p, guard in own.items()}
        letters = letters_of(guards.values(), position)
        for row in letters.rows:
            true = {
                Always(True),
                *(g for g, holds in zip(letters.guards, row, strict=True) if holds),
            }
            yield frozenset(predicate for predicate, guard in guards.items() if guard in true)

    def _step(self, state: State, letter: Letter) -> State:
        """Return the state after one gram; an assumption without a gram there reads nothing."""
        position, expressions = state
        after = tuple(
            derivative(expression, letter) if lookback <= position else expression
            for lookback, expression in zip(self._lookbacks, expressions, strict=True)
        )
        # From the longest lookback on all positions have the same letters.
        return (min(position + 1, self._longest), after)


# --- Derivatives of expressions

NONE = tree.Union(())  # no sequence
ALL = tree.Complement(NONE)  # every sequence


def has_empty(regex: tree.Regex) -> bool:
    """Tell whether the empty sequence is in the language of an expression."""
    match regex:
        case tree.Empty():
            return True
        case tree.Atom() | tree.Anything():
            return False
        case tree.Union(parts):
            return any(map(has_empty, parts))
        case tree.Concat(parts) | tree.Intersection(parts):
            return all(map(has_empty, parts))
        case tree.Complement(body):
            return not has_empty(body)
        case tree.Repeat(body, low):
            return low == 0 or has_empty(body)
    raise TypeError(regex)


@lru_cache(maxsize=100_000)
def derivative(regex: tree.Regex, letter: Letter) -> tree.Regex:
    """Return an expression for the sequences that lie in the language after a letter."""
    match regex:
        case tree.Empty():
            return NONE
        case tree.Anything():
            return tree.Empty()
        case tree.Atom(predicate):
            return tree.Empty() if predicate in letter else NONE
        case tree.Concat(parts):
            heads = [n for n in range(len(parts)) if all(map(has_empty, parts[:n]))]
            return _union(_concat([derivative(parts[n], letter), *parts[n + 1 :]]) for n in heads)
        case tree.Union(parts):
            return _union(derivative(part, letter) for part in parts)
        case tree.Intersection(parts):
            return _intersection(derivative(part, letter) for part in parts)
        case tree.Complement(body):
            return _complement(derivative(body, letter))
        case tree.Repeat(_, _, 0):
            return NONE
        case tree.Repeat(body, low, high):
            rest = tree.Repeat(body, max(low - 1, 0), None if high is None else high - 1)
            return _concat([derivative(body, letter), rest])
    raise TypeError(regex)


# Parts are flat, distinct and in a fixed order: then an expression has finitely many derivatives.


def _union(parts: Iterable[tree.Regex]) -> tree.Regex:
    flat = {p for part in parts for p in (part.parts if isinstance(part, tree.Union) else [part])}
    if ALL in flat:
        return ALL
    return flat.pop() if len(flat) == 1 else tree.Union(tuple(sorted(flat, key=hash)))


def _intersection(parts: Iterable[tree.Regex]) -> tree.Regex:
    flat = {
        p for part in parts for p in (part.parts if isinstance(part, tree.Intersection) else [part])
    } - {ALL}
    if NONE in flat or not flat:
        return NONE if flat else ALL
    return flat.pop() if len(flat) == 1 else tree.Intersection(tuple(sorted(flat, key=hash)))


def _concat(parts: Iterable[tree.Regex]) -> tree.Regex:
    flat = [
        p
        for part in parts
        for p in (part.parts if isinstance(part, tree.Concat) else [part])
        if p != tree.Empty()
    ]
    if NONE in flat:
        return NONE
    if not flat:
        return tree.Empty()
    return flat[0] if len(flat) == 1 else tree.Concat(tuple(flat))


def _complement(body: tree.Regex) -> tree.Regex:
    return body.body if isinstance(body, tree.Complement) else tree.Complement(body)
