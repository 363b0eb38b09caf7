"""Satisfiability of guards and concrete models, by z3.

Texts are whole numbers with equality: every constant has a number of its own, and so has every
value of an enum. What z3 cannot decide (products of fields, arithmetic that rounds) is left open:
such an atom may be true or false whatever the others are.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import z3

from wex.theory.evaluate import EXACT, Event, Gram, Value, holds
from wex.theory.terms import (
    Absolute,
    Always,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    Negative,
    Not,
    Or,
    Term,
    Truth,
    atoms,
    fields,
    is_open,
    rounded,
)
from wex.threads import at_fork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from wex.spec.types import Type


Asked = TypeVar("Asked", z3.Solver, z3.Optimize)
# For one question, as z3 counts its work: about a second, whatever else the machine does. It
# answers "unknown" after that.
RESOURCES = 4_000_000
MILLISECONDS = 1_000  # where z3 takes nothing but a time


class UndecidedError(Exception):
    """z3 could not tell."""


def new_solver(home: SolverContext) -> z3.Solver:
    """Return a solver without any formulas; what it cannot tell in time is unknown."""
    return limited(z3.Solver(ctx=home))


def limited(solver: Asked) -> Asked:
    """Return a solver that gives up in time, and leaves Ctrl-C to Python.

    By itself it would take an interrupt for an answer, "unknown", and the program would go on.
    """
    solver.set("rlimit", RESOURCES)
    solver.set("ctrl_c", False)
    return solver


class Translation:
    """Guards as z3 formulas.

    `missing` events of the lookback are not there: atoms about them are false. With `floating`,
    atoms whose arithmetic rounds are left open, and constants are rounded as at run time. With a
    `position`, so many events came before, and whether one is the first is known.
    """

    def __init__(
        self,
        *,
        missing: int = 0,
        lookback: int = 0,
        floating: bool = False,
        position: int | None = None,
    ) -> None:
        self.home = own_context()
        self.position = position
        self.missing = missing
        self.lookback = lookback
        self.floating = floating
        self.codes: dict[str, int] = {}
        self.domains: list[z3.BoolRef] = []
        self.variables: dict[Field, z3.ExprRef] = {}
        self._open: dict[Atom, z3.BoolRef] = {}

    def guard(self, guard: Guard) -> z3.BoolRef:
        """Return a guard as a formula."""
        with self.home:
            return self._guard(guard)

    def _guard(self, guard: Guard) -> z3.BoolRef:
        match guard:
            case Always(value):
                return z3.BoolVal(value, self.home)
            case Not(operand):
                return z3.Not(self._guard(operand))
            case And(parts):
                return z3.And([self._guard(part) for part in parts], self.home)
            case Or(parts):
                return z3.Or([self._guard(part) for part in parts], self.home)
            case Comparison() | Truth() | IsFirst():
                return self._atom(guard)
        raise TypeError(guard)

    def is_open(self, atom: Atom) -> bool:
        """Tell whether an atom is true or false independently of the others."""
        return is_open(atom, floating=self.floating)

    def _atom(self, atom: Atom) -> z3.BoolRef:
        if isinstance(atom, IsFirst):
            return self._is_first(atom)
        here = self.lookback - self.missing  # how many events back there are any
        if any(-field.offset > here for field in fields(atom)):
            return z3.BoolVal(False, self.home)
        if isinstance(atom, Truth):
            return self._variable(atom.field)
        assert isinstance(atom, Comparison)
        if self.is_open(atom):
            return self._free(atom)
        left, right = self._term(atom.left), self._term(atom.right)
        relations = {
            "=": lambda: left == right,
            "!=": lambda: left != right,
            "<": lambda: left < right,
            "<=": lambda: left <= right,
            ">": lambda: left > right,
            ">=": lambda: left >= right,
        }
        return relations[atom.op]()

    def _is_first(self, atom: IsFirst) -> z3.BoolRef:
        """Return whether the first event lies there: known near it, open at the full lookback."""
        if self.position is not None:
            return z3.BoolVal(atom.offset == -self.position, self.home)
        if self.missing:
            return z3.BoolVal(atom.offset == self.missing - self.lookback, self.home)
        return self._free(atom) if -atom.offset == self.lookback else z3.BoolVal(False, self.home)

    def _free(self, atom: Atom) -> z3.BoolRef:
        return self._open.setdefault(atom, z3.Bool(f"open{len(self._open)}", self.home))

    def _term(self, term: Term) -> z3.ExprRef:
        match term:
            case Field():
                return self._variable(term)
            case Constant(value):
                return self._constant(value)
            case Negative(value):
                return -self._term(value)
            case Absolute(value):
                inner = self._term(value)
                return z3.If(inner >= 0, inner, -inner)
            case Arithmetic(op, left, right):
                first, second = self._term(left), self._term(right)
                if term.kind == "real":
                    first, second = _real(first), _real(second)
                results = {
                    "+": lambda: first + second,
                    "-": lambda: first - second,
                    "*": lambda: first * second,
                    "/": lambda: first / second,
                }
                return results[op]()
        raise TypeError(term)

    def _constant(self, value: int | Fraction | str | bool) -> z3.ExprRef:
        match value:
            case bool():
                return z3.BoolVal(value, self.home)
            case int():
                return z3.IntVal(value, self.home)
            case str():
                return z3.IntVal(self.code(value), self.home)
        return z3.RealVal(str(Fraction(rounded(value)) if self.floating else value), self.home)

    def code(self, text: str) -> int:
        """Return the number that stands for a text."""
        return self.codes.setdefault(text, len(self.codes))

    def _variable(self, field: Field) -> z3.ExprRef:
        if field not in self.variables:
            sorts = {"whole": z3.Int, "real": z3.Real, "text": z3.Int, "bool": z3.Bool}
            variable = sorts[field.kind](f"field{len(self.variables)}", self.home)
            self.variables[field] = variable
            if field.type.values:
                codes = [variable == self.code(text) for text in field.type.values]
                self.domains.append(z3.Or(codes, self.home))
        return self.variables[field]


def assignments(
    guards: Sequence[Guard], lookback: int, *, missing: int = 0, floating: bool
) -> Iterator[tuple[bool, ...]]:
    """Yield every combination of truth values that the guards can have together.

    Never too few: what z3 cannot decide counts as possible.
    """
    translation = Translation(missing=missing, lookback=lookback, floating=floating)
    home = translation.home
    with home:
        marks = [z3.Bool(f"guard{at}", home) for at in range(len(guards))]
        literals = [(z3.Not(mark), mark) for mark in marks]
        solver = limited(z3.SimpleSolver(ctx=home))
        for mark, guard in zip(marks, guards, strict=True):
            solver.add(mark == translation.guard(guard))
        solver.add(translation.domains)
    # Each model is a row; what differs from it at one place first is asked for with what is before.
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        known = pending.pop()
        with home:  # not while the caller works with what is yielded
            answer = solver.check([literals[at][value] for at, value in enumerate(known)])
            if answer == z3.unknown:
                raise UndecidedError(solver.reason_unknown())
            if answer == z3.unsat:
                continue
            model = solver.model()
            rest = [
                z3.is_true(model.eval(mark, model_completion=True)) for mark in marks[len(known) :]
            ]
        row = (*known, *rest)
        yield row
        pending += [(*row[:at], not row[at]) for at in range(len(known), len(row))]


def model(guard: Guard, stream_fields: Mapping[str, Type], lookback: int) -> Gram | None:
    """Return events of which a guard holds, over the exact numbers, or None if there are none.

    Every model is checked by evaluating the guard on it; products of fields cannot be decided.
    """
    translation = Translation(lookback=lookback)
    with translation.home as home:
        solver = new_solver(home)
        solver.add(translation.guard(guard))
        solver.add(translation.domains)
        if any(translation.is_open(atom) for atom in atoms(guard)):
            raise UndecidedError("a product or quotient of fields")
        answer = solver.check()
        if answer == z3.unknown:
            raise UndecidedError(solver.reason_unknown())
        if answer == z3.unsat:
            return None
        gram = _events(solver.model(), translation, stream_fields, lookback)
    # `is_first` is open only at the far end of the lookback: one of the two must fit.
    if not any(holds(guard, gram, first=first, numbers=EXACT) for first in (None, -lookback)):
        raise AssertionError(f"z3's model does not satisfy {guard}")
    return gram


def satisfiable(guard: Guard, lookback: int, *, missing: int = 0, floating: bool = False) -> bool:
    """Tell whether a guard can hold at all; what z3 cannot decide counts as possible."""
    translation = Translation(missing=missing, lookback=lookback, floating=floating)
    with translation.home as home:
        solver = new_solver(home)
        solver.add(translation.guard(guard))
        solver.add(translation.domains)
        return bool(solver.check() != z3.unsat)


def _real(term: z3.ExprRef) -> z3.ExprRef:
    return z3.ToReal(term) if z3.is_int(term) else term


def _events(
    found: z3.ModelRef, translation: Translation, stream_fields: Mapping[str, Type], lookback: int
) -> list[Event]:
    """Return a model as events; fields that it says nothing about get a plain value."""
    names: dict[int | Fraction, str] = {code: text for text, code in translation.codes.items()}
    events: list[Event] = []
    for offset in range(-lookback, 1):
        event: dict[str, Value] = {}
        for name, type_ in stream_fields.items():
            field = Field(name, offset, type_)
            variable = translation.variables.get(field)
            value = None if variable is None else found.eval(variable, model_completion=True)
            event[name] = plain_value(field) if value is None else _python(value, field, names)
        events.append(event)
    return events


def value_in(
    found: z3.ModelRef, variable: z3.ExprRef, field: Field, names: dict[int | Fraction, str]
) -> Value:
    """Return what a model says of a field; `names` are the texts by number, and gets new ones."""
    return _python(found.eval(variable, model_completion=True), field, names)


def plain_value(field: Field) -> Value:
    """Return some value of a field."""
    if field.type.values:
        return field.type.values[0]
    plain: dict[str, Value] = {"whole": 0, "real": Fraction(0), "text": "", "bool": False}
    return plain[field.kind]


def _fraction(value: z3.ExprRef) -> Fraction:
    if not z3.is_rational_value(value):  # a root, say
        raise UndecidedError("a number that is no fraction")
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _python(value: z3.ExprRef, field: Field, names: dict[int | Fraction, str]) -> Value:
    if field.kind == "bool":
        return bool(z3.is_true(value))
    if field.kind == "real":
        return _fraction(value)
    number: int | Fraction = value.as_long() if z3.is_int_value(value) else _fraction(value)
    if field.kind == "whole":
        return number
    if number not in names:  # a text that is none of the constants: make one up
        taken = set(names.values())
        names[number] = next(text for text in map("text{}".format, count()) if text not in taken)
    return names[number]


MOST_CONTEXTS = 8  # a context takes 16 MB


class SolverContext(z3.Context):  # type: ignore[misc]
    """A z3 context, to be used under its lock: `with home: ...`."""

    def __init__(self) -> None:
        super().__init__()
        z3.Z3_enable_concurrent_dec_ref(self.ref())
        self.lock = threading.RLock()

    def __enter__(self) -> Self:
        if _fork.is_set() and not _own.inside:
            with _changing:  # until the fork is over: it must not have to wait for its turn
                pass
        self.lock.acquire()
        _own.inside += 1
        return self

    def __exit__(self, *_: object) -> None:
        _own.inside -= 1
        self.lock.release()


class _Own(threading.local):
    """What belongs to one thread."""

    home: SolverContext | None = None
    inside = 0  # how many times it has entered a home


_homes: list[SolverContext] = []
_changing = threading.RLock()
_fork = threading.Event()
_turns = count()
_own = _Own()


def own_context() -> SolverContext:
    """Return the home in which this thread makes its formulas."""
    if _own.home is None:
        with _changing:
            turn = next(_turns) % MOST_CONTEXTS
            if turn == len(_homes):
                _homes.append(SolverContext())
            _own.home = _homes[turn]
    return _own.home


# A fork waits until no other thread is inside z3, which has locks of its own.


def _take_all() -> None:
    _changing.acquire()
    _fork.set()
    for home in _homes:
        home.lock.acquire()


def _leave_all() -> None:
    for home in _homes:
        home.lock.release()
    _fork.clear()
    _changing.release()


at_fork(_take_all, _leave_all)
