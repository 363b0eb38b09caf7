"""Formulas over the events that a gram shows: satisfiability, projection, concrete streams, by z3.

A region is a formula over memory, the earlier events that grams still show. What can come next
from where is a projection: the current event is eliminated, and every result is checked both ways.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import z3

from wex.theory.solver import (
    MILLISECONDS,
    Translation,
    UndecidedError,
    limited,
    new_solver,
    own_context,
    value_in,
)
from wex.theory.terms import Atom, Comparison, Constant, Field, Guard, atoms, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wex.spec.types import Type
    from wex.theory.evaluate import Event, Value

Formula: TypeAlias = Any  # of z3, which has no types; only this module looks inside
SECOND = 1_000_000  # microseconds
DAYS = 700_000  # around 1970, that events are looked for in
LARGE = 2**63 - 1
WIDTH = 24  # whole numbers between the least and the greatest constant that are told apart


class Symbols(Translation):
    """Guards as formulas, with variables that are named for field and age, or as `naming` says.

    Whole numbers in `dense` are only ever compared, so that they may be any points of a dense
    order, apart from those between the constants that they are compared with. Texts are points,
    too: only equality is asked of them. With `products`, products of fields are not left open.
    """

    def __init__(
        self,
        lookback: int,
        level: int,
        dense: Mapping[str, Sequence[int]],
        codes: dict[str, int],
        naming: Callable[[Field], str] | None = None,
        *,
        products: bool = False,
    ) -> None:
        missing = max(0, lookback - level)
        super().__init__(missing=missing, lookback=lookback, position=level)
        self.dense = dense
        self.codes = codes
        self.naming = naming or (lambda field: f"{field.name}@{-field.offset}")
        self.products = products
        self.opened: list[z3.BoolRef] = []

    def is_open(self, atom: Atom) -> bool:
        """Tell whether an atom is left open; single questions may have products of fields."""
        return not self.products and super().is_open(atom)

    def _free(self, atom: Atom) -> z3.BoolRef:
        found = z3.Bool(f"open {atom}", self.home)
        self.opened.append(found)
        return found

    def _constant(self, value: int | Fraction | str | bool) -> z3.ExprRef:
        if isinstance(value, str):
            return z3.RealVal(self.code(value), self.home)
        return super()._constant(value)

    def variable(self, field: Field) -> z3.ExprRef:
        """Return the variable of a field."""
        with self.home:
            return self._variable(field)

    def _variable(self, field: Field) -> z3.ExprRef:
        found = self.variables.get(field)
        if found is None:
            points = field.kind in ("real", "text") or field.name in self.dense
            sort = z3.Bool if field.kind == "bool" else z3.Real if points else z3.Int
            found = self.variables[field] = sort(self.naming(field), self.home)
        return found

    def domain(self, field: Field) -> Formula:
        """Return what is true of every value of a field."""
        with self.home:
            variable = self._variable(field)
            if field.type.values:
                codes = [variable == self.code(text) for text in field.type.values]
                return z3.Or(codes, self.home)
            if len(constants := self.dense.get(field.name, ())) > 1:
                low, high = constants[0], constants[-1]
                inside = [variable == value for value in range(low, high + 1)]
                return z3.Or(variable < low, variable > high, *inside)
            return z3.BoolVal(True, self.home)


def dense_fields(guards: Iterable[Guard]) -> dict[str, tuple[int, ...]]:
    """Return the whole numbers that are only compared, and the constants to keep apart.

    Every finite order of points embeds into the whole numbers outside the range of the constants;
    inside it each number is a point of its own.
    """
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    plain: dict[str, bool] = {}
    constants: dict[str, set[int]] = {}
    seen = list(dict.fromkeys(atom for guard in guards for atom in atoms(guard)))
    for atom in seen:
        names = [field.name for field in fields(atom)]
        for name in names:
            group.setdefault(name, name)
        for name in names[1:]:
            group[root(name)] = root(names[0])
    for atom in seen:
        if not isinstance(atom, Comparison):
            continue
        for name in {root(field.name) for field in fields(atom)}:
            sides = (atom.left, atom.right)
            compared = all(isinstance(side, Field | Constant) for side in sides)
            plain[name] = plain.get(name, True) and compared
            for side in sides:
                if isinstance(side, Constant) and isinstance(side.value, int | Fraction):
                    # A whole number beside a real constant: both neighbours count.
                    near = side.value.__floor__(), side.value.__ceil__()
                    constants.setdefault(name, set()).update(near)
    whole = {field.name for atom in seen for field in fields(atom) if field.kind == "whole"}
    found: dict[str, tuple[int, ...]] = {}
    for name in whole:
        known = constants.get(root(name), set())
        narrow = not known or max(known) - min(known) < WIDTH
        if plain.get(root(name)) and narrow:
            found[name] = (min(known), max(known)) if known else ()
    return found


class Prover:
    """Questions to z3 about formulas, each asked once."""

    def __init__(self) -> None:
        self.home = own_context()
        with self.home:
            self.solver = limited(z3.SimpleSolver(ctx=self.home))
        self._known: dict[tuple[int, ...], tuple[bool, object]] = {}

    def satisfiable(self, *formulas: Formula) -> bool:
        """Tell whether formulas hold together somewhere."""
        with self.home:
            key = tuple(sorted(each.get_id() for each in formulas))
            if key in self._known:
                return self._known[key][0]
            self.solver.push()
            self.solver.add(*formulas)
            answer = self.solver.check()
            self.solver.pop()
            if answer == z3.unknown:
                raise UndecidedError(self.solver.reason_unknown())
            # The formulas are kept, so that their numbers are not given to others.
            self._known[key] = (answer == z3.sat, formulas)
            return bool(answer == z3.sat)

    def project(self, formula: Formula, variables: Sequence[z3.ExprRef]) -> Formula:
        """Return for which values of the other variables there are some for these.

        The elimination is checked both ways: nothing is lost, and nothing is made up.
        """
        if not variables:
            return formula
        found = self._simplified(self._eliminated(formula, variables))
        with self.home:
            lost = self._check(formula, z3.Not(found))
        with self.home:
            made_up = self._check(found, z3.ForAll(list(variables), z3.Not(formula)))
        if lost != z3.unsat or made_up != z3.unsat:
            raise UndecidedError("a projection that could not be checked")
        return found

    def _eliminated(self, formula: Formula, variables: Sequence[z3.ExprRef]) -> Formula:
        with self.home as home:
            eliminate = z3.TryFor(z3.Tactic("qe", home), MILLISECONDS, home)
            try:
                return eliminate(z3.Exists(list(variables), formula)).as_expr()
            except z3.Z3Exception as error:
                raise UndecidedError(str(error)) from error

    def _simplified(self, formula: Formula) -> Formula:
        with self.home as home:
            plain = z3.simplify(formula)
            if z3.is_true(plain) or z3.is_false(plain):
                return plain
            try:
                return z3.TryFor(z3.Tactic("ctx-solver-simplify", home), 200, home)(plain).as_expr()
            except z3.Z3Exception:
                return plain

    def least(self, one: Formula, two: Formula, *formulas: Formula) -> int | None:
        """Return by how much one whole number exceeds another at least, under formulas.

        None if there is no least difference, or it is unknown.
        """
        with self.home as home:
            optimize = limited(z3.Optimize(ctx=home))
            optimize.add(*formulas)
            handle = optimize.minimize(one - two)
            if optimize.check() != z3.sat:
                return None
            found = optimize.lower(handle)
            return int(found.as_long()) if z3.is_int_value(found) else None

    def _check(self, *formulas: Formula) -> z3.CheckSatResult:
        solver = new_solver(self.home)
        solver.add(*formulas)
        return solver.check()


def both(*formulas: Formula) -> Formula:
    """Return the conjunction of formulas."""
    with formulas[0].ctx if formulas else own_context() as home:
        return z3.simplify(z3.And(*formulas, home))


def negated(formula: Formula) -> Formula:
    """Return the negation of a formula."""
    with formula.ctx:
        return z3.Not(formula)


def renamed(formula: Formula, pairs: Sequence[tuple[z3.ExprRef, z3.ExprRef]]) -> Formula:
    """Return a formula with variables replaced by others, all at once."""
    with formula.ctx:
        return z3.substitute(formula, *pairs) if pairs else formula


# --- Concrete events


class Searching:
    """Events that satisfy formulas, with values that are easy to read where there is a choice."""

    def __init__(self, codes: dict[str, int], tick: int = SECOND) -> None:
        self.codes = codes
        self.tick = tick  # microseconds between events, where there is a choice
        self.home = own_context()
        with self.home:
            self.solver = new_solver(self.home)
        self.places: dict[tuple[int, str], tuple[Field, z3.ExprRef]] = {}

    def symbols(self, lookback: int, level: int, number: Callable[[int], int]) -> Symbols:
        """Return formulas at an event; `number` says which event an offset means."""

        def naming(field: Field) -> str:
            return f"{field.name}#{number(field.offset)}"

        return Symbols(lookback, level, {}, self.codes, naming, products=True)

    def note(self, number: int, field: Field, variable: z3.ExprRef) -> None:
        """Note which variable is the value of a field of an event."""
        self.places[number, field.name] = (field, variable)
        if field.kind == "whole":
            most = {"date": DAYS, "timestamp": DAYS * 86_400 * SECOND}.get(field.type.name, LARGE)
            with self.home:
                self.solver.add(variable <= most, variable >= -most)

    def same(self, one: tuple[int, str], two: tuple[int, str]) -> None:
        """Say that two events have the same value of a field."""
        with self.home:
            self.solver.add(self.places[one][1] == self.places[two][1])

    def add(self, *formulas: Formula) -> None:
        """Add what has to hold."""
        with self.home:
            self.solver.add(*formulas)

    def events(self, count: int, constants: Mapping[str, Sequence[Value]]) -> list[Event] | None:
        """Return the events, or None if there are none that satisfy everything."""
        with self.home:
            answer = self.solver.check()
            if answer == z3.unknown:
                raise UndecidedError(self.solver.reason_unknown())
            if answer == z3.unsat:
                return None
            model = self.solver.model()
        chosen: dict[str, list[Value]] = {}
        events: list[dict[str, Value]] = [{} for _ in range(count)]
        names: dict[int | Fraction, str] = {code: text for text, code in self.codes.items()}
        for (number, name), (field, variable) in sorted(self.places.items()):
            last = chosen.setdefault(name, [])
            unit = self.tick if field.type.name == "timestamp" else 1
            if field.kind in ("whole", "real"):
                candidates = _candidates(last, constants.get(name, ()), unit)
                model = self._preferred(variable, candidates) or self._fixed(variable, model)
            with self.home:
                if field.kind not in ("whole", "real"):
                    self.solver.add(variable == model.eval(variable, model_completion=True))
                value = value_in(model, variable, field, names)
            last.append(value)
            events[number][name] = value
        return list(events)

    def _preferred(
        self, variable: z3.ExprRef, candidates: Iterable[Fraction]
    ) -> z3.ModelRef | None:
        """Return a model with the first candidate that there is one for, and stay with it."""
        with self.home as home:
            whole = variable.sort() == z3.IntSort(home)
        for each in candidates:
            if whole and each.denominator != 1:
                continue
            with self.home as home:
                value = z3.IntVal(int(each), home) if whole else z3.RealVal(str(each), home)
                self.solver.push()
                self.solver.add(variable == value)
                found = self.solver.model() if self.solver.check() == z3.sat else None
                self.solver.pop()
                if found is not None:
                    self.solver.add(variable == value)
                    return found
        return None

    def _fixed(self, variable: z3.ExprRef, model: z3.ModelRef) -> z3.ModelRef:
        """Stay with what a model has for a variable; the others have to go along with it."""
        with self.home:
            self.solver.add(variable == model.eval(variable, model_completion=True))
            if self.solver.check() != z3.sat:
                raise UndecidedError("a model that does not stay one")
            return self.solver.model()


def _candidates(last: Sequence[Value], constants: Sequence[Value], unit: int) -> Iterable[Fraction]:
    """Return numbers to try: near the last one, small, near the constants."""
    found: dict[Fraction, None] = {}
    near = [Fraction(each) for each in last[-1:] if isinstance(each, int | Fraction)]
    known = [Fraction(each) for each in constants if isinstance(each, int | Fraction)]
    for value in near:
        found.update(dict.fromkeys([value + unit, value, value - unit]))
    found.update(dict.fromkeys(Fraction(each * unit) for each in (1, 0, 2, -1)))
    for constant in known:
        for value in [Fraction(0), *near]:
            around = [constant + value + step for step in (0, unit, -unit)]
            found.update(dict.fromkeys(around))
    for value in near:
        for part in (2, 4, 16, 256, 4096):
            step = Fraction(unit, part)
            found.update(dict.fromkeys([value + step, value - step]))
    return found


def contradiction(
    steps: Sequence[Sequence[Guard]], order: Guard, types: Mapping[str, Type], lookback: int
) -> list[tuple[int, int]]:
    """Return parts of steps in a row that cannot hold together, as few as z3 finds.

    A part is the number of a step and of one of its guards; there are none if all can hold.
    """
    codes: dict[str, int] = {}
    with own_context() as home:
        solver = new_solver(home)
        solver.set("core.minimize", True)
        for at, guards in enumerate(steps):

            def naming(field: Field, at: int = at) -> str:
                return f"{field.name}#{at + field.offset}"

            symbols = Symbols(lookback, lookback + 1, {}, codes, naming)
            for part, guard in enumerate(guards):
                solver.assert_and_track(symbols.guard(guard), f"{at} {part}")
                for field in fields(guard):
                    solver.add(symbols.domain(Field(field.name, field.offset, types[field.name])))
            solver.add(symbols.guard(order))
        if solver.check() != z3.unsat:
            return []
        parts = [each.decl().name().split() for each in solver.unsat_core()]
    return sorted((int(at), int(part)) for at, part in parts)


def readable_event(
    guard: Guard, types: Mapping[str, Type], constants: Mapping[str, Sequence[Value]]
) -> Event | None:
    """Return an event of which a guard about one event holds, easy to read, or None."""
    searching = Searching({})
    symbols = searching.symbols(0, 0, lambda _: 0)
    searching.add(symbols.guard(guard))
    for name in dict.fromkeys(field.name for field in fields(guard)):
        field = Field(name, 0, types[name])
        searching.note(0, field, symbols.variable(field))
        searching.add(symbols.domain(field))
    found = searching.events(1, constants)
    return None if found is None else found[0]


def constants_of(guards: Iterable[Guard]) -> dict[str, list[Value]]:
    """Return the constants that each field is compared with, directly or not."""
    found: dict[str, dict[Value, None]] = {}
    for atom in (atom for guard in guards for atom in atoms(guard)):
        if isinstance(atom, Comparison):
            known = [side.value for side in (atom.left, atom.right) if isinstance(side, Constant)]
            for field in fields(atom):
                found.setdefault(field.name, {}).update(dict.fromkeys(known))
    return {name: list(values) for name, values in found.items()}
