"""Checking that a stream is as assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.data_errors import assumption_error
from wex.engine.reference.windows import Grams

if TYPE_CHECKING:
    from wex.engine.reference.streams import Stream
    from wex.windows.assumptions import Promise


def check_promise(promise: Promise, stream: Stream) -> None:
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
