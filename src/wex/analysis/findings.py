"""Findings beside the verdicts: predicates, windows, starts and assumptions without effect."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wex.analysis.describe import named_guards
from wex.analysis.graphs import TooManyError
from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.query import assumptions_of
from wex.automata.explore import explore, shortest
from wex.compile.assumptions import assumption_automaton
from wex.compile.stream_order import stream_order
from wex.theory import terms
from wex.theory.letters import cover
from wex.theory.projection import contradiction
from wex.theory.solver import satisfiable
from wex.theory.terms import Always

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wex.analysis.counting.single import Starts
    from wex.analysis.verdicts import Analysis
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.spec import Meaning, tree
    from wex.theory.terms import Guard


def of_assumptions(meaning: Meaning) -> Iterator[str]:
    """Yield the assumptions of a spec that no stream meets, or that exclude no stream."""
    assumption = assumptions_of(meaning)
    if assumption is None:
        return
    for index, assume in enumerate(meaning.expanded.assumes):
        alone = assumption_automaton(meaning, unchecked=True, only=index)
        assert alone is not None
        if not alone.live[0]:
            yield f"no stream meets `assume {assume.regex}`"
        elif _excludes_nothing(alone):
            yield f"`assume {assume.regex}` excludes no stream"
    if not assumption.live[0] and len(meaning.expanded.assumes) > 1:
        yield "no stream meets all assumptions together"


def _excludes_nothing(assumption: AssumptionAutomaton) -> bool:
    return all(
        assumption.live[after]
        for state, row in enumerate(assumption.table)
        if assumption.live[state]
        for after in row
    )


def of_window(analysis: Analysis) -> Iterator[str]:
    """Yield the findings about a window, as far as the budget allows."""
    analysis.budget.renew()
    with suppress(TooManyError):
        yield from _of_window(analysis)


def _of_window(analysis: Analysis) -> Iterator[str]:
    meaning, window = analysis.meaning, analysis.window
    name = window.name
    for guard, predicate in named_guards(meaning, window.compiled).items():
        if isinstance(guard, Always):
            continue
        analysis.budget.check()
        order = stream_order(meaning, {field.name for field in terms.fields(guard)}).guard
        if not satisfiable(terms.And((guard, order)), max(1, window.lookback)):
            yield f"`{predicate}` can never hold"
    if analysis.open.bound == 0:
        yield f"the window `{name}` can never occur{_why_never(analysis)}"
        return
    planned = analysis.planned_starts
    hopeless = {
        (edge.to, planned.born(edge))
        for row in analysis.contexts.edges
        for edge in row
        if planned.born(edge) != DEAD
        and (
            analysis.starts.born(edge) == DEAD
            or (edge.to, analysis.starts.born(edge)) not in analysis.starts.alive
        )
    }
    # Where regions are not exact, an edge may be one that no stream takes.
    if hopeless and analysis.contexts.regions.exact:
        yield f"some starts of `{name}` are held although they can never end in a window"
    yield from _unreached(analysis, planned)


def _unreached(analysis: Analysis, planned: Starts) -> Iterator[str]:
    window = planned.window
    read = {edge.classes[0] for row in analysis.contexts.edges for edge in row}
    if missing := len(window.masks) - len(read - {-1}):
        yield f"{missing} of {len(window.masks)} kinds of events of `{window.name}` never occur"
    reached = {state for _, state in planned.graph}
    possible = set(explore(window.first_states, window.successors.__getitem__)[0])
    if missing := len(possible - reached):
        yield f"{missing} of {len(possible)} window states of `{window.name}` are never reached"


def _why_never(analysis: Analysis) -> str:
    """Return why a window never occurs: which events of the shortest one contradict each other."""
    window = analysis.window
    entries = sorted(set(window.starts) - {DEAD})
    if not entries:
        return ": it has no start, or its expression matches nothing"
    word = _shortest_word(window, entries)
    if word is None:
        return ": its expression matches nothing"
    written = named_guards(analysis.meaning, window.compiled)
    steps = [_literals(window, cls) for cls in word]
    query = analysis.contexts.query
    signed = [[_signed(literal) for literal in literals] for literals in steps]
    relevant = {field.name for guards in signed for g in guards for field in terms.fields(g)}
    core = contradiction(
        signed,
        stream_order(analysis.meaning, relevant).guard,
        query.fields,
        query.depth,
    )
    if not core:
        return ": no stream that conforms to the assumptions has one"
    shown = [
        f"event {event + 1}, `{_signed_text(steps[event][part], written)}`" for event, part in core
    ]
    if len(shown) == 1:
        return f": {shown[0]}, contradicts itself"
    return f": in the shortest one {shown[0]}, contradicts {' and '.join(shown[1:])}"


def _shortest_word(window: AnalysedWindow, entries: list[int]) -> list[int] | None:
    """Return the classes of a shortest word that the window automaton accepts."""
    first = [
        (cls, after)
        for entry in entries
        for cls, after in enumerate(window.moves[entry])
        if after != DEAD
    ]
    word = shortest(
        first,
        lambda state: (
            (cls, after) for cls, after in enumerate(window.moves[state]) if after != DEAD
        ),
        lambda state: window.final[state],
    )
    return None if word is None else word[1]


def _literals(window: AnalysedWindow, cls: int) -> list[tuple[Guard, bool]]:
    """Return guards and their truth values on the events of a class, or the guard of the class."""
    letters = window.compiled.letters
    cubes = cover(letters, window.masks[cls])
    if len(cubes) == 1:
        return [(letters.guards[index], holds) for index, holds in cubes[0]]
    return [(window.classes[cls], True)]


def _signed(literal: tuple[Guard, bool]) -> Guard:
    guard, holds = literal
    return guard if holds else terms.Not(guard)


def _signed_text(literal: tuple[Guard, bool], written: Mapping[Guard, tree.Expr]) -> str:
    guard, holds = literal
    if guard not in written:
        return "one of several"
    return str(written[guard]) if holds else f"not ({written[guard]})"
