"""Conditions and measures of a spec as SQL; see `wex.sql.export`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.sql.export import ExportedQuery, Variable

AGGREGATES = {"sum": "SUM", "min": "MIN", "max": "MAX", "avg": "AVG", "first": "FIRST", "last": "LAST"}  # fmt: skip
UNITS = {"milliseconds": ("SECOND", 0.001), "seconds": ("SECOND", 1), "minutes": ("MINUTE", 1), "hours": ("HOUR", 1),
         "days": ("DAY", 1)}  # fmt: skip
OPS = {"!=": "<>", **{op: op for op in ("=", "<", "<=", ">", ">=")}}
OPPOSITE = {"=": "<>", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
FORWARD_ONLY = ("flink",)  # systems whose conditions cannot read rows before the match


class Values(ABC):
    """Writes values; what a field is depends on where it stands."""

    def __init__(self, query: ExportedQuery) -> None:
        self.query = query

    def value(self, node: tree.Expr) -> str:
        """Return a value of SQL."""
        match node:
            case tree.Int(value) | tree.Real(value):
                return str(value)
            case tree.Text(value):
                return "'" + value.replace("'", "''") + "'"
            case tree.Bool(value):
                return str(value).upper()
            case tree.Duration():
                return self.interval(node)
            case tree.Moment(type_, text):
                return f"{type_.text.upper()} '{text}'"
            case tree.Neg(value):
                return f"-{self.operand(value)}"
            case tree.Binary(op, left, right):
                return self.binary(node, op, left, right)
            case tree.Ref():
                return self.field(node)
            case tree.Call():
                return self.call(node)
        return self.query.refuse(node, "there is no such value in SQL", "compute the column before")

    def operand(self, node: tree.Expr) -> str:
        """Return a value, in parentheses if it is composed."""
        text = self.value(node)
        return f"({text})" if isinstance(node, tree.Binary) else text

    def binary(self, node: tree.Expr, op: str, left: tree.Expr, right: tree.Expr) -> str:
        """Return the result of arithmetic."""
        if op == "/":
            return f"CAST({self.value(left)} AS DOUBLE) / {self.operand(right)}"
        if op not in ("+", "-", "*"):
            hint = "compute the column before"
            self.query.refuse(node, f"`{op}` rounds in another way in SQL", hint)
        return f"{self.operand(left)} {op} {self.operand(right)}"

    def interval(self, node: tree.Duration) -> str:
        """Return a length of time."""
        unit, factor = UNITS.get(node.unit.text, (None, 1))
        if unit is None:
            self.query.refuse(node, "SQL has no interval of this unit", "write it in seconds")
        amount = node.amount.value
        shown = f"{float(amount) * factor:g}" if factor != 1 else str(amount)
        return f"INTERVAL '{shown}' {unit}"

    @abstractmethod
    def field(self, node: tree.Ref) -> str:
        """Return a field, as it is read where the value stands."""

    @abstractmethod
    def call(self, node: tree.Call) -> str:
        """Return the result of a function."""

    def aggregate(self, node: tree.Call) -> str:
        """Return an aggregate over the rows of the match."""
        name, hint = node.name.text, "write the query by hand"
        if node.filter is not None or name not in (*AGGREGATES, "count"):
            self.query.refuse(node, f"there is no such aggregate as `{node}` in SQL", hint)
        if name == "count":
            return "COUNT(*)" if not node.args else self.counted(node)
        argument = self.value(node.args[0])
        if name == "avg" and not self.is_real(node.args[0]):
            argument = f"CAST({argument} AS DOUBLE)"  # some systems drop the fraction
        return f"{AGGREGATES[name]}({argument})"

    def counted(self, node: tree.Call) -> str:
        """Return how many rows have a value."""
        return f"COUNT({self.value(node.args[0])})"

    def is_real(self, node: tree.Expr) -> bool:
        """Tell whether a value is certainly a real number."""
        return isinstance(node, tree.Ref) and self.query.types.get(node.name) == "real"


class Conditions(Values):
    """Writes the condition of a variable."""

    def __init__(self, query: ExportedQuery, variable: Variable) -> None:
        super().__init__(query)
        self.variable = variable

    def positive(self, node: tree.Expr) -> str:
        """Return a condition that is true where a predicate holds, and false or unknown elsewhere."""
        match node:
            case tree.And(parts):
                return _all(map(self.positive, parts))
            case tree.Or(parts):
                return _any(map(self.positive, parts))
            case tree.Not(operand):
                return self.negative(operand)
        return _all(self.atoms(node, OPS))

    def negative(self, node: tree.Expr) -> str:
        """Return a condition that is true where a predicate does not hold."""
        match node:
            case tree.And(parts):
                return _any(map(self.negative, parts))
            case tree.Or(parts):
                return _all(map(self.negative, parts))
            case tree.Not(operand):
                return self.positive(operand)
        unknown = [f"{text} IS NULL" for text in dict.fromkeys(self.nullable(node))]
        return _any([*self.atoms(node, OPPOSITE), *unknown])

    def nullable(self, node: tree.Expr) -> Iterator[str]:
        """Yield the values of an atom that may be NULL, or of an event that may be missing."""
        if isinstance(node, tree.IsNull):
            return
        for part in tree.walk(node):
            if isinstance(part, tree.Ref) and (part.offset or part.name in self.query.nullable):
                yield self.field(part)

    def atoms(self, node: tree.Expr, ops: dict[str, str]) -> Iterator[str]:
        """Yield the comparisons of an atom, all of them, or with `OPPOSITE` those of which one is true."""
        opposite = ops is OPPOSITE
        match node:
            case tree.Compare(operands, given):
                for left, op, right in zip(operands, given, operands[1:], strict=False):
                    yield self.compared(left, ops[op], right)
            case tree.Like(value, pattern, negated):
                word = "NOT LIKE" if negated != opposite else "LIKE"
                yield f"{self.operand(value)} {word} {self.value(pattern)}"
            case tree.IsNull(tree.Ref(offset=offset) as value, negated) if not offset:
                yield f"{self.operand(value)} IS {'NOT NULL' if negated != opposite else 'NULL'}"
            case tree.Ref():
                yield f"NOT {self.field(node)}" if opposite else self.field(node)
            case tree.Bool(value):
                yield str(value != opposite).upper()
            case _:
                hint = "write it with comparisons"
                self.query.refuse(node, "there is no such condition in SQL", hint)

    def compared(self, left: tree.Expr, op: str, right: tree.Expr) -> str:
        """Return a comparison; a difference of times is one of a time with a later one."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, tree.Binary) and one.op == "-" and isinstance(other, tree.Duration):
                later, earlier = self.operand(one.left), self.operand(one.right)
                gap = f"{earlier} + {self.interval(other)}"
                return f"{later} {op} {gap}" if one is left else f"{gap} {op} {later}"
        return f"{self.operand(left)} {op} {self.operand(right)}"

    def field(self, node: tree.Ref) -> str:
        """Return a column of this row, or of one before it."""
        name = self.query.name(node.name)
        if not node.offset:
            return name
        if self.query.dialect not in FORWARD_ONLY:
            return f"PREV({name}{'' if node.offset == -1 else f', {-node.offset}'})"
        if self.variable.before < -node.offset:
            message = "Flink cannot read the row before a match"
            hint = "begin the window with `any`, one for each event that is looked back at"
            self.query.refuse(node, message, hint)
        return f"LAST({name}, {-node.offset})"

    def call(self, node: tree.Call) -> str:
        """Return the result of a function, or of an aggregate over the match so far."""
        if node.name.text == "abs":
            return f"ABS({self.value(node.args[0])})"
        if node.offset:
            message = "an aggregate of an earlier row is not possible in SQL"
            self.query.refuse(node, message, "leave out the last row in another way")
        if any(isinstance(one, tree.Ref) and one.offset for one in tree.walk(node)):
            message = "an aggregate of earlier rows is not possible in SQL"
            self.query.refuse(node, message, "aggregate the field itself")
        return self.aggregate(node)


