"""Findings beside the verdicts: what has no effect in a spec, and what may not be meant."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wex.analysis.answers import Finding, Kind
from wex.analysis.contradictions import why_never
from wex.analysis.describe import named_guards
from wex.analysis.graphs import TooManyError
from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.query import assumptions_of
from wex.analysis.unsaid import unsaid
from wex.automata.explore import explore
from wex.compile.assumptions import assumption_automaton
from wex.compile.stream_order import stream_order
from wex.spec import tree
from wex.theory import terms
from wex.theory.solver import satisfiable
from wex.theory.terms import Always

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.compare import SpecComparison
    from wex.analysis.counting.single import Starts
    from wex.analysis.verdicts import Analysis
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.spec import Meaning
    from wex.theory.terms import Guard


def of_assumptions(meaning: Meaning) -> Iterator[Finding]:
    """Yield the assumptions of a spec that no stream meets, or that exclude no stream."""
    assumption = assumptions_of(meaning)
    if assumption is None:
        return
    for index, assume in enumerate(meaning.expanded.assumes):
        alone = assumption_automaton(meaning, unchecked=True, only=index)
        assert alone is not None
        if not alone.live[0]:
            text = f"no stream meets `assume {assume.regex}`"
            yield Finding(Kind.NO_STREAM_CONFORMS, text)
        elif _excludes_nothing(alone):
            yield Finding(Kind.EXCLUDES_NOTHING, f"`assume {assume.regex}` excludes no stream")
    if not assumption.live[0] and len(meaning.expanded.assumes) > 1:
        yield Finding(Kind.NO_STREAM_CONFORMS, "no stream meets all assumptions together")


def _excludes_nothing(assumption: AssumptionAutomaton) -> bool:
    return all(
        assumption.live[after]
        for state, row in enumerate(assumption.table)
        if assumption.live[state]
        for after in row
    )


def of_lets(spec: tree.Spec) -> Iterator[Finding]:
    """Yield the lets that neither a window nor an assumption uses, not even through another let."""
    lets = {let.name.text: let for let in spec.lets}
    used: set[str] = set()
    waiting: list[tree.Node] = [*spec.windows, *spec.assumes]
    while waiting:
        names = {
            part.name if isinstance(part, tree.Ref) else part.name.text
            for part in tree.walk(waiting.pop())
            if isinstance(part, tree.Ref | tree.Call)
        }
        waiting += [lets[name] for name in names & lets.keys() - used]
        used |= names
    unused = [f"`{name}`" for name in lets if name not in used]
    if spec.windows and unused:
        text = f"no window or assumption uses the {'let' if len(unused) == 1 else 'lets'} {', '.join(unused)}"
        yield Finding(Kind.UNUSED_LET, text)


def of_window(analysis: Analysis) -> Iterator[Finding]:
    """Yield the findings about a window, as far as the budget allows."""
    analysis.budget.renew()
    with suppress(TooManyError):
        yield from _of_window(analysis)


def of_labels(name: str, labels: SpecComparison | None) -> Iterator[Finding]:
    """Yield a note if the events of a window can have other labels in another way to match it."""
    if labels is not None and labels.holds is False:
        text = (
            f"the labels of `{name}` are ambiguous, and the preferred way decides: {labels.reason}"
        )
        yield Finding(Kind.AMBIGUOUS_LABELS, text)


def _of_window(analysis: Analysis) -> Iterator[Finding]:
    meaning, window = analysis.meaning, analysis.window
    name = window.name
    never: set[Guard] = set()
    for guard, predicate in named_guards(meaning, window.compiled).items():
        if isinstance(guard, Always):
            continue
        analysis.budget.check()
        if not _can_hold(guard, analysis):
            never.add(guard)
            yield Finding(Kind.NEVER_HOLDS, f"`{predicate}` can never hold")
    if analysis.open.bound == 0:
        text = f"the window `{name}` can never occur{why_never(analysis)}"
        yield Finding(Kind.NEVER_OCCURS, text)
        return
    planned = analysis.planned_starts
    hopeless = {
        (edge.to, planned.born(edge))
        for row in analysis.contexts.edges
        for edge in row
        if planned.born(edge) != DEAD
        and _is_held(planned.window, planned.born(edge))
        and (
            analysis.starts.born(edge) == DEAD
            or (edge.to, analysis.starts.born(edge)) not in analysis.starts.alive
        )
    }
    # Where regions are not exact, an edge may be one that no stream takes. Nor is it known which
    # starts predicates with aggregates allow.
    if hopeless and analysis.contexts.regions.exact and not window.clauses.running:
        text = f"some starts of `{name}` are held although they can never end in a window"
        if analysis.is_pruned:
            text = f"some starts of `{name}` can never end in a window: they are dropped once events show it"
        yield Finding(Kind.HOPELESS_STARTS, text)
    yield from _unreached(analysis, planned)
    yield from unsaid(analysis, never)


def _is_held(window: AnalysedWindow, state: int) -> bool:
    """Tell whether a start is held in a state: only while it can go on, or `until` decides about it.

    In `[a] | [b] any* [c]`, a start with a is gone with its first event, whatever `having` says of its window.
    """
    return window.until is not None or bool(window.successors[state])


def _can_hold(guard: Guard, analysis: Analysis) -> bool:
    """Tell whether an event can satisfy a guard, with all events to look back at or without some."""
    window = analysis.window
    order = stream_order(analysis.meaning, {field.name for field in terms.fields(guard)}).guard
    ordered, lookback = terms.And((guard, order)), window.lookback
    if satisfiable(ordered, max(1, lookback)):
        return True
    if window.first:
        return False
    near = any(satisfiable(ordered, lookback, missing=missing) for missing in range(1, lookback))
    return near or satisfiable(guard, lookback, missing=lookback)


def _unreached(analysis: Analysis, planned: Starts) -> Iterator[Finding]:
    window = planned.window
    if window.clauses.running:
        return  # the automaton over events alone is not the one that runs
    read = {edge.classes[0] for row in analysis.contexts.edges for edge in row}
    if missing := len(window.masks) - len(read - {-1}):
        text = f"{missing} of {len(window.masks)} kinds of events of `{window.name}` never occur"
        yield Finding(Kind.NOT_REACHED, text)
    reached = {state for _, state in planned.graph}
    possible = set(explore(window.first_states, window.successors.__getitem__)[0])
    if missing := len(possible - reached):
        text = f"{missing} of {len(possible)} window states of `{window.name}` are never reached"
        yield Finding(Kind.NOT_REACHED, text)
