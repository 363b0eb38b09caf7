"""Automata over letters with marks, the target of formulas.

Beside its letters a word carries a track for each free variable: the track of a position has one
mark, the track of a set any number. A symbol is a letter and a bit for each track. Automata of
formulas accept only words with one mark on the track of every position, so that a quantifier is a
projection.
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
class TrackAutomaton:
    """An automaton over symbols: `letter + letters * bits`, bit i for `tracks[i]`."""

    letters: int
    tracks: tuple[Variable, ...]
    dfa: DFA

    def over(self, tracks: Sequence[Variable]) -> TrackAutomaton:
        """Return the automaton over more tracks, which it ignores, or over its tracks in another order."""
        wanted = tuple(tracks)
        if wanted == self.tracks:
            return self
        limits.require("symbols", self.letters << len(wanted), "the letters and marks of a formula")
        symbols = np.arange(self.letters << len(wanted), dtype=np.int64)
        letters, bits = symbols % self.letters, symbols // self.letters
        own_bits = np.zeros_like(bits)
        for place, track in enumerate(self.tracks):
            own_bits |= (bits >> wanted.index(track) & 1) << place
        classes = self.dfa.classes[letters + self.letters * own_bits]
        return TrackAutomaton(self.letters, wanted, DFA(classes, self.dfa.table, self.dfa.final))


def marked(
    letters: int,
    tracks: Sequence[Variable],
    true_of: int | None,
    initial: Hashable,
    step: Callable[[Hashable, bool, int], Hashable],
    is_final: Callable[[Hashable], bool],
) -> TrackAutomaton:
    """Return the automaton of an atom; `step` gets whether the letter is in `true_of`, and the bits."""
    count = 1 << len(tracks)
    limits.require("symbols", letters * count, "the letters and marks of a formula")
    truth = np.array([true_of is not None and true_of >> n & 1 for n in range(letters)])
    classes = (truth[None, :] + 2 * np.arange(count)[:, None]).reshape(-1).astype(np.int32)
    states, table = explore(
        [initial],
        lambda state: [step(state, bool(cls & 1), cls >> 1) for cls in range(2 * count)],
    )
    rows = np.array(table, dtype=np.int32)
    final = np.array([is_final(state) for state in states], dtype=np.bool_)
    return TrackAutomaton(letters, tuple(tracks), minimise(DFA(classes, rows, final)))


def joined(
    one: TrackAutomaton, two: TrackAutomaton, accept: Callable[[bool, bool], bool]
) -> TrackAutomaton:
    """Return the product of two automata over all their tracks; `accept` combines their answers."""
    tracks = tuple(dict.fromkeys((*one.tracks, *two.tracks)))
    first, second = one.over(tracks), two.over(tracks)
    with _within_work(
        min(len(first.dfa.classes), first.dfa.table.shape[1] * second.dfa.table.shape[1])
    ):
        product = combine(first.dfa, second.dfa, accept)
    return TrackAutomaton(one.letters, tracks, minimise(product))


@contextmanager
def _within_work(classes: int) -> Iterator[None]:
    """Limit the states so that states times classes stays within the limit on work."""
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


def singly(letters: int, track: Variable) -> TrackAutomaton:
    """Return the automaton of the words with one mark on a track."""
    return marked(
        letters,
        (track,),
        None,
        0,
        lambda state, _, bits: min(2, state + bits),  # type: ignore[operator]
        lambda state: state == 1,
    )


def only_positions(automaton: TrackAutomaton) -> TrackAutomaton:
    """Return the automaton of its words that have one mark on the track of every position."""
    for track in automaton.tracks:
        if not track.is_set:
            automaton = joined(automaton, singly(automaton.letters, track), lambda a, b: a and b)
    return automaton


def negated(automaton: TrackAutomaton) -> TrackAutomaton:
    """Return the automaton of the negation, again with one mark for every position."""
    dfa = DFA(automaton.dfa.classes, automaton.dfa.table, ~automaton.dfa.final)
    return only_positions(TrackAutomaton(automaton.letters, automaton.tracks, dfa))


def projected(automaton: TrackAutomaton, track: Variable) -> TrackAutomaton:
    """Return the automaton of the words that are accepted with some marks on a track, without it."""
    if track not in automaton.tracks:
        return automaton
    place = automaton.tracks.index(track)
    rest = tuple(other for other in automaton.tracks if other != track)
    letters = automaton.letters
    symbols = np.arange(letters << len(rest), dtype=np.int64)
    bits = symbols // letters
    low = bits & ((1 << place) - 1)
    without = symbols % letters + letters * (low | (bits >> place) << (place + 1))
    classes = automaton.dfa.classes
    merged, pairs = common_classes(
        classes[without].tolist(), classes[without + (letters << place)].tolist()
    )
    return TrackAutomaton(letters, rest, minimise(_subsets(automaton.dfa, merged, pairs)))


def _subsets(dfa: DFA, classes: Sequence[int], pairs: Sequence[tuple[int, ...]]) -> DFA:
    """Return the subset automaton in which a class stands for either class of its pair."""
    live = dfa.live
    after: NDArray[np.object_] = np.array(
        [[1 << state if live[state] else 0 for state in row] for row in dfa.table.tolist()],
        dtype=object,
    ).reshape(dfa.table.shape)
    moves = [
        [int(after[state, a]) | int(after[state, b]) for a, b in pairs]
        for state in range(dfa.states)
    ]
    final = sum(1 << state for state in range(dfa.states) if dfa.final[state])

    def successors(states: int) -> list[int]:
        targets = [0] * len(pairs)
        while states:
            state = states & -states
            states ^= state
            for cls, mask in enumerate(moves[state.bit_length() - 1]):
                targets[cls] |= mask
        return targets

    with _within_work(len(pairs)):
        subsets, table = explore([1], successors)
    return DFA(
        np.array(classes, dtype=np.int32),
        np.array(table, dtype=np.int32).reshape(len(subsets), len(pairs)),
        np.array([bool(states & final) for states in subsets], dtype=np.bool_),
    )
