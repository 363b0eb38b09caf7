"""Aggregates in DEFINE: over the rows of the match so far, SQL's RUNNING.

An aggregate of WEX is over all rows from the start of a window, or over those that satisfy a
predicate. So `SUM(A.x)` is translated where it is certain which rows are `A`: all of them, none, the
first one, or those that satisfy a predicate that no row of another variable satisfies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from wex.sql.formulas import FALSE, TRUE, Atom, atoms, either, show
from wex.sql.positions import START, FirstRow, NoRow
from wex.sql.values import PRIMARY, SUM, Value, Values, Where, arguments_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.sql.columns import Column
    from wex.sql.conditions import Conditions


class Argument(Values):
    """The argument of an aggregate, a value of each row."""

    label = ""  # before the names of columns

    def column(self, node: exp.Column, where: Where) -> Value:
        """Return the column itself, of one row or of a number of rows before."""
        if where.first or where.offset or where.earlier < 0:
            self.refuse(
                node,
                "FIRST, LAST and NEXT cannot be used in an aggregate",
                "use PREV, or the column itself",
            )
        column: Column = self.columns.find(name_of(node.this, self.span))
        index = f"[-{where.earlier}]" if where.earlier else ""
        return Value(f"{self.label}{column.text}{index}", column.type)

    def call(self, node: exp.Expr, name: str, where: Where) -> Value:  # noqa: ARG002
        """Refuse an aggregate of an aggregate."""
        return self.refuse(
            node, f"{name} cannot be used inside an aggregate", "compute the column before"
        )


def argument_of(values: Values, node: exp.Expr) -> tuple[exp.Column | None, exp.Expr | None]:
    """Return the column that says which rows an aggregate is over, and its argument, None for `*`."""
    arguments = arguments_of(node)
    if not arguments or isinstance(arguments[0], exp.Star):
        return None, None
    argument = arguments[0]
    if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
        return argument, None
    columns = list(argument.find_all(exp.Column))
    qualifiers = {
        name_of(table, values.span).key if (table := one.args.get("table")) else ""
        for one in columns
    }
    if len(qualifiers) > 1:
        message = "the columns of an aggregate have to be of the same variable"
        values.reader.fail("arguments", values.place(node), message, "qualify all of them alike")
    return (columns[0] if columns else None), argument


def running(conditions: Conditions, node: exp.Expr, aggregate: str) -> Value:
    """Return the value of an aggregate at the position of a condition."""
    column, argument = argument_of(conditions, node)
    text, type_ = "", "int"
    if argument is not None:
        if isinstance(argument, exp.Distinct):
            conditions.refuse(
                node, "COUNT(DISTINCT …) cannot be computed row by row", "use it in MEASURES"
            )
        inner = Argument(conditions.reader, conditions.columns, conditions.span).value(argument)
        for one in argument.find_all(exp.Column):
            conditions.columns.deciding.add(
                conditions.columns.find(name_of(one.this, conditions.span)).name
            )
        text, type_ = inner.text, result_type(conditions, node, aggregate, inner.type)
    chosen = (
        (lambda _position: True)
        if column is None
        else conditions.scope.chosen(conditions, column)[0]
    )
    return _Running(conditions, node, aggregate, text, type_).value(chosen)


def result_type(values: Values, node: exp.Expr, aggregate: str, argument: str) -> str:
    """Return the type of an aggregate."""
    if aggregate == "avg" and argument == "int" and values.reader.dialect == "flink":
        values.refuse(
            node,
            "Flink's AVG of integers drops the fraction",
            "convert the argument: AVG(CAST(x AS DOUBLE))",
        )
    if aggregate in {"count", "count_distinct"}:
        return "int"
    return (
        "real"
        if aggregate in {"avg", "stddev", "var", "median"} and argument == "int"
        else argument
    )


class _Running:
    """One aggregate at one position."""

    def __init__(
        self,
        conditions: Conditions,
        node: exp.Expr,
        aggregate: str,
        argument: str,
        type_: str,
    ) -> None:
        self.conditions = conditions
        self.node = node
        self.aggregate = aggregate
        self.argument = argument
        self.type = type_

    def value(self, chosen: Callable[[int], bool]) -> Value:
        graph, position = self.conditions.graph, self.conditions.position
        earlier = graph.ancestors(position)
        current = chosen(position)
        rows = {one for one in earlier if chosen(one)}
        if rows == earlier and (
            current or START not in graph.before[position] or self.aggregate != "count"
        ):
            return self._of(current)
        if not self.argument and (others := graph.others(position, chosen)) is not None:
            others += not current
            return Value(f"count() - {others}" if others else "count()", "int", SUM, own=True)
        if not rows and not current:
            empty = self.aggregate == "count"
            return Value(
                "0" if empty else "null",
                self.type,
                null=FALSE if empty else TRUE,
                always_null=not empty,
            )
        if not current and self.argument and self.aggregate != "count":
            row = graph.only(position, chosen)
            if isinstance(row, FirstRow):
                return self._of_first()
        alone = isinstance(graph.last(position, chosen, 1), NoRow)
        if alone and self.aggregate != "count" and graph.last(position, chosen, 0) is not None:
            return self._of_one()
        first_other = graph.only(position, lambda one: not chosen(one))
        if self.aggregate == "sum" and self.type == "int" and current and first_other is not None:
            return self._without_first()
        return self._filtered(chosen)

    def _of(self, current: bool, condition: str = "") -> Value:
        """Return the aggregate over all rows, or all that satisfy a predicate, up to this row or the one before."""
        index = "" if current else "[-1]"
        chosen = f" filter [{condition}]" if condition else ""
        text = f"{self.aggregate}({self.argument}){chosen}{index}"
        if self.aggregate == "count":
            return Value(text, "int", PRIMARY, own=True)
        counted = f"count({self.argument}){chosen}{index}"
        # Before the first row the count is NULL, and so is the aggregate.
        empty = Atom(f"{counted} = 0", own=True, opposite=f"{counted} > 0")
        if not current and START in self.conditions.graph.before[self.conditions.position]:
            one = "count() = 1"
            null = either(Atom(one, own=True, opposite="count() > 1"), empty)
        else:
            null = empty
        return Value(text, self.type, PRIMARY, own=True, null=null)

    def _of_first(self) -> Value:
        """Return the aggregate of the first row alone."""
        for column in self.node.find_all(exp.Column):
            self.conditions.columns.ask_value(
                self.conditions.columns.find(name_of(column.this, self.conditions.span)),
                self.conditions.place(column),
            )
        if "[" in self.argument:
            self.conditions.refuse(
                self.node,
                "PREV of the first row of a match has no counterpart",
                "compute the column before, with LAG",
            )
        return Value(f"first({self.argument})", self.type, own=True)

    def _without_first(self) -> Value:
        """Return a sum without the first row; of integers, whose differences are exact."""
        first = self._of_first()
        return Value(f"sum({self.argument}) - {first.text}", self.type, SUM, own=True)

    def _of_one(self) -> Value:
        """Return the aggregate of one row, or none: its value there."""
        value = self.conditions.value(arguments_of(self.node)[0])
        return replace(value, type=self.type)

    def _filtered(self, chosen: Callable[[int], bool]) -> Value:
        """Return the aggregate with a filter, if a predicate tells the rows from the others."""
        condition = telling(self.conditions, chosen)
        if condition is not None:
            return self._of(chosen(self.conditions.position), condition)
        shown = self.conditions.reader.source.text[slice(*self.conditions.place(self.node))]
        message = f"which rows `{shown}` is over cannot be told from the rows alone"
        hint = "aggregate over all rows, or let the definitions of the variables exclude each other"
        return self.conditions.refuse(self.node, message, hint)


def telling(conditions: Conditions, chosen: Callable[[int], bool]) -> str | None:
    """Return a predicate that, of the rows so far, only those that are chosen satisfy, if one is known.

    If the current row is chosen, its own definition has to be true for the answer to matter.
    """
    graph, position = conditions.graph, conditions.position
    earlier, current = graph.ancestors(position), chosen(position)
    wanted = {one for one in earlier if chosen(one)} | ({position} if current else set())
    condition = either(*(conditions.scope.plain(one) for one in wanted))
    excluded = either(*(conditions.scope.plain(one) for one in earlier if not chosen(one)))
    # A filter treats NULL as SQL does, so that `not` is different there.
    if condition == TRUE or any(atom.own or atom.negated for atom in atoms(condition)):
        return None
    if not current and START in graph.before[position]:  # nothing precedes the first row
        return None
    return show(condition) if conditions.columns_exclude(condition, excluded) else None


def filtered_row(
    conditions: Conditions, column: Column, chosen: Callable[[int], bool], *, first: bool
) -> Value | None:
    """Return the first or last value of a column in rows that a predicate tells from the others."""
    condition = telling(conditions, chosen)
    if condition is None:
        return None
    index = "" if chosen(conditions.position) else "[-1]"
    counted = f"count() filter [{condition}]{index}"
    return Value(
        f"{'first' if first else 'last'}({column.text}) filter [{condition}]{index}",
        column.type,
        own=True,
        null=Atom(f"{counted} = 0", own=True, opposite=f"{counted} > 0"),
    )
