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

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.analysis.counting.multiset import vectors_of
from wex.analysis.counting.ordered import StartLists
from wex.analysis.counting.single import Starts
from wex.analysis.deadlines import late_places
from wex.analysis.graphs import TooManyError
from wex.analysis.pruning import (
    MOST_STATES,
    Follower,
    Knowledge,
    Places,
    PrunedForm,
    Vain,
    counting,
)
from wex.analysis.rates import NO_RATES
from wex.analysis.region_letters import (
    rows_of_events,
    with_free_predicates,
    with_region_letters,
)
from wex.analysis.regions.contexts import MOST_CLASSES, Contexts, free_contexts
from wex.analysis.regions.derived import DerivedFields
from wex.analysis.regions.finite import finite_regions
from wex.analysis.regions.gaps import gap_regions
from wex.analysis.regions.graph import Budget
from wex.analysis.regions.query import query_of
from wex.analysis.regions.typed import order_regions
from wex.analysis.window_tables import lengths_of, reading_of, without_clauses
from wex.compile.assumptions import assumption_automaton
from wex.compile.reduce import reduce_window
from wex.compile.stream_order import stream_order
from wex.errors import LimitError
from wex.spec import tree
from wex.theory import terms
from wex.theory.digits import units_of
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wex.analysis.regions.graph import RegionGraph
    from wex.analysis.regions.query import RegionQuery
    from wex.analysis.window_tables import AnalysedWindow, Lengths, Reading
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning
    from wex.theory.letters import Letters
    from wex.theory.terms import Atom, Guard, Term

EFFORT = 20_000  # steps: a plan may not take long
WHOLE_AS_FLOATS = 2**53  # up to here floats have every whole number


def least_form(compiled: CompiledWindow) -> CompiledWindow:
    """Return a window with the same windows on every stream, which holds no more starts."""
    if compiled.preference is None:
        timely, _ = in_time(pruned_window(compiled)[0])
        return by_length(in_order(timely))
    if compiled.clauses.having:
        return compiled  # any window may be denied, so that any way may be taken
    ordered, vain = pruned_window(compiled, by_preference=True)
    # Where there is nothing to choose, the normal form runs: it may not hold more.
    both, vain_without = pruned_window(ordered)
    if vain_without > vain:
        return compiled
    timely, late = in_time(in_time(both, by_preference=True)[0])
    return both if late else timely


def pruned_window(
    compiled: CompiledWindow, *, by_preference: bool = False
) -> tuple[CompiledWindow, Vain]:
    """Return a window without moves that are in vain, and for how long it may hold a start in vain.

    The simplest automata without such starts are taken: over the letters as they are, then over letters
    that show the region; states are told apart only where that is not enough. If none of them is free of
    such starts, those for ever are avoided, and otherwise nothing but moves is removed.
    """
    compiled = _with_lengths(compiled, by_preference=by_preference)
    best, least = compiled, Vain.FOR_EVER
    with suppress(TooManyError, UndecidedError, LimitError):
        for stage, (source, places) in enumerate(_sources(compiled, by_preference=by_preference)):
            if places.all_alive and not stage:
                return compiled, Vain.NEVER
            for pruned in places.pruned_forms():
                vain = pruned.vain
                if best is not compiled and vain >= least:
                    continue
                smaller = pruned.window(source)
                if smaller is None:
                    continue
                best, least = reduce_window(smaller), vain
                if vain is Vain.NEVER:
                    return best, vain
    return best, least


def _sources(
    compiled: CompiledWindow, *, by_preference: bool
) -> Iterator[tuple[CompiledWindow, Places]]:
    """Yield a window and the places of its starts: as it is, then over letters that show the region."""
    places = places_of(compiled, by_preference=by_preference)
    if places is None:
        return
    yield compiled, places
    tried: list[Letters] = []
    for nested in (False, True):
        shown = with_region_letters(compiled, places.contexts, nested=nested)
        if shown is None or shown.letters in tried:
            continue
        tried.append(shown.letters)
        informed = places_of(
            shown,
            by_preference=by_preference,
            informed=True,
            loose=places.contexts.query.loose,
        )
        if informed is not None:
            yield shown, informed


