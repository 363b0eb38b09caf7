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
from wex.automata.minimise import merge_columns, merge_states, minimise, refine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
        >>> factory = RegexFactory(2, [1, 2, 3])
        >>> a, b = factory.symbol(1), factory.symbol(2)
        >>> match = factory.concat([factory.repeat(a, 0, None), b])
        >>> pair_automata(factory, [(factory.everything, match)]).normal_form().windows([0, 0, 1])
        [(0, 2), (1, 2), (2, 2)]
        """
        windows: list[tuple[int, int]] = []
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
                    windows.append((start, position))
        return windows

    def pairs(self) -> Iterator[tuple[DFA, DFA]]:
        """Yield a prefix and a window automaton for each window state in which starts begin."""
        for entry in sorted(set(self.starts.tolist()) - {NONE}):
            before = DFA(self.prefix.classes, self.prefix.table, self.starts == entry)
            yield minimise(before), minimise(_from(self.window, entry))


@dataclass(frozen=True, eq=False)
class PairAutomata:
    """The pairs of a window: an automaton for each `after`, an expression for each `match`.

    Expressions become automata only when it is known which of them can begin together.
    """

    factory: RegexFactory
    prefixes: tuple[DFA, ...]
    matches: tuple[Regex, ...]

    def normal_form(self) -> NormalForm:
        """Return the normal form: the product of the prefixes, and what begins in each state."""
        classes, keys = common_classes(*(dfa.classes.tolist() for dfa in self.prefixes))

        def successors(state: tuple[int, ...]) -> list[tuple[int, ...]]:
            rows = [dfa.table[part] for dfa, part in zip(self.prefixes, state, strict=True)]
            return [
                tuple(int(row[cls]) for row, cls in zip(rows, key, strict=True)) for key in keys
            ]

        states, table = explore([(0,) * len(self.prefixes)], successors)
        begins = [self._begins(state) for state in states]
        window, entry = self._window_automaton([regex for regex in begins if regex is not None])
        labels = [NONE if regex is None else entry[regex] for regex in begins]
        prefix = np.array(table, dtype=np.int32).reshape(len(states), len(keys))
        return _minimal(classes, prefix, _live(labels, window), window)

    def _begins(self, state: tuple[int, ...]) -> Regex | None:
        """Return the windows that begin at a state: any `match` whose `after` accepts there."""
        accepted = [
            match
            for dfa, part, match in zip(self.prefixes, state, self.matches, strict=True)
            if dfa.final[part]
        ]
        return self.factory.union(accepted) if accepted else None

    def _window_automaton(self, begins: Sequence[Regex]) -> tuple[DFA, dict[Regex, int]]:
        """Return one automaton for all expressions that begin somewhere, and the state of each."""
        factory = self.factory
        distinct = list(dict.fromkeys(begins)) or [factory.nothing]
        states, table = explore(distinct, factory.successors(distinct))
        final = np.array([state.nullable for state in states], dtype=np.bool_)
        rows = np.array(table, dtype=np.int32).reshape(len(states), factory.width)
        window, blocks = _merged(np.array(factory.classes, dtype=np.int32), rows, final)
        return window, {regex: blocks[number] for number, regex in enumerate(distinct)}


@dataclass(frozen=True, eq=False)
class MarkedAutomaton:
    """The formula of a window: an automaton that reads a mark on the letter where a window begins.

    `unmarked[state, letter]` and `marked[state, letter]` are its next states.
    """

    unmarked: NDArray[np.int32]
    marked: NDArray[np.int32]
    final: NDArray[np.bool_]

    def normal_form(self) -> NormalForm:
        """Return the normal form: the automaton split at the states in which the mark is read."""
        states, letters = self.unmarked.shape
        # State p of the prefix begins a window in a state of its own, number states + p.
        inside = np.concatenate([self.unmarked, self.marked]).astype(np.int32)
        accepting = np.concatenate([self.final, np.zeros(states, dtype=np.bool_)])
        classes = np.arange(letters, dtype=np.int32)
        whole = NormalForm(
            DFA(classes, self.unmarked, np.ones(states, dtype=np.bool_)),
            np.arange(states, 2 * states, dtype=np.int32),
            DFA(classes, inside, accepting),
        )
        return restricted(whole, range(letters))


def pair_automata(factory: RegexFactory, pairs: Iterable[tuple[Regex, Regex]]) -> PairAutomata:
    """Return the automata of pairs (after, match)."""
    afters, matches = zip(*pairs, strict=True)
    return PairAutomata(factory, tuple(map(factory.automaton, afters)), matches)


def _merged(
    classes: NDArray[np.int32], table: NDArray[np.int32], final: NDArray[np.bool_]
) -> tuple[DFA, list[int]]:
    """Return the automaton with equal states and columns merged, and the new number of each state."""
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


def _from(dfa: DFA, state: int) -> DFA:
    """Return an automaton that begins in another state."""
    order = np.arange(dfa.states)
    order[[0, state]] = order[[state, 0]]
    return DFA(dfa.classes, order[dfa.table[order]].astype(np.int32), dfa.final[order])


def _live(labels: Sequence[int], window: DFA) -> list[int]:
    """Return labels of prefix states without starts that can never end."""
    return [NONE if label != NONE and not window.live[label] else label for label in labels]


def restricted(form: NormalForm, letters: Sequence[int]) -> NormalForm:
    """Return the form over some of its letters, in that order, without unreachable states."""
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
    entry = {state: blocks[number] for number, state in enumerate(states)}
    labels = [
        NONE if form.starts[state] == NONE else entry[int(form.starts[state])] for state in reached
    ]
    outer = np.array(table, dtype=np.int32).reshape(len(reached), width)
    return _minimal(classes.tolist(), outer, _live(labels, window), window)
