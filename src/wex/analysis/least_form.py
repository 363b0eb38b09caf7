"""The least form of a window: a plan in this form drops starts that no stream lets end.

An automaton knows letters, but not which letters can follow each other. In `[up] any* [up] [x[-1] < x[-2]]`
the last event contradicts the one before, so there is no window, and yet the automaton holds every
start. The region graph knows.

What is dropped must be dead for all values at run time. So only region graphs are used that compare
values, or that compute with whole numbers: at run time that is exact, or an error in the data. And only
guards on which floats agree with real numbers. These graphs depend on no clock: a plan is the same
everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError
from wex.analysis.pruning import Places
from wex.analysis.rates import NO_RATES
from wex.analysis.regions.contexts import MOST_CLASSES, Contexts
from wex.analysis.regions.finite import finite_regions
from wex.analysis.regions.gaps import gap_regions
from wex.analysis.regions.graph import Budget
from wex.analysis.regions.query import query_of
from wex.analysis.regions.typed import order_regions
from wex.analysis.window_tables import reading_of, without_clauses
from wex.compile.assumptions import assumption_automaton
from wex.compile.reduce import reduce_window
from wex.compile.stream_order import stream_order
from wex.errors import LimitError
from wex.theory import terms
from wex.theory.solver import UndecidedError
from wex.theory.terms import (
    Absolute,
    Arithmetic,
    Calendar,
    Comparison,
    Constant,
    IsFirst,
    Local,
    Negative,
    RunningTest,
    atoms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wex.analysis.pruning import PrunedForm
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.window import CompiledWindow
    from wex.theory.terms import Atom, Guard, Term

EFFORT = 20_000  # steps: a plan may not take long
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
    simplest: PrunedForm | None = None
    for pruned in places.pruned_forms():
        if not pruned.holds_for_ever:
            return reduce_window(replace(compiled, form=pruned.form))
        simplest = simplest or pruned
    assert simplest is not None
    return reduce_window(replace(compiled, form=simplest.form))


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
    regions = (
        finite_regions(query, budget) or order_regions(query, budget) or gap_regions(query, budget)
    )
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
    # Constants are rounded to floats: different ones have to stay different, also from their opposites.
    sizes = {Fraction(0)}
    for atom in every:
        if isinstance(atom, Comparison) and "real" in (atom.left.kind, atom.right.kind):
            sizes |= set(map(abs, _constants(atom)))
    return all(map(_agrees, every)) and len(sizes) == len(set(map(terms.rounded, sizes)))


def _agrees(atom: Atom) -> bool:
    if not isinstance(atom, Comparison):
        return not isinstance(atom, RunningTest)
    if terms.is_open(atom, floating=True) or terms.is_opaque(atom):
        return False
    if {atom.left.kind, atom.right.kind} != {"whole", "real"}:
        return True
    # A whole number that is compared with a float becomes one, and so does a constant.
    constants = list(_constants(atom))
    return bool(constants) and all(map(_is_float, constants))


def _constants(node: Comparison | Term) -> Iterator[Fraction]:
    """Yield the numbers that a comparison names."""
    match node:
        case Constant(int() | Fraction() as value) if not isinstance(value, bool):
            yield Fraction(value)
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            yield from _constants(left)
            yield from _constants(right)
        case Negative(value) | Absolute(value) | Local(value) | Calendar(_, value):
            yield from _constants(value)


def _is_float(value: Fraction) -> bool:
    """Tell whether a float has this value, and lies where floats have every whole number."""
    return abs(value) < WHOLE_AS_FLOATS and Fraction(terms.rounded(value)) == value