def in_time(
    compiled: CompiledWindow, *, by_preference: bool = False
) -> tuple[CompiledWindow, bool]:
    """Return a window whose starts are dropped once no stream lets them end within N events.

    States are told apart until the automaton needs as many events to an end as streams do. Also tell
    whether starts may still be held that are too late.
    """
    most = compiled.clauses.within_events
    if most is None:
        return compiled, False
    best, is_late = compiled, False
    with suppress(TooManyError, UndecidedError, LimitError):
        for source, places in _sources(compiled, by_preference=by_preference):
            late = late_places(Knowledge(places, by_letters=False), most)
            if not late:
                break
            is_late = True
            strict = Knowledge(places, by_letters=True, strict=True)
            rest = late_places(strict, most)
            timely = PrunedForm(places, strict).window(source) if rest < late else None
            if timely is not None and not rest:
                return reduce_window(timely), False
            if timely is not None and best is compiled:
                best = reduce_window(timely)
    return best, is_late


def in_order(compiled: CompiledWindow) -> CompiledWindow:
    """Return a window of `keep longest` or `disjoint` with states that show which starts never win.

    The engine compares the states of starts, with all letters that can follow. So it may hold a start
    that others win against on all streams, until states are told apart by what streams can follow.
    """
    best = compiled
    if not compiled.clauses.single:
        return compiled
    with suppress(TooManyError, UndecidedError, LimitError):
        least = None
        for source, places in _sources(compiled, by_preference=False):
            if least is None:
                least = _beaten(places)
            if not least:
                break
            told_apart = PrunedForm(places, Knowledge(places, by_letters=True, strict=True))
            smaller = told_apart.window(source)
            if smaller is None:
                continue
            smaller = reduce_window(smaller)
            after = places_of(smaller, loose=places.contexts.query.loose)
            if after is not None and (beaten := _beaten(after)) < least:
                best, least = smaller, beaten
    return best


def _beaten(places: Places) -> int:
    """Return how many starts more may be held than are open."""
    budget = Budget(work=EFFORT)
    held = StartLists(places.starts, budget, held=True)
    return held.most - StartLists(places.starts, budget).most


def by_length(compiled: CompiledWindow) -> CompiledWindow:
    """Return a window whose states count events, only if it holds fewer starts.

    Under `keep longest` or `disjoint` with `within N events` one start wins against others only while it is not too
    old, so the engine compares starts where states show their age. Under `keep all` a `having` that asks for the
    length can deny all the windows that events still let a start have.
    """
    clauses, lengths = compiled.clauses, sure_lengths(compiled)
    if lengths is None or clauses.running:
        return compiled
    denied = lengths.by_having and clauses.having and clauses.keep == "all"
    if not denied and (clauses.within_events is None or not clauses.oldest_wins):
        return compiled
    with suppress(TooManyError):
        counted = _counted_form(_counting_places(compiled, lengths, decided=True), compiled)
        if counted is not None:
            plain = replace(clauses, within_events=None, having=clauses.having and not denied)
            counted = replace(counted, clauses=plain)
            smaller = pruned_window(counted)[0] if denied else in_order(counted)
            before = compiled if denied else counted  # no more are held with the ages in the states
            if _most_held(smaller, single=not denied) < _most_held(before, single=False):
                return smaller
    return compiled


def _most_held(compiled: CompiledWindow, *, single: bool) -> int:
    """Return how many starts are held at most, a single one in each state or any number.

    Raise TooManyError if that is not found soon.
    """
    starts, budget = _starts(compiled), Budget(work=EFFORT)
    if single:
        return StartLists(starts, budget, held=True).most
    return vectors_of(starts, starts.held, budget, clears=compiled.clauses.cuts).most


