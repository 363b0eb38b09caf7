"""The window automaton as tables by class, and the clauses that can be worked into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.automata.crawl import coreachable, crawl
from wex.spec import tree
from wex.theory.evaluate import truth
from wex.theory.terms import Comparison, Constant, Field, Guard, atoms
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wex.spec import Meaning

DEAD = -1


@dataclass(frozen=True)
class Tables:
    """`moves[state][class]` is the next state; `starts[prefix state]` where a start begins."""

    moves: list[tuple[int, ...]]
    final: tuple[bool, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Lengths:
    """Which lengths a window may have; from `enough` on all are alike."""

    enough: int
    allowed: Callable[[int], bool]
    most: int | None  # events: no longer one is followed


def spent(tables: Tables, until: Sequence[bool] | None) -> Tables:
    """Return tables in which a start is gone with its first window, as `keep shortest` has it."""
    # A window has an event at least: where starts begin, none has ended yet.
    begins = sorted(set(tables.starts) - {DEAD})
    fresh = {each: len(tables.moves) + at for at, each in enumerate(begins)}
    moves = [*tables.moves, *(tables.moves[each] for each in fresh)]
    final = tables.final + (False,) * len(fresh)
    rows = [
        tuple(
            DEAD if final[state] and (until is None or until[cls]) else after
            for cls, after in enumerate(row)
        )
        for state, row in enumerate(moves)
    ]
    return Tables(rows, final, tuple(fresh.get(each, DEAD) for each in tables.starts))


def counting(tables: Tables, lengths: Lengths, *, planned: bool) -> Tables:
    """Return tables that count the events of a window in the states.

    A plan drops what has become too long, and looks no further ahead (`planned`).
    """
    dead = (DEAD, 0)

    def successors(state: tuple[int, int]) -> list[tuple[int, int]]:
        at, count = state
        if at == DEAD or count == lengths.most:
            return [dead] * len(tables.moves[0])
        after = min(count + 1, lengths.enough)
        return [(each, after) if each != DEAD else dead for each in tables.moves[at]]

    begins = [(each, 0) for each in dict.fromkeys(tables.starts) if each != DEAD]
    states, table = crawl(begins or [dead], successors)
    final = [at != DEAD and tables.final[at] and lengths.allowed(count) for at, count in states]
    live = coreachable(table, final)
    if planned:
        live = [at != DEAD for at, _ in states]
    numbers = {state: number for number, state in enumerate(states)}

    def number(state: int) -> int:
        found = DEAD if state == DEAD else numbers[state, 0]
        return found if found == DEAD or live[found] else DEAD

    rows = [tuple(after if live[after] else DEAD for after in row) for row in table]
    return Tables(rows, tuple(final), tuple(map(number, tables.starts)))


def lengths_of_having(meaning: Meaning, at: int) -> Lengths | None:
    """Return which lengths `having` lets pass, if it compares nothing but the count of events."""
    window = meaning.expanded.windows[at]
    if window.having is None:
        return None
    counts = {
        each.name.text
        for each in window.measures
        if isinstance(each.value, tree.Call)
        and each.value.name.text == "count"
        and not each.value.args
        and not each.value.filter
    }
    having = guard_of(window.having, meaning.measures[at])
    numbers = [0]
    for atom in atoms(having):
        match atom:
            case Comparison(_, Field(name), Constant(int() as value)) | Comparison(
                _, Constant(int() as value), Field(name)
            ) if name in counts:
                numbers.append(value)
            case _:
                return None
    return Lengths(max(numbers) + 1, lambda n: _holds(having, counts, n), None)


def _holds(having: Guard, counts: set[str], length: int) -> bool:
    return bool(truth(having, [dict.fromkeys(counts, length)]))
