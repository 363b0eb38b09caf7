"""The search for events whose repetition makes starts accumulate, and the proof that they do.

Automata do not know which starts their aggregates keep alive, and there may be too many regions: then growth
needs a stream. A solver proposes events (`repetition_solver.py`), or, where there are aggregates, events are
tried whose values are those that the predicates name, or near them. If all atoms keep their truth
(`repetition.py`), one start that survives as many rounds as there are states survives all of them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice, product
from typing import TYPE_CHECKING

from wex.analysis.lifetimes import DEAD
from wex.analysis.own_letters import OwnAutomaton
from wex.analysis.rates import SECOND, Rates
from wex.analysis.regions.query import assumptions_of
from wex.analysis.repetition import Repetition, keep_truth, plus, tested
from wex.analysis.repetition_solver import Goal, RepetitionSolver
from wex.analysis.witness import (
    OFFSETS,
    conforming_stream,
    filler,
    open_starts,
    own_letters,
    replayed_windows,
)
from wex.compile.normal_form import NONE
from wex.errors import DataError
from wex.reference.streams import Stream
from wex.reference.windows import Grams
from wex.spec.types import DATE, TIMESTAMP, UNITS
from wex.stages import compile_window
from wex.theory.samples import constants_of
from wex.theory.terms import (
    Arithmetic,
    Comparison,
    Constant,
    Guard,
    IsFirst,
    Negative,
    RunningTest,
    atoms,
    fields,
    kind_of,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wex.analysis.regions.graph import Budget
    from wex.spec import Meaning
    from wex.spec.types import Type
    from wex.theory.evaluate import Event, Value
    from wex.theory.terms import Term

MOST_EVENTS = 64  # that are tried, one by one
MOST_PAIRS = 200  # of events that are repeated
MOST_STATES = 64  # of an automaton: a start is followed for as many rounds
MOST_AGO = 8  # events that a predicate looks back
SIZES = (1, 2)  # of rounds whose events have values that the predicates name
MOST_TAIL = 2  # events behind the repeated ones
TURNS = 12  # rounds, of which it is counted how many windows they add
# Steps of work: a cycle is tried on a stream of many rounds, and takes longer if these are more.
PER_CYCLE, LONG = 150, 24
TICKS = {TIMESTAMP: SECOND}  # what is added to a field in each round, if it is not 1


@dataclass
class RepetitionSearch:
    """The search for a repetition with which the starts of a window accumulate."""

    meaning: Meaning
    index: int
    budget: Budget

    def __post_init__(self) -> None:
        self.compiled = compile_window(self.meaning, self.index)
        self.own = OwnAutomaton(self.compiled)
        self.assumption = assumptions_of(self.meaning)
        phases = self.assumption.phases if self.assumption else ()
        self.guards = list(
            dict.fromkeys(
                guard for letters in (self.compiled.letters, *phases) for guard in letters.guards
            )
        )
        self.running = any(isinstance(guard, RunningTest) for guard in self.guards)
        self.read = {part.name for guard in self.guards for part in fields(guard)}
        order = self.meaning.spec.stream.order_by
        self.clock = order[0].text if order else None
        self.rates = Rates.of([self.meaning])
        states = [len(self.own.moves()), len(self.own.starts)]
        states += [len(self.assumption.live)] if self.assumption else []
        self.rounds = max(states) + 2
        self.ago = max([self.compiled.lookback, *map(_ago, self.guards)])

    @property
    def feasible(self) -> bool:
        """Whether the window is one of those about which a repetition can prove something."""
        clauses = self.compiled.clauses
        timed = clauses.within_time is not None
        return (
            not (clauses.having or clauses.prefers)
            and clauses.within_events is None
            # Events of one round may be too many in a time, unless they are as far apart as rates ask for.
            and not (self.rates.limits and (timed or self.rates.clock in self.read))
            and self.rounds <= MOST_STATES + 2
            and self.ago <= MOST_AGO
        )

    def found(self, goal: Goal) -> Repetition | None:
        """Return a repetition that reaches a goal, or None."""
        finding = {
            Goal.LASTING: self.held,
            Goal.ENDING: self.open,
            Goal.REPORTING: self.reporting,
        }
        return finding[goal]()

    def held(self) -> Repetition | None:
        """Return a repetition of which every round adds a start that a plan holds for ever."""
        if not self.feasible:
            return None
        solved = () if self.running else self._surviving(self._solved(Goal.LASTING))
        return next(chain(solved, *map(self._lasting, SIZES)), None)

    def open(self) -> Repetition | None:
        """Return a repetition of which every round adds a start, and a tail that ends all of them."""
        if not self.feasible:
            return None
        solved = () if self.running else self._ending_as_solved()
        return next(chain(solved, *map(self._ending, SIZES)), None)

    def _ending(self, size: int) -> Iterator[Repetition]:
        """Yield repetitions of so many events with which all starts end, those without a tail first."""
        lasting = []
        for found in self._lasting(size):
            lasting.append(found)
            yield from self._proved(found, 0)
        for length in range(1, MOST_TAIL + 1):
            for found in lasting:
                yield from self._proved(found, length)

    def _ending_as_solved(self) -> Iterator[Repetition]:
        """Yield repetitions that the solver proposes, with as much of their tails as is needed."""
        for found in self._surviving(self._solved(Goal.ENDING)):
            for length in range(len(found.tail) + 1):
                whole = replace(found, tail=found.tail[:length])
                if self._all_end(whole):
                    yield whole
                    break

    def _solved(self, goal: Goal) -> Iterator[Repetition]:
        solver = RepetitionSolver(self.meaning, self.compiled, self.rates, self.budget)
        return solver.proposals(goal)

    def _proved(self, found: Repetition, length: int) -> Iterator[Repetition]:
        """Yield the repetition with tails of so many events with which all starts end, however many rounds there are."""
        return filter(self._all_end, self._ended(found, length))

    def _all_end(self, found: Repetition) -> bool:
        """Tell whether all settled starts end with the tail, however many rounds there are."""
        with suppress(DataError):  # a guard has no result for these events
            return self._is_steady(found) and self.with_open(found, self.rounds) is not None
        return False

    def _is_steady(self, found: Repetition) -> bool:
        return keep_truth(self.guards, found, self._first_round(found), self._grams)

    def _grams(self, events: list[Event]) -> Grams:
        """Return a stream as the grams that all guards see, those of assumptions included."""
        return Grams(Stream((), events, []), self.ago, pad=not self.compiled.window.unpadded)

    def with_open(self, found: Repetition, count: int) -> list[Event] | None:
        """Return a stream with so many open starts that are settled: others may be there for some rounds only."""
        rounds, first = self.rounds_for(found, count), self._first_round(found)
        events = found.stream(rounds)
        opened = open_starts(self.meaning, self.index, events, [found.ending(rounds)])
        return events if opened.issuperset(found.starts(range(first, first + count))) else None

    def held_stream(self, found: Repetition, count: int) -> list[Event]:
        """Return a stream on which a plan holds so many starts."""
        return found.stream(self.rounds_for(found, count))

    def lasting_if_held(self, found: Repetition) -> int:
        """Return a number of held starts of which one is held for ever, with one more of each round.

        A start that survives as many rounds as a plan has states survives all; those before the rounds that are alike
        and younger ones are fewer.
        """
        plan = OwnAutomaton(compile_window(self.meaning, self.index, least=True))
        rounds = self._first_round(found) + max(self.rounds, len(plan.moves()) + 2)
        return len(found.before) + len(found.events) * rounds + 1

    def rounds_for(self, found: Repetition, count: int) -> int:
        """Return how many rounds add so many starts that are settled."""
        return count + self._first_round(found) + found.settled

    def is_quadratic(self, found: Repetition) -> bool:
        """Tell whether each start has more windows, the more rounds there are: the number of windows grows ever faster."""
        shared = []
        for count in (TURNS, 2 * TURNS, 3 * TURNS):
            rounds = self.rounds_for(found, count)
            events = [*found.stream(rounds), *found.ending(rounds)]
            windows = replayed_windows(self.meaning, self.index, events) or ()
            shared.append(
                max(sum(b <= place <= e for b, e in windows) for place in range(len(events)))
            )
        few, more, most = shared
        return most - more > more - few + TURNS // 4

    # --- Windows of one start

    def reporting(self) -> Repetition | None:
        """Return a repetition in which one start has a window again and again."""
        if not self.feasible or self.running or self.compiled.clauses.keep != "all":
            return None
        for found in self._solved(Goal.REPORTING):
            self._check_budget()
            with suppress(DataError):
                if self._in_order(found) and self._is_steady(found) and self._reports(found):
                    return found
        return None

    def _reports(self, found: Repetition) -> bool:
        """Tell whether a start has windows for ever: it has some in more rounds than there are states.

        Between two of these rounds it comes back to a state.
        """
        first, size = self._first_round(found), len(found.events)
        windows = replayed_windows(self.meaning, self.index, found.stream(first + 2 * self.rounds))
        rounds: dict[int, set[int]] = {}
        for start, end in windows or ():
            turn = (end - len(found.before)) // size
            if turn >= first:
                rounds.setdefault(start, set()).add(turn)
        return any(len(turns) >= self.rounds for turns in rounds.values())

    def streams_reporting(self, found: Repetition, count: int) -> Iterator[list[Event]]:
        """Yield streams on which a start may have so many windows: one in each round, or in some of them."""
        for times in (1, self.rounds):
            yield found.stream(self._first_round(found) + self.rounds + times * count)

    # --- Which events are repeated

    def _lasting(self, size: int) -> Iterator[Repetition]:
        """Yield repetitions of so many events on which a start survives, and every round adds one."""
        return self._surviving(self._tried(size))

    def _surviving(self, proposals: Iterable[Repetition]) -> Iterator[Repetition]:
        """Yield the repetitions on which a start survives, and every round adds one."""
        for proposal in proposals:
            self._check_budget()
            found = None
            with suppress(DataError):  # a guard has no result for these events
                found = self._followed(proposal)
            if found is not None:
                yield found

    def _tried(self, size: int) -> Iterator[Repetition]:
        """Yield repetitions of so many events with values that the predicates name."""
        events = list(islice(self._events(), MOST_EVENTS))
        for cycle in islice(product(events, repeat=size), MOST_PAIRS):
            if size == 1 or len({tuple(event.values()) for event in cycle}) > 1:
                for steps in self._steps():
                    yield Repetition(cycle, steps, clock=self.clock)

    def _events(self) -> Iterator[Event]:
        """Yield events with values that the predicates name, and values beside them."""
        known = constants_of(_tests(self.guards))
        choices = [
            self._values(name, type_, known.get(name, []))
            for name, type_ in self.meaning.fields.items()
        ]
        for values in product(*choices):
            yield dict(zip(self.meaning.fields, values, strict=True))

    def _values(self, name: str, type_: Type, known: Sequence[Value]) -> list[Value]:
        if name not in self.read or name == self.clock:
            return [filler(type_, 0)]
        if type_.values:
            return list(type_.values)
        kind = kind_of(type_)
        if kind == "bool":
            return [True, False]
        if kind == "text":
            texts = [value for value in known if isinstance(value, str)]
            return list(dict.fromkeys([*texts, "a", "b"]))
        base = OFFSETS.get(type_, 0)
        numbers = [base + 1, base, base + 2]
        numbers += [
            int(value) + more
            for value in known
            if isinstance(value, int | Fraction) and -(2**40) < value < 2**40
            for more in (0, 1, -1, 2)
        ]
        real = kind == "real"
        return [float(number) if real else number for number in dict.fromkeys(numbers)]

    def _steps(self) -> Iterator[dict[str, int]]:
        """Yield what is added to the fields in each round: nothing, or a step to one of them.

        The clock rises, too, or stays as it is; if no predicate reads it, it rises.
        """
        keys = {name.text for name in self.meaning.spec.stream.partition_by}
        steps = {
            name: TICKS.get(type_, 1)
            for name, type_ in self.meaning.fields.items()
            if kind_of(type_) in ("whole", "real") and name not in keys
        }
        clocks: list[dict[str, int]] = [{}]
        if self.clock in steps and self.compiled.clauses.within_time is None:
            rising = {self.clock: max(steps[self.clock], self.rates.tick)}
            clocks = [{}, rising] if self.clock in self.read else [rising]
        yield from clocks
        for name, step in steps.items():
            if name in self.read and name != self.clock:
                for clock, sign in product(clocks, (1, -1)):
                    yield {**clock, name: sign * step}

    # --- The life of a start

    def _first_round(self, found: Repetition) -> int:
        """Return the round from which on all rounds are alike."""
        return 1 + -(-self.ago // len(found.events))

    def _followed(self, found: Repetition) -> Repetition | None:
        """Return a repetition with a start that survives, of which every round adds one; None if there is none."""
        clauses = self.compiled.clauses
        aging = clauses.within_time is not None and found.steps.get(self.clock or "")
        if aging or not self._in_order(found):
            return None
        for place in range(len(found.events)):
            followed = replace(found, place=place)
            states = self._life(followed)
            if states is not None:
                # There are more rounds than states.
                settled = next(age for age, own in enumerate(states) if own in states[age + 1 :])
                return replace(followed, settled=settled) if self._is_steady(followed) else None
        return None

    def _life(self, found: Repetition) -> list[int] | None:
        """Return the states of a start after each round; None if it dies, or some rounds have none."""
        first, size = self._first_round(found), len(found.events)
        grams = self._grams(found.stream(2 * first + self.rounds))
        removing = self.compiled.clauses.keep in ("shortest", "disjoint")
        (begun,) = found.starts([first])
        prefix, state, states = 0, DEAD, list[int]()
        places: list[int] = []  # the prefix state at this place of each round
        for position in grams.positions:
            if (position - begun) % size == 0 and position >= begun:
                places.append(prefix)
                states += [state] if position > begun else []
            if position == begun:
                state = self.own.starts[prefix]
                if state == NONE:
                    return None
            start = begun if position >= begun else position
            (letter,) = self._letters(grams, position, [start])
            shared = letter if not self.running else self._letters(grams, position, [position])[0]
            prefix = self.own.prefix.step(prefix, shared)
            if position < begun:
                continue
            state = self.own.step(state, letter)
            if state == DEAD or (removing and self.own.final(state)):  # its window removes it
                return None
        return states if len(set(places)) == 1 else None

    def _in_order(self, found: Repetition) -> bool:
        """Tell whether the events conform and are in order, for as many rounds as prove it for all."""
        rounds = self._first_round(found) + self.rounds
        events = [*found.stream(rounds), *found.ending(rounds)]
        return conforming_stream(self.meaning, events) is not None

    def _letters(self, grams: Grams, position: int, starts: Sequence[int]) -> list[int]:
        letters = own_letters(self.compiled.letters, grams, position, starts)
        return [letters[start] for start in starts]

    # --- Which events end it

    def _ended(self, found: Repetition, length: int) -> Iterator[Repetition]:
        """Yield the repetition with so many events that end three starts, each a round older than the next one."""
        candidates = list(islice(self._last_events(found.events[-1]), MOST_EVENTS))
        moves = any(step for name, step in found.steps.items() if name != self.clock)
        for tail, back in product(
            product(candidates, repeat=length), (False, True) if moves and length else (False,)
        ):
            self._check_budget()
            whole = replace(found, tail=tail, back=back)
            if self.with_open(whole, 3) is not None:
                yield whole

    def _check_budget(self) -> None:
        self.budget.check(steps=PER_CYCLE * (1 + self.rounds // LONG))

    def _last_events(self, last: Event) -> Iterator[Event]:
        known = constants_of(_tests(self.guards))
        choices: list[list[Value]] = []
        for name, type_ in self.meaning.fields.items():
            value, numbers = last[name], known.get(name, [])
            if name not in self.read and name != self.clock:
                choices.append([value])
            elif kind_of(type_) in ("whole", "real"):
                tick = SECOND if type_ == TIMESTAMP else 1
                unit = UNITS["day"] if type_ == DATE else 1  # of the difference of two values
                far = [
                    int(number) // unit + tick
                    for number in numbers
                    if isinstance(number, int | Fraction) and 0 < number < 2**50
                ]
                below = [-tick, -100 * tick] if name != self.clock else []
                moved = [0, *below, tick, *far, 100 * tick]
                choices.append([plus(value, more) for more in dict.fromkeys(moved)])
            else:
                choices.append(self._values(name, type_, numbers))
        for values in product(*choices):
            yield dict(zip(self.meaning.fields, values, strict=True))


def _tests(guards: Sequence[Guard]) -> list[Guard]:
    """Return guards in which aggregates of a field are the field: for the constants beside it."""
    found: list[Guard] = []
    for guard in guards:
        found.append(tested(guard))
        if isinstance(guard, RunningTest):
            numbers = [
                side
                for atom in atoms(guard.test)
                if isinstance(atom, Comparison)
                for side in _constants(atom)
            ]
            found += [Comparison("=", part, number) for part in fields(guard) for number in numbers]
            found += [
                part
                for aggregate in guard.aggregates
                for part in parts_of(aggregate)
                if isinstance(part, Guard)
            ]
    return found


def _constants(node: Term | Comparison) -> Iterator[Constant]:
    match node:
        case Constant():
            yield node
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            yield from _constants(left)
            yield from _constants(right)
        case Negative(value):
            yield from _constants(value)


def _ago(guard: Guard) -> int:
    """Return how many events a guard looks back, with its aggregates."""
    firsts = (-atom.offset for atom in atoms(tested(guard)) if isinstance(atom, IsFirst))
    return max([0, *firsts, *(-part.offset for part in fields(tested(guard)))])
