"""Guards that hold for a whole family of events, whose numbers are linear in two counts.

Each number of an event is a *base* and two *slopes*: what it gains with each step of the counts. A linear
comparison holds for all counts from zero on if and only if it holds at the base and the slopes do
not work against it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import z3

from wex.theory.solver import UndecidedError, own_context
from wex.theory.sums import NEGATED, inner_sums, sum_of
from wex.theory.terms import And, Arithmetic, Comparison, Field, Not, Or, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wex.theory.event_search import EventSearch
    from wex.theory.projection import Formula, Symbols
    from wex.theory.sums import Sum
    from wex.theory.terms import Guard, Term

Slopes: TypeAlias = "tuple[Formula, Formula]"
SlopesOf: TypeAlias = (
    "Callable[[Field], Slopes | None]"  # None: the field is the same for all counts
)


def steady(guard: Guard, symbols: Symbols, slopes: SlopesOf, *, true: bool = True) -> Formula:
    """Return a formula that implies that a guard is true, or false, for all counts.

    `symbols` translates atoms about the base.
    """
    with symbols.context as context:
        match guard:
            case Not(operand):
                return steady(operand, symbols, slopes, true=not true)
            case And(parts) | Or(parts):
                own = [steady(part, symbols, slopes, true=true) for part in parts]
                join = z3.And if isinstance(guard, And) == true else z3.Or
                return join(own, context)
            case Comparison(op, left, right) if _is_about_numbers(guard, symbols):
                atom = Comparison(op if true else NEGATED[op], left, right)
                return _comparison(atom, Arithmetic("-", left, right), symbols, slopes)
        formula = symbols.guard(guard)
        return formula if true else z3.Not(formula)


def _is_about_numbers(atom: Comparison, symbols: Symbols) -> bool:
    """Tell whether numbers are compared; if an event is missing, an atom is false and that is all."""
    present = symbols.lookback - symbols.missing
    missing = any(-field.offset > present for field in fields(atom))
    return not missing and atom.left.kind in ("whole", "real")


def _comparison(atom: Comparison, value: Term, symbols: Symbols, slopes: SlopesOf) -> Formula:
    """Return a formula that implies a comparison for all counts; `value` is left less right."""
    context = symbols.context
    base = symbols.guard(atom)
    known = sum_of(value)
    if known is None:  # it depends on some values, which have to be constant
        rises = [_rise(own, slopes, context) for own in inner_sums(value)]
        return z3.And([base, *(rise == 0 for pair in rises for rise in pair)], context)
    up, down = (
        z3.And([rise >= 0 if sign > 0 else rise <= 0 for rise in _rise(known, slopes, context)])
        for sign in (1, -1)
    )
    match atom.op:
        case "=":
            return z3.And(base, up, down)
        case "!=":
            more = Comparison(">", atom.left, atom.right)
            less = Comparison("<", atom.left, atom.right)
            return z3.Or(z3.And(symbols.guard(more), up), z3.And(symbols.guard(less), down))
        case ">" | ">=":
            return z3.And(base, up)
    return z3.And(base, down)


def _rise(value: Sum, slopes: SlopesOf, context: z3.Context) -> tuple[Formula, Formula]:
    """Return what a sum gains with each step of the two counts."""
    rises = [z3.RealVal(0, context), z3.RealVal(0, context)]
    for field, factor in value.factors.items():
        own = slopes(field)
        for index, slope in enumerate(own or ()):
            rises[index] += z3.RealVal(str(factor), context) * slope
    return rises[0], rises[1]


class SlopeSearch:
    """The slopes of a family as unknowns beside the base events of an `EventSearch`."""

    def __init__(self, searching: EventSearch) -> None:
        self.searching = searching
        self.unknown: dict[str, z3.ExprRef] = {}

    def slope(self, name: str, field: Field) -> Formula:
        """Return the unknown slope of a field, by name."""
        if name not in self.unknown:
            sort = z3.Real if field.kind == "real" else z3.Int
            self.unknown[name] = sort(f"slope {name}", own_context())
        return self.unknown[name]

    def sum(self, *slopes: Formula) -> Formula:
        """Return the sum of slopes."""
        with self.searching.context:
            return z3.Sum(list(slopes)) if len(slopes) > 1 else slopes[0]

    def progression(self, values: list[Formula], slope: Formula) -> None:
        """Require that each of some values is the one before it and a slope."""
        with self.searching.context:
            for before, after in pairwise(values):
                self.searching.solver.add(after == before + slope)

    def prefer_zero(self, names: list[str]) -> bool:
        """Require that slopes are zero, if that is possible; tell whether it is."""
        with self.searching.context:
            zero = [self.unknown[name] == 0 for name in names if name in self.unknown]
            self.searching.solver.push()
            self.searching.solver.add(*zero)
            possible = self.searching.solver.check() == z3.sat
            self.searching.solver.pop()
            if possible:
                self.searching.solver.add(*zero)
            return bool(possible)

    def values(self) -> Mapping[str, Fraction]:
        """Return the slopes, after the events have been chosen."""
        with self.searching.context:
            solver = self.searching.solver
            if solver.check() != z3.sat:
                raise UndecidedError("z3 did not confirm its own model")
            model = solver.model()
            found = {}
            for name, variable in self.unknown.items():
                value = model.eval(variable, model_completion=True)
                if z3.is_int_value(value):
                    found[name] = Fraction(value.as_long())
                elif z3.is_rational_value(value):
                    found[name] = Fraction(value.numerator_as_long(), value.denominator_as_long())
                else:
                    raise UndecidedError("the model has an irrational number")
            return found
