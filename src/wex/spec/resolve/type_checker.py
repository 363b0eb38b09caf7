"""Type inference for expressions.

Names and calls mean different things in predicates, measures and `having`, so each of these has a
subclass of `TypeChecker` that resolves them. Operators and constants are the same everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.errors import closest, did_you_mean
from wex.spec import tree
from wex.spec.resolve.functions import (
    FUNCTIONS,
    check_like,
    check_null_test,
    infer_function,
)
from wex.spec.types import (
    BOOL,
    CALENDAR_PARTS,
    DATE,
    DURATION,
    INT,
    NUMBERS,
    OTHER,
    PREDICATE,
    REAL,
    STRING,
    TIMESTAMP,
    UNITS,
    Type,
    arithmetic,
    comparable,
    microseconds,
    read_moment,
)
from wex.spec.vocabulary import ALIKE

if TYPE_CHECKING:
    from wex.spec.problems import Problems

OPERATION = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "divide", "%": "divide"
}  # fmt: skip
CALENDAR = ("month", "months", "quarter", "quarters", "year", "years")
INITIALS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
INT64 = range(-(2**63), 2**63)
DURATION_RANGE = "a duration is a whole number of microseconds, up to about 292,000 years"
USES_OF_OTHER = "a field of type other can be used only in first, last, collect and count"


class TypeChecker(ABC):
    """Infers types and notes type errors. A type of None means that an error has been noted."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    @abstractmethod
    def ref(self, node: tree.Ref) -> Type | None:
        """Return the type of a name."""

    @abstractmethod
    def call(self, node: tree.Call) -> Type | None:
        """Return the type of a call other than `abs` and FUNCTIONS."""

    @abstractmethod
    def is_first(self, node: tree.IsFirst) -> Type | None:
        """Return the type of `is_first`, if it is allowed here."""

    def constant(self, node: tree.Expr) -> tree.Expr:
        """Return the value of a let that is used by its bare name; any other node as it is."""
        return node

    def value(self, node: tree.Expr) -> Type | None:
        """Return the type of an expression that must be a value."""
        type_ = self.infer(node)
        if type_ == PREDICATE:
            self.problems.add(
                "wrong-sort",
                node,
                "expected a value, got a predicate",
                "combine predicates with `and`, `or`, `not`; only a bool field is also a value",
            )
            return None
        return type_

    def predicate(self, node: tree.Expr) -> None:
        """Check an expression that must be a predicate or a bool value."""
        type_ = self.infer(node)
        if type_ is not None and type_ not in (BOOL, PREDICATE):
            self.problems.add(
                "wrong-sort",
                node,
                f"expected a predicate, got `{node}` of type {type_.name}",
                f"compare it with something, for example `{_short(node)} {_example(type_)}`",
            )

    def infer(self, node: tree.Expr) -> Type | None:
        """Return the type of an expression, or None if a problem has been noted."""
        match node:
            case tree.Int() | tree.Real() | tree.Text() | tree.Bool():
                return self._constant(node)
            case tree.Duration():
                return self._duration(node)
            case tree.Moment():
                return self._moment(node)
            case tree.Ref():
                return self.ref(node)
            case tree.IsFirst():
                return self.is_first(node)
            case tree.Call(tree.Name("abs")):
                return self._abs(node)
            case tree.Call(tree.Name(name)) if name in FUNCTIONS:
                return infer_function(self, node)
            case tree.Call():
                return self.call(node)
            case tree.Neg(operand):
                return self._negated(operand)
            case tree.Binary():
                return self._binary(node)
            case tree.Compare(operands, ops):
                self._chain(operands, ops)
            case tree.Between(value, low, high):
                self._chain((low, value, high), ("<=", "<="))
            case tree.In(value, options):
                self._options(value, options)
            case tree.Like():
                check_like(self, node)
            case tree.IsNull():
                check_null_test(self, node)
            case tree.Not(operand):
                self.predicate(operand)
            case tree.And(parts) | tree.Or(parts):
                for part in parts:
                    self.predicate(part)
            case _:
                self._formula(node)
                return None
        return PREDICATE

    # --- Constants

    def _constant(self, node: tree.Int | tree.Real | tree.Text | tree.Bool) -> Type | None:
        if isinstance(node, tree.Int) and node.value not in INT64:
            hint = "an int lies between -2^63 and 2^63 - 1; for a real add a decimal point"
            self.problems.add("number-out-of-range", node, "int out of range", hint)
            return None
        types: dict[type[tree.Node], Type] = {
            tree.Int: INT,
            tree.Real: REAL,
            tree.Text: STRING,
            tree.Bool: BOOL,
        }
        return types[type(node)]

    def _duration(self, node: tree.Duration) -> Type | None:
        if not self.unit(node.unit):
            return None
        if microseconds(node.amount, node.unit.text) is None:
            message = f"duration `{node}` out of range"
            self.problems.add("number-out-of-range", node, message, DURATION_RANGE)
            return None
        return DURATION

    def unit(self, name: tree.Name) -> bool:
        """Check a unit of time."""
        if name.text in UNITS:
            return True
        best = INITIALS.get(name.text.lower()) or closest(name.text, UNITS, ALIKE)
        plural = ", ".join(unit for unit in UNITS if unit.endswith("s"))
        hint = f"did you mean `{best}`?" if best else f"the units are {plural}, also singular"
        if name.text.lower() in CALENDAR:
            unit = name.text.lower().rstrip("s")
            hint = f"a {unit} has no fixed length: use days"
            if unit in CALENDAR_PARTS:
                hint += f", or compare `{unit}(ts)`"
        message = f"there is no unit of time called `{name.text}`"
        self.problems.add("unknown-option", name, message, hint)
        return False

    def _moment(self, node: tree.Moment) -> Type | None:
        kind = node.type.text
        if kind not in ("timestamp", "date"):
            self.problems.add(
                "unknown-option",
                node.type,
                f"expected `timestamp` or `date` before a string, got `{kind}`",
                f"write `{node.text}`"
                if kind.lower() == "interval"
                else "write `timestamp '2026-01-31 10:00'` or `date '2026-01-31'`",
            )
            return None
        if read_moment(kind, node.text) is None:
            hint = "write it like date '2026-01-31'"
            if kind == "timestamp":
                hint = "write it like timestamp '2026-01-31 10:00:00.25', with 6 decimals at most"
            self.problems.add("bad-moment", node, f"'{node.text}' is not a valid {kind}", hint)
            return None
        return TIMESTAMP if kind == "timestamp" else DATE

    # --- Arithmetic

    def _negated(self, operand: tree.Expr) -> Type | None:
        type_ = self.value(operand)
        if type_ is None or type_ in (*NUMBERS, DURATION):
            return type_
        hint = "only numbers and durations can be negated"
        self.problems.add("wrong-type", operand, f"a {type_.name} cannot be negated", hint)
        return None

    def _abs(self, node: tree.Call) -> Type | None:
        self.no_filter(node)
        self.no_index(node)
        if not self.arity(node, (1,)):
            return None
        type_ = self.value(node.args[0])
        if type_ is None or type_ in (*NUMBERS, DURATION):
            return type_
        message = f"`abs` expects a number or a duration, got {with_article(type_)}"
        hint = "apply `abs` to a number or a duration: `abs(x - x[-1])`"
        self.problems.add("wrong-type", node.args[0], message, hint)
        return None

    def odd_name(self, node: tree.Binary) -> bool:
        """Note a difference that was meant as a name, `my-col`; tell whether it is one."""
        return False

    def _binary(self, node: tree.Binary) -> Type | None:
        if node.op == "-" and self.odd_name(node):
            return None
        left, right = self.value(node.left), self.value(node.right)
        if left is None or right is None:
            return None
        result = arithmetic(node.op, left, right)
        if result is None:
            self.problems.add(
                "wrong-type",
                node,
                f"cannot {OPERATION[node.op]} {with_article(left)} and {with_article(right)}",
                _arithmetic_hint(node, left, right),
            )
        elif DATE in (left, right) and result == DATE:
            return self._date_shift(node)
        elif node.op in ("//", "%"):
            return result if self._divisor(node, result) else None
        elif node.op == "/" and self._is_zero(self.constant(node.right)):
            hint = "use another divisor"
            self.problems.add("wrong-type", node.right, "division by zero", hint)
            return None
        return result

    def _is_zero(self, node: tree.Expr) -> bool:
        amount = node.amount if isinstance(node, tree.Duration) else node
        return isinstance(amount, tree.Int | tree.Real) and not amount.value

    def _date_shift(self, node: tree.Binary) -> Type | None:
        lengths = [self.length(side) for side in (node.left, node.right)]
        if any(length is not None and length % UNITS["day"] == 0 for length in lengths):
            return DATE
        message = "a date can only be shifted by a constant number of days"
        hint = "write for example `day + 7 days`, or use a timestamp"
        self.problems.add("wrong-type", node, message, hint)
        return None

    def _divisor(self, node: tree.Binary, result: Type) -> bool:
        """Check the divisor of `//` or `%`: a constant that is not zero."""
        durations = result == DURATION or self.length(node.right) is not None
        divisor = self.length(node.right) if durations else self.whole(node.right)
        example = "10 minutes" if durations else "2"
        if divisor:
            return True
        message = f"`{node.op}` by zero"
        hint = f"use another divisor: `{_short(node.left)} {node.op} {example}`"
        if divisor is None:
            message = f"the divisor of `{node.op}` must be a constant, got `{node.right}`"
            hint = (
                f"write a number: `{_short(node.left)} {node.op} {example}`; for reals there is `/`"
            )
        self.problems.add("wrong-type", node.right, message, hint)
        return False

    def whole(self, node: tree.Expr) -> int | None:
        """Return a constant whole number, or None if it is not constant."""
        match self.constant(node):
            case tree.Int(value):
                return value
            case tree.Neg(value):
                inner = self.whole(value)
                return None if inner is None else -inner
            case tree.Binary("+" | "-" | "*" as op, left, right):
                one, two = self.whole(left), self.whole(right)
                if one is None or two is None:
                    return None
                return one * two if op == "*" else one + two if op == "+" else one - two
        return None

    def number(self, node: tree.Expr) -> Fraction | None:
        """Return a constant number, or None if it is not a literal."""
        match self.constant(node):
            case tree.Int(value) | tree.Real(value):
                return Fraction(value)
            case tree.Neg(value):
                inner = self.number(value)
                return None if inner is None else -inner
        return None

    def length(self, node: tree.Expr) -> int | None:
        """Return a constant duration in microseconds, or None if it is not constant."""
        match self.constant(node):
            case tree.Duration(amount, unit):
                return microseconds(amount, unit.text) if unit.text in UNITS else None
            case tree.Neg(value):
                inner = self.length(value)
                return None if inner is None else -inner
            case tree.Binary("+" | "-" as op, left, right):
                one, two = self.length(left), self.length(right)
                if one is None or two is None:
                    return None
                return one + two if op == "+" else one - two
        return None

    def arity(self, node: tree.Call, takes: tuple[int, ...]) -> bool:
        """Check the number of arguments of a call."""
        if len(node.args) in takes:
            return True
        counts = " or ".join(map(str, takes))
        plural = "" if takes == (1,) else "s"
        self.problems.add(
            "arguments",
            node,
            f"`{node.name}` takes {counts} argument{plural}, got {len(node.args)}",
            f"write `{node.name}({', '.join('xyz'[: takes[-1]])})`",
        )
        return False

    def no_index(self, node: tree.Call) -> None:
        """Note an index on a call that is not an aggregate in a predicate."""
        if node.offset:
            call = replace(node, offset=0)
            self.problems.add(
                "lookback-here",
                node,
                f"`{node}`: only names and aggregates in predicates can have an index",
                f"write `prev({call}, {-node.offset})`",
            )

    def no_filter(self, node: tree.Call) -> None:
        """Note a filter on a call that is not an aggregate."""
        if node.filter is not None:
            self.problems.add(
                "filter-here",
                node.filter,
                f"`{node.name}` is not an aggregate and cannot have a `filter`",
                "use `filter` after an aggregate in `measure`: `avg(x) filter [x > 0]`",
            )

    # --- Comparisons

    def _chain(self, operands: tuple[tree.Expr, ...], ops: tuple[str, ...]) -> None:
        types = [self.value(operand) for operand in operands]
        for index, op in enumerate(ops):
            self._pair(operands[index : index + 2], types[index : index + 2], op)

    def _options(self, value: tree.Expr, options: tuple[tree.Expr, ...]) -> None:
        type_ = self.value(value)
        for option in options:
            self._pair((value, option), [type_, self.value(option)], "=")

    def _pair(self, nodes: tuple[tree.Expr, ...], types: list[Type | None], op: str) -> None:
        left, right = types
        if left is None or right is None:
            return
        ordered = op not in ("=", "!=")
        if self._enum_value(nodes, left, right, ordered=ordered):
            return
        if comparable(left, right, ordered=ordered):
            return
        first, second = nodes
        same = comparable(left, right, ordered=False)
        message = f"cannot compare {with_article(left)} with {with_article(right)}"
        if OTHER in (left, right):
            message = "values of type other cannot be compared"
        elif same:
            message = f"{left.name}s have no order"
        hint = _comparison_hint(nodes, left, right, same=same)
        self.problems.add("wrong-type", second if second.span else first, message, hint)

    def _enum_value(
        self, nodes: tuple[tree.Expr, ...], left: Type, right: Type, *, ordered: bool
    ) -> bool:
        """Check a comparison of an enum with a string constant; tell whether it is one."""
        pairs = ((left, nodes[1]), (right, nodes[0]))
        enum, other = next(
            ((type_, node) for type_, node in pairs if type_.values), (None, nodes[0])
        )
        constant = self.constant(other)
        if enum is None or not isinstance(constant, tree.Text):
            return False
        if ordered:
            hint = "compare them with `=`, `!=` or `in`"
            self.problems.add("wrong-type", other, "enums have no order", hint)
        elif constant.value not in enum.values:
            self.problems.add(
                "unknown-option",
                other,
                f"{enum} has no value '{constant.value}'",
                did_you_mean(constant.value, enum.values, "its values are"),
            )
        return True

    def _formula(self, node: tree.Expr) -> None:
        hints = {
            tree.Implies: "write `not p or q`",
            tree.Iff: "write `(p and q) or (not p and not q)`",
            tree.Mark: f"`{node}` is a position; write a column of this name in backticks: `` `{node}` ``",
            tree.Member: "to compare with several values write `x in (1, 2)`",
            tree.Holds: "in a predicate brackets only follow a name: `price[-1]`",
        }
        self.problems.add(
            "formula-here",
            node,
            "formulas are allowed only in `where`",
            hints.get(type(node), "use a regular expression, or move it to `where`"),
        )


