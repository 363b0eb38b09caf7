"""The normal form of a window expression: one prefix automaton and one window automaton.

The prefix automaton reads everything before a window; each of its states says in which state of
the window automaton a window begins there, if one may begin at all. The window automaton reads
the window itself. Both are deterministic, so each window is recognised once, however many pairs
recognise it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import DFA, common_classes
from wex.automata.explore import explore
from wex.automata.minimise import merge_columns, merge_states, refine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.automata.regex import Regex, RegexFactory

NONE = -1  # no window begins here


@dataclass(frozen=True, eq=False)
class NormalForm:
    """`starts[p]` is the window state in which a start at prefix state p begins, or NONE."""

    prefix: DFA
    starts: NDArray[np.int32]
    window: DFA

    def windows(self, word: Sequence[int]) -> list[tuple[int, int]]:
        """Return the windows of a word of letters as pairs of positions in it, ends ascending.

        >>> from wex.automata.regex import RegexFactory
        >>> shop = RegexFactory(2, [1, 2, 3])
        >>> a, b = shop.symbol(1), shop.symbol(2)
        >>> form = normal_form(shop, [(shop.everything, shop.concat([shop.repeat(a, 0, None), b]))])
        >>> form.windows([0, 0, 1])
        [(0, 2), (1, 2), (2, 2)]
        """
        found: list[tuple[int, int]] = []
        open_starts: dict[int, int] = {}
        state = 0
        for position, letter in enumerate(word):
            if self.starts[state] != NONE:
                open_starts[position] = int(self.starts[state])
            state = self.prefix.step(state, letter)
            for start in list(open_starts):
                after = self.window.step(open_starts[start], letter)
                if not self.window.live[after]:
                    del open_starts[start]
                    continue
                open_starts[start] = after
                if self.window.final[after]:
                    found.append((start, position))
        return found


def normal_form(shop: RegexFactory, pairs: Sequence[tuple[Regex, Regex]]) -> NormalForm:
    """Return the normal form of pairs (after, match)."""
    befores = [shop.automaton(after) for after, _ in pairs]
    classes, own = common_classes(*(dfa.classes.tolist() for dfa in befores))

    def successors(state: tuple[int, ...]) -> list[tuple[int, ...]]:
        tables = [dfa.table[each] for dfa, each in zip(befores, state, strict=True)]
        return [tuple(int(row[cls]) for row, cls in zip(tables, key, strict=True)) for key in own]

    states, table = explore([(0,) * len(pairs)], successors)
    begins = [_beginning(shop, befores, state, pairs) for state in states]
    window, entry = _window_automaton(shop, [each for each in begins if each is not None])
    labels = [NONE if each is None else entry[each] for each in begins]
    labels = [NONE if each != NONE and not window.live[each] else each for each in labels]
    return _minimal(
        classes, np.array(table, dtype=np.int32).reshape(len(states), len(own)), labels, window
    )


def _beginning(
    shop: RegexFactory,
    befores: Sequence[DFA],
    state: tuple[int, ...],
    pairs: Sequence[tuple[Regex, Regex]],
) -> Regex | None:
    """Return what a window that begins at a state looks like: any `match` whose `after` accepts."""
    accepting = [
        match
        for dfa, each, (_, match) in zip(befores, state, pairs, strict=True)
        if dfa.final[each]
    ]
    return shop.union(accepting) if accepting else None


def _window_automaton(shop: RegexFactory, begins: Sequence[Regex]) -> tuple[DFA, dict[Regex, int]]:
    """Return one automaton for all ways to begin, and the state of each."""
    distinct = list(dict.fromkeys(begins)) or [shop.nothing]

    def successors(regex: Regex) -> list[Regex]:
        return [shop.derivative(regex, cls) for cls in range(shop.width)]

    states, table = explore(distinct, successors)
    final = np.array([state.nullable for state in states], dtype=np.bool_)
    rows = np.array(table, dtype=np.int32).reshape(len(states), shop.width)
    window, blocks = _merged(np.array(shop.classes, dtype=np.int32), rows, final)
    return window, {regex: blocks[at] for at, regex in enumerate(distinct)}


def _merged(
    classes: NDArray[np.int32], table: NDArray[np.int32], final: NDArray[np.bool_]
) -> tuple[DFA, list[int]]:
    """Return the automaton with equal states and columns merged, and what became of each state."""
    blocks = refine(table, final.tolist())
    merged, members = merge_states(table, blocks)
    narrow, narrow_table = merge_columns(classes, merged)
    return DFA(narrow, narrow_table, final[members]), blocks


def _minimal(
    classes: Sequence[int], table: NDArray[np.int32], labels: Sequence[int], window: DFA
) -> NormalForm:
    """Return the normal form with the smallest prefix automaton that has these labels."""
    blocks = refine(table, labels)
    merged, members = merge_states(table, blocks)
    narrow, narrow_table = merge_columns(np.array(classes, dtype=np.int32), merged)
    starts = np.array([labels[member] for member in members], dtype=np.int32)
    starts.flags.writeable = False
    return NormalForm(DFA(narrow, narrow_table, starts != NONE), starts, window)


def split_form(
    unmarked: NDArray[np.int32], mark: NDArray[np.int32], final: NDArray[np.bool_]
) -> NormalForm:
    """Return the normal form of an automaton that reads a mark where the window begins.

    `unmarked[state, letter]` and `mark[state, letter]` are its next states. It is split at the
    states in which the mark is read: one start for each, the prefixes of which are disjoint.
    """
    states, letters = unmarked.shape
    # State p of the prefix begins a window in a state of its own, number states + p.
    inside = np.concatenate([unmarked, mark]).astype(np.int32)
    accepting = np.concatenate([final, np.zeros(states, dtype=np.bool_)])
    classes = np.arange(letters, dtype=np.int32)
    whole = NormalForm(
        DFA(classes, unmarked, np.ones(states, dtype=np.bool_)),
        np.arange(states, 2 * states, dtype=np.int32),
        DFA(classes, inside, accepting),
    )
    return restricted(whole, range(letters))


def restricted(form: NormalForm, letters: Sequence[int]) -> NormalForm:
    """Return the form over some of its letters, in that order, without what only others reach."""
    before = form.prefix.table[:, form.prefix.classes[list(letters)]]
    inside = form.window.table[:, form.window.classes[list(letters)]]
    reached, table = explore([0], lambda state: before[state].tolist())
    begins = dict.fromkeys(int(form.starts[state]) for state in reached)
    begins.pop(NONE, None)
    states, rows = explore(begins or [0], lambda state: inside[state].tolist())
    final = form.window.final[states]
    width = len(letters)
    classes = np.arange(width, dtype=np.int32)
    filled = np.array(rows, dtype=np.int32).reshape(len(states), width)
    window, blocks = _merged(classes, filled, final)
    entry = {state: blocks[at] for at, state in enumerate(states)}
    labels = [
        NONE if form.starts[state] == NONE else entry[int(form.starts[state])] for state in reached
    ]
    labels = [NONE if each != NONE and not window.live[each] else each for each in labels]
    outer = np.array(table, dtype=np.int32).reshape(len(reached), width)
    return _minimal(classes.tolist(), outer, labels, window)
