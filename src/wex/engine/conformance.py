"""Checking that a stream is as assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.reference import Grams
from wex.errors import DataError

if TYPE_CHECKING:
    from wex.engine.streams import Stream
    from wex.windows.compile import CompiledAssume


def check_assume(assume: CompiledAssume, stream: Stream) -> None:
    """Raise a DataError at the first gram with which a stream leaves the prefixes of `assume`."""
    automaton = assume.automaton
    grams = Grams(stream, assume.lookback)
    state = 0
    for position in grams.positions:
        truths = [grams.holds(guard, position) for guard in assume.letters.guards]
        state = automaton.step(state, assume.letters.letter(truths))
        if not automaton.live[state]:
            raise DataError(
                "assumption",
                f"the stream breaks its promise: assume {assume.assume.regex}",
                "mend the data or the assumption; `unchecked` switches the check off",
                key=stream.key,
                position=position,
            )
