"""Automata over letters with marks: what formulas compile to.

A word carries tracks beside its letters, one for each free variable: a position has one mark on
its track, a set any number. A symbol is a letter and a bit for each track. Automata of formulas
accept only words with one mark on every track of a position, so quantifying is projecting.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex import limits
from wex.automata.dfa import DFA, combine, common_classes
from wex.automata.explore import explore
from wex.automata.minimise import minimise
from wex.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Variable:
    """A variable of a formula: a position, or a set of them."""

    name: str
    is_set: bool = False


@dataclass(frozen=True, eq=False)
class Marked:
    """An automaton over symbols: `letter + letters * bits`, bit i for `tracks[i]`."""

    letters: int
    tracks: tuple[Variable, ...]
    dfa: DFA

    def over(self, tracks: Sequence[Variable]) -> Marked:
        """Return the automaton over more tracks, or the same in another order, which it ignores."""
        wanted = tuple(tracks)
        if wanted == self.tracks:
            return self
        limits.require("symbols", self.letters << len(wanted), "the letters and marks of a formula")
        symbols = np.arange(self.letters << len(wanted), dtype=np.int64)
        letters, bits = symbols % self.letters, symbols // self.letters
        own = np.zeros_like(bits)
        for place, track in enumerate(self.tracks):
            own |= (bits >> wanted.index(track) & 1) << place
        classes = self.dfa.classes[letters + self.letters * own]
        return Marked(self.letters, wanted, DFA(classes, self.dfa.table, self.dfa.final))


def marked(
    letters: int,
    tracks: Sequence[Variable],
    true_of: int | None,
    initial: Hashable,
    step: Callable[[Hashable, bool, int], Hashable],
    is_final: Callable[[Hashable], bool],
) -> Marked:
    """Return the automaton of an atom: `step` sees whether the letter is in a set, and the bits."""
    count = 1 << len(tracks)
    limits.require("symbols", letters * count, "the letters and marks of a formula")
    truth = np.array([true_of is not None and true_of >> at & 1 for at in range(letters)])
    classes = (truth[None, :] + 2 * np.arange(count)[:, None]).reshape(-1).astype(np.int32)
    states, table = explore(
        [initial],
        lambda state: [step(state, bool(cls & 1), cls >> 1) for cls in range(2 * count)],
    )
    rows = np.array(table, dtype=np.int32)
    final = np.array([is_final(state) for state in states], dtype=np.bool_)
    return Marked(letters, tuple(tracks), minimise(DFA(classes, rows, final)))


def joined(one: Marked, two: Marked, accept: Callable[[bool, bool], bool]) -> Marked:
    """Return the product of two automata over all their tracks; `accept` sees both answers."""
    tracks = tuple(dict.fromkeys((*one.tracks, *two.tracks)))
    first, second = one.over(tracks), two.over(tracks)
    with _within_work(
        min(len(first.dfa.classes), first.dfa.table.shape[1] * second.dfa.table.shape[1])
    ):
        product = combine(first.dfa, second.dfa, accept)
    return Marked(one.letters, tracks, minimise(product))


@contextmanager
def _within_work(classes: int) -> Iterator[None]:
    """Allow as many states as can be explored in reasonable time with so many classes."""
    work = limits.current().work
    most = min(limits.current().states, work // max(1, classes))
    try:
        with limits.raised(states=most):
            yield
    except LimitError as error:
        if most == limits.current().states:
            raise
        hint = f"if that is meant: with wex.limits.raised(work={10 * work}):"
        message = f"a formula takes more than {work:,} steps"
        raise LimitError("work", message, hint) from error


def singly(letters: int, track: Variable) -> Marked:
    """Return the automaton of words with one mark on a track."""
    return marked(
        letters,
        (track,),
        None,
        0,
        lambda state, _, bits: min(2, state + bits),  # type: ignore[operator]
        lambda state: state == 1,
    )


def only_positions(automaton: Marked) -> Marked:
    """Return what of an automaton has one mark on each track of a position."""
    for track in automaton.tracks:
        if not track.is_set:
            automaton = joined(automaton, singly(automaton.letters, track), lambda a, b: a and b)
    return automaton


def negated(automaton: Marked) -> Marked:
    """Return the automaton of the negation: of words with one mark for each position, still."""
    dfa = DFA(automaton.dfa.classes, automaton.dfa.table, ~automaton.dfa.final)
    return only_positions(Marked(automaton.letters, automaton.tracks, dfa))


def projected(automaton: Marked, track: Variable) -> Marked:
    """Return the automaton of words for which some marks on a track would do."""
    if track not in automaton.tracks:
        return automaton
    place = automaton.tracks.index(track)
    rest = tuple(each for each in automaton.tracks if each != track)
    letters = automaton.letters
    symbols = np.arange(letters << len(rest), dtype=np.int64)
    bits = symbols // letters
    low = bits & ((1 << place) - 1)
    without = symbols % letters + letters * (low | (bits >> place) << (place + 1))
    classes = automaton.dfa.classes
    merged, own = common_classes(
        classes[without].tolist(), classes[without + (letters << place)].tolist()
    )
    return Marked(letters, rest, minimise(_subsets(automaton.dfa, merged, own)))


def _subsets(dfa: DFA, classes: Sequence[int], own: Sequence[tuple[int, ...]]) -> DFA:
    """Return the deterministic automaton that follows every choice of a class in each pair."""
    live = dfa.live
    after: NDArray[np.object_] = np.array(
        [[1 << state if live[state] else 0 for state in row] for row in dfa.table.tolist()],
        dtype=object,
    ).reshape(dfa.table.shape)
    moves = [
        [int(after[state, a]) | int(after[state, b]) for a, b in own] for state in range(dfa.states)
    ]
    final = sum(1 << state for state in range(dfa.states) if dfa.final[state])

    def successors(states: int) -> list[int]:
        found = [0] * len(own)
        while states:
            state = states & -states
            states ^= state
            for at, mask in enumerate(moves[state.bit_length() - 1]):
                found[at] |= mask
        return found

    with _within_work(len(own)):
        subsets, table = explore([1], successors)
    return DFA(
        np.array(classes, dtype=np.int32),
        np.array(table, dtype=np.int32).reshape(len(subsets), len(own)),
        np.array([bool(states & final) for states in subsets], dtype=np.bool_),
    )
