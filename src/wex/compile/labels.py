"""The labels of a window: the positions of its expressions, in which a found window is parsed.

An automaton that finds windows treats a language as a set. Which event has which label depends on
the preferred way through the expression, so a window with labels has a second form beside its normal
form: positions with ordered transitions (`automata/preference.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import DFA, common_classes
from wex.automata.explore import explore
from wex.automata.minimise import merge_columns, merge_states, refine
from wex.automata.preference import Choice, OrderedBuilder
from wex.compile.preference import ordered_of
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.automata.preference import PositionGraph
    from wex.compile.guards import Alphabet

MARK = 0  # the position in which nothing is read: a window may end
NO_LABEL = -1


@dataclass(frozen=True, eq=False)
class LabelForm:
    """The positions of a window with labels; `names` are the labels in the order of the text.

    After a position p and a letter of class c, of `width` classes, come the positions
    `targets[first[p * width + c]]` … `targets[first[p * width + c + 1] - 1]`, the preferred first. A start at state
    s of `prefix` begins in one of `begins[first_begin[e]]` … `begins[first_begin[e + 1] - 1]`, where e is
    `entry[s]`. `has[p, l]` tells whether the event that is read in p has label l, `innermost[p]` is its
    innermost label, or -1.
    """

    names: tuple[str, ...]
    prefix: DFA
    entry: NDArray[np.int32]
    first_begin: NDArray[np.int32]
    begins: NDArray[np.int32]
    classes: NDArray[np.int32]
    width: int
    first: NDArray[np.int32]
    targets: NDArray[np.int32]
    has: NDArray[np.bool_]
    innermost: NDArray[np.int32]

    @property
    def positions(self) -> int:
        """Return the number of positions, that of the mark included."""
        return len(self.innermost)

    def after(self, position: int, cls: int) -> NDArray[np.int32]:
        """Return the positions that follow a position and a class of letters, the preferred first."""
        at = position * self.width + cls
        return self.targets[self.first[at] : self.first[at + 1]]


def label_form(
    alphabet: Alphabet, prefixes: Sequence[DFA], matches: Sequence[tree.Regex]
) -> LabelForm | None:
    """Return the form of the pairs of a window; None: they have no labels."""
    names = tuple(dict.fromkeys(name for match in matches for name in tree.labels_in(match)))
    if not names:
        return None
    expressions = [ordered_of(alphabet, match, ()) for match in matches]
    prefix, entry, choices = _prefix(prefixes)
    graph = OrderedBuilder(alphabet.factory).positions(
        [Choice(tuple(expressions[at] for at in choice)) for choice in choices]
    )
    width = alphabet.factory.width
    classes = np.array(alphabet.factory.classes, dtype=np.int32)
    return _form(names, prefix, entry, graph, classes, width)


def _prefix(
    prefixes: Sequence[DFA],
) -> tuple[DFA, NDArray[np.int32], list[tuple[int, ...]]]:
    """Return an automaton that knows which pairs take part, their combinations, and one for each state."""
    classes, keys = common_classes(*(dfa.classes.tolist() for dfa in prefixes))

    def successors(state: tuple[int, ...]) -> list[tuple[int, ...]]:
        rows = [dfa.table[part] for dfa, part in zip(prefixes, state, strict=True)]
        return [tuple(int(row[cls]) for row, cls in zip(rows, key, strict=True)) for key in keys]

    states, table = explore([(0,) * len(prefixes)], successors)
    taking_part = [
        tuple(at for at, dfa in enumerate(prefixes) if dfa.final[state[at]]) for state in states
    ]
    # Where no pair takes part no window begins, so that any combination is right.
    choices = list(dict.fromkeys(choice for choice in taking_part if choice)) or [()]
    number = {choice: at for at, choice in enumerate(choices)}
    blocks = [number.get(choice, -1) for choice in taking_part]
    if len(choices) == 1:
        whole = np.zeros((1, 1), dtype=np.int32)
        alone = DFA(np.zeros(len(classes), np.int32), whole, np.ones(1, np.bool_))
        return alone, np.zeros(1, dtype=np.int32), choices
    rows = np.array(table, dtype=np.int32).reshape(len(states), len(keys))
    refined = refine(rows, blocks)
    merged, members = merge_states(rows, refined)
    narrow, moves = merge_columns(np.array(classes, dtype=np.int32), merged)
    entry = np.array([max(0, blocks[member]) for member in members], dtype=np.int32)
    return DFA(narrow, moves, np.ones(len(moves), dtype=np.bool_)), entry, choices


def _form(
    names: tuple[str, ...],
    prefix: DFA,
    entry: NDArray[np.int32],
    graph: PositionGraph,
    classes: NDArray[np.int32],
    width: int,
) -> LabelForm:
    """Return the form of some positions, with classes of letters that lead to the same ones merged."""
    rows = [row or [()] * width for row in graph.after]  # the mark has none
    columns = list(zip(*rows, strict=True))
    number: dict[tuple[tuple[int, ...], ...], int] = {}
    narrow = np.array([number.setdefault(column, len(number)) for column in columns], np.int32)
    kept = list(number)
    lists = [kept[cls][position] for position in range(len(rows)) for cls in range(len(kept))]
    has = np.zeros((len(rows), len(names)), dtype=np.bool_)
    innermost = np.full(len(rows), NO_LABEL, dtype=np.int32)
    for position, labels in enumerate(graph.labels):
        for label in labels:
            has[position, names.index(label)] = True
            innermost[position] = names.index(label)
    first_begin, begins = _joined(graph.begins)
    first, targets = _joined(lists)
    return LabelForm(
        names, prefix, entry, first_begin, begins, narrow[classes], len(kept), first, targets, has,
        innermost,
    )  # fmt: skip


def _joined(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return where each of some lists begins in an array of all their items, and the array."""
    first = np.zeros(len(lists) + 1, dtype=np.int32)
    np.cumsum([len(items) for items in lists], out=first[1:])
    return first, np.array(list(chain.from_iterable(lists)), dtype=np.int32)


def restricted(form: LabelForm, letters: Sequence[int]) -> LabelForm:
    """Return the form over some of its letters, in that order."""
    moves = form.prefix.table[:, form.prefix.classes[list(letters)]]
    narrow, table = merge_columns(np.arange(len(letters), dtype=np.int32), moves)
    prefix = DFA(narrow, table, form.prefix.final)
    return LabelForm(
        form.names, prefix, form.entry, form.first_begin, form.begins,
        np.ascontiguousarray(form.classes[list(letters)]), form.width, form.first, form.targets,
        form.has, form.innermost,
    )  # fmt: skip
