"""Automata that read events which a solver chooses: their states after each event, as formulas.

Bounded model checking: a formula for each state says whether the automaton is in it. So the solver finds the
values of events and the way that they lead through automata together.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import z3

from wex.theory.event_search import EventSearch
from wex.theory.projection import Symbols
from wex.theory.terms import Always, And, Guard, Not, Or

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wex.theory.projection import Formula
    from wex.theory.samples import Samples
    from wex.theory.terms import Field

States = dict[int, "Formula"]  # whether the automaton is in a state; it is in none that is left out
MOST_RISE = 8  # of a number from round to round


class Unrolling(EventSearch):
    """Automata and the events that they read. Some events come again, and then numbers may be higher or lower."""

    def __init__(self, samples: Samples) -> None:
        super().__init__({}, tick=1, samples=samples)
        self.hard = True  # a formula about many events: few readable values are tried
        self._names = count()
        self._classes: dict[tuple[int, frozenset[int]], Formula] = {}
        self._rises: dict[str, Formula] = {}

    def let_rise(self, names: Iterable[str]) -> None:
        """Let numbers rise or fall each time that an event comes again, not all of them by 0."""
        with self.context:
            self._rises = {name: z3.Int(f"rise of {name}", self.context) for name in names}
            for rise in self._rises.values():
                self.solver.add(rise <= MOST_RISE, rise >= -MOST_RISE)
            self.solver.add(z3.Or([rise != 0 for rise in self._rises.values()]))

    @property
    def rising(self) -> bool:
        """Tell whether numbers may rise or fall."""
        return bool(self._rises)

    def equal(
        self, some: Sequence[list[Formula] | None], others: Sequence[list[Formula] | None]
    ) -> None:
        """Require that readers read the same classes at two events."""
        with self.context:
            for one, two in zip(some, others, strict=True):
                pairs = zip(one or (), two or (), strict=True)
                self.solver.add(*(first == second for first, second in pairs))

    def rises(self) -> dict[str, int]:
        """Return by how much numbers rise, once `events` has chosen them."""
        if not self._rises:
            return {}
        with self.context:
            self.solver.check()
            model = self.solver.model()
            chosen = (
                (name, model.eval(rise, model_completion=True))
                for name, rise in self._rises.items()
            )
            return {name: value.as_long() for name, value in chosen if value.as_long()}

    def in_turn(
        self, lookback: int, level: int, number: Callable[[int], int], turn: Callable[[int], int]
    ) -> Symbols:
        """Return the translation at an event; `turn` tells how often those at offsets have come before."""
        symbols = self.symbols(lookback, level, number)
        return _InTurn(symbols, level, self._rises, turn) if self._rises else symbols

    def truths(self, guards: Iterable[Guard], symbols: Symbols) -> list[Formula]:
        """Return for each guard whether it holds of an event; of an atom this is asked once."""
        known: dict[Guard, Formula] = {}

        def truth(guard: Guard) -> Formula:
            match guard:
                case Always(value):
                    return z3.BoolVal(value, self.context)
                case Not(operand):
                    return z3.Not(truth(operand))
                case And(parts):
                    return z3.And([truth(part) for part in parts], self.context)
                case Or(parts):
                    return z3.Or([truth(part) for part in parts], self.context)
            if guard not in known:
                known[guard] = self._named(symbols.guard(guard))
            return known[guard]

        with self.context:
            found = [self._named(truth(guard)) for guard in guards]
            self.solver.add(*symbols.domains)
        return found

    def initial(self) -> States:
        """Return the states of an automaton that has read nothing."""
        return {0: z3.BoolVal(True, self.context)}

    def joined(self, ways: Iterable[tuple[int, Formula]]) -> States:
        """Return states by the formulas of the ways that lead to them."""
        found: dict[int, list[Formula]] = {}
        for state, formula in ways:
            found.setdefault(state, []).append(formula)
        with self.context:
            return {state: self._named(z3.Or(own)) for state, own in found.items()}

    def moved(
        self, states: States, truths: Sequence[Formula], move: Callable[[int, int], int | None]
    ) -> States:
        """Return the states after an event: `move` gives the state after a state and a class, or None."""
        ways: list[tuple[int, Formula]] = []
        with self.context:
            for state, before in states.items():
                classes: dict[int, set[int]] = {}
                for cls in range(len(truths)):
                    after = move(state, cls)
                    if after is not None:
                        classes.setdefault(after, set()).add(cls)
                for after, own in classes.items():
                    read = self._any_of(truths, frozenset(own))
                    ways.append((after, z3.And(before, read)))
        return self.joined(ways)

    def _any_of(self, truths: Sequence[Formula], classes: frozenset[int]) -> Formula:
        """Return whether an event is of one of some classes."""
        key = (truths[0].get_id(), classes)
        if key not in self._classes:
            self._classes[key] = self._named(z3.Or([truths[cls] for cls in sorted(classes)]))
        return self._classes[key]

    def choice(self) -> Formula:
        """Return a variable that the solver may choose."""
        return z3.Bool(f"#{next(self._names)}", self.context)

    def both(self, one: Formula, two: Formula) -> Formula:
        """Return whether two formulas hold."""
        return z3.And(one, two)

    def at_most_one(self, formulas: Sequence[Formula]) -> None:
        """Require that no two formulas hold."""
        with self.context:
            if formulas:
                self.solver.add(z3.AtMost(*formulas, 1))

    def either(self, formulas: Iterable[Formula]) -> Formula:
        """Return whether one of some formulas holds."""
        with self.context:
            return z3.Or([*formulas, z3.BoolVal(False, self.context)])

    def same_states(self, before: States, after: States) -> None:
        """Require that an automaton comes back to the state in which it was."""
        with self.context:
            for state, formula in before.items():
                self.solver.add(
                    z3.Implies(formula, after[state]) if state in after else z3.Not(formula)
                )

    def _named(self, formula: Formula) -> Formula:
        """Return a variable for a formula, so that it is written down once."""
        if formula.num_args() == 0:
            return formula
        name = z3.Bool(f"#{next(self._names)}", self.context)
        self.solver.add(name == formula)
        return name


class _InTurn(Symbols):
    """The translation at an event where numbers rise from turn to turn."""

    def __init__(
        self, plain: Symbols, level: int, rises: dict[str, Formula], turn: Callable[[int], int]
    ) -> None:
        super().__init__(
            plain.lookback,
            level,
            {},
            plain.codes,
            plain.naming,
            products=True,
            samples=plain.samples,
        )
        self._rises, self._turn = rises, turn

    def _variable(self, field: Field) -> z3.ExprRef:
        variable, turn = super()._variable(field), self._turn(field.offset)
        if field.name not in self._rises or not turn:
            return variable
        return variable + turn * self._rises[field.name]
