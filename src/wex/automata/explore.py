"""Breadth-first exploration: the one loop behind every automaton, graph and shortest path here."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

from wex import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

State = TypeVar("State", bound="Hashable")
Label = TypeVar("Label")
ROOT = -1  # the parent of the states where an exploration begins
FAR = 1 << 60  # more events than any stream has


class Exploration(dict[State, int], Generic[State, Label]):
    """A dictionary that numbers states in the order of their discovery.

    Iterating yields the states breadth first, including those that the loop adds. `numbers[state]`
    gives a new state the next number. `reach` does the same for a successor of the current state
    and notes the label of the edge, from which `path_to` rebuilds a shortest path. `check` is called
    before each state with the number of states so far; to stop the exploration it raises an
    exception.

    >>> numbers = Exploration([1])
    >>> for n in numbers:
    ...     for factor in (2, 3):
    ...         numbers.reach(n * factor % 7, factor)
    >>> numbers.states, numbers.path_to(numbers[5])
    ([1, 2, 3, 4, 6, 5], [2, 2, 3])
    """

    def __init__(
        self, initial: Iterable[State] = (), check: Callable[[int], None] | None = None
    ) -> None:
        super().__init__()
        self.states: list[State] = []
        self.parents: dict[
            int, tuple[int, Label]
        ] = {}  # (source, label) by number, noted by `reach`
        self._source = ROOT
        self._check = check
        self.add(initial)

    def __iter__(self) -> Iterator[State]:
        check = self._check
        for number, state in enumerate(self.states):
            self._source = number
            if check is not None:
                check(len(self.states))
            yield state

    def __missing__(self, state: State) -> int:
        number = self[state] = len(self.states)
        self.states.append(state)
        return number

    def add(self, states: Iterable[State]) -> None:
        """Give numbers to the states that are new."""
        for state in states:
            self[state]

    def reach(self, state: State, label: Label) -> None:
        """Give a number to a successor of the current state if it is new, and note the label."""
        if state not in self:
            self.parents[self[state]] = (self._source, label)

    def path_to(self, number: int) -> list[Label]:
        """Return the labels on a shortest path from an initial state to a state."""
        path: list[Label] = []
        while number in self.parents:
            number, label = self.parents[number]
            path.append(label)
        return path[::-1]


def explore(
    initial: Iterable[State],
    successors: Callable[[State], Iterable[State]],
    check: Callable[[int], None] | None = None,
) -> tuple[list[State], list[list[int]]]:
    """Return all states reachable from the initial ones, and for each the numbers of its successors.

    States are numbered in the order of their discovery, the initial ones first. Without `check`
    the limit on the states of an automaton applies.

    >>> explore([1], lambda n: [n * 2 % 6, n + 1 if n < 3 else n])
    ([1, 2, 4, 3, 0], [[1, 1], [2, 3], [1, 2], [4, 3], [4, 0]])
    """
    numbers: Exploration[State, None] = Exploration(initial, check or _state_limit())
    table = [[numbers[after] for after in successors(state)] for state in numbers]
    return numbers.states, table


def _state_limit() -> Callable[[int], None]:
    most = limits.current().states

    def check(count: int) -> None:
        if count > most:
            limits.require("states", count, "the states of an automaton")

    return check


def shortest(
    first: Iterable[tuple[Label | None, State]],
    successors: Callable[[State], Iterable[tuple[Label, State]]],
    is_goal: Callable[[State], bool],
    check: Callable[[int], None] | None = None,
) -> tuple[State, list[Label]] | None:
    """Return the nearest goal and the labels on a shortest path to it, or None if there is none.

    `first` are the states to begin with, each with the label of an edge into it, or None.

    >>> shortest([(None, 1)], lambda n: [("double", 2 * n), ("add", n + 1)], lambda n: n == 10)
    (10, ['double', 'double', 'add', 'double'])
    """
    numbers: Exploration[State, Label] = Exploration(check=check)
    for label, state in first:
        if label is None:
            numbers.add([state])
        else:
            numbers.reach(state, label)
    reach = numbers.reach
    for state in numbers:
        if is_goal(state):
            return state, numbers.path_to(numbers[state])
        for label, after in successors(state):
            reach(after, label)
    return None


def distances(
    graph: Iterable[tuple[State, Iterable[State]]], goals: Iterable[State]
) -> dict[State, int]:
    """Return the least number of steps to a goal, for the states from which one can be reached.

    `graph` is pairs (state, successors).

    >>> distances([(0, [1]), (1, [1]), (2, [0, 2]), (3, [3])], [1])
    {1: 0, 0: 1, 2: 2}
    """
    predecessors: defaultdict[State, list[State]] = defaultdict(list)
    for state, row in graph:
        for after in row:
            predecessors[after].append(state)
    steps = dict.fromkeys(goals, 0)
    pending = deque(steps)
    while pending:
        after = pending.popleft()
        for before in predecessors.get(after, ()):
            if before not in steps:
                steps[before] = steps[after] + 1
                pending.append(before)
    return steps


def backwards(graph: Iterable[tuple[State, Iterable[State]]], goals: Iterable[State]) -> set[State]:
    """Return the states from which a goal can be reached; `graph` is pairs (state, successors).

    >>> sorted(backwards([(0, [1]), (1, [1]), (2, [0]), (3, [3])], [1]))
    [0, 1, 2]
    """
    return set(distances(graph, goals))


def coreachable(table: Sequence[Sequence[int]], final: Sequence[bool]) -> list[bool]:
    """Tell of each state of a table whether a final one can be reached from it.

    >>> coreachable([[1], [1], [0]], [False, True, False])
    [True, True, True]
    """
    live = backwards(enumerate(table), _numbers(final))
    return [state in live for state in range(len(table))]


def steps_ahead(
    graph: Mapping[State, Iterable[State]], goals: Iterable[State], *, later: bool
) -> dict[State, int]:
    """Return the least number of steps to a goal, for the states from which one can be reached.

    With `later` at least one: a state that is a goal itself does not count.

    >>> steps_ahead({0: [1], 1: [2], 2: [], 3: [3]}, [1, 2], later=False)
    {1: 0, 2: 0, 0: 1}
    >>> steps_ahead({0: [1], 1: [2], 2: [], 3: [3]}, [1, 2], later=True)
    {0: 1, 1: 1}
    """
    steps = distances(graph.items(), goals)
    if not later:
        return steps
    following = {
        state: [1 + steps[after] for after in row if after in steps] for state, row in graph.items()
    }
    return {state: min(row) for state, row in following.items() if row}


def events_ahead(
    table: Sequence[Sequence[int]], final: Sequence[bool], *, later: bool
) -> list[int]:
    """Return how many events each state of a table is from a final one at least, or FAR.

    With `later` at least one: a state that is final itself does not count. Numbers that are no states
    may stand for a dead one.

    >>> events_ahead([[1], [2], [-1]], [False, True, True], later=False)
    [1, 0, 0]
    >>> events_ahead([[1], [2], [-1]], [False, True, True], later=True)[:2]
    [1, 1]
    """
    steps = steps_ahead(dict(enumerate(table)), _numbers(final), later=later)
    return [steps.get(state, FAR) for state in range(len(table))]


def _numbers(final: Sequence[bool]) -> list[int]:
    return [state for state, accepts in enumerate(final) if accepts]
