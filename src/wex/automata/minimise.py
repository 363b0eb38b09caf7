"""Minimal automata, by Hopcroft's refinement of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import DFA, common_classes
from wex.automata.explore import explore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def minimise(dfa: DFA) -> DFA:
    """Return the minimal automaton of the same language, its states in the order of exploration."""
    states, _ = explore([0], dfa.table.tolist().__getitem__)
    reached = np.array(states, dtype=np.int64)
    table = _renumbered(dfa.table, reached)
    final = dfa.final[reached]
    blocks = refine(table, final.tolist())
    return _quotient(dfa.classes, table, final, blocks)


def _quotient(
    classes: NDArray[np.int32],
    table: NDArray[np.int32],
    final: NDArray[np.bool_],
    blocks: list[int],
) -> DFA:
    merged, members = merge_states(table, blocks)
    narrow, width = merge_columns(classes, merged)
    return DFA(narrow, width, final[members])


def merge_states(
    table: NDArray[np.int32], blocks: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the table of the blocks, and one state of each block; state 0 is in block 0."""
    order = np.array(blocks, dtype=np.int64)
    _, members = np.unique(order, return_index=True)
    return order[table[members]].astype(np.int32), members


def merge_columns(
    classes: NDArray[np.int32], table: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return classes and table with equal columns merged."""
    if not table.shape[1]:
        return classes, table
    first: dict[bytes, int] = {}
    grouping = [
        first.setdefault(column.tobytes(), number)
        for number, column in enumerate(np.ascontiguousarray(table.T))
    ]
    merged, groups = common_classes([grouping[cls] for cls in classes.tolist()])
    columns = [group for (group,) in groups]
    return np.array(merged, dtype=np.int32), np.ascontiguousarray(table[:, columns])


def _renumbered(table: NDArray[np.int32], kept: NDArray[np.int64]) -> NDArray[np.int32]:
    number = np.full(len(table), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    return number[table[kept]]


def refine(table: NDArray[np.int32], labels: Sequence[object]) -> list[int]:
    """Return the coarsest partition of states that respects labels and transitions.

    Blocks are numbered in the order of their first states. States that no cycle leads to, such as
    those of a long count, are classified one by one, each after its successors; the others by
    splitting blocks. Splitting costs no more than the smaller part of a block, so a chain of n
    states takes about n log n steps instead of n squared.
    """
    rows = table.tolist()
    front = _front(rows)
    if not front:
        blocks = _split(table, labels)
    else:
        blocks = [-1] * len(rows)
        ahead = set(front)
        rest = [state for state in range(len(rows)) if state not in ahead]
        inner = _renumbered(table, np.array(rest, dtype=np.int64))
        inner_blocks = _split(inner, [labels[state] for state in rest])
        for state, block in zip(rest, inner_blocks, strict=True):
            blocks[state] = block
        known = {_signature(labels, rows, blocks, state): blocks[state] for state in rest}
        for state in reversed(front):
            key = _signature(labels, rows, blocks, state)
            blocks[state] = known.setdefault(key, len(known))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(block, len(numbers)) for block in blocks]


def _signature(
    labels: Sequence[object], rows: list[list[int]], blocks: list[int], state: int
) -> tuple[object, ...]:
    return (labels[state], *[blocks[after] for after in rows[state]])


def _front(rows: list[list[int]]) -> list[int]:
    """Return the states that no cycle leads to, each before its successors."""
    entered = [0] * len(rows)
    following = [set(targets) for targets in rows]
    for row in following:
        for after in row:
            entered[after] += 1
    front = [state for state, count in enumerate(entered) if not count]
    for state in front:  # grows while it is read
        for after in following[state]:
            entered[after] -= 1
            if not entered[after]:
                front.append(after)
    return front


def _split(table: NDArray[np.int32], labels: Sequence[object]) -> list[int]:
    """Return the coarsest partition by Hopcroft's algorithm."""
    partition = _Partition(labels)
    before = _predecessors(table)
    waiting = list(range(len(partition.begin)))
    queued = set(waiting)
    while waiting:
        block = waiting.pop()
        queued.discard(block)
        splitter = partition.members(block)
        for column in before:
            touched = [state for after in splitter for state in column[after]]
            for old, new in partition.split(touched):
                if old in queued:
                    fresh = new
                else:
                    fresh = new if partition.size(new) <= partition.size(old) else old
                queued.add(fresh)
                waiting.append(fresh)
    return partition.block_of


def _predecessors(table: NDArray[np.int32]) -> list[list[list[int]]]:
    """Return for each column and state the states that go there."""
    before: list[list[list[int]]] = []
    for column in table.T.tolist():
        lists: list[list[int]] = [[] for _ in range(len(table))]
        for state, after in enumerate(column):
            lists[after].append(state)
        before.append(lists)
    return before


class _Partition:
    """A partition of states into blocks; each block is a slice of one array, so splitting is cheap."""

    def __init__(self, labels: Sequence[object]) -> None:
        numbers: dict[object, int] = {}
        self.block_of = [numbers.setdefault(label, len(numbers)) for label in labels]
        self.order = sorted(range(len(labels)), key=self.block_of.__getitem__)
        self.place = [0] * len(labels)
        for place, state in enumerate(self.order):
            self.place[state] = place
        counts = [0] * len(numbers)
        for block in self.block_of:
            counts[block] += 1
        self.begin: list[int] = []
        self.end: list[int] = []
        end = 0
        for count in counts:
            self.begin.append(end)
            end += count
            self.end.append(end)

    def members(self, block: int) -> list[int]:
        return self.order[self.begin[block] : self.end[block]]

    def size(self, block: int) -> int:
        return self.end[block] - self.begin[block]

    def split(self, touched: list[int]) -> list[tuple[int, int]]:
        """Separate the touched states of every block from the others; return (old, new) blocks."""
        marked: dict[int, int] = {}
        for state in touched:
            block = self.block_of[state]
            count = marked.get(block, 0)
            self._swap(state, self.begin[block] + count)
            marked[block] = count + 1
        parted = []
        for block, count in marked.items():
            if count < self.size(block):
                parted.append((block, self._part(block, count)))
        return parted

    def _swap(self, state: int, target: int) -> None:
        place, other = self.place[state], self.order[target]
        self.order[place], self.order[target] = other, state
        self.place[other], self.place[state] = place, target

    def _part(self, block: int, count: int) -> int:
        new = len(self.begin)
        middle = self.begin[block] + count
        self.begin.append(self.begin[block])
        self.end.append(middle)
        self.begin[block] = middle
        for state in self.order[self.begin[new] : middle]:
            self.block_of[state] = new
        return new
