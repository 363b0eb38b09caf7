"""Checking that a stream is as assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.data_errors import assumption_error
from wex.reference.windows import Grams

if TYPE_CHECKING:
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.reference.streams import Stream


def check_assumptions(promise: AssumptionAutomaton, stream: Stream) -> None:
    """Raise a DataError at the first gram with which a stream leaves what is assumed of it."""
    state = 0
    for position in range(len(stream.events)):
        phase = min(position, len(promise.phases) - 1)
        grams, letters = Grams(stream, phase), promise.phases[phase]
        truths = [grams.holds(guard, position) for guard in letters.guards]
        state = promise.table[state][letters.letter(truths)]
        if position >= promise.first and not promise.live[state]:
            shown = tuple(str(assume) for assume in promise.assumes)
            raise assumption_error(shown, stream.key, position)
