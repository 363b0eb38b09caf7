"""From a formula to pairs of regular expressions: read off the normal form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import DFA
from wex.automata.eliminate import short_expression
from wex.automata.minimise import minimise
from wex.compile.guards import deciding_parts, predicates
from wex.compile.normal_form import NONE
from wex.compile.to_predicate import named_again, regex_of, renamed, with_lookback
from wex.compile.window import ANYWHERE, compile_window
from wex.spec import as_spec, tree
from wex.spec import meaning as meaning_of
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning, SpecLike

NOTHING = tree.Pair(None, tree.Atom(tree.Bool(False)))


def to_regex(spec: SpecLike) -> tree.Spec:
    """Return a spec with the same windows, all given by regular expressions.

    >>> import wex
    >>> spec = wex.parse("stream s (ok bool) window w where begin + 1 = end and ok(begin)")
    >>> print(wex.to_regex(spec).windows[0])
    window w
      match ok any
    """
    spec = as_spec(spec)
    meaning = meaning_of(spec)
    windows = tuple(
        window if window.where is None else _translated(meaning, at, window)
        for at, window in enumerate(spec.windows)
    )
    return with_lookback(replace(spec, windows=windows, source=None), meaning)


def _translated(meaning: Meaning, at: int, window: tree.Window) -> tree.Window:
    compiled = compile_window(meaning, at, as_written=True)
    written: dict[object, tree.Expr] = {}
    for part in deciding_parts(compiled.window):
        for each in predicates(part):
            written.setdefault(guard_of(each, meaning.fields), each)
    names = named_again(meaning)
    shown = [renamed(written[guard], names) for guard in compiled.letters.guards]
    pairs = tuple(_pairs(compiled, shown))
    return replace(window, where=None, pairs=pairs or (NOTHING,))


def _pairs(compiled: CompiledWindow, shown: list[tree.Expr]) -> list[tree.Pair]:
    """Return one pair for each window state in which starts begin."""
    form, letters = compiled.form, compiled.letters
    found = []
    for entry in sorted({int(each) for each in form.starts} - {NONE}):
        before = DFA(form.prefix.classes, form.prefix.table, form.starts == entry)
        after = regex_of(short_expression(minimise(before)), letters, shown)
        inside = minimise(_from(form.window, entry))
        match = regex_of(short_expression(inside), letters, shown)
        found.append(tree.Pair(None if after == ANYWHERE else after, match))
    return found


def _from(dfa: DFA, state: int) -> DFA:
    """Return an automaton that begins in another state."""
    order = np.arange(dfa.states)
    order[[0, state]] = order[[state, 0]]
    return DFA(dfa.classes, order[dfa.table[order]].astype(np.int32), dfa.final[order])
