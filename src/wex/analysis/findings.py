"""What else the analysis notices: predicates, windows, starts and assumptions that do nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wex.analysis.describe import named_guards
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.query import assumptions_of
from wex.analysis.window_tables import DEAD
from wex.automata.explore import explore, shortest
from wex.compile.assumptions import assumption_automaton
from wex.compile.stream_order import sorting
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
    """Yield what is odd about the assumptions of a spec."""
    promise = assumptions_of(meaning)
    if promise is None:
        return
    for at, assume in enumerate(meaning.expanded.assumes):
        alone = assumption_automaton(meaning, unchecked=True, only=at)
        assert alone is not None
        if not alone.live[0]:
            yield f"no stream meets `assume {assume.regex}`"
        elif _excludes_nothing(alone):
            yield f"`assume {assume.regex}` excludes nothing"
    if not promise.live[0] and len(meaning.expanded.assumes) > 1:
        yield "no stream meets all assumptions together"


def _excludes_nothing(promise: AssumptionAutomaton) -> bool:
    return all(
        promise.live[after]
        for state, row in enumerate(promise.table)
        if promise.live[state]
        for after in row
    )


def of_window(analysis: Analysis) -> Iterator[str]:
    """Yield what is odd about a window, as far as the budget goes."""
    analysis.budget.renew()
    with suppress(TooManyError):
        yield from _of_window(analysis)


def _of_window(analysis: Analysis) -> Iterator[str]:
    meaning, subject = analysis.meaning, analysis.subject
    name = subject.name
    for guard, predicate in named_guards(meaning, subject.compiled).items():
        if isinstance(guard, Always):
            continue
        analysis.budget.check()
        order = sorting(meaning, {field.name for field in terms.fields(guard)}).guard
        if not satisfiable(terms.And((guard, order)), max(1, subject.lookback)):
            yield f"`{predicate}` can never hold"
    if analysis.open.bound == 0:
        yield f"the window `{name}` can never occur{_why_never(analysis)}"
        return
    planned = analysis.held_starts
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
    if hopeless and analysis.contexts.space.exact:
        yield f"some starts of `{name}` can never end in a window, and are held all the same"
    yield from _unreached(analysis, planned)


def _unreached(analysis: Analysis, planned: Starts) -> Iterator[str]:
    subject = planned.subject
    read = {edge.classes[0] for row in analysis.contexts.edges for edge in row}
    if missing := len(subject.masks) - len(read - {-1}):
        yield f"{missing} of {len(subject.masks)} kinds of events of `{subject.name}` never come"
    reached = {state for _, state in planned.graph}
    possible = set(explore(subject.first_states, subject.successors.__getitem__)[0])
    if missing := len(possible - reached):
        yield f"{missing} of {len(possible)} window states of `{subject.name}` are never reached"


def _why_never(analysis: Analysis) -> str:
    """Return which events of the shortest window contradict one another, as far as that is why."""
    subject = analysis.subject
    entries = sorted(set(subject.starts) - {DEAD})
    if not entries:
        return ": it has no start, or its expression accepts nothing"
    word = _shortest_word(subject, entries)
    if word is None:
        return ": its expression accepts nothing"
    written = named_guards(analysis.meaning, subject.compiled)
    steps = [_literals(subject, cls) for cls in word]
    question = analysis.contexts.question
    core = contradiction(
        [[_signed(each) for each in step] for step in steps],
        question.order,
        question.fields,
        question.depth,
    )
    if not core:
        return ": no stream that conforms has one"
    shown = [f"event {at + 1}, `{_signed_text(steps[at][part], written)}`" for at, part in core]
    if len(shown) == 1:
        return f": {shown[0]}, contradicts itself"
    return f": in the shortest one {shown[0]}, contradicts {' and '.join(shown[1:])}"


def _shortest_word(subject: AnalysedWindow, entries: list[int]) -> list[int] | None:
    """Return the classes of a shortest window, as far as the automaton can tell."""
    begins = [
        (cls, after)
        for entry in entries
        for cls, after in enumerate(subject.window[entry])
        if after != DEAD
    ]
    found = shortest(
        begins,
        lambda state: (
            (cls, after) for cls, after in enumerate(subject.window[state]) if after != DEAD
        ),
        lambda state: subject.final[state],
    )
    return None if found is None else found[1]


def _literals(subject: AnalysedWindow, cls: int) -> list[tuple[Guard, bool]]:
    """Return what holds of the events of a class: guards one by one if one row of them says it."""
    letters = subject.compiled.letters
    cubes = cover(letters, subject.masks[cls])
    if len(cubes) == 1:
        return [(letters.guards[at], holds) for at, holds in cubes[0]]
    return [(subject.classes[cls], True)]


def _signed(literal: tuple[Guard, bool]) -> Guard:
    guard, holds = literal
    return guard if holds else terms.Not(guard)


def _signed_text(literal: tuple[Guard, bool], written: Mapping[Guard, tree.Expr]) -> str:
    guard, holds = literal
    if guard not in written:
        return "one of several"
    return str(written[guard]) if holds else f"not ({written[guard]})"
