"""Programs for windows with aggregates in their predicates: what an event does to an open start.

A start has registers: the parts of its aggregates, and their results at earlier events where a
predicate looks back at them. A program is the text of a function that updates the registers with an
event and tells which predicates are true then. It reads *columns*: everything that does not depend
on the start is computed before, for all events at once.

Values may be NULL. So each value has two names, itself and whether it is known, and each predicate
has two, whether it is true and whether it is false; neither: it is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from wex.spec.aggregates import AGGREGATES
from wex.spec.types import DURATION, STRING
from wex.theory.evaluate import FLOATING
from wex.theory.terms import (
    RESULT,
    Absolute,
    Always,
    And,
    Arithmetic,
    Comparison,
    Constant,
    Field,
    Guard,
    Negative,
    Not,
    Or,
    Term,
    Truth,
    atoms,
    fields,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from wex.spec.types import Type
    from wex.theory.terms import Aggregate, RunningTest

RegisterKind = Literal["whole", "real", "text"]
ColumnKind = Literal["value", "known", "truth", "argument", "present", "code", "ranks"]
Named = tuple[str, str]  # a value and whether it is known; or a predicate: is it true, is it false
TRUE, FALSE = "True", "False"


@dataclass(frozen=True)
class Column:
    """What a program reads of each event.

    `value` and `known`: a term; `truth`: a predicate as 0, 1 or 2 for unknown, false where an atom
    reads a missing event; `argument`: the same, but unknown there; `present`: whether no event is
    missing that an atom reads. `code` is the number of a text, and `ranks` the order of all texts.
    """

    kind: ColumnKind
    part: Term | Guard | str


@dataclass(frozen=True)
class Program:
    """The text of `step`, `load` and `store`, the columns that it reads, the kinds of its registers.

    `remembered` has for an aggregate and a number of events back the registers of its result: its
    value, and whether it is known. They are asked about the next event.
    """

    source: str
    columns: tuple[Column, ...]
    registers: tuple[RegisterKind, ...]
    remembered: Mapping[tuple[Aggregate, int], tuple[int, int]]

    @property
    def initial(self) -> tuple[int | float, ...]:
        """The registers of a start before its first event."""
        return tuple(0.0 if kind == "real" else 0 for kind in self.registers)


def program_of(tests: Iterable[RunningTest], nullable: Collection[str]) -> Program:
    """Return the program for the predicates with aggregates of a window, a bit for each of them.

    `nullable` are the fields that may be NULL: an aggregate skips events without its argument.
    """
    return _Writer(list(tests), nullable).program()


class _Writer:
    """Writes the program of a window."""

    def __init__(self, tests: list[RunningTest], nullable: Collection[str]) -> None:
        self._tests, self._nullable = tests, nullable
        self._columns: dict[Column, str] = {}
        self._registers: list[RegisterKind] = []
        self._lines: list[str] = []
        self._names = 0
        self._results: dict[tuple[Aggregate, int], Named] = {}
        self._places: dict[tuple[Aggregate, int], tuple[int, int]] = {}

    def program(self) -> Program:
        """Return the program."""
        deepest: dict[Aggregate, int] = {}
        for test in self._tests:
            for field in _results_in(test.test):
                aggregate = test.aggregates[_number(field)]
                deepest[aggregate] = max(deepest.get(aggregate, 0), -field.offset)
        history: list[str] = []
        for aggregate, depth in deepest.items():
            self._results[aggregate, 0] = self._aggregated(aggregate)
            history += self._remembered(aggregate, depth)
        bits = []
        for bit, test in enumerate(self._tests):
            true, _ = self._guard(test.test, test)
            bits.append(f"({1 << bit} if {true} else 0)")
        self._lines.append(f"own = {' + '.join(bits)}")
        return Program(
            self._source(history), tuple(self._columns), tuple(self._registers), self._places
        )

    def _source(self, history: list[str]) -> str:
        registers = [f"r{number}" for number in range(len(self._registers))]
        listed = ", ".join(registers) + ","
        read = [
            f"{name} = columns[{number}]" + ("" if _is_whole(column) else "[row]")
            for number, (column, name) in enumerate(self._columns.items())
        ]
        step = [
            f"{listed} = registers",
            *read,
            *self._lines,
            *history,
            f"return ({listed}), own",
        ]
        places = []
        counts = {"ints": 0, "reals": 0}
        for kind in self._registers:
            array = "reals" if kind == "real" else "ints"
            places.append(f"{array}[at, {counts[array]}]")
            counts[array] += 1
        stored = [
            f"{place} = {register}" for place, register in zip(places, registers, strict=True)
        ]
        return "\n".join(
            [
                _function("step(row, registers, columns)", step),
                _function("load(ints, reals, at)", [f"return ({', '.join(places)},)"]),
                _function("store(ints, reals, at, registers)", [f"{listed} = registers", *stored]),
            ]
        )

    # --- Names

    def _column(self, kind: ColumnKind, part: Term | Guard | str) -> str:
        return self._columns.setdefault(Column(kind, part), f"c{len(self._columns)}")

    def _register(self, kind: RegisterKind) -> str:
        self._registers.append(kind)
        return f"r{len(self._registers) - 1}"

    def _let(self, value: str) -> str:
        self._names += 1
        name = f"v{self._names}"
        self._lines.append(f"{name} = {value}")
        return name

    # --- Aggregates

    def _aggregated(self, aggregate: Aggregate) -> Named:
        """Write the update of an aggregate, and return its result."""
        write = _UPDATES[aggregate.name]
        lines, self._lines = self._lines, []
        result, known = write(self, aggregate)
        body, self._lines = self._lines, lines
        if aggregate.filter is not None:
            condition = self._column("argument", aggregate.filter)
            body = [f"if {condition} == 1:", *(f"    {line}" for line in body)]
        self._lines += body
        return self._let(result), known if known == TRUE else self._let(known)

    def _argument(
        self, aggregate: Aggregate, number: int = 0
    ) -> tuple[str, list[str], RegisterKind]:
        """Return an argument, the conditions under which it is known, and the kind of its register."""
        term = aggregate.arguments[number]
        assert isinstance(term, Term)
        kind: RegisterKind = "real" if term.kind == "real" else "whole"
        if aggregate.types[number] == STRING or aggregate.types[number].values:
            kind = "text"
        value, known = self._event_term(term)
        return value, [] if known == TRUE else [known], kind

    def _if(self, conditions: list[str], *lines: str) -> None:
        if conditions:
            self._lines.append(f"if {' and '.join(conditions)}:")
            self._lines += [f"    {line}" for line in lines]
        else:
            self._lines += lines

    def count(self, aggregate: Aggregate) -> Named:
        number = self._register("whole")
        known = self._argument(aggregate)[1] if aggregate.arguments else []
        self._if(known, f"{number} += 1")
        return number, TRUE

    def total(self, aggregate: Aggregate) -> Named:
        """Write a sum or an average: of whole numbers exact, with a count of how often it wrapped."""
        value, known, kind = self._argument(aggregate)
        total, number = self._register(kind), self._register("whole")
        divided = aggregate.name == "avg"
        if kind == "real":
            self._if(known, f"{total} += {value}", f"{number} += 1")
            result = f"divide({total}, float({number}))" if divided else total
            some = self._always(aggregate, known) or f"{number} > 0"
            return result, _both(some, f"{total} == {total}")
        wraps = self._register("whole")
        self._if(
            known,
            f"s = {total} + {value}",
            f"if (({total} ^ s) & ({value} ^ s)) < 0:",
            f"    {wraps} += 1 if {value} > 0 else -1",
            f"{total} = s",
            f"{number} += 1",
        )
        result = total
        if divided and aggregate.types[0] == DURATION:
            result = f"average({total}, {number}) if {number} > 0 else 0"
        elif divided:
            result = f"divide(float({total}), float({number}))"
        some = self._always(aggregate, known) or f"{number} > 0"
        return result, _both(some, f"{wraps} == 0")

    def extreme(self, aggregate: Aggregate) -> Named:
        value, known, kind = self._argument(aggregate)
        best, number = self._register(kind), self._register("whole")
        better = self._before(aggregate.name == "max", kind, value, best)
        self._if(
            known,
            f"{best} = {value} if {better} else {best}",
            f"{best} = {value} if {number} == 0 else {best}",
            f"{number} = 1",
        )
        return best, self._always(aggregate, known) or f"{number} == 1"

    @staticmethod
    def _always(aggregate: Aggregate, known: list[str]) -> str:
        """Return `True` if each event has a value, so that there is always a result; else nothing."""
        return TRUE if not known and aggregate.filter is None else ""

    def _before(self, greater: bool, kind: RegisterKind, one: str, other: str) -> str:
        if kind == "text":
            ranks = self._column("ranks", "")
            one, other = f"{ranks}[{one}]", f"{ranks}[{other}]"
        return f"{one} > {other}" if greater else f"{one} < {other}"

    def first(self, aggregate: Aggregate) -> Named:
        value, known, kind = self._argument(aggregate)
        kept, number = self._register(kind), self._register("whole")
        chosen = value
        if aggregate.name == "first":  # it is the same at the next event
            chosen = f"{value} if {number} == 0 else {kept}"
            self._places[aggregate, 1] = len(self._registers) - 2, len(self._registers) - 1
        self._if(known, f"{kept} = {chosen}", f"{number} = 1")
        return kept, self._always(aggregate, known) or f"{number} == 1"

    def by(self, aggregate: Aggregate) -> Named:
        """Write `min_by` or `max_by`: the value may be NULL where the key is best."""
        value, value_known, kind = self._argument(aggregate, 0)
        key, known, key_kind = self._argument(aggregate, 1)
        kept, best = self._register(kind), self._register(key_kind)
        number = self._register("whole")
        there = " and ".join(value_known)
        better = self._before(aggregate.name == "max_by", key_kind, key, best)
        self._if(
            [*known, f"({number} == 0 or {better})"],
            f"{kept} = {value}",
            f"{best} = {key}",
            f"{number} = 1 if {there} else 2" if there else f"{number} = 1",
        )
        return kept, f"{number} == 1"

    def count_if(self, aggregate: Aggregate) -> Named:
        number = self._register("whole")
        self._if([f"{self._condition(aggregate)} == 1"], f"{number} += 1")
        return number, TRUE

    def some(self, aggregate: Aggregate) -> Named:
        """Write `some` or `every`: the register is 0 before the first event that is known."""
        decided = self._register("whole")  # 1: it is false so far, 2: it is true
        condition = self._condition(aggregate)
        one, other = (1, 0) if aggregate.name == "some" else (0, 1)
        values = {1: 2, 0: 1}
        self._if([f"{condition} == {one}"], f"{decided} = {values[one]}")
        self._if([f"{condition} == {other}", f"{decided} == 0"], f"{decided} = {values[other]}")
        return f"1 if {decided} == 2 else 0", f"{decided} != 0"

    def _condition(self, aggregate: Aggregate) -> str:
        condition = aggregate.arguments[0]
        assert isinstance(condition, Guard)
        return self._column("argument", condition)

    def _remembered(self, aggregate: Aggregate, depth: int) -> list[str]:
        """Return the lines that remember a result for later events, newest first."""
        kind = kind_of(_result_type(aggregate))
        held: RegisterKind = "real" if kind == "real" else "text" if kind == "text" else "whole"
        first = len(self._registers)
        names = [(self._register(held), self._register("whole")) for _ in range(depth)]
        for back, (value, known) in enumerate(names, 1):
            self._places[aggregate, back] = (first + 2 * back - 2, first + 2 * back - 1)
            self._results[aggregate, back] = value, f"{known} == 1"
        lines: list[str] = []
        for back in range(depth, 0, -1):
            value, known = names[back - 1]
            older, older_known = names[back - 2] if back > 1 else self._results[aggregate, 0]
            flag = older_known if back > 1 else f"1 if {older_known} else 0"
            lines += [f"{value} = {older}", f"{known} = {flag}"]
        return lines

    # --- Terms

    def _event_term(self, term: Term) -> Named:
        """Return a value that does not depend on the start: a constant or a column."""
        match term:
            case Constant(str(text)):
                return f"{self._column('code', text)}[0]", TRUE
            case Constant(bool(value)):
                return str(int(value)), TRUE
            case Constant(int() | Fraction() as value):
                return _literal(FLOATING.constant(value)), TRUE
            case Field(name, 0) if name not in self._nullable:
                return self._column("value", term), TRUE
        return self._column("value", term), self._column("known", term)

    def _term(self, term: Term, test: RunningTest) -> Named:
        if not any(_results_in(term)):
            return self._event_term(term)
        match term:
            case Field():
                return self._results[test.aggregates[_number(term)], -term.offset]
            case Negative(value):
                return self._signed(term, value, "-{0}", test)
            case Absolute(value):
                return self._signed(term, value, "abs({0})", test)
            case Arithmetic():
                return self._arithmetic(term, test)
        raise TypeError(term)

    def _signed(self, term: Term, inner: Term, form: str, test: RunningTest) -> Named:
        value, known = self._term(inner, test)
        if term.kind == "real":
            return self._let(form.format(value)), known
        return self._let(form.format(value)), self._let(_both(known, f"{value} != LEAST"))

    def _arithmetic(self, term: Arithmetic, test: RunningTest) -> Named:
        (left, left_known), (right, right_known) = (
            self._term(side, test) for side in (term.left, term.right)
        )
        known = _both(left_known, right_known)
        if term.kind == "real":
            one, two = (
                name if side.kind == "real" else f"float({name})"
                for name, side in ((left, term.left), (right, term.right))
            )
            form = f"divide({one}, {two})" if term.op == "/" else f"{one} {term.op} {two}"
            value = self._let(form)
            return value, self._let(_both(known, f"{value} == {value}"))
        value = self._let(f"{left} {term.op} {right}")
        if term.op in ("//", "%"):  # by a constant, which is not zero
            return value, self._let(_both(known, f"{left} != LEAST or {right} != -1"))
        fits = {
            "+": f"(({left} ^ {value}) & ({right} ^ {value})) >= 0",
            "-": f"(({left} ^ {right}) & ({left} ^ {value})) >= 0",
            "*": f"multiplies({left}, {right})",
        }[term.op]
        return value, self._let(_both(known, fits))

    # --- Predicates

    def _guard(self, guard: Guard, test: RunningTest) -> Named:
        """Return whether a predicate is true, and whether it is false."""
        if not any(_results_in(guard)):
            if isinstance(guard, Always):
                return (TRUE, FALSE) if guard.value else (FALSE, TRUE)
            code = self._column("truth", guard)
            return self._let(f"{code} == 1"), self._let(f"{code} == 0")
        match guard:
            case Not(operand):
                true, false = self._guard(operand, test)
                return false, true
            case And(parts) | Or(parts):
                truths, falses = zip(*(self._guard(part, test) for part in parts), strict=True)
                every, some = " & ", " | "
                if isinstance(guard, Or):
                    every, some = some, every
                return self._let(every.join(truths)), f"({some.join(falses)})"
            case Truth(field):
                value, known = self._term(field, test)
                return self._decided(f"{value} == 1", known, guard)
            case Comparison():
                return self._compared(guard, test)
        raise TypeError(guard)

    def _compared(self, atom: Comparison, test: RunningTest) -> Named:
        (left, left_known), (right, right_known) = (
            self._term(side, test) for side in (atom.left, atom.right)
        )
        op = {"=": "=="}.get(atom.op, atom.op)
        match atom.left.kind, atom.right.kind:
            case "whole", "real":
                form = f"compare_mixed({left}, {right}) {op} 0"
            case "real", "whole":
                form = f"0 {op} compare_mixed({right}, {left})"
            case _:
                form = f"{left} {op} {right}"
        return self._decided(form, _both(left_known, right_known), atom)

    def _decided(self, form: str, known: str, atom: Comparison | Truth) -> Named:
        """Return an atom: it is false if it reads a missing event, else unknown if a value is NULL."""
        holds = self._let(form)
        looks_back = any(
            field.offset for field in fields(atom) if not field.name.startswith(RESULT)
        )
        present = self._column("present", atom) if looks_back else TRUE
        true = self._let(_both(present, _both(known, holds)))
        false = f"({_both(known, f'not {holds}')})"
        return true, false if present == TRUE else f"({false} or not {present})"


_UPDATES = {
    "count": _Writer.count,
    "sum": _Writer.total,
    "avg": _Writer.total,
    "min": _Writer.extreme,
    "max": _Writer.extreme,
    "first": _Writer.first,
    "last": _Writer.first,
    "count_if": _Writer.count_if,
    "some": _Writer.some,
    "every": _Writer.some,
    "min_by": _Writer.by,
    "max_by": _Writer.by,
}


def _result_type(aggregate: Aggregate) -> Type:
    result = AGGREGATES[aggregate.name].result(*aggregate.types)
    assert result is not None
    return result


def _results_in(node: Term | Guard) -> list[Field]:
    """Return the results of aggregates that a term or a predicate reads."""
    if isinstance(node, Guard):
        return [field for atom in atoms(node) for field in _results_of(atom)]
    return _results_of(node)


def _results_of(node: Term | Guard) -> list[Field]:
    return [field for field in fields(node) if field.name.startswith(RESULT)]


def _number(field: Field) -> int:
    return int(field.name[len(RESULT) :])


def _literal(value: float) -> str:
    """Return a number as text; `inf` is a name that programs know."""
    return f"({value!r})" if value < 0 else repr(value)


def _both(one: str, other: str) -> str:
    if TRUE in (one, other):
        return other if one == TRUE else one
    return f"({one}) & ({other})"  # no branch, which a processor would often predict wrongly


def _is_whole(column: Column) -> bool:
    """Tell whether a program reads a column as a whole, not the row of an event."""
    return column.kind in ("code", "ranks")


def _function(head: str, lines: list[str]) -> str:
    return "\n".join([f"def {head}:", *(f"    {line}" for line in lines)]) + "\n"
