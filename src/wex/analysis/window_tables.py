"""Tables of one window for the analysis: its automata over classes of grams, and its clauses.

Clauses that a finite automaton can express are worked into the tables: `keep shortest` removes a
start after its first window; for `within N events`, and for a `having` that compares `count()`,
the states count the events of a window. Under `keep preferred` and `keep leftmost` the states are those of
the ordered automaton.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wex.analysis.lifetimes import DEAD, heaviest
from wex.analysis.own_letters import over_events, time_limit
from wex.automata.dfa import common_classes
from wex.automata.explore import coreachable, explore
from wex.automata.preference import DEAD as NO_WAY
from wex.compile.clauses import NO_CLAUSES
from wex.compile.normal_form import NONE
from wex.spec import tree
from wex.stages import compile_window
from wex.theory.evaluate import truth
from wex.theory.letters import guard_of_letters
from wex.theory.terms import Comparison, Constant, Field, Guard, atoms
from wex.theory.translate import guard_of
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from wex.compile.clauses import Clauses
    from wex.compile.normal_form import NormalForm
    from wex.compile.preference import PreferenceForm
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning
    from wex.theory.terms import Guard

LONG = 200  # events: starts that live longer are not counted one by one
MOST_COUNTED = 20_000  # states of a window automaton that counts events


# --- A window


@dataclass(frozen=True)
class AnalysedWindow:
    """A window: its tables by state and class, with `DEAD` for no state, and its clauses.

    `first` is the position of the first gram, `masks` are the letters of each class,
    `prefix[state][class]` and `moves[state][class]` the next states of the prefix and window
    automaton, `starts[prefix state]` the window state where a start begins. `until[class]` tells
    whether an event makes windows end before it. `counted` tells whether the states count events;
    otherwise `within N events` only limits the bounds. If predicates with aggregates limit the time of
    a window, `within_time` is that limit, and a start lives for at most `behind` events more.
    """

    name: str
    first: int
    lookback: int
    masks: tuple[int, ...]
    compiled: CompiledWindow
    prefix: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]
    final: tuple[bool, ...]
    until: tuple[bool, ...] | None
    clauses: Clauses
    counted: bool
    behind: int = 0

    @cached_property
    def classes(self) -> tuple[Guard, ...]:
        """Return a guard for each class of grams."""
        return tuple(guard_of_letters(self.compiled.letters, mask) for mask in self.masks)

    @cached_property
    def successors(self) -> list[Set[int]]:
        """Return the states that can follow each window state."""
        return [set(row) - {DEAD} for row in self.moves]

    @cached_property
    def first_states(self) -> Set[int]:
        """Return the window states that a start can be in after its first event."""
        entries = set(self.starts) - {DEAD}
        return {after for entry in entries for after in self.successors[entry]}

    @cached_property
    def longest_life(self) -> int | None:
        """Return for how many events a start can be held, or None if there is no bound."""
        return heaviest(self.successors, self.first_states, lambda _: 1)

    @property
    def long_lived(self) -> bool:
        """Tell whether starts live long, but not for ever."""
        return self.longest_life is not None and self.longest_life > LONG

    @cached_property
    def most_windows(self) -> int | None:
        """Return how many windows a start can have, or None if there is no bound."""
        return heaviest(self.successors, self.first_states, lambda state: int(self.final[state]))

    @property
    def in_order(self) -> bool:
        """Tell whether `keep` makes a start depend on the starts before it."""
        return self.clauses.oldest_wins

    @property
    def faithful(self) -> bool:
        """Tell whether the tables express all clauses."""
        if self.clauses.keep == "leftmost":
            return False  # the tables do not say which starts are skipped
        # Clauses that the tables do not know yet are not expressed, so that no answer is wrong.
        rest = replace(self.clauses, until=False, or_end=False, keep="all")
        return (replace(rest, within_events=None) if self.counted else rest) == NO_CLAUSES


def analysed_window(
    meaning: Meaning,
    index: int,
    *,
    planned: bool = False,
    least: bool = True,
    plain: bool = False,
) -> AnalysedWindow:
    """Return the tables of a window of a spec.

    With `planned` as a plan runs it, to which `having` tells nothing, and in its `least` form unless
    that is not wanted; with `plain` without `within` and `keep`.
    """
    by_start = compile_window(meaning, index, least=planned and least)
    compiled = over_events(by_start, planned=planned)
    form, preference = compiled.form, compiled.preference
    reading = reading_of(compiled)
    clauses = compiled.clauses
    if plain:
        keep = clauses.keep if clauses.prefers else "all"
        clauses = replace(clauses, keep=keep, within_events=None)
    limit = None if plain or clauses.within_events is not None else time_limit(by_start)
    if limit is not None and not (
        clauses.within_time is not None and clauses.within_time <= limit.duration
    ):
        clauses = replace(clauses, within_time=limit.duration)
    else:
        limit = None
    until = reading.until
    if preference is not None:
        tables = _preferring(preference, reading.columns, until, having=clauses.having)
    else:
        tables = form_tables(form, reading.columns)
    having = not (planned or plain or clauses.prefers)
    lengths = lengths_of(meaning, index, clauses, having=having)
    counted = lengths is not None and lengths.enough * len(tables.moves) <= MOST_COUNTED
    if lengths is not None and counted:
        tables = counting_events(tables, lengths)
        by_count = not (planned or plain or clauses.prefers)
        if by_count and _lengths_of_having(meaning, index) is not None:
            clauses = replace(clauses, having=False)  # it is part of the tables now
    # `having` comes before `keep`, so a start may keep another window than its first.
    if clauses.ends_after_first:
        tables = ends_after_first(tables, until)
    return _with_tables(
        compiled,
        reading,
        tables,
        clauses,
        counted=counted,
        # A plan holds a start up to the event behind its longest window, which decides about it.
        behind=0 if limit is None else limit.behind + (planned and clauses.until),
    )


def without_clauses(compiled: CompiledWindow, reading: Reading | None = None) -> AnalysedWindow:
    """Return the tables of a window without the clauses that end starts, but for `until`."""
    reading = reading or reading_of(compiled)
    if compiled.preference is None:
        tables = form_tables(compiled.form, reading.columns)
    else:
        tables = _preferring(compiled.preference, reading.columns, reading.until, having=False)
    return _with_tables(compiled, reading, tables, compiled.clauses, counted=False)


def _with_tables(
    compiled: CompiledWindow,
    reading: Reading,
    tables: Tables,
    clauses: Clauses,
    *,
    counted: bool,
    behind: int = 0,
) -> AnalysedWindow:
    return AnalysedWindow(
        name=compiled.window.name.text,
        first=compiled.lookback if compiled.window.unpadded else 0,
        lookback=compiled.lookback,
        masks=reading.masks,
        compiled=compiled,
        prefix=reading.prefix,
        starts=tables.starts,
        moves=tuple(tables.moves),
        final=tables.final,
        until=reading.until,
        clauses=clauses,
        counted=counted,
        behind=behind,
    )


@dataclass(frozen=True)
class Reading:
    """How the automata of a window read letters: `of_letter` is the class of each letter.

    Letters of one class act alike. `columns` are the columns of the window automaton for the
    classes, `prefix` are the rows of the prefix automaton.
    """

    of_letter: tuple[int, ...]
    columns: tuple[int, ...]
    prefix: tuple[tuple[int, ...], ...]
    until: tuple[bool, ...] | None

    @property
    def masks(self) -> tuple[int, ...]:
        """Return the letters of each class, as sets."""
        masks = [0] * len(self.columns)
        for letter, cls in enumerate(self.of_letter):
            masks[cls] |= 1 << letter
        return tuple(masks)


def reading_of(compiled: CompiledWindow, apart: Sequence[int] | None = None) -> Reading:
    """Return how a window reads letters; those with different numbers in `apart` do not act alike."""
    form, preference, until = compiled.form, compiled.preference, compiled.until
    follows = [
        until is not None and bool(until >> letter & 1) for letter in range(len(compiled.letters))
    ]
    prefix = form.prefix if preference is None else preference.prefix
    inner = form.window.classes if preference is None else preference.ways.classes
    of_letter, keys = common_classes(
        prefix.classes.tolist(), inner.tolist(), follows, apart or [0] * len(follows)
    )
    return Reading(
        tuple(of_letter),
        tuple(cls for _, cls, _, _ in keys),
        tuple(map(tuple, prefix.table[:, [cls for cls, _, _, _ in keys]].tolist())),
        None if until is None else tuple(bool(flag) for _, _, flag, _ in keys),
    )


# --- Tables with clauses worked into them


@dataclass(frozen=True)
class Tables:
    """The part of a window's tables that clauses change."""

    moves: list[tuple[int, ...]]
    final: tuple[bool, ...]
    starts: tuple[int, ...]


