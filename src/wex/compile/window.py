"""The stages from a spec to automata, one visible list.

meaning → guards → letters → regular expressions, or a formula, over letters → normal form →
smaller form
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from wex.compile.formulas import formula_form
from wex.compile.guards import Reading, deciding_parts
from wex.compile.normal_form import NormalForm, normal_form
from wex.compile.reduce import smaller
from wex.spec import tree

if TYPE_CHECKING:
    from wex.spec import Meaning
    from wex.theory.letters import Letters

ANYWHERE = tree.Repeat(tree.Anything(), 0, None)  # what a missing `after` means


@dataclass(frozen=True)
class CompiledWindow:
    """A window over letters; `until` is the set of letters that may follow it."""

    window: tree.Window
    lookback: int
    letters: Letters
    form: NormalForm
    until: int | None


def compile_window(meaning: Meaning, at: int, *, as_written: bool = False) -> CompiledWindow:
    """Return the window number `at` of a spec, compiled; `as_written`: not made smaller."""
    window, lookback = meaning.expanded.windows[at], meaning.lookbacks[at]
    return _compiled(_Request(meaning.expanded.stream, window, lookback, as_written, meaning))


@dataclass(frozen=True)
class _Request:
    """All that a compiled window depends on; the meaning has it, and adds nothing."""

    stream: tree.Stream
    window: tree.Window
    lookback: int
    as_written: bool
    meaning: Meaning = field(compare=False)


@lru_cache(maxsize=32)  # a spec is compiled to be analysed, and again to be run
def _compiled(request: _Request) -> CompiledWindow:
    meaning, window, lookback = request.meaning, request.window, request.lookback
    reading = Reading(deciding_parts(window), meaning.fields, lookback, pad=window.pad)
    until = reading.where(window.until.predicate) if window.until else None
    letters = reading.letters
    if window.where is not None:
        form = formula_form(reading, window.where)
    else:
        pairs = [
            (reading.regex(pair.after or ANYWHERE), reading.regex(pair.match))
            for pair in window.pairs
        ]
        form = normal_form(reading.workshop, pairs)
    if not request.as_written:
        letters, form, until = smaller(meaning, letters, form, until, lookback, pad=window.pad)
    return CompiledWindow(window, lookback, letters, form, until)
