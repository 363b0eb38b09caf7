"""Values of SQL as values of a spec: columns of certain rows, literals, arithmetic.

What a column refers to depends on the place: in DEFINE on the position of the pattern, in an
argument of an aggregate on the row, in MEASURES on the whole match. `Values` has what is common;
its subclasses say what a column and an aggregate are.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from wex.sql.formulas import FALSE, TRUE, Formula, both, either
from wex.sql.pattern import LARGEST_COUNT
from wex.sql.reader import Name, Reader, place_of

if TYPE_CHECKING:
    from wex.spec.problems import Span
    from wex.sql.columns import Columns

SUM, PRODUCT, SIGNED, PRIMARY = range(4)  # how tightly a text binds

# Dialects in which `/` of two integers has a fraction.
FRACTIONS = ("oracle", "snowflake", "databricks", "spark")
UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
PARTS = {
    "YEAR": exp.Year,
    "MONTH": exp.Month,
    "DAY": exp.Day,
    "HOUR": exp.Hour,
    "MINUTE": exp.Minute,
}
STRICT_SIGNS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "!="),
    exp.NEQ: ("!=", "="),
    exp.LT: ("<", ">="),
    exp.LTE: ("<=", ">"),
    exp.GT: (">", "<="),
    exp.GTE: (">=", "<"),
}


@dataclass(frozen=True)
class Value:
    """A value: its text, type, and when it is NULL.

    `guard` has to be true for the value to be there at all; `null` is exactly when it is NULL, or
    None if no predicate can tell.
    `own` values have aggregates in them.
    """

    text: str
    type: str
    level: int = PRIMARY
    own: bool = False
    guard: Formula = TRUE
    null: Formula | None = FALSE
    always_null: bool = False

    def at(self, level: int) -> str:
        """Return the text, in parentheses if it binds less tightly than a level."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True)
class Where:
    """Which row a column is taken from: FIRST or LAST, how many rows on, and PREV of that."""

    first: bool = False
    offset: int = 0
    earlier: int = 0  # PREV; negative for NEXT