def form_tables(form: NormalForm, columns: Sequence[int]) -> Tables:
    """Return the tables of a normal form over classes of letters."""
    inside = form.window.table[:, list(columns)]
    return Tables(
        [tuple(row) for row in np.where(form.window.live[inside], inside, DEAD).tolist()],
        tuple(map(bool, form.window.final)),
        tuple(int(state) if state != NONE else DEAD for state in form.starts),
    )


def _preferring(
    form: PreferenceForm, columns: Sequence[int], until: Sequence[bool] | None, *, having: bool
) -> Tables:
    """Return the tables of an ordered automaton: a start is in a state until its window is decided.

    A state is final if the window that ends there becomes the candidate of the start; an event
    that `until` asks for confirms it. What `having` denies is not known: no window ends a way then.
    """
    ways = form.ways
    rows = []
    for state in range(ways.states):
        row = []
        for number, cls in enumerate(columns):
            confirms = not having and (until is None or until[number])
            left = ways.confirmed[state] if confirms else ways.denied[state]
            after = int(ways.table[left, cls])
            row.append(DEAD if after == NO_WAY else after)
        rows.append(tuple(row))
    starts = tuple(int(state) if state != NONE else DEAD for state in form.starts)
    return Tables(rows, tuple(map(bool, ways.accepts)), starts)


