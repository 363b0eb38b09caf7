"""Events of several rounds that a solver chooses, together with the way of a start through the automata.

In the rounds all events are the same, or numbers rise or fall by the same from each to the next. From the round on in which grams show nothing but such events, each round
reads the same letters. The solver looks for a round after which the prefix automaton and the assumptions are in the
states before it, in which a start begins that survives, and for a tail in which it ends. Or for a start before the rounds that
has a window in each of them. What it finds is a proposal: `repetition_search.py` proves it.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.query import assumption_classes, assumptions_of, query_of
from wex.analysis.repetition import Repetition
from wex.analysis.window_tables import without_clauses
from wex.analysis.witness import complete_events, filler
from wex.automata.explore import distances
from wex.spec.types import INT, REAL, TIMESTAMP
from wex.theory.samples import constants_of, samples_of
from wex.theory.solver import UndecidedError
from wex.theory.terms import Field, atoms, fields, is_open, kind_of
from wex.theory.unrolling import Unrolling
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wex.analysis.rates import Rates
    from wex.analysis.regions.graph import Budget
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning
    from wex.theory.evaluate import Event
    from wex.theory.projection import Formula
    from wex.theory.unrolling import States

LONGEST = 6  # events of a round
STEMS = (
    0,
    2,
    5,
)  # events before the rounds, where a prefix or an assumption asks for something there
MOST_TAIL = 6
MOST_CLASSES = 128  # of events
FAR = 1_000  # rounds, after which all letters are to be the same
PER_CLASS = 10  # steps of work: to write down whether an event is of a class


class Goal(Enum):
    """What the rounds are to show."""

    LASTING = auto()  # each adds a start that survives
    ENDING = auto()  # and the tail ends them
    REPORTING = auto()  # one start has a window in each round


class Moves(Enum):
    """Where numbers may be higher or lower, the more rounds there are."""

    NOTHING = auto()
    ALL = auto()  # in the rounds, and in the tail with the last of them
    ROUNDS = auto()


class RepetitionSolver:
    """The search for repeated events of one window by a solver."""

    def __init__(
        self, meaning: Meaning, compiled: CompiledWindow, rates: Rates, budget: Budget
    ) -> None:
        self.meaning = meaning
        self.budget = budget
        self.window = without_clauses(compiled)
        self.assumption = assumptions_of(meaning)
        own = [self.assumption] if self.assumption else []
        self.query = query_of(meaning, [self.window], own, rates=rates)
        order = meaning.spec.stream.order_by
        self.clock = order[0].text if order else None

    def proposals(self, goal: Goal) -> Iterator[Repetition]:
        """Yield events whose repetition may make starts or windows accumulate."""
        every = [atom for guard in self.query.guards() for atom in atoms(guard)]
        linear_only = not any(is_open(atom, floating=False) for atom in every)
        if len(self.window.masks) > MOST_CLASSES or not linear_only:
            return  # of products of values z3 may think for minutes
        plain = len(self.window.prefix) == 1 and self.assumption is None
        stems = STEMS[:1] if plain and goal is not Goal.REPORTING else STEMS
        moves = [Moves.NOTHING]
        if self.moving:
            moves += [Moves.ALL] if goal is not Goal.ENDING else [Moves.ALL, Moves.ROUNDS]
        for move, size, stem in product(moves, range(1, LONGEST + 1), stems):
            found = self._solved(stem, size, goal, move)
            if found is not None:
                yield found

    @cached_property
    def moving(self) -> list[str]:
        """Return the numbers that may rise or fall from round to round."""
        stream, types = self.meaning.spec.stream, self.meaning.fields
        fixed = {name.text for name in (*stream.partition_by, *stream.order_by)}
        read = {field.name for guard in self.query.guards() for field in fields(guard)}
        return [
            name
            for name, type_ in types.items()
            if name in read - fixed and type_ in (INT, REAL) and name not in self.query.bounds
        ]

    @cached_property
    def _ahead(self) -> int:
        """Return how many events the nearest end of a start is away at most."""
        window = self.window
        goals = [state for state, final in enumerate(window.final) if final]
        away = distances(enumerate(window.successors), goals)
        return min(MOST_TAIL, max(away.values(), default=0) + (window.until is not None))

    def _solved(self, stem: int, size: int, goal: Goal, moves: Moves) -> Repetition | None:
        """Return what the solver finds with so many events before the rounds, and so many in each."""
        rounds = _Rounds(self, stem, size, self._ahead if goal is Goal.ENDING else 0, moves)
        self.budget.check(steps=PER_CLASS * len(rounds.events) * len(self.window.masks))
        rounds.require(goal)
        events = rounds.solved(self.budget)
        if events is None:
            return None
        whole = [self._plain(event) for event in complete_events(self.query, events)]
        return Repetition(
            tuple(whole[stem : stem + size]),
            {
                **{name: size * tick for name, tick in self._ticks.items()},
                **rounds.unrolling.rises(),
            },
            tuple(whole[stem + size :]),
            back=moves is Moves.ROUNDS,
            clock=self.clock,
            before=tuple(whole[:stem]),
        )

    @cached_property
    def _ticks(self) -> dict[str, int]:
        """Return by how much the clock rises from event to event: only if nothing reads it, and it ends no start."""
        types, timed = self.meaning.fields, self.window.clauses.within_time is not None
        if self.clock not in self.query.rising or kind_of(types[self.clock]) == "text" or timed:
            return {}
        return {self.clock: self.query.rates.pace if types[self.clock] == TIMESTAMP else 1}

    def _plain(self, event: Event) -> Event:
        """Return an event whose columns that rise have their first value, but for the clock if it rises."""
        types = self.meaning.fields
        still = [name for name in self.query.rising if name not in self._ticks]
        return {**event, **{name: filler(types[name], 0) for name in still}}


class _Rounds:
    """A stem, rounds until all letters recur, and a tail: `events` has the number of each event in a stream."""

    def __init__(
        self, solver: RepetitionSolver, stem: int, size: int, tail: int, moves: Moves
    ) -> None:
        self.query, self.window, self.assumption = solver.query, solver.window, solver.assumption
        guards = self.query.guards()
        self.unrolling = Unrolling(samples_of(guards))
        self.constants = constants_of(guards)
        self.size, self.distinct = size, stem + size + tail
        # The rounds before the one that recurs, and where that one begins.
        again = -(-max(self.query.depth, self.query.levels) // size)
        self.last = stem + again * size
        cycle = [*range(stem, stem + size)]
        self.events = [*range(stem), *cycle * (again + 1), *range(stem + size, self.distinct)]
        turns = [turn for turn in range(again + 1) for _ in cycle]
        self.turns = [*[0] * stem, *turns, *[0 if moves is Moves.ROUNDS else again] * tail]
        self.moves = moves
        if moves is not Moves.NOTHING:
            self.unrolling.let_rise(solver.moving)
        read = dict.fromkeys(field.name for guard in guards for field in fields(guard))
        for number in range(self.distinct):
            symbols = self.unrolling.symbols(0, 0, partial(_always, number))
            for name in read:
                field = Field(name, 0, self.query.fields[name])
                self.unrolling.note(number, field, symbols.variable(field))
                self.unrolling.add(symbols.domain(field, self.query.bounds.get(name)))
        self.assumed = self.unrolling.initial()

    def solved(self, budget: Budget) -> list[Event] | None:
        """Return the events, each once, or None if there are none."""
        try:
            if self.unrolling.possible((), budget.count):
                return self.unrolling.events(self.distinct, self.constants)
        except UndecidedError:
            pass
        return None

    def require(self, goal: Goal) -> None:
        """Require a round that recurs, and a start as the goal asks for."""
        unrolling, window = self.unrolling, self.window
        prefix = entry = unrolling.initial()
        assumed = self.assumed
        letters: list[list[Formula]] = []  # of the window, in each event of the last round
        one: States = {}  # of a start that begins before that round
        begins: list[Formula] = []
        for position in range(self.last + self.size):
            if position == self.last:
                entry, assumed = prefix, self.assumed
            read = self._read(position)
            if read is None:
                continue  # a level without grams: they come before the last round
            if position < self.last and goal is Goal.REPORTING:
                begins.append(unrolling.choice())
                one = unrolling.moved(self._with_start(one, prefix, begins[-1]), read, self._moved)
            prefix = unrolling.moved(prefix, read, lambda state, cls: window.prefix[state][cls])
            if position >= self.last:
                letters.append(read)
        unrolling.same_states(entry, prefix)
        unrolling.same_states(assumed, self.assumed)
        reports = goal is Goal.REPORTING
        unrolling.at_most_one(begins)
        before = states = one if reports else self._with_start({}, entry)
        ends: list[Formula] = []
        for _ in range(-(-len(window.moves) // self.size) + 1):
            before, ends = states, []
            for own in letters:
                ends += self._confirmed(states, own)
                states = unrolling.moved(states, own, self._moved if reports else self._survived)
                ends += self._ended(states)
        unrolling.add(unrolling.either(states.values()))
        if goal is not Goal.LASTING:
            unrolling.same_states(before, states)
            unrolling.add(unrolling.either(ends if reports else self._ends(states)))

    def _with_start(self, states: States, prefix: States, chosen: Formula | None = None) -> States:
        """Return states with those of a start that begins by the prefix state, if it is chosen."""
        begun = (
            (
                self.window.starts[state],
                formula if chosen is None else self.unrolling.both(formula, chosen),
            )
            for state, formula in prefix.items()
            if self.window.starts[state] != DEAD
        )
        return self.unrolling.joined([*states.items(), *begun])

    def _survived(self, state: int, cls: int) -> int | None:
        """Return the state of a start that survives an event: no window removes it."""
        after = self._moved(state, cls)
        removes = self.window.clauses.keep in ("shortest", "disjoint")
        return None if after is None or (removes and self.window.final[after]) else after

    def _moved(self, state: int, cls: int) -> int | None:
        after = self.window.moves[state][cls]
        return None if after == DEAD else after

    def _ends(self, states: States) -> Iterator[Formula]:
        """Yield whether a start ends after the last round, or with an event of the tail."""
        yield from self._ended(states)
        for position in range(self.last + self.size, len(self.events)):
            read = self._read(position)
            assert read is not None
            yield from self._confirmed(states, read)
            states = self.unrolling.moved(states, read, self._moved)
            yield from self._ended(states)

    def _ended(self, states: States) -> list[Formula]:
        """Return the formulas of states in which a window ends with the event before."""
        window = self.window
        at_once = window.until is None or window.clauses.or_end
        return [own for state, own in states.items() if at_once and window.final[state]]

    def _confirmed(self, states: States, read: list[Formula]) -> Iterable[Formula]:
        """Return whether an event makes a window end before it, by `until`."""
        until = self.window.until
        if until is None:
            return ()
        finals = {state: own for state, own in states.items() if self.window.final[state]}
        return self.unrolling.moved(finals, read, lambda _, cls: 0 if until[cls] else None).values()

    def _read(self, position: int) -> list[Formula] | None:
        """Return whether an event is of each class of the window, and require that it conforms; None: no gram yet."""
        unrolling = self.unrolling
        level = min(position, self.query.levels - 1)
        own, *assumed = classes = self._classes(position, level)
        if position >= self.last and unrolling.rising:
            unrolling.equal(classes, self._classes(position, level, FAR))
        for read in assumed:
            if read is not None:
                self.assumed = unrolling.moved(self.assumed, read, self._conforming(level))
                unrolling.add(unrolling.either(self.assumed.values()))
        return own

    def _classes(self, position: int, level: int, later: int = 0) -> list[list[Formula] | None]:
        """Return for each reader whether an event is of each class, so many rounds later; and require the order."""
        unrolling = self.unrolling
        symbols = unrolling.in_turn(
            self.query.depth,
            level,
            lambda offset: self.events[position + offset],
            lambda offset: self._turn(position + offset, later),
        )
        if level:
            unrolling.add(*unrolling.truths([self.query.order], symbols))
        return [
            None if (classes := reader[level]) is None else unrolling.truths(classes, symbols)
            for reader in self.query.readers
        ]

    def _turn(self, position: int, later: int) -> int:
        """Return how often an event has come before, so many rounds later."""
        still = self.moves is Moves.ROUNDS and position >= self.last + self.size
        return self.turns[position] + (0 if still else later)

    def _conforming(self, level: int) -> Callable[[int, int], int | None]:
        """Return how the assumption moves at a level: None where the stream does not conform."""
        assumption = self.assumption
        assert assumption is not None
        classes = assumption_classes(assumption, level)

        def after(state: int, cls: int) -> int | None:
            moved = assumption.table[state][classes[cls][0]]
            return moved if assumption.live[moved] else None

        return after


def _always(number: int, _offset: int) -> int:
    return number
