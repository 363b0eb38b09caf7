"""Complete deterministic automata, with letters that act alike in every state merged into classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.explore import coreachable, explore, shortest
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

Word = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class DFA:
    """A complete deterministic automaton.

    `classes[letter]` is the class of a letter, `table[state, class]` the next state; state 0 is
    the initial one.
    """

    classes: NDArray[np.int32]
    table: NDArray[np.int32]
    final: NDArray[np.bool_]

    def __post_init__(self) -> None:
        states, classes = self.table.shape
        assert self.final.shape == (states,)
        assert states > 0
        assert not self.table.size or 0 <= self.table.min() <= self.table.max() < states
        assert not self.classes.size or 0 <= self.classes.min() <= self.classes.max() < classes
        for array in (self.classes, self.table, self.final):
            array.flags.writeable = False

    @property
    def letters(self) -> int:
        """Return the number of letters."""
        return len(self.classes)

    @property
    def states(self) -> int:
        """Return the number of states."""
        return len(self.table)

    def step(self, state: int, letter: int) -> int:
        """Return the state after one letter."""
        return int(self.table[state, self.classes[letter]])

    def run(self, word: Iterable[int], state: int = 0) -> int:
        """Return the state after a word."""
        for letter in word:
            state = self.step(state, letter)
        return state

    def accepts(self, word: Iterable[int]) -> bool:
        """Tell whether a word is in the language."""
        return bool(self.final[self.run(word)])

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Tell of each state whether a final one can be reached from it."""
        live = np.array(coreachable(self.table.tolist(), self.final.tolist()), dtype=np.bool_)
        live.flags.writeable = False
        return live


def build(
    letter_classes: Sequence[int],
    initial: Hashable,
    successors: Callable[..., Sequence[Hashable]],
    is_final: Callable[..., bool],
) -> DFA:
    """Return the automaton explored from an initial state; `successors` has one per letter class."""
    states, table = explore([initial], successors)
    width = max(letter_classes, default=-1) + 1
    return DFA(
        np.array(letter_classes, dtype=np.int32),
        np.array(table, dtype=np.int32).reshape(len(states), width),
        np.array([is_final(state) for state in states], dtype=np.bool_),
    )


def common_classes(*groupings: Sequence[int]) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the coarsest common refinement of several groupings of letters.

    The first result is the class of each letter, the second the groups that each class consists of.

    >>> common_classes([0, 0, 1], [0, 1, 1])
    ([0, 1, 2], [(0, 0), (0, 1), (1, 1)])
    """
    numbers: dict[tuple[int, ...], int] = {}
    merged = [
        numbers.setdefault(tuple(map(int, key)), len(numbers))
        for key in zip(*groupings, strict=True)
    ]
    return merged, list(numbers)


def complement(dfa: DFA) -> DFA:
    """Return the automaton of all words that are not in the language."""
    return DFA(dfa.classes, dfa.table, ~dfa.final)


def combine(first: DFA, second: DFA, accept: Callable[[bool, bool], bool]) -> DFA:
    """Return the product of two automata; `accept` combines their answers about a word."""
    classes, pairs = common_classes(first.classes.tolist(), second.classes.tolist())

    def successors(pair: tuple[int, int]) -> list[tuple[int, int]]:
        one, two = first.table[pair[0]].tolist(), second.table[pair[1]].tolist()
        return [(one[a], two[b]) for a, b in pairs]

    def is_final(pair: tuple[int, int]) -> bool:
        return accept(bool(first.final[pair[0]]), bool(second.final[pair[1]]))

    return build(classes, (0, 0), successors, is_final)


def intersection(first: DFA, second: DFA) -> DFA:
    """Return the automaton of the words in both languages."""
    return combine(first, second, lambda a, b: a and b)


def union(first: DFA, second: DFA) -> DFA:
    """Return the automaton of the words in either language."""
    return combine(first, second, lambda a, b: a or b)


def difference(first: DFA, second: DFA) -> DFA:
    """Return the automaton of the words in the first language and not in the second."""
    return combine(first, second, lambda a, b: a and not b)


def shortest_word(dfa: DFA) -> Word | None:
    """Return the first of the shortest words of the language, or None if it is empty."""
    letter_of = {int(cls): letter for letter, cls in reversed(list(enumerate(dfa.classes)))}
    letters = sorted((letter, cls) for cls, letter in letter_of.items())

    def successors(state: int) -> Iterator[tuple[int, int]]:
        row = dfa.table[state].tolist()
        return ((letter, row[cls]) for letter, cls in letters)

    path = shortest([(None, 0)], successors, dfa.final.__getitem__)
    return None if path is None else tuple(path[1])


def is_empty(dfa: DFA) -> bool:
    """Tell whether no word is in the language."""
    return shortest_word(dfa) is None


def shortest_difference(first: DFA, second: DFA) -> Word | None:
    """Return a shortest word that is in only one of two languages, or None if they are equal."""
    return shortest_word(combine(first, second, lambda a, b: a != b))


def equivalent(first: DFA, second: DFA) -> bool:
    """Tell whether two automata have the same language."""
    return shortest_difference(first, second) is None