def ends_after_first(tables: Tables, until: Sequence[bool] | None) -> Tables:
    """Return tables in which a start ends with its first window, for `keep shortest`."""
    # A window has at least one event: copies of the initial states are not final.
    initial = sorted(set(tables.starts) - {DEAD})
    fresh = {state: number for number, state in enumerate(initial, len(tables.moves))}
    moves = [*tables.moves, *(tables.moves[state] for state in fresh)]
    final = tables.final + (False,) * len(fresh)
    rows = [
        tuple(
            DEAD if final[state] and (until is None or until[cls]) else after
            for cls, after in enumerate(row)
        )
        for state, row in enumerate(moves)
    ]
    return Tables(rows, final, tuple(fresh.get(state, DEAD) for state in tables.starts))


def counting_events(tables: Tables, lengths: Lengths) -> Tables:
    """Return tables whose states count the events of a window.

    A start goes on only while it has enough events left to reach a window. A plan knows that, too.
    """
    dead = (DEAD, 0)

    def successors(state: tuple[int, int]) -> list[tuple[int, int]]:
        inner, count = state
        if inner == DEAD or count == lengths.most:
            return [dead] * len(tables.moves[0])
        more = min(count + 1, lengths.enough)
        return [(after, more) if after != DEAD else dead for after in tables.moves[inner]]

    initial = [(state, 0) for state in dict.fromkeys(tables.starts) if state != DEAD]
    states, table = explore(initial or [dead], successors)
    final = [
        inner != DEAD and tables.final[inner] and lengths.allowed(count) for inner, count in states
    ]
    live = coreachable(table, final)
    numbers = {state: number for number, state in enumerate(states)}

    def number(state: int) -> int:
        if state == DEAD or not live[numbers[state, 0]]:
            return DEAD
        return numbers[state, 0]

    rows = [tuple(after if live[after] else DEAD for after in row) for row in table]
    return Tables(rows, tuple(final), tuple(map(number, tables.starts)))


# --- Lengths of windows


@dataclass(frozen=True)
class Lengths:
    """The lengths that a window may have, in events; from `enough` on all are treated alike."""

    enough: int
    allowed: Callable[[int], bool]
    most: int | None  # longer windows are dropped
    by_having: bool = False  # `having` asks for nothing else


def lengths_of(meaning: Meaning, index: int, clauses: Clauses, *, having: bool) -> Lengths | None:
    """Return the lengths that `within N events` and `having` allow, or None if all are allowed."""
    own = _lengths_of_having(meaning, index) if having else None
    most = clauses.within_events
    if own is None:
        return None if most is None else Lengths(most, lambda _: True, most)
    return own if most is None else Lengths(most, own.allowed, most, by_having=True)


def _lengths_of_having(meaning: Meaning, index: int) -> Lengths | None:
    """Return the lengths that `having` allows, if it compares nothing but the count of events."""
    window = meaning.expanded.windows[index]
    if window.having is None:
        return None
    counts = {
        measure.name.text
        for measure in window.measures
        if isinstance(measure.value, tree.Call)
        and measure.value.name.text == "count"
        and not measure.value.args
        and not measure.value.filter
    }
    having = guard_of(window.having, meaning.measures[index])
    numbers = [0]
    for atom in atoms(having):
        match atom:
            case Comparison(_, Field(name), Constant(int() as value)) | Comparison(
                _, Constant(int() as value), Field(name)
            ) if name in counts:
                numbers.append(value)
            case _:
                return None
    return Lengths(max(numbers) + 1, lambda n: _holds(having, counts, n), None, by_having=True)


def _holds(having: Guard, counts: set[str], length: int) -> bool:
    return bool(truth(having, [dict.fromkeys(counts, length)]))
