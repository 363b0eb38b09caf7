"""Which starts the running plan holds on a concrete stream, by its automata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.reference.streams import Stream
from wex.engine.reference.windows import Grams
from wex.windows.clauses import clauses_of
from wex.windows.compile import compile_window
from wex.windows.normal import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.spec import Meaning
    from wex.theory.evaluate import Event


def held_starts(meaning: Meaning, at: int, events: Sequence[Event]) -> list[int]:
    """Return the starts that a plan holds on a stream where they are most.

    A start counts while its automaton can still accept, with the event at which it ends.
    """
    compiled = compile_window(meaning, at)
    clauses = clauses_of(compiled.window)
    form, letters = compiled.form, compiled.letters
    keep = "all" if clauses.having else clauses.keep
    grams = Grams(Stream((), list(events), []), compiled.lookback, pad=compiled.window.pad)
    clock = [0] * len(events)
    if clauses.within_time is not None:
        name = meaning.spec.stream.order_by[0].text
        clock = [int(event[name]) for event in events]  # type: ignore[arg-type]
    starts: dict[int, int] = {}
    prefix = 0
    most: list[int] = []

    def ended() -> set[int]:
        """Return the starts that windows which end now take away."""
        ending = {b for b, state in starts.items() if form.window.final[state]}
        if keep == "disjoint":
            return set(starts) if ending else set()
        return ending if keep == "shortest" else set()

    for position in grams.positions:
        letter = letters.letter([grams.holds(guard, position) for guard in letters.guards])
        if compiled.until is None or compiled.until >> letter & 1:
            for b in ended():
                del starts[b]
        if form.starts[prefix] != NONE:
            starts[position] = int(form.starts[prefix])
        prefix = form.prefix.step(prefix, letter)
        starts = {b: form.window.step(state, letter) for b, state in starts.items()}
        starts = {
            b: state
            for b, state in starts.items()
            if form.window.live[state]
            and (
                clauses.within_events is None
                or position - b < clauses.within_events + clauses.until
            )
            and (clauses.within_time is None or clock[position] - clock[b] <= clauses.within_time)
        }
        if clauses.single:  # of two in one state the plan holds the earlier one
            first = {state: b for b, state in reversed(starts.items())}
            starts = {b: state for b, state in starts.items() if first[state] == b}
        most = max(most, list(starts), key=len)
    return most
