"""The types of expressions.

What names and calls mean depends on where an expression stands, so each such place is a subclass
that answers for them; operators mean the same everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from wex.errors import closest, did_you_mean
from wex.spec import tree
from wex.spec.types import (
    BOOL,
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

WORDS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
CALENDAR = ("month", "months", "quarter", "quarters", "year", "years")
INT64 = range(-(2**63), 2**63)


class Expressions(ABC):
    """Infers types and notes what does not fit. A type of None means: noted already."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    @abstractmethod
    def ref(self, node: tree.Ref) -> Type | None:
        """Return the type of what a name stands for here."""

    @abstractmethod
    def call(self, node: tree.Call) -> Type | None:
        """Return the type of a call other than `abs`."""

    @abstractmethod
    def is_first(self, node: tree.IsFirst) -> Type | None:
        """Return the type of `is_first`, where there is an event to ask it of."""

    def constant(self, node: tree.Expr) -> tree.Expr:
        """Return what a name stands for if that is all there is to it; any other node as it is."""
        return node

    def value(self, node: tree.Expr) -> Type | None:
        """Return the type of an expression that has to be a value."""
        type_ = self.infer(node)
        if type_ == PREDICATE:
            self.problems.add(
                "wrong-sort",
                node,
                "this is a predicate, and a value belongs here",
                "combine predicates with `and`, `or`, `not`; only a bool field is a value too",
            )
            return None
        return type_

    def predicate(self, node: tree.Expr) -> None:
        """Check an expression that has to be a predicate, or a bool value that serves as one."""
        type_ = self.infer(node)
        if type_ is not None and type_ not in (BOOL, PREDICATE):
            self.problems.add(
                "wrong-sort",
                node,
                f"`{node}` is a value of type {type_.name}, and a predicate belongs here",
                f"compare it with something, for example `{_short(node)} {_example(type_)}`",
            )

    def infer(self, node: tree.Expr) -> Type | None:
        """Return the type of an expression, or None if that has been noted as a problem."""
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
            hint = "whole numbers lie between -2^63 and 2^63 - 1; with a point it is a real"
            self.problems.add("number-out-of-range", node, "this does not fit into an int", hint)
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
            hint = "durations are whole microseconds, up to about 292,000 years"
            self.problems.add("number-out-of-range", node, f"no duration is `{node}`", hint)
            return None
        return DURATION

    def unit(self, name: tree.Name) -> bool:
        """Check a unit of time."""
        if name.text in UNITS:
            return True
        best = closest(name.text, UNITS, ALIKE)
        plural = ", ".join(unit for unit in UNITS if unit.endswith("s"))
        hint = f"did you mean `{best}`?" if best else f"the units are {plural}, also singular"
        if name.text.lower() in CALENDAR:
            hint = f"a {name.text.lower().rstrip('s')} has no fixed length: say how many days"
        message = f"there is no unit of time called `{name.text}`"
        self.problems.add("unknown-option", name, message, hint)
        return False

    def _moment(self, node: tree.Moment) -> Type | None:
        kind = node.type.text
        if kind not in ("timestamp", "date"):
            self.problems.add(
                "unknown-option",
                node.type,
                f"`{kind}` does not make a constant of a string",
                "write `timestamp '2026-01-31 10:00'` or `date '2026-01-31'`",
            )
            return None
        if read_moment(kind, node.text) is None:
            example = "2026-01-31" if kind == "date" else "2026-01-31 10:00:00.250"
            self.problems.add(
                "bad-moment",
                node,
                f"'{node.text}' is not a {kind}",
                f"write it as {kind} '{example}'"
                + ("" if kind == "date" else ", to the microsecond at most"),
            )
            return None
        return TIMESTAMP if kind == "timestamp" else DATE

    # --- Arithmetic

    def _negated(self, operand: tree.Expr) -> Type | None:
        type_ = self.value(operand)
        if type_ is None or type_ in (*NUMBERS, DURATION):
            return type_
        hint = "numbers and durations have a sign"
        self.problems.add("wrong-type", operand, f"a {type_.name} cannot be negated", hint)
        return None

    def _abs(self, node: tree.Call) -> Type | None:
        self.no_filter(node)
        if not self.arity(node, (1,)):
            return None
        type_ = self.value(node.args[0])
        if type_ is None or type_ in (*NUMBERS, DURATION):
            return type_
        hint = "`abs` takes a number or a duration"
        self.problems.add("wrong-type", node.args[0], f"a {type_.name} has no `abs`", hint)
        return None

    def _binary(self, node: tree.Binary) -> Type | None:
        left, right = self.value(node.left), self.value(node.right)
        if left is None or right is None:
            return None
        result = arithmetic(node.op, left, right)
        if result is None:
            self.problems.add(
                "wrong-type",
                node,
                f"cannot {WORDS[node.op]} {_a(left)} and {_a(right)}",
                _arithmetic_hint(node, left, right),
            )
        elif DATE in (left, right) and result == DATE:
            return self._date_shift(node)
        elif node.op == "/" and self._is_zero(self.constant(node.right)):
            hint = "divide by something else"
            self.problems.add("wrong-type", node.right, "this divides by zero", hint)
            return None
        return result

    def _is_zero(self, node: tree.Expr) -> bool:
        amount = node.amount if isinstance(node, tree.Duration) else node
        return isinstance(amount, tree.Int | tree.Real) and not amount.value

    def _date_shift(self, node: tree.Binary) -> Type | None:
        lengths = [self._length(side) for side in (node.left, node.right)]
        if any(each is not None and each % UNITS["day"] == 0 for each in lengths):
            return DATE
        hint = "add a constant number of days, as in `day + 7 days`, or use a timestamp"
        self.problems.add("wrong-type", node, "a date moves by whole days only", hint)
        return None

    def _length(self, node: tree.Expr) -> int | None:
        """Return a constant duration in microseconds."""
        match self.constant(node):
            case tree.Duration(amount, unit):
                return microseconds(amount, unit.text) if unit.text in UNITS else None
            case tree.Neg(value):
                inner = self._length(value)
                return None if inner is None else -inner
            case tree.Binary("+" | "-" as op, left, right):
                one, two = self._length(left), self._length(right)
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
            f"`{node.name}` takes {counts} argument{plural}, not {len(node.args)}",
            f"write `{node.name}({', '.join('xyz'[: takes[-1]])})`",
        )
        return False

    def no_filter(self, node: tree.Call) -> None:
        """Note a filter on a call that is no aggregate."""
        if node.filter is not None:
            self.problems.add(
                "filter-here",
                node.filter,
                f"`{node.name}` is no aggregate and has no `filter`",
                "`filter [p]` stands behind an aggregate in `measure`: `avg(x) filter [x > 0]`",
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
        message = f"cannot compare {_a(left)} with {_a(right)}"
        if OTHER in (left, right):
            message = "values of type other cannot be compared"
        elif same:
            message = f"{left.name}s have no order"
        hint = _comparison_hint(nodes, left, right, same=same)
        self.problems.add("wrong-type", second if second.span else first, message, hint)

    def _enum_value(
        self, nodes: tuple[tree.Expr, ...], left: Type, right: Type, *, ordered: bool
    ) -> bool:
        """Check an enum against a string constant; tell whether that is what stood there."""
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
            tree.Mark: f"`{node}` is a position: quote it if it is a column, `` `{node}` ``",
            tree.Member: "to compare with several values write `x in (1, 2)`",
            tree.Holds: "brackets inside a predicate only index: `price[-1]`",
        }
        self.problems.add(
            "formula-here",
            node,
            "this is part of a formula, and formulas stand in `where`",
            hints.get(type(node), "say it as a regular expression, or in `where`"),
        )


