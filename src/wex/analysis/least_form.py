"""The least form of a window: a plan in this form drops starts that no stream lets end.

An automaton knows letters, but not which letters can follow each other. In `[up] any* [up] [x[-1] < x[-2]]`
the last event contradicts the one before, so there is no window, and yet the automaton holds every
start. The region graph knows. Where letters do not show in time that a start can never end, and it would
be held for ever, guards about past events are read already when the event comes.

What is dropped must be dead for all values at run time. So only two kinds of region graphs are used,
which compare values but never compute with them, and only guards on which floats agree with real
numbers. These graphs depend on no clock: a plan is the same everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError
from wex.analysis.pruning import Places
from wex.analysis.rates import NO_RATES
from wex.analysis.regions.contexts import MOST_CLASSES, Contexts
from wex.analysis.regions.finite import finite_regions
from wex.analysis.regions.graph import Budget
from wex.analysis.regions.query import query_of
from wex.analysis.regions.typed import order_regions
from wex.analysis.window_tables import reading_of, without_clauses
from wex.compile.assumptions import assumption_automaton
from wex.compile.labels import restricted as restricted_labels
from wex.compile.normal_form import restricted
from wex.compile.reduce import reduce_window
from wex.compile.stream_order import stream_order
from wex.errors import LimitError
from wex.theory import terms
from wex.theory.letters import Letters, letters_of
from wex.theory.solver import UndecidedError
from wex.theory.terms import Comparison, Constant, IsFirst, RunningTest, atoms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.window import CompiledWindow
    from wex.theory.terms import Atom, Guard

EFFORT = 20_000  # steps: a plan may not take long
MOST_TESTS = 4  # guards about past events that are read already when the event comes
WHOLE_AS_FLOATS = 2**53  # up to here floats have every whole number


def least_form(compiled: CompiledWindow) -> CompiledWindow:
    """Return a window with the same windows on every stream, which holds no more starts."""
    try:
        return _least_form(compiled)
    except (TooManyError, UndecidedError, LimitError):
        return compiled


def _least_form(compiled: CompiledWindow) -> CompiledWindow:
    places = places_of(compiled)
    if places is None or places.all_alive:
        return compiled
    simplest: CompiledWindow | None = None
    for window in chain([compiled], _with_tests(compiled)):
        own = places if window is compiled else places_of(window)
        assert own is not None
        for smaller in own.smaller_forms():
            pruned = replace(window, form=smaller.form)
            if not smaller.holds_for_ever:
                return reduce_window(pruned)
            simplest = simplest or pruned
    assert simplest is not None
    return reduce_window(simplest)


def places_of(compiled: CompiledWindow) -> Places | None:
    """Return the places of the starts of a window, or None if they are not known for sure."""
    if compiled.preference is not None or compiled.clauses.running:
        return None  # other automata run
    window = without_clauses(compiled)
    contexts = sure_contexts([window], Budget(work=EFFORT))
    if contexts is None:
        return None
    return Places(contexts, window, reading_of(compiled).of_letter)


def sure_contexts(windows: Sequence[AnalysedWindow], budget: Budget) -> Contexts | None:
    """Return the contexts of windows of one spec; None if values at run time may lead out of them.

    Or if there is nothing to know: any letter can follow any other.
    """
    meaning = windows[0].compiled.source.meaning
    assumption = assumption_automaton(meaning)
    if assumption is not None and not assumption.live[0]:
        return None  # no event is accepted at all
    guards = [guard for window in windows for guard in window.compiled.letters.guards]
    if assumption is not None:
        guards += [guard for phase in assumption.phases for guard in phase.guards]
    elif not windows[0].lookback and not any(map(_asks_for_first, guards)):
        return None
    relevant = {field.name for guard in guards for field in terms.fields(guard)}
    if not _is_sure([*guards, stream_order(meaning, relevant).guard]):
        return None
    if any(len(window.masks) > MOST_CLASSES for window in windows):
        return None
    assumptions = [] if assumption is None else [assumption]
    query = query_of(meaning, windows, assumptions, rates=NO_RATES)  # rates leave out streams only
    regions = finite_regions(query, budget) or order_regions(query, budget)
    if regions is None:
        return None
    budget.renew()
    return Contexts(regions, query, windows, assumptions, budget, moments=False)


def _asks_for_first(guard: Guard) -> bool:
    return any(isinstance(atom, IsFirst) for atom in atoms(guard))


# --- Guards whose truth at run time is that of exact numbers


def _is_sure(guards: Iterable[Guard]) -> bool:
    """Tell whether floats and whole numbers of 64 bits never disagree with the numbers they stand for."""
    every = {atom for guard in guards for atom in atoms(guard)}
    reals = {
        side.value
        for atom in every
        if isinstance(atom, Comparison)
        for side in (atom.left, atom.right)
        if isinstance(side, Constant) and isinstance(side.value, Fraction)
    }
    return all(map(_agrees, every)) and len(reals) == len(set(map(terms.rounded, reals)))


def _agrees(atom: Atom) -> bool:
    if not isinstance(atom, Comparison):
        return not isinstance(atom, RunningTest)
    if terms.is_open(atom, floating=True) or terms.is_opaque(atom):
        return False
    sides = (atom.left, atom.right)
    if {side.kind for side in sides} != {"whole", "real"}:
        return True
    # A whole number that is compared with a float becomes one.
    constants = [side.value for side in sides if isinstance(side, Constant)]
    return any(abs(Fraction(value)) < WHOLE_AS_FLOATS for value in constants)


# --- Guards about past events


def _with_tests(compiled: CompiledWindow) -> Iterator[CompiledWindow]:
    """Yield the window over letters that show at once what later guards ask about an event."""
    guards = compiled.letters.guards
    asked: dict[Atom, None] = {}
    for guard in guards:
        for atom in atoms(guard):
            age = min((-field.offset for field in terms.fields(atom)), default=0)
            if age and not isinstance(atom, IsFirst):
                asked[terms.shifted(atom, age)] = None
    tests = [atom for atom in asked if atom not in guards]
    if not tests or len(tests) > MOST_TESTS:
        return
    finer = letters_of([*guards, *tests], compiled.lookback, pad=not compiled.window.unpadded)
    coarser = {row: letter for letter, row in enumerate(compiled.letters.rows)}
    size = len(guards)
    kept = [(row, coarser[row[:size]]) for row in finer.rows if row[:size] in coarser]
    members = [letter for _, letter in kept]
    until = compiled.until
    if until is not None:
        until = sum(1 << new for new, old in enumerate(members) if until >> old & 1)
    yield replace(
        compiled,
        letters=Letters(finer.guards, tuple(row for row, _ in kept)),
        form=restricted(compiled.form, members),
        until=until,
        labels=compiled.labels and restricted_labels(compiled.labels, members),
    )