def _starts(compiled: CompiledWindow) -> Starts:
    """Return the starts of a window, on all streams of letters if nothing is known for sure."""
    places = places_of(compiled)
    if places is not None:
        return places.starts
    window = without_clauses(with_free_predicates(compiled))
    return Starts(free_contexts([window], Budget(work=EFFORT)), window)


def _with_lengths(compiled: CompiledWindow, *, by_preference: bool) -> CompiledWindow:
    """Return a window whose states count events, so that starts grow no longer than windows may be.

    Only if that takes no more states, or bounds what has no bound otherwise: `within N events` ends starts, too.
    Or if `keep` waits for a `having` that asks for nothing but the length: then the automaton asks for it.
    """
    lengths = sure_lengths(compiled)
    if lengths is None:
        return compiled
    try:
        if lengths.by_having and compiled.clauses.keep != "all":
            places = _counting_places(compiled, lengths, by_preference=by_preference, decided=True)
            decided = _counted_form(places, compiled)
            if decided is not None:
                return replace(decided, clauses=replace(compiled.clauses, having=False))
        places = _counting_places(compiled, lengths, by_preference=by_preference)
        if places.all_alive:
            return compiled
        smaller = _counted_form(places, compiled, MOST_STATES if places.accumulate_in_vain else 0)
    except TooManyError:
        return compiled
    return smaller or compiled


def _counting_places(
    compiled: CompiledWindow,
    lengths: Lengths,
    *,
    by_preference: bool = False,
    decided: bool = False,
) -> Places:
    """Return the places of starts whose states count events, on all streams of letters.

    The automaton that follows them knows which windows are too long; if the lengths are `decided` by it, also
    which ones `having` denies.
    """
    seen, reading, shared = _seen(compiled, by_preference=by_preference)
    window = without_clauses(seen, reading)
    window, follower = counting(window, Follower.of(window, reading.columns), lengths)
    if decided:
        follower = replace(follower, final=window.final)
    contexts = free_contexts([window], Budget(work=EFFORT))
    return Places(contexts, window, follower, reading.of_letter, shared)


def _counted_form(
    places: Places, compiled: CompiledWindow, most: int = MOST_STATES
) -> CompiledWindow | None:
    """Return a window with the automata of places that count events; None: they are too large."""
    smaller = PrunedForm(places, Knowledge(places, by_letters=False)).window(compiled, most)
    return None if smaller is None else reduce_window(smaller)


def sure_lengths(compiled: CompiledWindow) -> Lengths | None:
    """Return the lengths that windows may have by `within N events` and `having`; None: any."""
    meaning, clauses = compiled.source.meaning, compiled.clauses
    names = [window.name.text for window in meaning.expanded.windows]
    index = names.index(compiled.window.name.text)
    having = not clauses.prefers and not any(map(_may_fail, compiled.window.measures))
    return lengths_of(meaning, index, clauses, having=having)


def _may_fail(measure: tree.Measure) -> bool:
    """Tell whether a measure may be an error: then it has to be one also where `having` drops the window."""
    for node in tree.walk(measure.value):
        if isinstance(node, tree.Call) and node.name.text not in ("count", "count_if"):
            return True
        if isinstance(node, tree.Binary | tree.Neg):
            return True
    return False


def _seen(
    compiled: CompiledWindow, *, by_preference: bool, informed: bool = False
) -> tuple[CompiledWindow, Reading, list[int]]:
    """Return a window as its starts see it, how it reads letters, and what its classes say about events.

    The starts are those that the ordered automaton follows, or the normal form. If the window is
    `informed`, each letter about events counts, even if no automaton tells it from others.
    """
    seen = with_free_predicates(compiled)
    if not by_preference:
        seen = replace(seen, preference=None)
    events = rows_of_events(seen.letters)
    reading = reading_of(seen, events if informed or seen.clauses.running else None)
    shared = list(range(len(reading.columns)))
    if seen.clauses.running:
        for letter, cls in enumerate(reading.of_letter):
            shared[cls] = events[letter]
    return seen, reading, shared


