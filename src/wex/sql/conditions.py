"""The conditions of DEFINE as predicates, at each position of the pattern.

A row matches if its condition is true, not if it is unknown. So a condition becomes the formula
that is true where the condition is, and another one that is true where it is false: NOT leads from
one to the other, down to the atoms, and both are false where SQL says unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from wex.errors import WexError
from wex.sql.formulas import FALSE, TRUE, Atom, Formula, atoms, both, either, negated, show
from wex.sql.likes import like_pattern
from wex.sql.positions import FirstRow, Graph, NoRow, Row
from wex.sql.values import (
    PRIMARY,
    PRODUCT,
    STRICT_SIGNS,
    SUM,
    Value,
    Values,
    Where,
    arguments_of,
    combined,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.spec.problems import Span
    from wex.sql.columns import Column, Columns
    from wex.sql.reader import Reader

AGGREGATES = {"SUM": "sum", "AVG": "avg", "MIN": "min", "MAX": "max", "COUNT": "count"}


class Conditions(Values):
    """The conditions at one position."""

    def __init__(
        self,
        reader: Reader,
        columns: Columns,
        span: Span,
        scope: Scope,
        position: int,
    ) -> None:
        super().__init__(reader, columns, span)
        self.scope = scope
        self.graph = scope.graph
        self.position = position
        self.fewest = scope.graph.fewest_before(position)

    # --- Truth

    def truth(self, node: exp.Expr, wanted: bool = True) -> Formula:
        """Return the formula that is true where a condition is true, or where it is false."""
        match node:
            case exp.Paren():
                return self.truth(node.this, wanted)
            case exp.Not():
                return self.truth(node.this, not wanted)
            case exp.And() | exp.Or():
                parts = [self.truth(part, wanted) for part in node.flatten()]
                return both(*parts) if isinstance(node, exp.And) == wanted else either(*parts)
            case exp.Boolean():
                return TRUE if node.this == wanted else FALSE
            case exp.Null():
                return FALSE
            case exp.Between():
                low = self.compared(exp.GTE, node.this, node.args["low"], wanted)
                high = self.compared(exp.LTE, node.this, node.args["high"], wanted)
                return both(low, high) if wanted else either(low, high)
            case exp.In():
                return self.among(node, wanted)
            case exp.Is():
                return self.tested(node, wanted)
            case exp.Like() | exp.Escape():
                return self.like(node, wanted)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                return self.distinct(node, wanted)
        if type(node) in STRICT_SIGNS:
            return self.compared(type(node), node.this, node.expression, wanted)
        return self.boolean(node, wanted)

    def compared(
        self,
        kind: type[exp.Expr],
        left: exp.Expr,
        right: exp.Expr,
        wanted: bool,
    ) -> Formula:
        """Return a comparison of two values, or its opposite."""
        sign = STRICT_SIGNS[kind][0 if wanted else 1]
        formulas = []
        for condition, one in self.cases(left):
            for also, other in self.cases(right):
                formulas.append(both(condition, also, self._comparison(sign, one, other)))
        return either(*formulas)

    def _comparison(self, sign: str, left: exp.Expr, right: exp.Expr) -> Formula:
        a, b = self._operand(left, right, sign), self._operand(right, left, sign)
        if a.always_null or b.always_null:
            return FALSE
        text = f"{a.at(SUM)} {sign} {b.at(SUM)}"
        return both(a.guard, b.guard, Atom(text, a.own or b.own))

    def _operand(self, node: exp.Expr, other: exp.Expr, sign: str) -> Value:
        """Return a value to compare; remainders are the same as in SQL only if compared with 0."""
        node, other = node.unnest(), other.unnest()
        if not isinstance(node, exp.Mod):
            return self.value(node)
        if sign not in {"=", "!="} or not isinstance(other, exp.Literal) or other.this != "0":
            message = "a remainder has the sign of the dividend in SQL, and of the divisor in WEX"
            self.refuse(node, message, "compare it with 0, or compute the column before")
        left, right = self.value(node.this), self.value(node.expression)
        return combined(f"{left.at(PRODUCT)} % {right.at(PRIMARY)}", "int", PRODUCT, left, right)

    def among(self, node: exp.In, wanted: bool) -> Formula:
        """Return `x in (…)` as comparisons."""
        if not node.expressions:
            self.refuse(node, "IN of a query has no counterpart", "list the values")
        kind = exp.EQ
        parts = [self.compared(kind, node.this, one, wanted) for one in node.expressions]
        return either(*parts) if wanted else both(*parts)

    def tested(self, node: exp.Is, wanted: bool) -> Formula:
        """Return IS NULL, IS TRUE or IS FALSE."""
        if isinstance(node.expression, exp.Null):
            return self.null(node.this, wanted)
        if isinstance(node.expression, exp.Boolean):
            formula = self.truth(node.this, bool(node.expression.this))
            return formula if wanted else self.complement(formula, node)
        return self.refuse(
            node, "this test has no counterpart", "write IS NULL, IS TRUE or IS FALSE"
        )

    def null(self, node: exp.Expr, wanted: bool) -> Formula:
        """Return the test whether a value is NULL, or not."""
        formulas = []
        for condition, case in self.cases(node):
            value = self.value(case)
            for column in case.find_all(exp.Column):
                self._note_tested(column)
            null = self.null_of(value, case)
            formulas.append(both(condition, null if wanted else negated(null)))
        return either(*formulas)

    def null_of(self, value: Value, node: exp.Expr) -> Formula:
        """Return when a value is NULL, or fail if WEX cannot tell."""
        if value.null is None:
            self.refuse(
                node,
                "WEX cannot tell whether this column is NULL in the first row",
                "say in the schema that it is not null",
            )
        return value.null

    def _note_tested(self, node: exp.Column) -> None:
        column = self.columns.find(name_of(node.this, self.span))
        if self.columns.may_be_null(column):
            self.columns.tested.add(column.name)

    def distinct(self, node: exp.Binary, wanted: bool) -> Formula:
        """Return IS [NOT] DISTINCT FROM, which compares NULL as a value."""
        same = isinstance(node, exp.NullSafeEQ) == wanted
        a, b = self.null(node.this, True), self.null(node.expression, True)
        some = [both(a, negated(b)), both(negated(a), b)]
        if same:
            return either(both(a, b), self.compared(exp.EQ, node.this, node.expression, True))
        return either(*some, self.compared(exp.NEQ, node.this, node.expression, True))

    def like(self, node: exp.Expr, wanted: bool) -> Formula:
        """Return `x like '…'`. Where x is NULL, neither that nor its opposite is true."""
        escape = None
        if isinstance(node, exp.Escape):
            escape, node = node.expression, node.this
        if not isinstance(node, exp.Like):
            self.refuse(node, "only LIKE takes an escape character", "use LIKE")
        wanted = wanted != bool(node.args.get("negate"))
        value = self.value(node.this)
        pattern = like_pattern(self, node.expression, escape)
        if value.always_null:
            return FALSE
        if value.own:
            self.refuse(
                node,
                "LIKE is computed of rows, not of the first row or an aggregate",
                "test the row itself",
            )
        test = Atom(
            f"{value.at(SUM)} like {pattern}", opposite=f"{value.at(SUM)} not like {pattern}"
        )
        if wanted:
            return both(value.guard, test)
        null = self.null_of(value, node)
        if null != FALSE:
            for column in node.this.find_all(exp.Column):
                self._note_tested(column)
        return both(value.guard, negated(null), negated(test))

    def boolean(self, node: exp.Expr, wanted: bool) -> Formula:
        """Return a boolean value as a condition."""
        formulas = []
        for condition, case in self.cases(node):
            if case is not node:
                formulas.append(both(condition, self.truth(case, wanted)))
                continue
            value = self.value(case)
            if value.always_null:
                return FALSE
            text = (
                value.at(SUM)
                if wanted and value.type == "bool" and not value.own
                else f"{value.at(SUM)} = {str(wanted).lower()}"
            )
            formulas.append(both(value.guard, Atom(text, value.own)))
        return either(*formulas)

    def complement(self, formula: Formula, node: exp.Expr) -> Formula:
        """Return the formula that is true where another one is not, also where it is unknown."""
        if any(atom.own and not atom.opposite for atom in atoms(formula)):
            message = "here WEX cannot tell unknown from false, because of an aggregate"
            self.refuse(node, message, "write the condition with AND and OR")
        return negated(formula)

    def cases(self, node: exp.Expr) -> list[tuple[Formula, exp.Expr]]:
        """Return the values of CASE, IF and COALESCE with the conditions under which they count."""
        node = node.unnest()
        found: list[tuple[Formula, exp.Expr]] = []
        rest: Formula = TRUE
        if isinstance(node, exp.Coalesce):
            for one in [node.this, *node.expressions]:
                found.append((both(rest, self.null(one, False)), one))
                rest = both(rest, self.null(one, True))
            return found
        if isinstance(node, exp.Case | exp.If):
            branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
            default = node.args.get("default" if isinstance(node, exp.Case) else "false")
            for branch in branches:
                test = branch.this
                if isinstance(node, exp.Case) and node.this is not None:
                    test = exp.EQ(this=node.this.copy(), expression=test.copy())
                condition = self.truth(test)
                found.extend(
                    (both(rest, condition, also), one)
                    for also, one in self.cases(branch.args["true"])
                )
                rest = both(rest, self.complement(condition, node))
            if default is not None:
                found.extend((both(rest, also), one) for also, one in self.cases(default))
            else:
                found.append((rest, exp.Null()))
            return found
        return [(TRUE, node)]

    # --- Columns

    def column(self, node: exp.Column, where: Where) -> Value:
        """Return the value of a column in the row that it refers to."""
        column = self.columns.find(name_of(node.this, self.span))
        self.columns.deciding.add(column.name)
        row = self.row(node, where)
        if row is None:
            return self.told_row(node, column, where)
        if isinstance(row, NoRow):
            return Value(column.text, column.type, null=TRUE, always_null=True)
        if isinstance(row, FirstRow):
            if where.earlier:
                self.refuse(
                    node,
                    "WEX cannot count rows from the first row of a match",
                    "compute the column before, with LAG",
                )
            return self.first_row(node, column)
        back = row.rows + where.earlier
        if back < 0:
            message = (
                "this reads a row that comes later, and WEX decides about a row when it arrives"
            )
            self.refuse(node, message, "state the condition of the later row, with PREV")
        guard: Formula = TRUE
        if row.more_than is not None:
            n = row.more_than
            guard = Atom(f"count() > {n}", own=True, opposite=f"count() <= {n}")
        return self.earlier(column, back, guard)

    def first_row(self, node: exp.Column, column: Column) -> Value:
        """Return the value of a column in the first row, which `first` skips if it is NULL.

        The first row is also the one with the least order value, the earliest of several.
        """
        ordered = self.columns.least
        if column.name in self.columns.tested and ordered is not None:
            return Value(f"min_by({column.text}, {ordered})", column.type, own=True, null=None)
        self.columns.ask_value(column, self.place(node))
        return Value(f"first({column.text})", column.type, own=True)

    def earlier(self, column: Column, back: int, guard: Formula) -> Value:
        """Return the value of a column some rows earlier."""
        text = f"{column.text}[-{back}]" if back else column.text
        absent = [Atom(f"is_first[-{n}]" if n else "is_first") for n in range(back)]
        null = [negated(guard)]
        if back > self.fewest:
            null.extend(Atom(one.text, opposite=f"not {one.text}") for one in absent)
        if self.columns.may_be_null(column):
            null.append(Atom(f"{text} is null", opposite=f"{text} is not null"))
        return Value(text, column.type, guard=guard, null=either(*null))

    def row(self, node: exp.Column, where: Where) -> Row | None:
        """Return the row that a column is taken from, or None if that depends on the match."""
        chosen, _ = self.scope.chosen(self, node)
        find = self.graph.first if where.first else self.graph.last
        row = find(self.position, chosen, where.offset)
        if row is None and not where.first and not where.offset:
            row = self.graph.only(self.position, chosen)
        return row

    def told_row(self, node: exp.Column, column: Column, where: Where) -> Value:
        """Return the value in a row that only a predicate tells from the others, or fail."""
        from wex.sql.running import filtered_row  # noqa: PLC0415  (it uses this module)

        chosen, shown = self.scope.chosen(self, node)
        if not where.offset and not where.earlier:
            value = filtered_row(self, column, chosen, first=where.first)
            if value is not None:
                self.columns.ask_value(column, self.place(node))
                return value
        function = "FIRST" if where.first else "LAST"
        what = f"{function}({shown}{f', {where.offset}' if where.offset else ''})"
        message = f"{what} is not a certain row here: how far back it is depends on the match"
        hint = "WEX looks back a fixed number of rows, to the first row, or at aggregates: PREV(…), FIRST(…) of the first variable, MAX(…)"
        return self.refuse(node, message, hint)

    # --- Aggregates

    def call(self, node: exp.Expr, name: str, where: Where) -> Value:
        """Return the value of an aggregate over the match so far."""
        if name == "CLASSIFIER" and not arguments_of(node):
            name = self.graph.key(self.position).replace("'", "''")
            return Value(f"'{name}'", "string")
        if name not in AGGREGATES or where != Where():
            known = ", ".join(AGGREGATES)
            self.refuse(
                node,
                f"WEX cannot compute {name} in a condition",
                f"there it has PREV, FIRST, LAST, {known}",
            )
        from wex.sql.running import running  # noqa: PLC0415  (it uses this module)

        return running(self, node, AGGREGATES[name])

    def columns_exclude(self, one: Formula, other: Formula) -> bool:
        """Tell whether no row can satisfy both of two predicates: provably so."""
        from wex.analysis.compare import is_empty  # noqa: PLC0415  (loads the solver)

        if FALSE in (one, other):
            return True
        used = self.columns.used.values()
        fields = ", ".join(f"{column.text} {column.type}" for column in used)
        assumed = [
            f"assume [{column.text} is null or {column.text} is not null]* unchecked"
            for column in used
            if self.columns.may_be_null(column)
        ]
        predicate = show(both(one, other))
        try:
            comparison = is_empty(
                f"stream s ({fields}) {' '.join(assumed)} window w match [{predicate}]"
            )
        except WexError:  # such as a predicate of the wrong type, which is reported later
            return False
        return comparison.holds is True


class Scope:
    """The pattern that conditions belong to: its positions, subsets and definitions."""

    def __init__(
        self,
        graph: Graph,
        subsets: dict[str, tuple[str, ...]],
        plain: Callable[[int], Formula],
    ) -> None:
        self.graph = graph
        self.subsets = subsets
        self.plain = plain  # what is known of the rows at a position, without aggregates
        self.keys = {variable.name.key for variable in graph.variables}

    def chosen(self, values: Values, node: exp.Column) -> tuple[Callable[[int], bool], str]:
        """Return which positions a column refers to, and how the column is called."""
        table = node.args.get("table")
        if node.args.get("db") is not None:
            values.refuse(node, "a column has at most one qualifier here", "write variable.column")
        if table is None:
            return (lambda _position: True), node.name
        name = name_of(table, values.span)
        if name.key not in self.keys and name.key not in self.subsets:
            message = f"`{name.text}` is not a variable of the pattern"
            values.reader.fail(
                "unknown-name", name.span, message, "use a variable of PATTERN or SUBSET"
            )
        keys = self.subsets.get(name.key, (name.key,))
        return (lambda position: self.graph.key(position) in keys), f"{name.text}.{node.name}"