class Values(ABC):
    """The values of the expressions in one place of a query."""

    def __init__(self, reader: Reader, columns: Columns, span: Span) -> None:
        self.reader = reader
        self.columns = columns
        self.span = span  # of the whole definition or measure

    # --- Places

    def place(self, node: exp.Expr) -> Span:
        """Return the place of a part."""
        span = place_of(node, self.span)
        return self.reader.closed(span) if isinstance(node, exp.Func) else span

    def refuse(self, node: exp.Expr, message: str, hint: str) -> NoReturn:
        """Fail with the place of a part."""
        self.reader.refuse(self.place(node), message, hint)

    # --- To be said by subclasses

    @abstractmethod
    def column(self, node: exp.Column, where: Where) -> Value:
        """Return the value of a column."""

    @abstractmethod
    def call(self, node: exp.Expr, name: str, where: Where) -> Value:
        """Return the value of an aggregate, or of a function of MATCH_RECOGNIZE."""

    # --- Values

    def value(self, node: exp.Expr, where: Where = Where()) -> Value:  # noqa: B008
        """Return the value of an expression."""
        match node:
            case exp.Paren():
                return self.value(node.this, where)
            case exp.Column():
                return self.column(node, where)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return self.literal(node)
            case exp.Interval():
                return Value(self.interval(node), "duration")
            case exp.Neg():
                return self.negative(node, where)
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
                return self.arithmetic(node, where)
            case exp.Abs():
                inner = self.value(node.this, where)
                return _with(inner, f"abs({inner.text})", inner.type, PRIMARY)
            case exp.Cast():
                return self.cast(node, where)
            case exp.Extract() | exp.Year() | exp.Month() | exp.Day() | exp.Hour() | exp.Minute():
                return self.part(node, where)
        name = function_name(node)
        if name in NAVIGATION:
            return self.navigation(node, name, where)
        if name:
            return self.call(node, name, where)
        shown = self.reader.source.text[slice(*self.place(node))][:60]
        hint = "compute it as a column before, or write it with comparisons and arithmetic"
        return self.refuse(node, f"WEX has no word for `{shown}`", hint)

    def literal(self, node: exp.Expr) -> Value:
        """Return the value of a constant."""
        if isinstance(node, exp.Null):
            return Value("null", "null", null=TRUE, always_null=True)
        if isinstance(node, exp.Boolean):
            return Value("true" if node.this else "false", "bool")
        if node.is_string:
            if not node.this and self.reader.dialect == "oracle":
                return self.literal(exp.Null())  # Oracle's empty text is NULL
            text = node.this.replace("'", "''")
            return Value(f"'{text}'", "string")
        if not re.fullmatch(r"(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?", node.this, re.ASCII):
            self.refuse(node, f"`{node.this}` is not a number of WEX", "write it with digits")
        return Value(node.this, "int" if node.this.isdigit() else "real")

    def interval(self, node: exp.Interval) -> str:
        """Return the text of a duration."""
        unit = node.args.get("unit")
        amount = node.this.this if isinstance(node.this, exp.Literal) else ""
        name = unit.name.upper().rstrip("S") if isinstance(unit, exp.Var) else ""
        if name not in UNITS or not re.fullmatch(r"\d+(\.\d+)?", str(amount), re.ASCII):
            hint = "write INTERVAL '90' MINUTE, with one unit up to WEEK"
            self.refuse(node, "this interval has no fixed length, or several units", hint)
        return f"{amount} {name.lower()}{'' if amount == '1' else 's'}"

    def negative(self, node: exp.Neg, where: Where) -> Value:
        """Return a value with a minus sign."""
        inner = self.value(node.this, where)
        signed = inner.text.startswith("-")
        text = f"-({inner.text})" if inner.level < PRIMARY or signed else f"-{inner.text}"
        return _with(inner, text, inner.type, SIGNED)

    def arithmetic(self, node: exp.Binary, where: Where) -> Value:
        """Return a sum, difference, product or quotient."""
        sign, level = {
            exp.Add: ("+", SUM),
            exp.Sub: ("-", SUM),
            exp.Mul: ("*", PRODUCT),
            exp.Div: ("/", PRODUCT),
        }[type(node)]
        left, right = self.value(node.this, where), self.value(node.expression, where)
        if (
            sign == "/"
            and left.type == right.type == "int"
            and self.reader.dialect not in FRACTIONS
        ):
            message = "`/` of two integers drops the fraction in SQL and not in WEX"
            self.refuse(
                node,
                message,
                "write a number with a point, or name the dialect if it keeps the fraction",
            )
        type_ = _result_type(sign, left.type, right.type)
        text = f"{left.at(level)} {sign} {right.at(level + 1)}"
        return combined(text, type_, level, left, right)

    def cast(self, node: exp.Cast, where: Where) -> Value:
        """Return a constant time, or a number as a real."""
        to = node.to.this.name.upper()
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            if to == "DATE" or to.startswith(("TIMESTAMP", "DATETIME")):
                type_ = "date" if to == "DATE" else "timestamp"
                return Value(f"{type_} {self.literal(node.this).text}", type_)
        elif to in {"DOUBLE", "FLOAT"}:
            inner = self.value(node.this, where)
            if inner.type == "real":
                return inner
            if inner.type == "int":
                return _with(inner, f"{inner.at(PRODUCT)} * 1.0", "real", PRODUCT)
        return self.refuse(node, "WEX does not convert values", "compute the column before")

    def part(self, node: exp.Expr, where: Where) -> Value:
        """Return a part of a time."""
        if isinstance(node, exp.Extract):
            name = node.this.name.upper()
            inner = self.value(node.expression, where)
        else:
            name = type(node).__name__.upper()
            inner = self.value(node.this, where)
        if name not in PARTS:
            hint = f"WEX has {', '.join(PARTS)}"
            self.refuse(
                node, f"WEX has no part `{name}` of a time that is sure to be the same", hint
            )
        if inner.own:
            self.refuse(
                node,
                "parts of a time are computed of rows, not of the first row or an aggregate",
                "compute the column before",
            )
        return _with(inner, f"{name.lower()}({inner.text})", "int", PRIMARY)

    def navigation(self, node: exp.Expr, name: str, where: Where) -> Value:
        """Return the value of PREV, NEXT, FIRST or LAST."""
        arguments = arguments_of(node)
        count = 1 if name in {"PREV", "NEXT"} else 0
        if len(arguments) == 2:
            count = self.whole_number(arguments[1])
        if not arguments or len(arguments) > 2:
            self.reader.fail(
                "arguments",
                self.place(node),
                f"{name} takes one or two arguments",
                f"write {name}(price, 2)",
            )
        if name in {"PREV", "NEXT"}:
            shift = count if name == "PREV" else -count
            inner = Where(where.first, where.offset, where.earlier + shift)
        elif where != Where(earlier=where.earlier):
            self.refuse(
                node, f"{name} inside of FIRST or LAST has no counterpart", "use one of them"
            )
        else:
            inner = Where(name == "FIRST", count, where.earlier)
        if not list(node.find_all(exp.Column)):
            self.refuse(node, f"{name} needs a column", "name one")
        return self.value(arguments[0], inner)

    def whole_number(self, node: exp.Expr) -> int:
        """Return a constant number of rows."""
        if (
            isinstance(node, exp.Literal)
            and not node.is_string
            and node.this.isdigit()
            and len(node.this) < 10
        ):
            if int(node.this) <= LARGEST_COUNT:
                return int(node.this)
            message = f"{node.this} is more than {LARGEST_COUNT:,}"
            self.reader.fail("count-too-large", self.place(node), message, "use a smaller number")
        return self.refuse(node, "a number of rows has to be a constant", "write a whole number")


NAVIGATION = ("PREV", "NEXT", "FIRST", "LAST")


def name_of(identifier: exp.Expr, span: Span) -> Name:
    """Return a name of the tree."""
    return Name(identifier.name, place_of(identifier, span), bool(identifier.args.get("quoted")))


def function_name(node: exp.Expr) -> str:
    """Return the name of a function in upper case, or nothing if the node is none."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector | exp.Case):
        return node.sql_name().upper()
    return ""


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    """Return the arguments of a function."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [
        one for key in ("this", "expression") if isinstance(one := node.args.get(key), exp.Expr)
    ]


def combined(text: str, type_: str, level: int, *parts: Value) -> Value:
    """Return a value made of others: it is NULL if one of them is."""
    nulls = [part.null for part in parts]
    return Value(
        text,
        type_,
        level,
        any(part.own for part in parts),
        both(*(part.guard for part in parts)),
        None if None in nulls else either(*(one for one in nulls if one is not None)),
        any(part.always_null for part in parts),
    )


def _with(value: Value, text: str, type_: str, level: int) -> Value:
    return combined(text, type_, level, value)


def _result_type(sign: str, left: str, right: str) -> str:
    if "null" in {left, right}:
        return "null"
    if {left, right} <= {"int", "real"}:
        return "int" if left == right == "int" and sign != "/" else "real"
    if left == right and sign == "-" and left in {"timestamp", "date"}:
        return "duration"
    return "real" if sign == "/" and left == right else left if left != "duration" else right
