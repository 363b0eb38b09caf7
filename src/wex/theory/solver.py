"""Satisfiability and models of guards, decided by z3, and the z3 contexts of threads.

Texts are represented by whole numbers: every constant and every value of an enum has a code.
Atoms that z3 cannot decide (products of fields, arithmetic that rounds) are left open: they may be
true or false independently of all others.

A z3 context may be used by one thread at a time. Every thread is assigned one of a few contexts,
which is locked while the thread uses it. A fork waits until no other thread is inside z3.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import z3

from wex.spec.patterns import exact_pattern
from wex.theory.evaluate import EXACT, Event, Gram, Value, holds
from wex.theory.samples import default_value
from wex.theory.terms import (
    Absolute,
    Always,
    And,
    Arithmetic,
    Atom,
    Calendar,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    IsNull,
    Like,
    Local,
    Negative,
    Not,
    Or,
    RunningTest,
    Term,
    Truth,
    atoms,
    fields,
    is_opaque,
    is_open,
    null_flag,
    rounded,
)
from wex.theory.texts import possible_matches
from wex.threads import at_fork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from wex.spec.types import Type

AnySolver = TypeVar("AnySolver", z3.Solver, z3.Optimize)
# The limit of one question, in z3's own measure of work, which does not depend on the load of the
# machine: about a second. Beyond it the answer is "unknown".
RESOURCES = 4_000_000
MOST_CONTEXTS = 8  # a context takes 16 MB


MOST_TEXTS = 8  # constants that are compared with patterns
MOST_OF_PART = {"month": 12, "day": 31}


class UndecidedError(Exception):
    """z3 could not decide a question."""


# --- Contexts and solvers


class SolverContext(z3.Context):  # type: ignore[misc]
    """A z3 context, to be used under its lock: `with context: ...`."""

    def __init__(self) -> None:
        super().__init__()
        z3.Z3_enable_concurrent_dec_ref(self.ref())
        self.lock = threading.RLock()

    def __enter__(self) -> Self:
        if _forking.is_set() and not _thread.depth:
            with _registry_lock:  # held by the fork: let it acquire all contexts first
                pass
        self.lock.acquire()
        _thread.depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        _thread.depth -= 1
        self.lock.release()


class _ThreadState(threading.local):
    """The context of one thread."""

    context: SolverContext | None = None
    depth = 0  # how many nested `with context` the thread is in


_contexts: list[SolverContext] = []  # shared by all threads, in turns
_registry_lock = threading.RLock()
_forking = threading.Event()
_turns = count()
_thread = _ThreadState()


def own_context() -> SolverContext:
    """Return the context in which this thread creates its formulas."""
    if _thread.context is None:
        with _registry_lock:
            turn = next(_turns) % MOST_CONTEXTS
            if turn == len(_contexts):
                _contexts.append(SolverContext())
            _thread.context = _contexts[turn]
    return _thread.context


def _acquire_all() -> None:
    _registry_lock.acquire()
    _forking.set()
    for context in _contexts:
        context.lock.acquire()


def _release_all() -> None:
    for context in _contexts:
        context.lock.release()
    _forking.clear()
    _registry_lock.release()


at_fork(_acquire_all, _release_all)


def new_solver(context: SolverContext) -> z3.Solver:
    """Return a solver without formulas, with a limit on its work."""
    return limited(z3.Solver(ctx=context))


def simple_solver(context: SolverContext) -> z3.Solver:
    """Return a solver that leaves z3's tactics out: it is faster where questions are many, or easy.

    The tactics write whole numbers that have bounds as bits, 64 for those of an event. Then the easiest
    question takes tens of thousands of variables, and one in some thousands has no answer within its limit.
    """
    return limited(z3.SimpleSolver(ctx=context))


def work_of(solver: z3.Solver) -> int:
    """Return how much work z3 has done in the context of a solver so far, in its own measure."""
    return int(solver.statistics().get_key_value("rlimit count"))


def limited(solver: AnySolver) -> AnySolver:
    """Return the solver with a limit on its work, and with Ctrl-C left to Python.

    Otherwise z3 would answer an interrupt with "unknown", and the program would continue.
    """
    solver.set("rlimit", RESOURCES)
    solver.set("ctrl_c", False)
    return solver


# --- Guards as formulas


class Translation:
    """Translates guards to z3 formulas.

    The oldest `missing` events of the lookback are missing: atoms that read them are false. With
    `floating`, atoms whose arithmetic rounds are left open, and constants are rounded as at run
    time. `position` is the number of earlier events, if it is known: it decides `is_first`.
    """

    def __init__(
        self,
        *,
        missing: int = 0,
        lookback: int = 0,
        floating: bool = False,
        position: int | None = None,
    ) -> None:
        self.context = own_context()
        self.position = position
        self.missing = missing
        self.lookback = lookback
        self.floating = floating
        self.codes: dict[str, int] = {}
        self.domains: list[z3.BoolRef] = []
        self.variables: dict[Field, z3.ExprRef] = {}
        self._open: dict[Atom, z3.BoolRef] = {}
        self._patterns: dict[Field, dict[str, z3.BoolRef]] = {}
        self._unknown: dict[Term, z3.ExprRef] = {}

    def guard(self, guard: Guard) -> z3.BoolRef:
        """Return the formula of a guard."""
        with self.context:
            return self._guard(guard)

    def _guard(self, guard: Guard) -> z3.BoolRef:
        match guard:
            case Always(value):
                return z3.BoolVal(value, self.context)
            case Not(operand):
                return z3.Not(self._guard(operand))
            case And(parts):
                return z3.And([self._guard(part) for part in parts], self.context)
            case Or(parts):
                return z3.Or([self._guard(part) for part in parts], self.context)
            case Comparison() | Truth() | Like() | IsNull() | IsFirst() | RunningTest():
                return self._atom(guard)
        raise TypeError(guard)

    def is_open(self, atom: Atom) -> bool:
        """Tell whether an atom is left open."""
        return is_open(atom, floating=self.floating)

    def _atom(self, atom: Atom) -> z3.BoolRef:
        if isinstance(atom, IsFirst):
            return self._is_first(atom)
        if isinstance(atom, RunningTest):
            return self._free(atom)
        present = self.lookback - self.missing  # earlier events
        if any(-field.offset > present for field in fields(atom)):
            return z3.BoolVal(False, self.context)
        if isinstance(atom, Truth):
            return self._variable(atom.field)
        if isinstance(atom, IsNull):
            return self._variable(null_flag(atom.field))
        if self.is_open(atom):
            return self._free(atom)
        assert isinstance(atom, Comparison)
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
        """Return whether the first event is at an offset: known near it, open at the full lookback."""
        if self.position is not None:
            return z3.BoolVal(atom.offset == -self.position, self.context)
        if self.missing:
            return z3.BoolVal(atom.offset == self.missing - self.lookback, self.context)
        return (
            self._free(atom) if -atom.offset == self.lookback else z3.BoolVal(False, self.context)
        )

    def _free(self, atom: Atom) -> z3.BoolRef:
        variable = self._open.setdefault(atom, z3.Bool(f"open{len(self._open)}", self.context))
        if isinstance(atom, Like):
            self._patterns.setdefault(atom.field, {})[atom.pattern] = variable
        return variable

    def constraints(self) -> list[z3.BoolRef]:
        """Return what holds of every gram: the values of enums, the texts that patterns match.

        It is about the guards that have been translated so far.
        """
        with self.context:
            return [*self.domains, *(self._texts(field) for field in self._patterns)]

    def _texts(self, field: Field) -> z3.BoolRef:
        """Return which patterns and constants a text can match together."""
        tests = dict(self._patterns[field])
        if len(self.codes) <= MOST_TEXTS:
            variable = self._variable(field)
            tests |= {exact_pattern(text): variable == code for text, code in self.codes.items()}
        possible = possible_matches(tuple(tests)) if len(tests) <= 2 * MOST_TEXTS else None
        if possible is None:
            return z3.BoolVal(True, self.context)
        cases = [
            z3.And(
                [
                    test if true else z3.Not(test)
                    for test, true in zip(tests.values(), row, strict=True)
                ],
                self.context,
            )
            for row in possible
        ]
        return z3.Or(cases, self.context)

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
                    "//": lambda: _quotient(first, right),
                    "%": lambda: _remainder(first, right),
                }
                return results[op]()
            case Local() | Calendar():
                return self._unknown_value(term)
        raise TypeError(term)

    def _unknown_value(self, term: Local | Calendar) -> z3.ExprRef:
        """Return a variable for a value that the solver does not model; equal terms share it."""
        if term not in self._unknown:
            variable = z3.Int(f"unknown{len(self._unknown)}", self.context)
            self._unknown[term] = variable
            if isinstance(term, Calendar) and term.part in MOST_OF_PART:
                self.domains.append(
                    z3.And(variable >= 1, variable <= MOST_OF_PART[term.part], self.context)
                )
        return self._unknown[term]

    def _constant(self, value: int | Fraction | str | bool) -> z3.ExprRef:
        match value:
            case bool():
                return z3.BoolVal(value, self.context)
            case int():
                return z3.IntVal(value, self.context)
            case str():
                return z3.IntVal(self.code(value), self.context)
        return z3.RealVal(str(Fraction(rounded(value)) if self.floating else value), self.context)

    def code(self, text: str) -> int:
        """Return the code of a text."""
        return self.codes.setdefault(text, len(self.codes))

    def _variable(self, field: Field) -> z3.ExprRef:
        if field not in self.variables:
            sorts = {"whole": z3.Int, "real": z3.Real, "text": z3.Int, "bool": z3.Bool}
            variable = sorts[field.kind](f"field{len(self.variables)}", self.context)
            self.variables[field] = variable
            if field.type.values:
                codes = [variable == self.code(text) for text in field.type.values]
                self.domains.append(z3.Or(codes, self.context))
        return self.variables[field]


# --- Questions


def assignments(
    guards: Sequence[Guard], lookback: int, *, missing: int = 0, floating: bool
) -> Iterator[tuple[bool, ...]]:
    """Yield every combination of truth values that the guards can have together.

    Open atoms are independent; an UndecidedError is raised if z3 cannot decide a combination.
    """
    translation = Translation(missing=missing, lookback=lookback, floating=floating)
    context = translation.context
    with context:
        marks = [z3.Bool(f"guard{index}", context) for index in range(len(guards))]
        literals = [(z3.Not(mark), mark) for mark in marks]
        solver = simple_solver(context)
        for mark, guard in zip(marks, guards, strict=True):
            solver.add(mark == translation.guard(guard))
        solver.add(translation.constraints())
    # Every model is a row. All other rows first differ from it at some place: for each place, the
    # prefix that differs there is searched later. The solver has a scope for each value of a prefix,
    # as `check` with many assumptions takes far longer in Python than in z3.
    pending: list[tuple[bool, ...]] = [()]
    scopes: tuple[bool, ...] = ()
    while pending:
        prefix = pending.pop()
        with context:  # released while the caller uses the row
            while prefix[: len(scopes)] != scopes:
                solver.pop()
                scopes = scopes[:-1]
            for index in range(len(scopes), len(prefix)):
                solver.push()
                solver.add(literals[index][prefix[index]])
            scopes = prefix
            answer = solver.check()
            if answer == z3.unknown:
                raise UndecidedError(solver.reason_unknown())
            if answer == z3.unsat:
                continue
            model = solver.model()
            rest = [
                z3.is_true(model.eval(mark, model_completion=True)) for mark in marks[len(prefix) :]
            ]
        row = (*prefix, *rest)
        yield row
        pending += [(*row[:index], not row[index]) for index in range(len(prefix), len(row))]


def model(guard: Guard, stream_fields: Mapping[str, Type], lookback: int) -> Gram | None:
    """Return a gram of which a guard holds, in exact arithmetic, or None if there is none.

    The model of z3 is checked by evaluating the guard. Products of fields cannot be decided.
    """
    translation = Translation(lookback=lookback)
    with translation.context as context:
        solver = new_solver(context)
        solver.add(translation.guard(guard))
        solver.add(translation.constraints())
        if any(translation.is_open(atom) or is_opaque(atom) for atom in atoms(guard)):
            raise UndecidedError("the guard multiplies or divides fields, or asks for a pattern")
        answer = solver.check()
        if answer == z3.unknown:
            raise UndecidedError(solver.reason_unknown())
        if answer == z3.unsat:
            return None
        gram = _events(solver.model(), translation, stream_fields, lookback)
    # `is_first` is open only at the full lookback: the model fits one of the two cases.
    if not any(holds(guard, gram, first=first, numbers=EXACT) for first in (None, -lookback)):
        raise AssertionError(f"z3's model does not satisfy {guard}")
    return gram


def satisfiable(guard: Guard, lookback: int, *, missing: int = 0, floating: bool = False) -> bool:
    """Tell whether a guard can hold; a guard that z3 cannot decide counts as satisfiable."""
    translation = Translation(missing=missing, lookback=lookback, floating=floating)
    with translation.context as context:
        solver = new_solver(context)
        solver.add(translation.guard(guard))
        solver.add(translation.constraints())
        return bool(solver.check() != z3.unsat)


def _quotient(value: z3.ExprRef, divisor: Term) -> z3.ExprRef:
    """Return the quotient by a constant, rounded down; z3 rounds so for a positive divisor only."""
    assert isinstance(divisor, Constant)
    assert isinstance(divisor.value, int)
    number = divisor.value
    return value / number if number > 0 else -value / -number


def _remainder(value: z3.ExprRef, divisor: Term) -> z3.ExprRef:
    """Return the remainder by a constant, which has the sign of the divisor."""
    assert isinstance(divisor, Constant)
    assert isinstance(divisor.value, int)
    number = divisor.value
    return value % number if number > 0 else -(-value % -number)


def _real(term: z3.ExprRef) -> z3.ExprRef:
    return z3.ToReal(term) if z3.is_int(term) else term


def _events(
    solution: z3.ModelRef,
    translation: Translation,
    stream_fields: Mapping[str, Type],
    lookback: int,
) -> list[Event]:
    """Return the events of a model; fields that are not in it get a default value."""
    names: dict[int | Fraction, str] = {code: text for text, code in translation.codes.items()}
    events: list[Event] = []
    for offset in range(-lookback, 1):
        event: dict[str, Value] = {}
        for name, type_ in stream_fields.items():
            field = Field(name, offset, type_)
            variable = translation.variables.get(field)
            value = None if variable is None else solution.eval(variable, model_completion=True)
            flag = translation.variables.get(null_flag(field))
            if flag is not None and z3.is_true(solution.eval(flag)):
                event[name] = None
                continue
            event[name] = default_value(field) if value is None else _python(value, field, names)
        events.append(event)
    return events


def value_in(
    solution: z3.ModelRef, variable: z3.ExprRef, field: Field, names: dict[int | Fraction, str]
) -> Value:
    """Return the value of a field in a model; `names` has the texts by code, and gets new ones."""
    return _python(solution.eval(variable, model_completion=True), field, names)


def _fraction(value: z3.ExprRef) -> Fraction:
    if not z3.is_rational_value(value):  # for example a square root
        raise UndecidedError("the model has an irrational number")
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _python(value: z3.ExprRef, field: Field, names: dict[int | Fraction, str]) -> Value:
    if field.kind == "bool":
        return bool(z3.is_true(value))
    if field.kind == "real":
        return _fraction(value)
    number: int | Fraction = value.as_long() if z3.is_int_value(value) else _fraction(value)
    if field.kind == "whole":
        return number
    if number not in names:  # none of the constants: choose a new text
        taken = set(names.values())
        names[number] = next(text for text in map("text{}".format, count()) if text not in taken)
    return names[number]
