"""Formulas to regular expressions: the pairs of a window, read off its normal form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.automata.eliminate import short_expression
from wex.compile.guards import as_written, deciding_parts, guards_of
from wex.compile.to_predicate import names_of_lets, regex_of, with_lets, with_lookback
from wex.compile.window import ANYWHERE
from wex.spec import tree
from wex.spec.resolve.runs import spelled_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning

NOTHING = tree.Pair(None, tree.Atom(tree.Bool(False)))


def with_regexes(
    spec: tree.Spec, meaning: Meaning, compiled: Callable[[int], CompiledWindow]
) -> tree.Spec:
    """Return a spec whose windows are all given by regular expressions.

    `compiled` gives the normal form of a window by its number; it is asked for formulas only.
    """
    windows = tuple(
        spelled_out(window, spec.stream)
        if window.where is None
        else _translated(meaning, compiled(number), window)
        for number, window in enumerate(spec.windows)
    )
    return with_lookback(replace(spec, windows=windows, source=None), meaning)


def _translated(meaning: Meaning, compiled: CompiledWindow, window: tree.Window) -> tree.Window:
    written = as_written(guards_of(deciding_parts(compiled.window), meaning.fields))
    names = names_of_lets(meaning)
    shown = [with_lets(written[guard], names) for guard in compiled.letters.guards]
    pairs = tuple(_pairs(compiled, shown))
    return replace(window, where=None, pairs=pairs or (NOTHING,))


def _pairs(compiled: CompiledWindow, shown: list[tree.Expr]) -> list[tree.Pair]:
    """Return one pair for each window state in which starts begin."""
    letters = compiled.letters
    pairs = []
    for before, inside in compiled.form.pairs():
        after = regex_of(short_expression(before), letters, shown)
        match = regex_of(short_expression(inside), letters, shown)
        pairs.append(tree.Pair(None if after == ANYWHERE else after, match))
    return pairs
