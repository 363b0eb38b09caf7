"""Findings about what a window says but hardly means, each with what to write instead.

A bracket that no event can satisfy where it stands, a window that begins only at the first event,
an expression whose every beginning is a window, and a clause that bounds an unbounded window.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from wex.analysis.answers import Finding, Kind, Verdict
from wex.analysis.contradictions import contradicting_events
from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.graph import SILENT
from wex.analysis.remedies import every_beginning, remedy, with_window
from wex.analysis.verdicts import Analysis
from wex.compile.stream_order import stream_order
from wex.spec import tree
from wex.theory import terms
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from wex.spec import Meaning
    from wex.theory.terms import Guard

MOST_STATES = 64  # of a window automaton whose brackets are looked at one by one
MOST_PLACES = 24  # brackets of a window
WORK = 50_000  # steps for each of them
PER_PLACE = 100  # steps, beside those of its analysis
ANYTHING = tree.Anything()


def unsaid(analysis: Analysis, never: Set[Guard]) -> Iterator[Finding]:
    """Yield the findings about a window that can occur; `never` are guards known to hold nowhere."""
    yield from of_unbounded(analysis)
    if analysis.meaning.runs[analysis.index] is None:
        yield from _only_at_first(analysis)
        yield from _never_in_place(analysis, never)


# --- Windows without a bound


def of_unbounded(analysis: Analysis) -> Iterator[Finding]:
    """Yield why an unbounded window has so many starts, if that is known, and what bounds it."""
    if analysis.held.verdict is not Verdict.UNBOUNDED:
        return
    meaning, index = analysis.meaning, analysis.index
    if _unselected(meaning.expanded.windows[index]) and every_beginning(meaning, index):
        instead = _runs_instead(meaning.spec.windows[index])
        hint = f"; for whole runs write `{instead}`" if instead else ""
        text = (
            f"every beginning of a window of `{analysis.window.name}` is a window: a run of n events"
            f" has up to n(n+1)/2 windows{hint}"
        )
        yield Finding(Kind.EVERY_BEGINNING, text)
    best = remedy(meaning, index, analysis.budget)
    if best is not None:
        yield Finding(Kind.REMEDY, str(best))


def _unselected(window: tree.Window) -> bool:
    """Tell whether no clause chooses among the windows that the expressions describe."""
    keep = window.keep.text if window.keep else "all"
    return keep == "all" and window.within is None and window.having is None


def _runs_instead(window: tree.Window) -> tree.RunsWhere | None:
    """Return the runs that `match [p]+` is probably meant to find."""
    match window.pairs:
        case (tree.Pair(None, tree.Repeat(tree.Atom(predicate), 0 | 1, None)),):
            return tree.RunsWhere(predicate)
    return None


# --- Windows that begin only at the first event


def _only_at_first(analysis: Analysis) -> Iterator[Finding]:
    window = analysis.meaning.expanded.windows[analysis.index]
    if window.where is not None or all(map(_says_first, window.pairs)):
        return
    starts, contexts = analysis.starts, analysis.contexts
    later = {edge.to for row in contexts.edges for edge in row if edge.classes[0] != SILENT}
    begins_later = any(
        starts.born(edge) != DEAD and (edge.to, starts.born(edge)) in starts.alive
        for context in later
        for edge in contexts.edges[context]
    )
    if not begins_later:
        # Without padding the first gram is that of a later event.
        first = analysis.window.first
        before = f" with {first} event{'s' if first > 1 else ''} before it" if first else ""
        text = f"windows of `{window.name}` begin only at the first event{before}"
        yield Finding(Kind.ONLY_AT_FIRST, text)


def _says_first(pair: tree.Pair) -> bool:
    """Tell whether a pair says in plain words that it begins at the first event."""
    if isinstance(pair.after, tree.Empty):
        return True
    begin = tree.unlabelled(pair.match)
    while isinstance(begin, tree.Concat):
        begin = begin.parts[0]
    if not isinstance(begin, tree.Atom):
        return False
    predicate = begin.predicate
    parts = predicate.parts if isinstance(predicate, tree.And) else (predicate,)
    return any(isinstance(part, tree.IsFirst) for part in parts)


# --- Brackets that no event satisfies in their place


def _never_in_place(analysis: Analysis, never: Set[Guard]) -> Iterator[Finding]:
    window = analysis.meaning.expanded.windows[analysis.index]
    counts = Counter((clause, atom.predicate) for clause, atom, _ in _places(window))
    for place in dead_places(analysis, never):
        several = counts[place.clause, place.bracket.predicate] > 1
        which = _nth(place.number) if several else ""
        text = f"{which}`{place.bracket.predicate}` can never hold in its place in `{place.clause}`"
        if len(events := contradicting_events(place.analysis)) > 1:
            text += f": on the way there {events[0]}, contradicts {' and '.join(events[1:])}"
        yield Finding(Kind.NEVER_HOLDS_HERE, text)


@dataclass(frozen=True)
class DeadPlace:
    """A bracket that no event satisfies in its place, and the analysis that has shown it.

    `number` counts the equal brackets of a clause, from 1.
    """

    clause: str
    bracket: tree.Atom
    number: int
    analysis: Analysis


def dead_places(analysis: Analysis, never: Set[Guard]) -> Iterator[DeadPlace]:
    """Yield the brackets that can hold somewhere, but not in their places, which are reached."""
    meaning = analysis.meaning
    window = meaning.expanded.windows[analysis.index]
    if not _related(meaning, analysis) or len(analysis.window.moves) > MOST_STATES:
        return
    if analysis.window.clauses.running:
        return  # what an aggregate allows in a place is not known
    if not analysis.contexts.regions.exact:
        return  # what the analysis of the window did not distinguish, that of a part will not either
    seen: Counter[tuple[str, tree.Expr]] = Counter()
    for clause, bracket, path in islice(_places(window), MOST_PLACES):
        seen[clause, bracket.predicate] += 1
        guard = guard_of(bracket.predicate, meaning.fields)
        if isinstance(guard, terms.Always) or guard in never:
            continue
        analysis.budget.check(steps=PER_PLACE)
        there = _ending_with(analysis, window, path, bracket)
        if there.starts.alive:
            continue
        # If the place itself is never reached, a bracket before it is the cause.
        place = _ending_with(analysis, window, path, ANYTHING)
        if not place.starts.alive or not place.contexts.regions.exact:
            continue
        yield DeadPlace(clause, bracket, seen[clause, bracket.predicate], there)


def _related(meaning: Meaning, analysis: Analysis) -> bool:
    """Tell whether the events before can exclude an event: only then its place matters."""
    compiled = analysis.window.compiled
    firsts = any(
        isinstance(atom, terms.IsFirst)
        for guard in compiled.letters.guards
        for atom in terms.atoms(guard)
    )
    read = {field.name for guard in compiled.letters.guards for field in terms.fields(guard)}
    ordered = stream_order(meaning, read).guard != terms.Always(True)
    return bool(analysis.window.lookback or meaning.expanded.assumes or firsts or ordered)


Path = tuple[tree.Regex | None, tuple[tree.Regex, ...]]  # `after`, and the parts before a bracket


def _places(window: tree.Window) -> Iterator[tuple[str, tree.Atom, Path]]:
    """Yield the brackets of a window, each with its clause and with what precedes it.

    Brackets below `~` have no place: the events there may be any others.
    """
    for pair in window.pairs:
        if pair.after is not None:
            for atom, before in _before(pair.after):
                yield "after", atom, (tree.Empty(), before)
        for atom, before in _before(tree.unlabelled(pair.match)):
            yield "match", atom, (pair.after, before)
    if window.until is not None and len(window.pairs) == 1:
        (pair,) = window.pairs
        yield "until", tree.Atom(window.until.predicate), (pair.after, (pair.match,))


def _before(regex: tree.Regex) -> Iterator[tuple[tree.Atom, tuple[tree.Regex, ...]]]:
    """Yield each bracket of an expression with the expressions that come before it.

    Where that is simpler, these allow more than the expression does: any number of repetitions, and
    of `&` only the side with the bracket.
    """
    match regex:
        case tree.Atom():
            yield regex, ()
        case tree.Concat(parts):
            for number, part in enumerate(parts):
                for atom, before in _before(part):
                    yield atom, (*parts[:number], *before)
        case tree.Union(parts) | tree.Intersection(parts):
            for part in parts:
                yield from _before(part)
        case tree.Repeat(body, _, high) if high != 0:
            again = () if high == 1 else (tree.Repeat(body, 0, None),)
            for atom, before in _before(body):
                yield atom, (*again, *before)


def _ending_with(analysis: Analysis, window: tree.Window, path: Path, last: tree.Regex) -> Analysis:
    """Return the analysis of the windows that a path and one more event make, without clauses."""
    after, before = path
    plain = replace(
        window,
        pairs=(tree.Pair(after, tree.flat(tree.Concat, [*before, last])),),
        until=None,
        within=None,
        keep=None,
        measures=(),
        having=None,
    )
    budget = analysis.budget.part(WORK)
    return Analysis(with_window(analysis.meaning, analysis.index, plain), analysis.index, budget)


def _nth(number: int) -> str:
    names: Sequence[str] = ("first", "second", "third")
    return f"the {names[number - 1] if number <= len(names) else f'{number}th'} "