def with_article(type_: Type) -> str:
    """Return a type with its article, for messages: `an int`."""
    article = "an" if type_.name[0] in "aeio" else "a"
    return f"{article} {type_}"


def _short(node: tree.Expr) -> str:
    text = str(node)
    return text if len(text) <= 20 else "x"


def _example(type_: Type) -> str:
    examples = {"string": "= 'a'", "enum": "= 'a'", "duration": "> 5 minutes"}
    return examples.get(type_.name, "> 0" if type_ in NUMBERS else "= …")


def _arithmetic_hint(node: tree.Binary, left: Type, right: Type) -> str:
    both = (left, right)
    if OTHER in both:
        return USES_OF_OTHER
    if node.op in ("//", "%"):
        if any(type_ in (TIMESTAMP, DATE) for type_ in both):
            return "for buckets of time write `floor(ts, 10 minutes)`"
        return (
            f"`{node.op}` takes two ints or two durations: `n {node.op} 2`; for reals there is `/`"
        )
    if DURATION in both and any(type_ in NUMBERS for type_ in both):
        if node.op in "+-":
            return "give the number a unit: `30 seconds`"
        return "multiply by a whole number, or divide two durations: `gap / gap[-1] > 1.5`"
    if any(type_ in (TIMESTAMP, DATE) for type_ in both):
        return "combine times with durations: `ts + 5 minutes`, `ts - ts[-1] > 5 minutes`"
    return "use numbers, times or durations"


def _comparison_hint(nodes: tuple[tree.Expr, ...], left: Type, right: Type, *, same: bool) -> str:
    both = (left, right)
    if OTHER in both:
        return USES_OF_OTHER
    if same:
        return "compare them with `=` or `!=`"
    for type_, other, node in ((left, right, nodes[1]), (right, left, nodes[0])):
        if type_ == DURATION and other in NUMBERS:
            return f"give the number a unit: `{_short(node)} seconds`"
        if type_ in (TIMESTAMP, DATE) and isinstance(node, tree.Text):
            return f"write `{type_.name} {node}`"
        if type_ in NUMBERS and isinstance(node, tree.Text) and node.value.isdigit():
            return "remove the quotes around the number"
    if any(type_.values for type_ in both):
        return "declare both with the same enum values, or both as string"
    if set(both) == {TIMESTAMP, DATE}:
        return "declare both fields with the same type"
    return "compare two numbers, or two values of the same type"
