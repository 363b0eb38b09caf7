"""z3 formulas over the events of a gram: satisfiability, projection, and concrete streams.

A region is a formula over the earlier events of a gram. The regions that can follow are projections:
the current event is eliminated, and every elimination is checked in both directions.
"""

from __future__ import annotations

from calendar import monthrange
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import z3

from wex.spec.patterns import matches
from wex.theory.evaluate import value_of
from wex.theory.solver import (
    Translation,
    UndecidedError,
    limited,
    new_solver,
    own_context,
    simple_solver,
    work_of,
)
from wex.theory.terms import (
    Atom,
    Calendar,
    Comparison,
    Constant,
    Field,
    Guard,
    Like,
    Local,
    atoms,
    fields,
    is_opaque,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from wex.theory.samples import Samples
    from wex.theory.solver import SolverContext

Formula: TypeAlias = Any  # of z3, which has no type annotations; only this module looks inside
SECOND = 1_000_000  # microseconds
# The work of a question and of a part of a projection before z3 counts any, in steps; and how much of
# what z3 counts makes a step.
PER_QUESTION, PER_PROJECTION, PER_STEP = 20, 150, 10
MOST_PARTS = 60  # of a projection
LARGE_PARTS = 8  # that are tried with the whole formula
EPOCH = date(1970, 1, 1).toordinal()
YEAR_2026 = 1_767_225_600 * SECOND
WIDTH = 24  # the largest range of constants in which whole numbers are distinguished


class Symbols(Translation):
    """Translates guards to formulas whose variables are named by field and age, or by `naming`.

    Whole numbers in `dense` are only compared, so that they can be points of a dense order, except
    between the constants that they are compared with. Texts are points as well: only their equality
    matters. With `products`, products of fields are not left open. With `samples`, neither are
    patterns and the calendar: a text that a pattern is about is then one of the samples of its
    field, and a zone keeps the offset that it had at the beginning of 2026.
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
        samples: Samples | None = None,
    ) -> None:
        missing = max(0, lookback - level)
        super().__init__(missing=missing, lookback=lookback, position=level)
        self.dense = dense
        self.codes = codes
        self.naming = naming or (lambda field: f"{field.name!r}@{-field.offset}")
        self.products = products
        self.samples = samples
        self.open_atoms: list[z3.BoolRef] = []

    def is_open(self, atom: Atom) -> bool:
        """Tell whether an atom is left open."""
        if is_opaque(atom):
            return isinstance(atom, Like) or self.samples is None
        return not self.products and super().is_open(atom)

    def _free(self, atom: Atom) -> z3.BoolRef:
        if isinstance(atom, Like) and self.samples is not None:
            texts = [
                t for t in self.samples.texts.get(atom.field.name, ()) if matches(t, atom.pattern)
            ]
            variable = self._variable(atom.field)
            return z3.Or([variable == self.code(text) for text in texts], self.context)
        about = ", ".join(map(self.naming, fields(atom)))
        open_atom = z3.Bool(f"open {atom} about {about}", self.context)
        self.open_atoms.append(open_atom)
        return open_atom

    def _unknown_value(self, term: Local | Calendar) -> z3.ExprRef:
        inner = self._term(term.value)
        if isinstance(term, Local):
            return inner + (value_of(Local(Constant(YEAR_2026), term.zone), []) - YEAR_2026)  # type: ignore[operator]
        parts = {
            part: z3.Int(f"{part} of {inner}", self.context) for part in ("year", "month", "day")
        }
        assert self.samples is not None
        self.domains.append(_is_date(inner, parts, self.samples.years, self.context))
        return parts[term.part]

    def _constant(self, value: int | Fraction | str | bool) -> z3.ExprRef:
        if isinstance(value, str):
            return z3.RealVal(self.code(value), self.context)
        return super()._constant(value)

    def variable(self, field: Field) -> z3.ExprRef:
        """Return the variable of a field."""
        with self.context:
            return self._variable(field)

    def _variable(self, field: Field) -> z3.ExprRef:
        variable = self.variables.get(field)
        if variable is None:
            dense = field.kind in ("real", "text") or field.name in self.dense
            sort = z3.Bool if field.kind == "bool" else z3.Real if dense else z3.Int
            variable = self.variables[field] = sort(self.naming(field), self.context)
        return variable

    def domain(self, field: Field, most: int | None = None) -> Formula:
        """Return the formula that holds for every value of a field, which may be less than `most`."""
        with self.context:
            variable = self._variable(field)
            if most is not None:
                return z3.And(variable >= 0, variable < most)
            if self.samples is not None and field.name in self.samples.texts:
                known = [variable == self.code(text) for text in self.samples.texts[field.name]]
                return z3.Or(known, self.context)
            if field.type.values:
                codes = [variable == self.code(text) for text in field.type.values]
                return z3.Or(codes, self.context)
            if len(constants := self.dense.get(field.name, ())) > 1:
                low, high = constants[0], constants[-1]
                inside = [variable == value for value in range(low, high + 1)]
                return z3.Or(variable < low, variable > high, *inside)
            return z3.BoolVal(True, self.context)


def dense_fields(guards: Iterable[Guard]) -> dict[str, tuple[int, ...]]:
    """Return the fields of whole numbers that are only compared, with the range of constants.

    Every finite order of points can be embedded in the whole numbers outside the range of the
    constants; inside it each number is a point of its own.
    """
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    only_compared: dict[str, bool] = {}
    constants: dict[str, set[int]] = {}
    distinct = list(dict.fromkeys(atom for guard in guards for atom in atoms(guard)))
    for atom in distinct:
        names = [field.name for field in fields(atom)]
        for name in names:
            group.setdefault(name, name)
        for name in names[1:]:
            group[root(name)] = root(names[0])
    for atom in distinct:
        if not isinstance(atom, Comparison):
            continue
        if is_opaque(atom):
            for field in fields(atom):
                only_compared.setdefault(root(field.name), True)
            continue  # it is left open
        for name in {root(field.name) for field in fields(atom)}:
            sides = (atom.left, atom.right)
            plain = all(isinstance(side, Field | Constant) for side in sides)
            only_compared[name] = only_compared.get(name, True) and plain
            for side in sides:
                if isinstance(side, Constant) and isinstance(side.value, int | Fraction):
                    # A real constant separates the whole numbers next to it.
                    neighbours = side.value.__floor__(), side.value.__ceil__()
                    constants.setdefault(name, set()).update(neighbours)
    whole = {field.name for atom in distinct for field in fields(atom) if field.kind == "whole"}
    dense: dict[str, tuple[int, ...]] = {}
    for name in whole:
        known = constants.get(root(name), set())
        narrow = not known or max(known) - min(known) < WIDTH
        if only_compared.get(root(name)) and narrow:
            dense[name] = (min(known), max(known)) if known else ()
    return dense


class Prover:
    """Answers questions about formulas with z3; remembers the answers.

    `count` is told how much work each answer took, in steps of about ten microseconds.
    """

    def __init__(self, count: Callable[[int], None]) -> None:
        self.context = own_context()
        self.count = count
        with self.context:
            self.solver = simple_solver(self.context)
        self._answers: dict[tuple[int, ...], tuple[bool, object]] = {}

    def satisfiable(self, *formulas: Formula) -> bool:
        """Tell whether formulas can hold together."""
        with self.context:
            key = tuple(sorted(formula.get_id() for formula in formulas))
            if key in self._answers:
                return self._answers[key][0]
            with self._counted(PER_QUESTION):
                self.solver.push()
                self.solver.add(*formulas)
                answer = self.solver.check()
                self.solver.pop()
            if answer == z3.unknown:
                raise UndecidedError(self.solver.reason_unknown())
            # Keeping the formulas keeps z3 from reusing their ids.
            self._answers[key] = (answer == z3.sat, formulas)
            return bool(answer == z3.sat)

    def project(self, formula: Formula, variables: Sequence[z3.ExprRef]) -> Formula:
        """Return the projection of a formula: the variables are quantified existentially.

        The elimination is checked in both directions: no solution is lost, and none is added.
        """
        if not variables:
            return formula
        projection = self._simplified(self._eliminated(formula, variables))
        with self._counted(PER_QUESTION):
            lost = self._check(formula, z3.Not(projection))
        with self._counted(PER_QUESTION):
            added = self._check(projection, z3.ForAll(list(variables), z3.Not(formula)))
        if lost != z3.unsat or added != z3.unsat:
            raise UndecidedError("the projection could not be verified")
        return projection

    def _eliminated(self, formula: Formula, variables: Sequence[z3.ExprRef]) -> Formula:
        """Return the projection as a disjunction: a part around a model, another one outside it, ...

        The tactics of z3 that eliminate quantifiers can only be stopped by a clock. A model and the
        projection around it take work that z3 counts, so the result is the same on every machine.
        """
        parts: list[Formula] = []
        with self.context:
            solver = new_solver(self.context)
            solver.add(formula)
        for number in range(MOST_PARTS):
            with self._counted(PER_PROJECTION) as context:
                answer = solver.check()
                if answer == z3.unknown:
                    raise UndecidedError(solver.reason_unknown())
                if answer == z3.unsat:
                    return z3.Or(parts, context)
                model = solver.model()
                # Parts of the whole formula are large, unless an equation is below a disjunction.
                whole = formula if number < LARGE_PARTS else z3.And(_cube(formula, model), context)
                part = _around(model, whole, variables, context)
                if _constants_of(part) & set(map(str, variables)):
                    raise UndecidedError("the projection still has a variable")
                parts.append(part)
                solver.add(z3.Not(part))
        raise UndecidedError("the projection has too many parts")

    def _simplified(self, formula: Formula) -> Formula:
        """Return a formula without the parts that the rest of it implies."""
        with self._counted(PER_QUESTION):
            simple = z3.simplify(formula)
            return self._reduced(simple, new_solver(self.context))

    def _reduced(self, formula: Formula, solver: z3.Solver) -> Formula:
        """Return a formula that is equal wherever the formulas of a solver hold."""
        if z3.is_not(formula) and (z3.is_and(formula.arg(0)) or z3.is_or(formula.arg(0))):
            return z3.Not(self._reduced(formula.arg(0), solver))
        if not (z3.is_and(formula) or z3.is_or(formula)):
            return formula
        join, turned = (z3.And, z3.Not) if z3.is_and(formula) else (z3.Or, lambda part: part)
        parts = formula.children()
        index = 0
        while index < len(parts):
            part = parts[index]
            solver.push()
            # A part of a disjunction matters only where all others are false.
            others = [other for place, other in enumerate(parts) if place != index]
            solver.add(*others if join is z3.And else map(z3.Not, others))
            if solver.check(turned(part)) == z3.unsat:
                del parts[index]
            else:
                parts[index] = self._reduced(part, solver)
                index += 1
            solver.pop()
        return parts[0] if len(parts) == 1 else join(parts, self.context)

    def least(self, one: Formula, two: Formula, *formulas: Formula) -> int | None:
        """Return the least difference `one - two` of two whole numbers under some formulas.

        None if there is no least difference, or z3 cannot find it.
        """
        with self.context as context:
            optimize = limited(z3.Optimize(ctx=context))
            optimize.add(*formulas)
            handle = optimize.minimize(one - two)
            if optimize.check() != z3.sat:
                return None
            least = optimize.lower(handle)
            return int(least.as_long()) if z3.is_int_value(least) else None

    @contextmanager
    def _counted(self, least: int) -> Iterator[SolverContext]:
        """Lock the context, and count the work that z3 does in it meanwhile."""
        with self.context as context:
            before = work_of(self.solver)
            try:
                yield context
            finally:
                self.count(least + (work_of(self.solver) - before) // PER_STEP)

    def _check(self, *formulas: Formula) -> z3.CheckSatResult:
        solver = new_solver(self.context)
        solver.add(*formulas)
        return solver.check()


def both(*formulas: Formula) -> Formula:
    """Return the conjunction of formulas."""
    with formulas[0].ctx if formulas else own_context() as context:
        return z3.simplify(z3.And(*formulas, context))


def negated(formula: Formula) -> Formula:
    """Return the negation of a formula."""
    with formula.ctx:
        return z3.Not(formula)


def renamed(formula: Formula, pairs: Sequence[tuple[z3.ExprRef, z3.ExprRef]]) -> Formula:
    """Return a formula with variables replaced by others simultaneously."""
    with formula.ctx:
        return z3.substitute(formula, *pairs) if pairs else formula


def _is_date(
    days: z3.ExprRef, parts: Mapping[str, z3.ExprRef], years: Sequence[int], context: z3.Context
) -> z3.BoolRef:
    """Return the formula that a day after 1970-01-01 has this date, in one of some years."""
    months = []
    for year, month in product(years, range(1, 13)):
        first = date(year, month, 1).toordinal() - EPOCH
        most = monthrange(year, month)[1]
        months.append(
            z3.And(
                parts["year"] == year,
                parts["month"] == month,
                parts["day"] <= most,
                days == first - 1 + parts["day"],
            )
        )
    return z3.And(parts["day"] >= 1, z3.Or(months, context))


def _around(
    model: z3.ModelRef, formula: Formula, variables: Sequence[z3.ExprRef], context: z3.Context
) -> Formula:
    """Return a formula without some variables that holds in a model and implies the projection."""
    left = z3.AstVector(ctx=context)
    for variable in variables:
        left.push(variable)
    # Equations are solved first: around a model, n = 2 * m would be a single number.
    lite = z3.BoolRef(z3.Z3_qe_lite(context.ref(), left.vector, formula.as_ast()), context)
    if not len(left):
        return lite
    bound = (z3.Ast * len(left))(*(variable.as_ast() for variable in left))
    part = z3.Z3_qe_model_project(context.ref(), model.model, len(left), bound, lite.as_ast())
    return z3.BoolRef(part, context)


def _cube(formula: Formula, model: z3.ModelRef, *, true: bool = True) -> list[Formula]:
    """Return literals that hold in a model and imply that a formula is true, or false."""
    if z3.is_not(formula):
        return _cube(formula.arg(0), model, true=not true)
    if z3.is_and(formula) or z3.is_or(formula):
        if z3.is_and(formula) == true:
            return [
                literal for part in formula.children() for literal in _cube(part, model, true=true)
            ]
        for part in formula.children():
            if z3.is_true(model.eval(part, model_completion=True)) == true:
                return _cube(part, model, true=true)
    return [formula if true else z3.Not(formula)]


def _constants_of(formula: Formula) -> set[str]:
    """Return the names of the variables of a formula."""
    seen: set[int] = set()
    names: set[str] = set()
    pending = [formula]
    while pending:
        node = pending.pop()
        if node.get_id() not in seen:
            seen.add(node.get_id())
            pending += node.children()
            if z3.is_const(node) and node.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                names.add(str(node))
    return names
