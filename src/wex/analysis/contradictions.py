"""Why a window never occurs: the events of its shortest word that contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.analysis.describe import named_guards
from wex.analysis.lifetimes import DEAD
from wex.automata.explore import shortest
from wex.compile.stream_order import stream_order
from wex.theory import terms
from wex.theory.event_search import contradiction
from wex.theory.letters import cover

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wex.analysis.verdicts import Analysis
    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import tree
    from wex.theory.terms import Guard


def why_never(analysis: Analysis) -> str:
    """Return why a window never occurs: which events of the shortest one contradict each other."""
    window = analysis.window
    entries = sorted(set(window.starts) - {DEAD})
    if not entries:
        return ": it has no start, or its expression matches nothing"
    if _shortest_word(window, entries) is None:
        return ": its expression matches nothing"
    events = contradicting_events(analysis)
    if not events:
        return ": no stream that conforms to the assumptions has one"
    if len(events) == 1:
        return f": {events[0]}, contradicts itself"
    return f": in the shortest one {events[0]}, contradicts {' and '.join(events[1:])}"


def contradicting_events(analysis: Analysis) -> list[str]:
    """Return the events of the shortest word of a window that contradict each other, in words."""
    window = analysis.window
    word = _shortest_word(window, sorted(set(window.starts) - {DEAD}))
    if word is None:
        return []
    written = named_guards(analysis.meaning, window.compiled)
    steps = [_literals(window, cls) for cls in word]
    query = analysis.contexts.query
    signed = [[_signed(literal) for literal in literals] for literals in steps]
    relevant = {
        field.name for guards in signed for guard in guards for field in terms.fields(guard)
    }
    core = contradiction(
        signed,
        stream_order(analysis.meaning, relevant).guard,
        query.fields,
        query.depth,
    )
    return [
        f"event {event + 1}, `{_signed_text(steps[event][part], written)}`" for event, part in core
    ]


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
