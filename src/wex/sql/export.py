"""Specs as queries with MATCH_RECOGNIZE, so that they can be tried on other systems.

A query has the windows of the spec as its matches, or there is an error that names the part that SQL
cannot say. Comparisons with a missing event or NULL are false in a spec and unknown in SQL. The two
differ under `not`, which is moved to the comparisons, with a test of what may be NULL beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from wex.errors import SpecError, WexError
from wex.spec import meaning as meaning_of
from wex.spec import parse, tree
from wex.sql.exported_values import FORWARD_ONLY, Conditions, Measures
from wex.sql.reader import known_dialect
from wex.sql.skipping import failure, of_expression

if TYPE_CHECKING:
    from wex.spec import Meaning

BACKTICKS = ("flink", "spark", "databricks")
# fmt: off
RESERVED = frozenset([
    "all", "and", "any", "as", "asc", "between", "by", "case", "classifier", "count", "date",
    "define", "desc", "else", "end", "exists", "false", "final", "first", "from", "group", "having",
    "in", "initial", "interval", "is", "join", "last", "like", "limit", "match", "measures", "next",
    "not", "null", "of", "on", "one", "or", "order", "partition", "past", "pattern", "per",
    "permute", "prev", "row", "rows", "running", "seek", "select", "skip", "sum", "table", "then",
    "time", "timestamp", "to", "true", "union", "user", "using", "value", "values", "when", "where",
    "with", "within",
])
# fmt: on
SKIPS = {"leftmost": "PAST LAST ROW", "preferred": "TO NEXT ROW"}


def exported(spec: tree.Spec, window: str | None, dialect: str) -> str:
    """Return the query of a window of a spec."""
    placed = parse(str(spec)) if spec.source is None else spec  # so that errors have a place
    return ExportedQuery(placed, _chosen(placed, window), known_dialect(dialect)).text()


def _chosen(spec: tree.Spec, window: str | None) -> int:
    names = [one.name.text for one in spec.windows]
    if window is None and len(names) == 1:
        return 0
    if window is None or window not in names:
        message = "this spec has several windows" if window is None else f"no window `{window}`"
        raise WexError("several-windows", message, f"choose one of them: {', '.join(names)}")
    return names.index(window)


@dataclass
class Variable:
    """A variable of the pattern: its name, predicate and labels, and the least rows before it."""

    name: str
    predicate: tree.Expr | None  # None: every row
    labels: tuple[str, ...]
    before: int = 1 << 30


class ExportedQuery:
    """Writes one query."""

    def __init__(self, spec: tree.Spec, index: int, dialect: str) -> None:
        self.spec, self.dialect = spec, dialect
        self.meaning: Meaning = meaning_of(spec)
        self.window = self.meaning.expanded.windows[index]
        self.written = spec.windows[index]
        self.types = {field.name.text: field.type.name.text for field in spec.stream.fields}
        self.variables: dict[tuple[object, ...], Variable] = {}
        self.nullable = self.meaning.nullable
        self.taken = {*self.types, *(one.name.text for one in self.window.measures)}

    def refuse(self, node: tree.Node, message: str, hint: str) -> NoReturn:
        """Raise an error that points at a part of the spec, or at the window if that has no place."""
        span = node.span or self.written.span
        assert self.spec.source is not None
        assert span is not None
        raise SpecError([self.spec.source.diagnostic(span, "sql", message, hint)])

    # --- Clauses

    def text(self) -> str:
        """Return the query."""
        self.check_clauses()
        pattern = self.pattern()
        stream = self.spec.stream
        lines = []
        for words, names in (("PARTITION BY", stream.partition_by), ("ORDER BY", stream.order_by)):
            if names:
                lines.append(f"{words} {', '.join(self.name(one.text) for one in names)}")
        if self.window.measures:
            measures = [
                f"{self.value(one.value)} AS {self.name(one.name.text)}"
                for one in self.window.measures
            ]
            lines.append("MEASURES\n    " + ",\n    ".join(measures))
        lines += ["ONE ROW PER MATCH", f"AFTER MATCH SKIP {self.skip()}", f"PATTERN ({pattern})"]
        subsets = self.subsets()
        if subsets:
            lines.append(f"SUBSET {', '.join(subsets)}")
        conditions = [
            f"{one.name} AS {self.condition(one.predicate, one)}"
            for one in self.variables.values()
            if one.predicate is not None
        ]
        if conditions:
            lines.append("DEFINE\n    " + ",\n    ".join(conditions))
        body = "\n  ".join(lines)
        return f"SELECT *\nFROM {self.name(stream.name.text)} MATCH_RECOGNIZE (\n  {body}\n)\n"

    def check_clauses(self) -> None:
        """Refuse clauses that MATCH_RECOGNIZE does not have."""
        window, written = self.window, self.written
        keep = window.keep.text if window.keep else "all"
        if keep not in SKIPS:
            message = (
                f"SQL finds at most one match from each row, and `keep {keep}` is another choice"
            )
            hint = "write `keep leftmost` (AFTER MATCH SKIP PAST LAST ROW) or `keep preferred` (TO NEXT ROW)"
            self.refuse(window.keep or written, message, hint)
        for clause, hint in (
            (window.where, "translate it first: wex.to_regex"),
            (window.having, "filter the result of the query, if that means the same"),
            (window.within, "bound the pattern, as in `any{1,10}`"),
            (window.next_start if not self.resuming else None, "write `resuming at` a label"),
        ):
            if clause is not None:
                self.refuse(clause, "MATCH_RECOGNIZE has no such clause", hint)
        if window.unpadded and self.meaning.lookbacks[self.spec.windows.index(written)]:
            message = "SQL lets a match begin where not all earlier rows exist"
            self.refuse(written, message, "leave out `unpadded`")
        nulls = self.spec.stream.nulls
        if nulls is not None and nulls.text == "skip":
            self.refuse(nulls, "SQL does not skip NULL", "filter such rows out before")
        if len(window.pairs) > 1:
            self.refuse(window.pairs[1], "a query has one pattern", "write one `match`, with `|`")

    def skip(self) -> str:
        """Return where the search goes on after a match."""
        assert self.window.keep is not None
        if self.resuming is None:
            return SKIPS[self.window.keep.text]
        to, label = self.resuming.which.text, self.resuming.label.text
        failing = failure(of_expression(self.window.pairs[0].match, label), to)
        if failing is not None:
            self.refuse(self.resuming, *failing)
        return f"TO {to.upper()} {self.label(label)}"

    @property
    def resuming(self) -> tree.Resuming | None:
        """Return the label to go on at, if there is one."""
        onward = self.window.next_start
        return onward if isinstance(onward, tree.Resuming) else None

    # --- The pattern

    def pattern(self) -> str:
        """Return the pattern, and note its variables."""
        (pair,) = self.window.pairs
        given = self.written.pairs[0].match if self.written.pairs else pair.match
        text = self.expression(pair.match, given, (), 0)
        if pair.after is not None:
            if not isinstance(pair.after, tree.Empty):
                hint = "`after ()`, the beginning of a stream, is `^` in SQL"
                self.refuse(pair.after, "a pattern knows nothing of the rows before a match", hint)
            text = f"^ {text}"
        until = self.window.until
        if until is not None:
            if not (until.or_end and until.predicate == tree.Bool(False)):
                hint = "`until [false] or end`, the end of the data, is `$` in SQL"
                self.refuse(until, "a pattern cannot look at the row behind the match", hint)
            text = f"{text} $"
        if self.dialect in FORWARD_ONLY and (pair.after is not None or until is not None):
            self.refuse(pair, "Flink has neither `^` nor `$`", "export to another dialect")
        return text

    def expression(
        self, regex: tree.Regex, given: tree.Regex, labels: tuple[str, ...], before: int
    ) -> str:
        """Return an expression as a pattern; `given` is the same before lets were replaced."""
        match regex, given:
            case tree.Labelled(label, body), tree.Labelled(_, given_body):
                return self.expression(body, given_body, (*labels, label.text), before)
            case tree.Anything(), _:
                return self.variable(None, "anything", labels, before)
            case tree.Atom(predicate), _:
                named = given.predicate if isinstance(given, tree.Atom) else None
                plain = isinstance(named, tree.Ref) and not named.offset
                chosen = named.name if isinstance(named, tree.Ref) and plain else "event"
                return self.variable(predicate, chosen, labels, before)
            case tree.Empty(), _:
                return "()"
            case tree.Concat(parts), tree.Concat(given_parts):
                texts = []
                for part, given_part in zip(parts, given_parts, strict=True):
                    text = self.expression(part, given_part, labels, before)
                    texts.append(f"({text})" if isinstance(_bare(part), tree.Union) else text)
                    before += _shortest(part)
                return " ".join(texts)
            case tree.Union(parts), tree.Union(given_parts):
                if self.dialect in FORWARD_ONLY:
                    self.refuse(regex, "Flink has no alternatives", "export to another dialect")
                both = zip(parts, given_parts, strict=True)
                return " | ".join(self.expression(*pair, labels, before) for pair in both)
            case tree.Repeat(body, low, high, reluctant), tree.Repeat(given_body):
                text = self.expression(body, given_body, labels, before)
                single = isinstance(_bare(body), tree.Atom | tree.Anything)
                if not single and self.dialect in FORWARD_ONLY:
                    self.refuse(
                        regex, "Flink repeats single variables only", "export to another dialect"
                    )
                text = text if single else f"({text})"
                return f"{text}{_quantifier(low, high)}{'?' if reluctant else ''}"
            case ((tree.Intersection() | tree.Complement()), _):
                hint = "write the windows with concatenation, `|` and quantifiers"
                self.refuse(regex, "a pattern has neither `&` nor `~`", hint)
        raise TypeError(regex)

    def variable(
        self, predicate: tree.Expr | None, name: str, labels: tuple[str, ...], before: int
    ) -> str:
        """Return the variable for a predicate under some labels."""
        key = (predicate, labels)
        if key not in self.variables:
            if labels:
                name = labels[-1]
            self.variables[key] = Variable(self.free(name), predicate, labels)
        known = self.variables[key]
        known.before = min(known.before, before)
        return known.name

    def free(self, name: str) -> str:
        """Return a name that no column, measure or other variable has."""
        chosen, number = name, 2
        while chosen in self.taken or chosen.lower() in RESERVED:
            chosen, number = f"{name}{number}", number + 1
        self.taken.add(chosen)
        return self.name(chosen)

    def subsets(self) -> list[str]:
        """Return the labels that are more than one variable, as SQL's unions of variables."""
        lines = []
        for label, members in self.members().items():
            if members != [self.name(label)]:
                if self.dialect in FORWARD_ONLY:
                    self.refuse(self.written, "Flink has no SUBSET", "give each part one label")
                lines.append(f"{self.label(label)} = ({', '.join(members)})")
        return lines

    def members(self) -> dict[str, list[str]]:
        """Return the variables of each label that a measure names, or the next start."""
        used = {
            node.label
            for measure in self.window.measures
            for node in tree.walk(measure)
            if isinstance(node, tree.Ref) and node.label
        }
        if self.resuming is not None:
            used.add(self.resuming.label.text)
        return {
            label: [one.name for one in self.variables.values() if label in one.labels]
            for label in sorted(used)
        }

    def label(self, label: str) -> str:
        """Return the name of a label in measures: a variable, or a subset."""
        members = self.members()[label]
        named = self.name(label)
        return named if members == [named] or named not in members else self.name(f"{label}_rows")

    # --- Conditions

    def condition(self, node: tree.Expr, variable: Variable) -> str:
        """Return a condition that is true where a predicate holds."""
        return Conditions(self, variable).positive(node)

    def value(self, node: tree.Expr) -> str:
        """Return a measure."""
        return Measures(self).value(node)

    def name(self, name: str) -> str:
        """Return a name as the dialect writes it."""
        if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and name.lower() not in RESERVED:
            return name
        sign = "`" if self.dialect in BACKTICKS else '"'
        return f"{sign}{name.replace(sign, sign * 2)}{sign}"


def _bare(regex: tree.Regex) -> tree.Regex:
    while isinstance(regex, tree.Labelled):
        regex = regex.body
    return regex


def _quantifier(low: int, high: int | None) -> str:
    plain = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    if (low, high) in plain:
        return plain[low, high]
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _shortest(regex: tree.Regex) -> int:
    """Return the length of the shortest sequence of an expression."""
    match regex:
        case tree.Labelled(_, body):
            return _shortest(body)
        case tree.Atom() | tree.Anything():
            return 1
        case tree.Concat(parts):
            return sum(map(_shortest, parts))
        case tree.Union(parts):
            return min(map(_shortest, parts))
        case tree.Repeat(body, low):
            return low * _shortest(body)
    return 0
