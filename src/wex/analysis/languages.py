"""Emptiness, inclusion and equivalence of specs and of the languages of k-SLAs.

A word is in a language if it is the part of a stream from its first event to the one before the
last of a window of `after () match R any`: the `any` makes the empty sequence of grams visible,
because a window has one event at least.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.analysis import compare
from wex.compile.ksla import KSLA, letter_form
from wex.compile.ksla_input import stream_line
from wex.errors import WexError
from wex.spec import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.analysis.compare import SpecComparison
    from wex.spec import SpecLike, tree

    Comparing = Callable[[SpecLike, SpecLike], SpecComparison]


def is_empty(spec: SpecLike | KSLA) -> SpecComparison:
    """Check whether a spec has no windows, or an automaton accepts no word."""
    if not isinstance(spec, KSLA):
        return compare.is_empty(spec)
    return _of_words(
        compare.is_empty(_spec_of(spec)), "no word is accepted", "this word is accepted"
    )


def equivalent(a: SpecLike | KSLA, b: SpecLike | KSLA) -> SpecComparison:
    """Check whether two specs have the same windows, or two automata the same language."""
    return _compared(a, b, compare.equivalent, "they accept the same words")


def includes(a: SpecLike | KSLA, b: SpecLike | KSLA) -> SpecComparison:
    """Check whether the windows of b are windows of a, or its words words of a."""
    return _compared(a, b, compare.includes, "every word of the second is one of the first")


def _compared(
    a: SpecLike | KSLA, b: SpecLike | KSLA, comparing: Comparing, holds: str
) -> SpecComparison:
    if not isinstance(a, KSLA) and not isinstance(b, KSLA):
        return comparing(a, b)
    if not isinstance(a, KSLA) or not isinstance(b, KSLA):
        message = "a spec cannot be compared with an automaton"
        raise WexError(
            "wrong-argument", message, "take the automata of the spec: wex.automata(spec)"
        )
    letter_form(a, b)  # raises an error if they read different grams
    comparison = comparing(_spec_of(a), _spec_of(b))
    return _of_words(comparison, holds, f"only the {comparison.side} accepts this word")


def _spec_of(automaton: KSLA) -> tree.Spec:
    clauses = "" if automaton.pad else "unpadded"
    return parse(
        f"{stream_line(automaton.fields)} window language after () match ({automaton.to_regex()}) any "
        f"lookback {automaton.lookback} {clauses}"
    )


def _of_words(comparison: SpecComparison, holds: str, fails: str) -> SpecComparison:
    """Return a comparison of windows as one of words: the last event of a window is the `any`."""
    if comparison.holds is None:
        return comparison
    if comparison.witness is None or comparison.window is None:
        return replace(comparison, reason=holds)
    word = comparison.witness.slice(0, comparison.window[2])
    return replace(comparison, reason=fails, witness=word, window=None)
