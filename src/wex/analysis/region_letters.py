"""Letters that show the region: with more guards a plan knows what a stream can still bring.

A predicate may look back at what no predicate asked for when the event came. In `match any [x[-1] > 3]`
a start with x = 1 can never end, but the letters of its first event do not say so. The region graph names
the guards that tell its regions apart; they are evaluated at an event as any other guard.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.analysis.regions.derived import FreeTruth, stays_number
from wex.compile.reduce import computed, over_letters
from wex.spec.types import BOOL
from wex.theory import terms
from wex.theory.letters import Letters, TooManyRowsError, combinations
from wex.theory.terms import (
    And,
    Arithmetic,
    Constant,
    Field,
    IsFirst,
    IsNull,
    Not,
    NullFlag,
    RunningTest,
    Symbol,
    Truth,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.regions.contexts import Contexts
    from wex.compile.window import CompiledWindow
    from wex.theory.terms import Guard, Term

MOST_LETTERS = 128
WHOLE = range(-(2**63), 2**63)


def with_region_letters(
    compiled: CompiledWindow, contexts: Contexts, *, nested: bool = False
) -> CompiledWindow | None:
    """Return a window over letters that tell regions apart; None if no guard does, or too many are needed.

    Guards divide a field by a constant, and if they may be `nested`, what was computed so.
    """
    guards = compiled.letters.guards
    shown = list(dict.fromkeys(_guards(compiled, contexts, nested=nested)))
    more = [guard for guard in shown if guard not in guards]
    if not more:
        return compiled if shown else None
    rows: set[tuple[bool, ...]] = set()
    try:
        for missing in range(1 if compiled.window.unpadded else compiled.lookback + 1):
            rows.update(
                combinations(
                    (*guards, *more),
                    compiled.lookback,
                    missing=missing,
                    floating=True,
                    most=2 * MOST_LETTERS,
                )
            )
    except TooManyRowsError:
        return None
    old = set(compiled.letters.rows)  # of a stream that is sorted
    ordered = sorted(row for row in rows if row[: len(guards)] in old)
    if len(ordered) > MOST_LETTERS:
        return None
    members = [compiled.letters.letter(row[: len(guards)]) for row in ordered]
    return over_letters(compiled, Letters((*guards, *more), tuple(ordered)), members)


def _guards(compiled: CompiledWindow, contexts: Contexts, *, nested: bool) -> Iterator[Guard]:
    """Yield the guards that tell regions and the states of assumptions apart, as a plan can evaluate them."""
    asked = [
        guard for own in contexts.assumptions for phase in own.phases for guard in phase.guards
    ]
    for guard in (*asked, *contexts.regions.remembered(), *_sooner(compiled)):
        shown = _readable(guard, contexts)
        if shown is None or any(_may_fail(term, nested=nested) for term in computed(shown)):
            continue  # arithmetic that fails is an error: only what the spec asks for may fail
        fields = dict.fromkeys(terms.fields(shown))
        if all(-field.offset <= compiled.lookback for field in fields):
            # A comparison that reads a NULL is false, whatever the region says of the value.
            nulls = [
                IsNull(field) for field in fields if field.name in compiled.source.meaning.nullable
            ]
            plain = not nulls or isinstance(shown, IsNull)
            yield shown if plain else And((*map(Not, nulls), shown))


def _sooner(compiled: CompiledWindow) -> Iterator[Guard]:
    """Yield what the guards of a window ask about earlier events, asked sooner."""
    for guard in compiled.letters.guards:
        for atom in terms.atoms(guard):
            age = min((-field.offset for field in terms.fields(atom)), default=0)
            yield from (terms.shifted(atom, by) for by in range(1, age + 1))


def _may_fail(term: Term, *, nested: bool) -> bool:
    """Tell whether arithmetic may have no result; division by a constant, and of floats with constants, does."""
    if term.kind == "real":
        return not stays_number(term)
    match term:
        case Arithmetic("//" | "%", Field(), Constant(int(divisor))):
            return divisor <= 0
    return not nested or _range(term) is None


def _range(term: Term) -> range | None:
    """Return a range of the values of a term; None if its arithmetic may fail.

    Quotients and remainders by a constant do not, nor do sums that stay within 64 bits.
    """
    match term:
        case Constant(int(number)) if not isinstance(number, bool):
            return range(number, number + 1)
        case Field() if term.kind == "whole":
            return WHOLE
        case Arithmetic("//" | "%" as op, left, Constant(int(divisor))) if divisor > 0:
            inner = _range(left)
            if inner is None or op == "%":
                return None if inner is None else range(divisor)
            return range(inner.start // divisor, (inner.stop - 1) // divisor + 1)
        case Arithmetic("+" | "-" as op, left, right):
            one, two = _range(left), _range(right)
            if one is None or two is None:
                return None
            if op == "-":
                two = range(1 - two.stop, 1 - two.start)
            total = range(one.start + two.start, one.stop + two.stop - 1)
            return total if WHOLE.start <= total.start and total.stop <= WHOLE.stop else None
    return None


def _readable(guard: Guard, contexts: Contexts) -> Guard | None:
    """Return a guard of a region graph over the fields of events; None: it reads others."""
    query = contexts.query
    if query.derived is not None:
        guard = query.derived.restore(guard)
    match guard:
        case Truth(Field(NullFlag() as flag, offset)):
            name = flag.field
            return IsNull(Field(name, offset, query.declared[name]))
    fields = list(terms.fields(guard))
    known = all(
        not isinstance(field.name, Symbol)
        and field.name in query.declared
        and field.name not in query.ranks
        for field in fields
    )
    first = any(isinstance(atom, IsFirst | RunningTest) for atom in terms.atoms(guard))
    return guard if fields and known and not first else None


def with_free_predicates(compiled: CompiledWindow) -> CompiledWindow:
    """Return a window whose predicates with aggregates are free: fields of their own, true or false.

    A start of it can do all that one with the predicates themselves can do.
    """
    guards = tuple(
        Truth(Field(FreeTruth(guard), 0, BOOL)) if isinstance(guard, RunningTest) else guard
        for guard in compiled.letters.guards
    )
    if guards == compiled.letters.guards:
        return compiled
    return replace(compiled, letters=Letters(guards, compiled.letters.rows))


def rows_of_events(letters: Letters) -> list[int]:
    """Return for each letter a number: the same if only predicates that are free differ."""
    places = [
        place
        for place, guard in enumerate(letters.guards)
        if not (isinstance(guard, Truth) and isinstance(guard.field.name, FreeTruth))
    ]
    numbers: dict[tuple[bool, ...], int] = {}
    return [
        numbers.setdefault(tuple(row[place] for place in places), len(numbers))
        for row in letters.rows
    ]