def _a(type_: Type) -> str:
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
        return "fields of type other serve only in first, last, collect and count"
    if DURATION in both and any(type_ in NUMBERS for type_ in both):
        if node.op in "+-":
            return "give the number a unit: `30 seconds`"
        return "multiply by a whole number, or divide two durations: `gap / gap[-1] > 1.5`"
    if any(type_ in (TIMESTAMP, DATE) for type_ in both):
        return "times take durations: `ts + 5 minutes`, `ts - ts[-1]`"
    return "arithmetic is for numbers, times and durations"


def _comparison_hint(nodes: tuple[tree.Expr, ...], left: Type, right: Type, *, same: bool) -> str:
    both = (left, right)
    if OTHER in both:
        return "fields of type other serve only in first, last, collect and count"
    if same:
        return "compare them with `=` or `!=`"
    for type_, other, node in ((left, right, nodes[1]), (right, left, nodes[0])):
        if type_ == DURATION and other in NUMBERS:
            return f"give the number a unit: `{_short(node)} seconds`"
        if type_ in (TIMESTAMP, DATE) and isinstance(node, tree.Text):
            return f"write `{type_.name} {node}`"
        if type_ in NUMBERS and isinstance(node, tree.Text) and node.value.isdigit():
            return "leave the quotes out of a number"
    if any(type_.values for type_ in both):
        return "declare both with the same enum values, or both as string"
    if set(both) == {TIMESTAMP, DATE}:
        return "declare both fields with the same type"
    return "both sides have to be numbers, or of one type"
