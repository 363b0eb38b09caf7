"""From the clauses of a query to a spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from wex.compile.guards import guarded_fields
from wex.errors import SpecError
from wex.spec import meaning, parse, tree
from wex.spec.types import UNITS
from wex.sql.columns import Columns, given_columns
from wex.sql.conditions import Conditions, Scope
from wex.sql.formulas import TRUE, Both, Formula, atoms, both, show
from wex.sql.measures import Labels, Measures, is_call
from wex.sql.pattern import (
    Anchor,
    Choice,
    Concatenation,
    Pattern,
    Repeat,
    is_nullable,
    peeled,
    variables,
)
from wex.sql.positions import Back, Graph, graph_of
from wex.sql.reader import Reader, known_dialect
from wex.sql.result import Translation
from wex.sql.selection import parsed_query
from wex.sql.skipping import failure, of_pattern
from wex.sql.values import name_of
from wex.sql.writing import PatternText, Spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wex.spec.problems import Span
    from wex.sql.query import Query

MOST_PEELED = 2  # rows at the beginning of a loop that may have conditions of their own


def translated(text: str, schema: object, dialect: str, name: str) -> Translation:
    """Return the spec of a query, and what its result looks like."""
    reader = Reader(text, known_dialect(dialect), name)
    return translated_query(reader, parsed_query(reader), schema)


def translated_query(reader: Reader, query: Query, schema: object) -> Translation:
    """Return the translation of a query that has been read."""
    return _Translator(reader, query, schema).translation()


@dataclass(frozen=True)
class _Shape:
    """The pattern as it is written: one or more alternatives with their conditions."""

    alternatives: list[tuple[bool, Pattern]]  # whether `^` precedes it
    conditions: list[Formula]  # by position
    defined: list[tuple[str, Formula]]  # the conditions with their variables
    cost: int  # conditions with aggregates


class _Translator:
    """Translates one query."""

    def __init__(self, reader: Reader, query: Query, schema: object) -> None:
        self.reader = reader
        self.query = query
        self.given = given_columns(schema)
        self.subsets = {
            key: tuple(member.key for member in members)
            for key, (_, members) in query.subsets.items()
        }
        self.parts: list[tuple[str, Span]] = []  # each definition and measure as WEX
        self.anchored, self.ends, self.pattern = self.without_anchors()
        if is_nullable(self.pattern):
            message = "this pattern matches also no row at all, and a window has at least one"
            reader.refuse(
                query.pattern_span, message, "let one variable match at least once, as in a+"
            )

    # --- Anchors

    def without_anchors(self) -> tuple[list[bool], bool, Pattern]:
        """Return for each alternative whether it begins with `^`, whether all end with `$`, and the rest."""
        pattern = self.query.pattern
        parts = pattern.parts if isinstance(pattern, Choice) else (pattern,)
        begins, ends, inner = [], [], []
        for part in parts:
            items = list(part.parts) if isinstance(part, Concatenation) else [part]
            begins.append(isinstance(items[0], Anchor) and items[0].sign == "^" if items else False)
            items = items[1:] if begins[-1] else items
            ends.append(isinstance(items[-1], Anchor) and items[-1].sign == "$" if items else False)
            items = items[:-1] if ends[-1] else items
            inner.append(items[0] if len(items) == 1 else Concatenation(tuple(items)))
        rest = inner[0] if len(inner) == 1 else Choice(tuple(inner))
        anchor = next(_anchors(rest), None)
        if anchor is not None or len(set(ends)) > 1:
            span = anchor.span if anchor else self.query.pattern_span
            message = "`^` can begin, and `$` end, the whole pattern only"
            self.reader.refuse(
                span, message, "`^` may also begin an alternative; `$` has to end all of them"
            )
        return begins, ends[0], rest

    # --- Conditions

    def shape(self) -> tuple[_Shape, Columns]:
        """Return the pattern with its conditions; the first rows of loops apart if that is simpler."""
        best: tuple[_Shape, Columns] | None = None
        error: SpecError | None = None
        pattern = self.pattern
        for level in range(MOST_PEELED + 1):
            columns = Columns(self.reader, self.given)
            self.name_columns(columns)
            graph = graph_of(pattern)
            try:
                conditions = self.conditions(graph, columns)
                columns.assumptions()
            except SpecError as caught:
                error = error or caught
            else:
                cost = sum(any(atom.own for atom in atoms(one)) for one in conditions)
                if best is None or cost < best[0].cost:
                    best = self.as_written(pattern, graph, conditions, cost, level), columns
                if not best[0].cost:
                    break
            pattern = peeled(pattern)
            if sum(1 for _ in variables(pattern)) > 4 * sum(1 for _ in variables(self.pattern)) + 8:
                break
        if best is None:
            assert error is not None
            raise error
        return best

    def as_written(
        self, pattern: Pattern, graph: Graph, conditions: list[Formula], cost: int, level: int
    ) -> _Shape:
        """Return the pattern as in the query if each variable in it has one condition."""
        by_place: dict[Span, set[Formula]] = {}
        for variable, condition in zip(graph.variables, conditions, strict=True):
            by_place.setdefault(variable.name.span, set()).add(condition)
        if level and all(len(formulas) == 1 for formulas in by_place.values()):
            pattern = self.pattern
            conditions = [next(iter(by_place[one.name.span])) for one in variables(pattern)]
        parts = (
            pattern.parts if isinstance(pattern, Choice) and len(self.anchored) > 1 else (pattern,)
        )
        keys = [variable.name.key for variable in variables(pattern)]
        defined = list(dict.fromkeys(zip(keys, conditions, strict=True)))
        return _Shape(list(zip(self.anchored, parts, strict=True)), conditions, defined, cost)

    def conditions(self, graph: Graph, columns: Columns) -> list[Formula]:
        """Return the condition of each position."""
        scope = self.scope(graph, columns)
        return [self.condition(position, columns, scope) for position in range(graph.end)]

    def condition(self, position: int, columns: Columns, scope: Scope) -> Formula:
        """Return the condition of one position."""
        defined = self.query.definitions.get(scope.graph.key(position))
        if defined is None:
            return TRUE
        name, expression = defined
        if expression.final:
            self.reader.refuse(
                expression.span, "FINAL is not known before the match is complete", "leave it out"
            )
        formula = Conditions(self.reader, columns, expression.span, scope, position).truth(
            expression.tree
        )
        parts = list(atoms(formula))
        if any(atom.own for atom in parts) and any(atom.negated for atom in parts):
            message = f"the definition of `{name.text}` mixes CASE or IS TRUE with aggregates: WEX would treat NULL differently"
            self.reader.refuse(expression.span, message, "write the condition with AND and OR")
        return formula

    def scope(self, graph: Graph, columns: Columns) -> Scope:
        """Return the scope of conditions and measures."""
        known: dict[int, Formula] = {}

        def plain(position: int) -> Formula:
            if position not in known:
                known[position] = TRUE  # while it is computed
                known[position] = self.plain(position, columns, scope)
            return known[position]

        scope = Scope(graph, self.subsets, plain)
        return scope

    def plain(self, position: int, columns: Columns, scope: Scope) -> Formula:
        """Return those parts of a condition that need no aggregate: they hold in all rows of a position."""
        defined = self.query.definitions.get(scope.graph.key(position))
        if defined is None:
            return TRUE
        expression = defined[1].tree.unnest()
        parts = list(expression.flatten()) if isinstance(expression, exp.And) else [expression]
        found: list[Formula] = []
        for part in parts:
            if part.find(exp.AggFunc) is not None:
                continue
            try:
                formula = Conditions(self.reader, columns, defined[1].span, scope, position).truth(
                    part
                )
            except SpecError:
                continue
            found.extend(
                one
                for one in (formula.parts if isinstance(formula, Both) else (formula,))
                if not any(atom.own for atom in atoms(one))
            )
        return both(*found)

    # --- The spec

    def name_columns(self, columns: Columns) -> None:
        """Note the columns that divide and order the table."""
        columns.keys = [columns.find(name).name for name in self.query.partition]
        columns.order = [columns.find(name).name for name in self.query.order]
        for _, expression in self.query.definitions.values():
            tests = (
                one
                for one in expression.tree.find_all(exp.Is)
                if isinstance(one.expression, exp.Null)
            )
            for test in (
                *tests,
                *expression.tree.find_all(exp.Coalesce, exp.NullSafeEQ, exp.NullSafeNEQ),
            ):
                for node in test.find_all(exp.Column):
                    column = columns.find(name_of(node.this, expression.span))
                    if columns.may_be_null(column):
                        columns.tested.add(column.name)

    def translation(self) -> Translation:
        """Return the spec with what belongs to it."""
        query = self.query
        shape, columns = self.shape()
        for key, condition in shape.defined:
            if key in query.definitions:
                span = query.definitions[key][1].span
                self.parts.append((f"any [{show(condition)}]", span))
        graph = graph_of(self.pattern)
        spelling = Spelling(graph, query, set(self.given))
        excluded = spelling.excluded(graph, self.reader) if query.all_rows else set()
        labels = Labels()
        scope = self.scope(graph, columns)
        measures, numbered, classified = self.measures(columns, scope, labels, spelling)
        keep = self.keep(graph, labels, spelling)
        needed = set(spelling.labels) if labels.every or query.all_rows else labels.needed
        written = PatternText(shape.alternatives, shape.conditions, spelling, needed)
        clauses = [*written.pairs()]
        if self.ends:
            clauses.append("  until [false] or end")
        if query.within is not None:
            clauses.append(f"  within {self.within()}")
        clauses.append(f"  keep {keep}")
        if measures:
            clauses.append(f"  measure {', '.join(measures)}")
        head = self.stream(columns, spelling)
        before, after = [head, *written.lets()], [f"window {spelling.window}", *clauses]
        # A condition that is always or never true is not in the spec, nor are its columns.
        bare = self.parsed("\n".join([*before, *after]), columns)
        columns.deciding = set(guarded_fields(meaning(bare)))
        assumptions = columns.assumptions()
        items = [*before, *assumptions, *after]
        spec = self.parsed("\n".join(items), columns) if assumptions else bare
        return Translation(
            spec,
            tuple(name.text for name in query.partition),
            tuple(measure.name.text for measure in query.measures),
            self.selection(),
            numbered,
            classified,
            query.all_rows,
            tuple(sorted(excluded)),
        )

    def stream(self, columns: Columns, spelling: Spelling) -> str:
        """Return the stream line."""
        fields = ", ".join(f"{column.text} {column.type}" for column in columns.used.values())
        if not fields:
            if not self.given:
                self.reader.fail(
                    "unknown-name",
                    self.query.table.span,
                    "no column of this table is known",
                    "give the types of the columns",
                )
            first = next(iter(self.given.values()))
            fields = f"{first.text} {first.type}"
        lines = [f"stream {spelling.table} ({fields})"]
        for words, names in (
            ("partition by", self.query.partition),
            ("order by", self.query.order),
        ):
            if names:
                lines.append(f"  {words} {', '.join(columns.find(name).text for name in names)}")
        return "\n".join(lines)

    def measures(
        self, columns: Columns, scope: Scope, labels: Labels, spelling: Spelling
    ) -> tuple[list[str], str | None, str | None]:
        """Return the measures, and the names of the columns for MATCH_NUMBER and CLASSIFIER of rows."""
        texts: list[str] = []
        numbered = classified = None
        for measure in self.query.measures:
            if is_call(measure.value, "MATCH_NUMBER"):
                numbered = measure.name.text
                continue
            if self.query.all_rows and is_call(measure.value, "CLASSIFIER"):
                classified = measure.name.text
                continue
            value = Measures(
                self.reader,
                columns,
                measure.value,
                scope,
                labels,
                spelling.labels,
                self.query.all_rows,
            ).translated()
            text = f"{value} as {tree.Name(measure.name.text)}"
            needed = labels.needed | set(spelling.labels if labels.every else ())
            labelled = " ".join(f"{spelling.labels[key]}:any" for key in sorted(needed))
            self.parts.append((f"{labelled or 'any'} measure {text}", measure.value.span))
            texts.append(text)
        return texts, numbered, classified

    def parsed(self, text: str, columns: Columns) -> tree.Spec:
        """Return the spec, or an error that points into the query, such as one about types."""
        try:
            return parse(text)
        except SpecError as error:
            self.check_parts(columns)
            message = f"as WEX, `{error.source_line.strip()[:80]}`: {error.message}"
            return self.reader.fail(error.code, self.query.pattern_span, message, error.hint or "")

    def check_parts(self, columns: Columns) -> None:
        """Check each definition and measure by itself, to find the place of an error."""
        fields = ", ".join(f"{column.text} {column.type}" for column in columns.used.values())
        for clauses, span in self.parts:
            try:
                parse(f"stream s ({fields}) window w match {clauses}")
            except SpecError as error:
                self.reader.fail(error.code, span, f"as WEX: {error.message}", error.hint or "")

    # --- Clauses

    def within(self) -> str:
        """Return the duration of WITHIN. In Flink a match lasts less than it, in WEX at most."""
        assert self.query.within is not None
        node, span = self.query.within.tree, self.query.within.span
        if not isinstance(node, exp.Interval):
            self.reader.refuse(span, "WITHIN takes an interval", "write WITHIN INTERVAL '1' HOUR")
        columns = Columns(self.reader, self.given)
        amount, unit = Measures.interval(
            Conditions(self.reader, columns, span, self.scope(graph_of(self.pattern), columns), 0),
            node,
        ).split()
        if not amount.isdigit() or len(amount) > 12:
            self.reader.refuse(
                span, "WITHIN takes a whole number of units", "write WITHIN INTERVAL '90' MINUTE"
            )
        return f"{int(amount) * UNITS[unit] - 1} microseconds"

    def keep(self, graph: Graph, labels: Labels, spelling: Spelling) -> str:
        """Return the option of `keep` for AFTER MATCH SKIP, and note the label that it needs."""
        skip = self.query.skip
        if skip is None:
            if self.reader.dialect == "flink":
                message = (
                    "without AFTER MATCH SKIP, Flink and the standard differ about the next match"
                )
                self.reader.refuse(
                    self.query.pattern_span,
                    message,
                    "say it: AFTER MATCH SKIP PAST LAST ROW, or TO NEXT ROW",
                )
            return "leftmost"
        if skip.variable is None:
            return {"past": "leftmost", "next": "preferred"}[skip.to]
        key = skip.variable.key
        keys = self.subsets.get(key, (key,))
        failing = failure(of_pattern(self.pattern, keys.__contains__), skip.to)
        if failing is not None:
            self.reader.refuse(skip.span, *failing)
        fixed = self.fixed_skip(graph, skip.to, lambda position: graph.key(position) in keys)
        if fixed is not None:
            return fixed
        labels.needed.add(key)
        return f"leftmost resuming at {skip.to} {spelling.labels[key]}"

    def fixed_skip(self, graph: Graph, to: str, chosen: Callable[[int], bool]) -> str | None:
        """Return the option for SKIP TO FIRST or LAST of a variable, if the place of the row is fixed."""
        row = (graph.first if to == "first" else graph.last)(graph.end, chosen, 0)
        if isinstance(row, Back) and row.more_than is None:
            return f"leftmost sharing {row.rows} event{'s' if row.rows > 1 else ''}"
        if to == "first" and self.second_row(graph, chosen):
            return "preferred"
        return None

    def second_row(self, graph: Graph, chosen: Callable[[int], bool]) -> bool:
        """Tell whether the first chosen row is always the second row: SKIP TO NEXT ROW."""
        heads = {one for one in range(graph.end) if -1 in graph.before[one]}
        seconds = {one for one in range(graph.end) if graph.before[one] & heads}
        single = heads & graph.ends
        return not single and not any(map(chosen, heads)) and all(map(chosen, seconds))

    def selection(self) -> tuple[tuple[str, str], ...] | None:
        """Return the columns that the query selects, with their new names."""
        if self.query.selected is None:
            return None
        known = {name.key: name.text for name in self.query.partition}
        known |= {measure.name.key: measure.name.text for measure in self.query.measures}
        chosen = []
        for old, new in self.query.selected:
            if old.key not in known and not self.query.all_rows:
                message = f"`{old.text}` is not a column of the result"
                self.reader.fail(
                    "unknown-name", old.span, message, "select partition columns and measures"
                )
            chosen.append((known.get(old.key, old.text), new.text))
        return tuple(chosen)


def _anchors(pattern: Pattern) -> Iterator[Anchor]:
    """Return the anchors of a pattern, one by one."""
    match pattern:
        case Anchor():
            yield pattern
        case Concatenation(parts) | Choice(parts):
            for part in parts:
                yield from _anchors(part)
        case Repeat(part):
            yield from _anchors(part)
