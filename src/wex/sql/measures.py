"""MEASURES as measures of a window, over the whole match: SQL's FINAL.

Which rows a variable has matched is said by a label, unless the pattern alone tells: the last row,
the first row, all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from wex.spec import tree
from wex.sql.positions import Back, FirstRow, NoRow
from wex.sql.running import Argument, argument_of, result_type
from wex.sql.values import SUM, Value, Values, Where, arguments_of, name_of

if TYPE_CHECKING:
    from wex.sql.columns import Columns
    from wex.sql.conditions import Scope
    from wex.sql.query import Expression
    from wex.sql.reader import Reader

AGGREGATES = {
    "SUM": "sum",
    "AVG": "avg",
    "MIN": "min",
    "MAX": "max",
    "COUNT": "count",
    "STDDEV": "stddev",
    "STDDEV_SAMP": "stddev",
    "VARIANCE": "var",
    "VAR_SAMP": "var",
    "ARRAY_AGG": "collect",
    "MEDIAN": "median",
}


AHEAD = "this reads a row that may be behind the match"


class Labels:
    """The labels that measures need, by the keys of variables and subsets."""

    def __init__(self) -> None:
        self.needed: set[str] = set()
        self.every = False  # CLASSIFIER needs all of them


class Measures(Values):
    """The value of one measure."""

    def __init__(
        self,
        reader: Reader,
        columns: Columns,
        expression: Expression,
        scope: Scope,
        labels: Labels,
        names: dict[str, str],
        all_rows: bool,
    ) -> None:
        super().__init__(reader, columns, expression.span)
        self.expression = expression
        self.scope = scope
        self.graph = scope.graph
        self.labels = labels
        self.names = names  # of labels in the spec
        self.all_rows = all_rows

    def translated(self) -> str:
        """Return the text of the measure."""
        value = self.value(self.expression.tree)
        if value.always_null:
            self.refuse(self.expression.tree, "WEX has no word for NULL", "leave this measure out")
        return value.text

    # --- Columns

    def column(self, node: exp.Column, where: Where) -> Value:
        """Return the value of a column in one row of the match."""
        column = self.columns.find(name_of(node.this, self.span))
        self.check_final(node, where)
        chosen, _ = self.scope.chosen(self, node)
        find = self.graph.first if where.first else self.graph.last
        row = find(self.graph.end, chosen, where.offset)
        if row is None and not where.first and not where.offset:
            row = self.graph.only(self.graph.end, chosen)
        if isinstance(row, NoRow):
            return Value(f"last({column.text}) filter [false]", column.type)  # NULL, with a type
        self.columns.ask_value(column, self.place(node))
        if isinstance(row, FirstRow) and where.earlier <= 0:
            return Value(self.from_first(node, column.text, -where.earlier), column.type)
        if isinstance(row, Back) and row.more_than is None:
            return Value(
                self.from_last(node, column.text, row.rows - 1, where.earlier), column.type
            )
        return Value(self.labelled(node, column.text, where), column.type)

    def from_first(self, node: exp.Column, text: str, later: int) -> str:
        """Return the value in a row counted from the first one, if there are so many rows."""
        if later >= self.graph.shortest:
            self.refuse(node, AHEAD, "use FIRST with a number")
        return f"nth({text}, {later + 1})" if later else f"first({text})"

    def from_last(self, node: exp.Column, text: str, before_last: int, earlier: int) -> str:
        """Return the value in a row counted from the last one, PREV or NEXT of it."""
        back = before_last + earlier
        if back < 0:
            self.refuse(node, AHEAD, "compute the column before, with LEAD")
        if back and earlier > 0:
            return f"last({text}[-{back}])"  # the row may precede the match
        return f"nth({text}, -{back + 1})" if back else f"last({text})"

    def labelled(self, node: exp.Column, text: str, where: Where) -> str:
        """Return the value in a row of a label.

        If PREV of the last such row is before the stream, it is NULL; so it is for all earlier rows
        of the label, and `last`, which skips NULL, agrees. `first` and `nth` would go on to a later row.
        """
        if where.earlier < 0 or (where.earlier and (where.first or where.offset)):
            message = (
                "WEX can look back from the last row of a variable, not from another one, nor ahead"
            )
            self.refuse(
                node, message, "use FIRST or LAST with a number, or compute the column before"
            )
        value = f"{self.label(node)}{text}" + (f"[-{where.earlier}]" if where.earlier else "")
        if where.offset:
            return f"nth({value}, {where.offset + 1 if where.first else -where.offset - 1})"
        return f"{'first' if where.first else 'last'}({value})"

    def label(self, node: exp.Column) -> str:
        """Return the label of a column, with its dot."""
        table = node.args.get("table")
        if table is None:
            return ""
        key = name_of(table, self.span).key
        self.labels.needed.add(key)
        return f"{self.names[key]}."

    def check_final(self, node: exp.Expr, where: Where) -> None:
        """Refuse values of the match so far: a row of the result has those of the whole match."""
        if not self.all_rows:
            return
        function = (
            node.find_ancestor(exp.First, exp.Last, exp.AggFunc)
            if isinstance(node, exp.Column)
            else node
        )
        start = function.meta.get("start") if function is not None else None
        if start in self.expression.final:
            return
        if where.first and not where.offset and isinstance(node, exp.Column):
            chosen, _ = self.scope.chosen(self, node)
            if isinstance(self.graph.first(self.graph.end, chosen, 0), FirstRow):
                return  # the same in all rows
        message = "with ALL ROWS PER MATCH, this is a value of the match so far, which differs from row to row"
        self.refuse(
            node, message, "write FINAL before the function for the value of the whole match"
        )

    # --- Aggregates

    def call(self, node: exp.Expr, name: str, where: Where) -> Value:
        """Return the value of an aggregate over the match."""
        if name == "CLASSIFIER" and not arguments_of(node):
            self.labels.every = True
            self.check_names(node)
            self.check_final(node, where)
            return Value("last(label())", "string")
        if name not in AGGREGATES or where != Where():
            self.refuse(
                node,
                f"WEX cannot compute {name} in a measure",
                f"it has FIRST, LAST, {', '.join(AGGREGATES)}",
            )
        self.check_final(node, where)
        aggregate = AGGREGATES[name]
        column, argument = argument_of(self, node)
        distinct = isinstance(argument, exp.Distinct)
        if (
            argument is not None
            and distinct
            and (aggregate != "count" or len(argument.expressions) != 1)
        ):
            self.refuse(
                node,
                "DISTINCT has a counterpart in COUNT of one value only",
                "use COUNT(DISTINCT x)",
            )
        label = self.needed_label(column)
        if argument is None:
            return Value(f"count({label})", "int")
        if distinct:
            argument, aggregate = argument.expressions[0], "count_distinct"
        inner = Argument(self.reader, self.columns, self.span)
        inner.label = f"{label}." if label else ""
        value = inner.value(argument)
        if aggregate == "collect":
            for one in argument.find_all(exp.Column):
                self.columns.ask_value(
                    self.columns.find(name_of(one.this, self.span)), self.place(one)
                )
        type_ = result_type(self, node, aggregate, value.type)
        return Value(f"{aggregate}({value.at(SUM)})", type_)

    def check_names(self, node: exp.Expr) -> None:
        """Check that the label of each variable has its name, which CLASSIFIER returns."""
        for variable in self.graph.variables:
            key = variable.name.key
            if self.names[key] != str(tree.Name(key)):
                message = f"CLASSIFIER would return another name for `{variable.name.text}`, as a column or measure has that name"
                self.refuse(node, message, "rename the variable")

    def needed_label(self, column: exp.Column | None) -> str:
        """Return the label that an aggregate is over; none if it is over all rows."""
        if column is None or column.args.get("table") is None:
            return ""
        chosen, _ = self.scope.chosen(self, column)
        if all(map(chosen, self.graph.ancestors(self.graph.end))):
            return ""
        return self.label(column)[:-1]


def _of_row(row: Back | FirstRow, text: str) -> str:
    """Return the value of a column in a row that is always at the same place."""
    if isinstance(row, FirstRow):
        return f"first({text})"
    return f"last({text})" if row.rows == 1 else f"nth({text}, -{row.rows})"


def is_call(expression: Expression, name: str) -> bool:
    """Tell whether a measure is a call without arguments, as MATCH_NUMBER()."""
    tree = expression.tree
    return isinstance(tree, exp.Anonymous) and tree.name.upper() == name and not tree.expressions
