"""Concrete events that satisfy formulas, and guards of consecutive events that contradict each other."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import z3

from wex.theory.projection import PER_QUESTION, PER_STEP, SECOND, Symbols
from wex.theory.samples import Samples, numbers_to_try, samples_of
from wex.theory.solver import (
    UndecidedError,
    new_solver,
    own_context,
    simple_solver,
    value_in,
    work_of,
)
from wex.theory.terms import (
    Field,
    Guard,
    fields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from fractions import Fraction

    from wex.spec.types import Type
    from wex.theory.evaluate import Event, Value
    from wex.theory.projection import Formula

DAYS = 700_000  # before and after 1970: the range of dates in events
LARGE = 2**63 - 1


class EventSearch:
    """Searches for events that satisfy formulas, and prefers values that are easy to read."""

    def __init__(
        self, codes: dict[str, int], tick: int = SECOND, samples: Samples | None = None
    ) -> None:
        self.codes = codes
        self.tick = tick  # preferred microseconds between events
        self.samples = samples or samples_of(())
        self.hard = False  # whether a question takes long, so that few are asked
        self.context = own_context()
        with self.context:
            self.solver = simple_solver(self.context)
        self.variables: dict[tuple[int, str], tuple[Field, z3.ExprRef]] = {}

    def symbols(self, lookback: int, level: int, number: Callable[[int], int]) -> Symbols:
        """Return the translation at an event; `number` maps offsets to numbers of events."""

        def naming(field: Field) -> str:
            return f"{field.name!r}#{number(field.offset)}"

        return Symbols(lookback, level, {}, self.codes, naming, products=True, samples=self.samples)

    def formulas(self, guards: Iterable[Guard], symbols: Symbols) -> list[Formula]:
        """Return the formulas of guards, and of what the values in them depend on."""
        formulas = [symbols.guard(guard) for guard in guards]
        self.hard = self.hard or bool(symbols.domains)
        return [*formulas, *symbols.domains]

    def possible(self, formulas: Iterable[Formula], count: Callable[[int], None]) -> bool:
        """Tell whether formulas can hold beside those that are required; False if z3 cannot say.

        `count` is told how many steps of work this took.
        """
        with self.context:
            before = work_of(self.solver)
            self.solver.push()
            self.solver.add(*formulas)
            answer = self.solver.check()
            self.solver.pop()
            count(PER_QUESTION + (work_of(self.solver) - before) // PER_STEP)
        return bool(answer == z3.sat)

    def note(self, number: int, field: Field, variable: z3.ExprRef) -> None:
        """Declare the variable for a field of an event."""
        self.variables[number, field.name] = (field, variable)
        if field.kind == "whole":
            most = {"date": DAYS, "timestamp": DAYS * 86_400 * SECOND}.get(field.type.name, LARGE)
            with self.context:
                self.solver.add(variable <= most, variable >= -most)

    def same(self, one: tuple[int, str], two: tuple[int, str]) -> None:
        """Require that two fields of events have the same value."""
        with self.context:
            self.solver.add(self.variables[one][1] == self.variables[two][1])

    def add(self, *formulas: Formula) -> None:
        """Require formulas."""
        with self.context:
            self.solver.add(*formulas)

    def events(self, count: int, constants: Mapping[str, Sequence[Value]]) -> list[Event] | None:
        """Return events that satisfy all formulas, or None if there are none."""
        model = self._model()
        if model is None:
            return None
        chosen: dict[str, list[Value]] = {}
        events: list[dict[str, Value]] = [{} for _ in range(count)]
        names: dict[int | Fraction, str] = {code: text for text, code in self.codes.items()}
        for (number, name), (field, variable) in sorted(self.variables.items()):
            last = chosen.setdefault(name, [])
            unit = self.tick if field.type.name == "timestamp" else 1
            if field.kind in ("whole", "real"):
                candidates = numbers_to_try(last, constants.get(name, ()), unit)
                candidates = islice(candidates, 2) if self.hard else candidates
                model = self._preferred(variable, candidates) or self._fixed(variable, model)
            elif field.type.values:
                model = self._written(variable, field.type.values, model)
            with self.context:
                if field.kind not in ("whole", "real"):
                    self.solver.add(variable == model.eval(variable, model_completion=True))
                value = value_in(model, variable, field, names)
            last.append(value)
            events[number][name] = value
        return list(events)

    def _model(self) -> z3.ModelRef | None:
        """Return a model of all formulas, or None if there is none."""
        with self.context as context:
            solver, answer = self.solver, self.solver.check()
            if answer == z3.unknown:  # products may need z3's tactics
                solver = new_solver(context)
                solver.add(self.solver.assertions())
                answer = solver.check()
            if answer == z3.unknown:
                raise UndecidedError(solver.reason_unknown())
            return solver.model() if answer == z3.sat else None

    def _preferred(
        self, variable: z3.ExprRef, candidates: Iterable[Fraction]
    ) -> z3.ModelRef | None:
        """Return a model with the first possible candidate, and fix the variable to it."""
        with self.context as context:
            whole = variable.sort() == z3.IntSort(context)
        for number in candidates:
            if whole and number.denominator != 1:
                continue
            with self.context as context:
                sort = z3.IntVal if whole else z3.RealVal
                value = sort(str(number), context)
                self.solver.push()
                self.solver.add(variable == value)
                model = self.solver.model() if self.solver.check() == z3.sat else None
                self.solver.pop()
                if model is not None:
                    self.solver.add(variable == value)
                    return model
        return None

    def _written(
        self, variable: z3.ExprRef, values: Sequence[str], model: z3.ModelRef
    ) -> z3.ModelRef:
        """Return a model in which a value is one that is written, if there is one, and no mark for NULL."""
        codes = {text: self.codes[text] for text in values if text in self.codes}
        with self.context:
            known = model.eval(variable, model_completion=True)
            marks = [code for text, code in codes.items() if not text.isprintable()]
            if not any(z3.is_true(z3.simplify(known == mark)) for mark in marks):
                return model
            self.solver.push()
            self.solver.add(*(variable != mark for mark in marks))
            found = self.solver.model() if self.solver.check() == z3.sat else model
            self.solver.pop()
            return found

    def _fixed(self, variable: z3.ExprRef, model: z3.ModelRef) -> z3.ModelRef:
        """Fix a variable to its value in a model, and return a model of the rest."""
        with self.context:
            self.solver.add(variable == model.eval(variable, model_completion=True))
            if self.solver.check() != z3.sat:
                raise UndecidedError("z3 did not confirm its own model")
            return self.solver.model()


def contradiction(
    steps: Sequence[Sequence[Guard]], order: Guard, types: Mapping[str, Type], lookback: int
) -> list[tuple[int, int]]:
    """Return guards of consecutive steps that cannot hold together: a minimal set.

    Each is a pair of indices, of a step and of one of its guards; the list is empty if all guards
    can hold.
    """
    codes: dict[str, int] = {}
    with own_context() as context:
        solver = new_solver(context)
        solver.set("core.minimize", True)
        for step, guards in enumerate(steps):

            def naming(field: Field, step: int = step) -> str:
                return f"{field.name!r}#{step + field.offset}"

            symbols = Symbols(lookback, lookback + 1, {}, codes, naming)
            for index, guard in enumerate(guards):
                solver.assert_and_track(symbols.guard(guard), f"{step} {index}")
                for field in fields(guard):
                    solver.add(symbols.domain(Field(field.name, field.offset, types[field.name])))
            solver.add(symbols.guard(order))
        if solver.check() != z3.unsat:
            return []
        labels = [label.decl().name().split() for label in solver.unsat_core()]
    return sorted((int(step), int(index)) for step, index in labels)


def readable_event(
    guard: Guard, types: Mapping[str, Type], constants: Mapping[str, Sequence[Value]]
) -> Event | None:
    """Return an event, easy to read, of which a guard about one event holds, or None."""
    search = EventSearch({}, samples=samples_of([guard]))
    symbols = search.symbols(0, 0, lambda _: 0)
    search.add(*search.formulas([guard], symbols))
    for name in dict.fromkeys(field.name for field in fields(guard)):
        field = Field(name, 0, types[name])
        search.note(0, field, symbols.variable(field))
        search.add(symbols.domain(field))
    events = search.events(1, constants)
    return None if events is None else events[0]
