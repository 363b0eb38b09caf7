"""Ordered automata: which of the words that begin at a start a backtracking matcher takes.

A state is a list of positions in an expression, the preferred first, as in RE2's leftmost-first
automaton: a position is what has to be read next and what remains after it. Where the word read so
far is in the language, the list has a mark; the positions before it belong to ways that are
preferred to stopping here. A position that occurs twice counts where it occurs first.

A word that is *confirmed* cuts the list at its mark. A word may also be *denied*, as by `until`:
then only the mark is removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from wex import limits
from wex.automata.explore import Exploration, coreachable, explore
from wex.automata.minimise import merge_columns, merge_states, refine
from wex.automata.regex import Regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.automata.regex import RegexFactory

Labels: TypeAlias = tuple[str, ...]
DEAD = 0  # the state without positions
CHEAP = 16  # positions whose steps are known, copied at the cost of one step


@dataclass(frozen=True, eq=False)
class OrderedAutomaton:
    """An ordered automaton: `table[state, class]` is the next state, `classes[letter]` a class.

    In a state with `accepts` the word read so far is in the language. No letter is read there: it is
    left for `confirmed[state]` or `denied[state]`. From each other state but DEAD a state that
    accepts can be reached.
    """

    classes: NDArray[np.int32]
    table: NDArray[np.int32]
    accepts: NDArray[np.bool_]
    confirmed: NDArray[np.int32]
    denied: NDArray[np.int32]

    def __post_init__(self) -> None:
        for array in (self.classes, self.table, self.accepts, self.confirmed, self.denied):
            array.flags.writeable = False

    @property
    def states(self) -> int:
        """Return the number of states."""
        return len(self.table)


# --- Expressions with an order


@dataclass(frozen=True, eq=False)
class Symbol:
    """One letter out of a set of classes; `labels` are those of the event, the outermost first."""

    members: int
    labels: Labels = ()


@dataclass(frozen=True, eq=False)
class Concatenation:
    """Some expressions, one after the other."""

    parts: tuple[Ordered, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """Some expressions, the preferred first."""

    parts: tuple[Ordered, ...]


@dataclass(frozen=True, eq=False)
class Filtered:
    """An expression whose words are also in a language."""

    body: Ordered
    also: Regex


@dataclass(frozen=True, eq=False)
class Longest:
    """A language without an order: the longest word first. All its events have the same labels."""

    language: Regex
    labels: Labels = ()


@dataclass(frozen=True, eq=False)
class Repetition:
    """A repetition: one more iteration before stopping, or after it if reluctant."""

    body: Ordered
    low: int
    high: int | None
    reluctant: bool


Ordered: TypeAlias = Symbol | Concatenation | Choice | Filtered | Longest | Repetition


@dataclass(frozen=True)
class Also:
    """What remains of a language that the word has to be in, up to this point."""

    language: Regex


@dataclass(frozen=True)
class Iterated:
    """A repetition behind an iteration that has consumed nothing so far."""

    repetition: Repetition


Frame: TypeAlias = Ordered | Also | Iterated
Frames: TypeAlias = tuple[Frame, ...]
# A set of classes or a language to go on in, the labels of the next event, and what remains after it.
Position: TypeAlias = tuple[int | Regex, Labels, Frames]
MARK: Position = (-1, (), ())
State: TypeAlias = tuple[Position, ...]


@dataclass(frozen=True)
class PositionGraph:
    """The positions of some expressions; number 0 is the mark, where a word may end.

    `begins[expression]` are the positions in which it begins, `after[position][class]` those that
    follow, in both the preferred first. `labels[position]` are those of the event that is read.
    """

    begins: list[tuple[int, ...]]
    after: list[list[tuple[int, ...]]]
    labels: list[Labels]


class OrderedBuilder:
    """Builds the ordered automaton of some expressions, and says where each of them begins."""

    def __init__(self, factory: RegexFactory) -> None:
        self.factory = factory
        self._fewer: dict[tuple[Repetition, int, int | None], Repetition] = {}
        self._steps: dict[tuple[Position, int], State] = {}
        self._work, self._most_work = 0, limits.current().work

    def automaton(
        self, expressions: Sequence[Ordered], *, conditional: bool
    ) -> tuple[OrderedAutomaton, list[int]]:
        """Return an automaton and the state in which each expression begins, DEAD if it has no words.

        If not `conditional`, every word is confirmed at once.
        """
        begins = [_denied(self._unfolded([(expression,)])) for expression in expressions]
        width = self.factory.width

        def successors(state: State) -> list[State]:
            if MARK in state:
                kept = _confirmed(state)
                return [()] * width + [kept, _denied(state) if conditional else kept]
            return [*(self._after(state, letter) for letter in range(width)), state, state]

        states, rows = explore([(), *begins], successors)
        table = np.array(rows, dtype=np.int32).reshape(len(states), width + 2)
        accepts = np.array([MARK in state for state in states], dtype=np.bool_)
        numbers = {state: number for number, state in enumerate(states)}
        classes = np.array(self.factory.classes, dtype=np.int32)
        return smaller(classes, table, accepts, [numbers[state] for state in begins])

    def positions(self, expressions: Sequence[Ordered]) -> PositionGraph:
        """Return the positions of some expressions, and which can follow one another."""
        begins = [self._unfolded([(expression,)]) for expression in expressions]
        numbers: Exploration[Position, None] = Exploration([MARK])
        most = limits.current().states
        for begin in begins:
            numbers.add(begin)
        rows: list[list[tuple[int, ...]]] = []
        for position in numbers:
            if len(numbers) > most:
                limits.require("states", len(numbers), "the states of an automaton")
            letters = () if position is MARK else range(self.factory.width)
            steps = [self.step(position, letter) for letter in letters]
            rows.append([tuple(numbers[after] for after in step) for step in steps])
        return PositionGraph(
            [tuple(numbers[position] for position in begin) for begin in begins],
            rows,
            [position[1] for position in numbers.states],
        )

    def _after(self, state: State, letter: int) -> State:
        """Return the state after a class of letters."""
        self._count(1 + len(state) // CHEAP)
        steps = (self.step(position, letter) for position in state)
        return tuple(dict.fromkeys(chain.from_iterable(steps)))

    def step(self, position: Position, letter: int) -> State:
        """Return the positions that can follow one position, the preferred first."""
        key = (position, letter)
        if key not in self._steps:
            self._steps[key] = self._unfolded(self._reached(*position, letter))
        return self._steps[key]

    def _reached(
        self, head: int | Regex, labels: Labels, rest: Frames, letter: int
    ) -> list[Position | Frames]:
        """Return what remains after a letter at a position, the preferred first."""
        after = self._moved(rest, letter)
        if after is None:
            return []
        if isinstance(head, int):
            return [after] if head >> letter & 1 else []
        language = self.factory.derivative(head, letter)
        if language is self.factory.nothing:
            return []
        longer: Position = (language, labels, after)
        return [longer, after] if language.nullable else [longer]

    def _count(self, steps: int) -> None:
        self._work += steps
        if self._work > self._most_work:
            limits.require("work", self._work, "the steps of building an automaton")

    def _moved(self, frames: Frames, letter: int) -> Frames | None:
        """Return what remains after a letter; None if a language does not have it."""
        moved: list[Frame] = []
        for frame in frames:
            if isinstance(frame, Also):
                language = self.factory.derivative(frame.language, letter)
                if language is self.factory.nothing:
                    return None
                moved.append(Also(language))
            else:
                moved.append(frame.repetition if isinstance(frame, Iterated) else frame)
        return tuple(moved)

    def _unfolded(self, reached: Sequence[Position | Frames]) -> State:
        """Return the positions that can come next, each once, and a mark where nothing need come."""
        positions: dict[Position, None] = {}
        seen: set[Frames] = set()
        stack: list[Position | Frames] = list(reversed(reached))
        while stack:
            top = stack.pop()
            self._count(1)
            if _is_position(top):
                positions.setdefault(top)
                continue
            frames: Frames = top  # type: ignore[assignment]
            if frames in seen:
                continue
            seen.add(frames)
            if not frames:
                positions.setdefault(MARK)
            else:
                stack.extend(reversed(self._alternatives(frames[0], frames[1:])))
        return tuple(positions)

    def _alternatives(self, frame: Frame, rest: Frames) -> list[Position | Frames]:
        """Return the ways to go on with a frame, the preferred first."""
        match frame:
            case Symbol(members, labels):
                return [(members, labels, rest)] if members else []
            case Concatenation(parts):
                return [(*parts, *rest)]
            case Choice(parts):
                return [(part, *rest) for part in parts]
            case Filtered(body, also):
                return [] if also is self.factory.nothing else [(body, Also(also), *rest)]
            case Also(language):
                return [rest] if language.nullable else []
            case Longest(language, labels):
                longer: list[Position | Frames] = [(language, labels, rest)]
                return [*longer, rest] if language.nullable else longer
            case Iterated():
                return [rest]
            case Repetition(body, low, high, reluctant):
                if high == 0:
                    return [rest]
                fewer = self._one_less(frame)
                if low:
                    return [(body, fewer, *rest)]
                once_more = (body, Iterated(fewer), *rest)
                return [rest, once_more] if reluctant else [once_more, rest]
        raise TypeError(frame)

    def _one_less(self, repetition: Repetition) -> Repetition:
        body, low, high = repetition.body, repetition.low, repetition.high
        if low == 0 and high is None:
            return repetition
        key = (repetition, 0, None)
        if key not in self._fewer:
            self._fewer[key] = Repetition(
                body, max(low - 1, 0), None if high is None else high - 1, repetition.reluctant
            )
        return self._fewer[key]


def _is_position(item: Position | Frames) -> TypeGuard[Position]:
    return len(item) == 3 and isinstance(item[1], tuple)


def _confirmed(state: State) -> State:
    return state[: state.index(MARK)]


def _denied(state: State) -> State:
    return tuple(position for position in state if position is not MARK and position != MARK)


def smaller(
    classes: NDArray[np.int32],
    table: NDArray[np.int32],
    accepts: NDArray[np.bool_],
    begins: Sequence[int],
) -> tuple[OrderedAutomaton, list[int]]:
    """Return an automaton with equal states and classes merged, and where the expressions begin.

    The last two columns of the table are the states after a word is confirmed and denied.
    """
    live = np.array(coreachable(table.tolist(), accepts.tolist()), dtype=np.bool_)
    rows = np.where(live[table], table, DEAD).tolist()
    kept, reached = explore(
        [DEAD, *(begin for begin in begins if live[begin])], lambda state: rows[state]
    )
    numbers = {state: number for number, state in enumerate(kept)}
    accepting = accepts[kept]
    blocks = refine(np.array(reached, dtype=np.int32), accepting.tolist())
    merged, members = merge_states(np.array(reached, dtype=np.int32), blocks)
    narrow, moves = merge_columns(classes, np.ascontiguousarray(merged[:, :-2]))
    automaton = OrderedAutomaton(
        narrow,
        moves,
        accepting[members],
        np.ascontiguousarray(merged[:, -2]),
        np.ascontiguousarray(merged[:, -1]),
    )
    return automaton, [blocks[numbers[begin]] if live[begin] else DEAD for begin in begins]


def restricted(
    automaton: OrderedAutomaton, begins: Sequence[int], letters: Sequence[int]
) -> tuple[OrderedAutomaton, list[int]]:
    """Return an automaton over some of its letters, in that order, and where expressions begin."""
    moves = automaton.table[:, automaton.classes[list(letters)]]
    ends = np.stack([automaton.confirmed, automaton.denied], axis=1)
    table = np.concatenate([moves, ends], axis=1).astype(np.int32)
    return smaller(np.arange(len(letters), dtype=np.int32), table, automaton.accepts, begins)