def places_of(
    compiled: CompiledWindow,
    *,
    by_preference: bool = False,
    informed: bool = False,
    loose: bool = False,
) -> Places | None:
    """Return the places of the starts of a window, or None if they are not known for sure."""
    seen, reading, shared = _seen(compiled, by_preference=by_preference, informed=informed)
    window = without_clauses(seen, reading)
    contexts = sure_contexts([window], Budget(work=EFFORT), loose=loose)
    if contexts is None:
        return None
    follower = Follower.of(window, reading.columns)
    return Places(contexts, window, follower, reading.of_letter, shared)


def sure_contexts(
    windows: Sequence[AnalysedWindow],
    budget: Budget,
    *,
    trivial: bool = False,
    loose: bool = False,
) -> Contexts | None:
    """Return the contexts of windows of one spec; None if values at run time may lead out of them.

    Or, unless they may be `trivial`, if there is nothing to know: any letter can follow any other. If it
    is known that only a `loose` query has regions, no other is asked.
    """
    meaning = windows[0].compiled.source.meaning
    assumption = assumption_automaton(meaning)
    if assumption is not None and not assumption.live[0]:
        return None  # no event is accepted at all
    guards = [guard for window in windows for guard in window.compiled.letters.guards]
    if assumption is not None:
        guards += [guard for phase in assumption.phases for guard in phase.guards]
    elif not (trivial or windows[0].lookback or any(map(_asks_for_first, guards))):
        return None
    if any(len(window.masks) > MOST_CLASSES for window in windows):
        return None
    assumptions = [] if assumption is None else [assumption]
    for query in _queries(meaning, windows, assumptions, guards):
        if loose and not query.loose:
            continue
        budget.renew()
        own = budget.part(budget.work // 4) if query.loose else budget
        regions: RegionGraph | None = finite_regions(query, own) or order_regions(query, own)
        if regions is None and (query.derived is not None or not query.loose):
            regions = gap_regions(query, own)  # of digits there is little to know by gaps
        if regions is not None:
            budget.renew()
            return Contexts(regions, query, windows, assumptions, budget, moments=False)
    return None


def _queries(
    meaning: Meaning,
    windows: Sequence[AnalysedWindow],
    assumptions: Sequence[AssumptionAutomaton],
    guards: Sequence[Guard],
) -> Iterator[RegionQuery]:
    """Yield queries about all streams whose guards are sure, the one about no others first.

    What is vain on more streams than there are is vain. So the order of the stream may count no more
    than the hours of `hour(ts)`, and at last each such value of an event may be a field of its own, as may
    be each that rounds; what rounding does not change is left out where it would make too many regions.
    """
    derived = DerivedFields()
    shown = list(map(derived.derive, guards))
    ways: list[tuple[Sequence[Guard], Mapping[str, int] | None, DerivedFields | None, bool]] = [
        (guards, None, None, False)
    ]
    if shown != list(guards):
        columns = {name.text for name in meaning.spec.stream.order_by}
        units = {name: unit for name, unit in units_of(guards).items() if name in columns}
        ways += [(guards, units, None, False)] if units else []
        rounds = any(map(terms.rounds, derived.values.values()))
        ways += [(shown, None, derived, True)] if rounds else []
        ways += [(shown, None, derived, False)]
    for own, units_of_order, fields, rounded in ways:
        relevant = {field.name for guard in own for field in terms.fields(guard)}
        order = stream_order(meaning, relevant, units_of_order)
        if _is_sure([*own, order.guard]):
            yield query_of(
                meaning,
                windows,
                assumptions,
                rates=NO_RATES,  # they leave out streams only
                units=units_of_order,
                derived=fields,
                rounded=rounded,
            )


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