class Measures(Values):
    """Writes measures, which are over the whole match."""

    def field(self, node: tree.Ref) -> str:
        """Return a column of all rows, or of those of a variable."""
        if node.offset:
            hint = "measure the field itself"
            self.query.refuse(node, "measures of earlier rows differ among systems", hint)
        name = self.query.name(node.name)
        return f"{self.query.label(node.label)}.{name}" if node.label else name

    def counted(self, node: tree.Call) -> str:
        """Return how many rows have a value, or a label."""
        (argument,) = node.args
        if isinstance(argument, tree.Ref) and argument.label and not argument.name:
            return f"COUNT({self.query.label(argument.label)}.*)"
        return super().counted(node)

    def call(self, node: tree.Call) -> str:
        """Return the result of a function, or of an aggregate over the match."""
        if node.name.text == "abs":
            return f"ABS({self.value(node.args[0])})"
        of = node.args[0] if node.name.text == "last" else None
        if isinstance(of, tree.Call) and of.name.text == "label":
            return "CLASSIFIER()"
        return self.aggregate(node)


def _all(parts: Iterable[str]) -> str:
    texts = list(parts)
    return " AND ".join(f"({one})" if _has_or(one) and len(texts) > 1 else one for one in texts)


def _any(parts: Iterable[str]) -> str:
    return " OR ".join(parts)


def _has_or(text: str) -> bool:
    """Tell whether a condition may be a disjunction: a parenthesis too many does no harm."""
    return " OR " in text
