"""The syntax tree of one parsed item: one method per rule of grammar.lark.

Numbers, indices and counts are checked on the way, see numbers.py. Mistakes are noted as problems,
and building goes on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wex.spec import tree
from wex.spec.numbers import (
    MAX_COUNT,
    MAX_EVENTS,
    MAX_LOOKBACK,
    check_count,
    check_index,
    read_number,
)
from wex.spec.problems import Span
from wex.spec.syntax_errors import name_of
from wex.spec.types import unit_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lark import Token, Tree

    from wex.spec.problems import Problems

CLAUSE_WORDS = {
    "pairs": "match",
    "runs": "runs",
    "measures": "measure",
    "partition_by": "partition by",
    "order_by": "order by",
}


class Clause:
    """A clause before it becomes a field of its item: the grammar rule, and the field's value."""

    def __init__(self, rule: str, span: Span, value: object) -> None:
        self.rule = rule
        self.span = span
        self.value = value


class Chain:
    """An `and` or `or` under construction: flat from the start, whatever its length."""

    def __init__(self, kind: type[tree.And | tree.Or], first: tree.Expr) -> None:
        self.kind = kind
        self.parts = [first]


class TreeBuilder:
    """Builds the syntax tree of one item, bottom up and without recursion."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def build(self, parsed: Tree[Token]) -> tree.Item:
        """Return the node of an item that the grammar accepts."""
        nodes: dict[int, Any] = {}
        result: Any = None
        for rule in parsed.iter_subtrees():
            children = [nodes.pop(id(child), child) for child in rule.children]
            span = Span(rule.meta.start_pos, rule.meta.end_pos)
            if rule.data in ("and_of", "or_of"):
                result = self._extended(rule.data, children)
            else:
                result = getattr(self, str(rule.data))(span, *map(_finished, children))
            nodes[id(rule)] = result
        item: tree.Item = result
        return item

    def _extended(self, rule: str, children: Sequence[Any]) -> Chain:
        kind = tree.And if rule == "and_of" else tree.Or
        first, second = children
        same = isinstance(first, Chain) and first.kind is kind
        chain = first if same else Chain(kind, _finished(first))
        chain.parts.append(_finished(second))
        return chain

    # --- Items

    def item(self, _span: Span, item: tree.Item) -> tree.Item:
        return item

    def stream(self, span: Span, name: tree.Name, *rest: tree.Field | Clause) -> tree.Stream:
        fields = tuple(part for part in rest if isinstance(part, tree.Field))
        clauses = self._clauses(part for part in rest if isinstance(part, Clause))
        return tree.Stream(name, fields, **clauses, span=span)

    def field(self, span: Span, name: tree.Name, type_: tree.FieldType) -> tree.Field:
        self._declare(name)
        return tree.Field(name, type_, span=span)

    def type(self, span: Span, name: tree.Name, *values: tree.Text) -> tree.FieldType:
        return tree.FieldType(name, values, span=span)

    def partition_by(self, span: Span, names: tuple[tree.Name, ...]) -> Clause:
        return Clause("partition_by", span, names)

    def order_by(self, span: Span, names: tuple[tree.Name, ...]) -> Clause:
        return Clause("order_by", span, names)

    def nulls(self, span: Span, option: tree.Name) -> Clause:
        return Clause("nulls", span, option)

    def names(self, _span: Span, *names: tree.Name) -> tuple[tree.Name, ...]:
        return names

    def let(self, span: Span, name: tree.Name, value: tree.Expr) -> tree.Let:
        self._declare(name)
        return tree.Let(name, value, span=span)

    def assume(self, span: Span, regex: tree.Regex, unchecked: Token | None) -> tree.Assume:
        return tree.Assume(regex, unchecked is not None, span=span)

    def rate(
        self,
        span: Span,
        _at_most: Token,
        events: tree.Int | tree.Real,
        unit: tree.Name,
        *rest: Any,
    ) -> tree.Rate:
        duration, unchecked = rest
        return tree.Rate(events, unit, duration, unchecked is not None, span=span)

    def length(self, span: Span, amount: tree.Int | tree.Real, unit: tree.Name) -> tree.Duration:
        return _duration(amount, unit, span)

    def window(self, span: Span, name: tree.Name, *clauses: Clause) -> tree.Window:
        fields = self._clauses(clauses)
        fields["keep"], fields["next_start"] = fields.get("keep", (None, None))
        return tree.Window(name, **fields, span=span)

    def pairs(self, span: Span, *pairs: tree.Pair) -> Clause:
        return Clause("pairs", span, pairs)

    def pair(self, span: Span, after: tree.Regex | None, match: tree.Regex) -> tree.Pair:
        return tree.Pair(after, match, span=span)

    def where(self, span: Span, formula: tree.Expr) -> Clause:
        return Clause("where", span, formula)

    def runs_of(self, span: Span, *values: tree.Expr) -> Clause:
        return Clause("runs", span, tree.RunsOf(values, span=span))

    def runs_where(self, span: Span, predicate: tree.Expr) -> Clause:
        return Clause("runs", span, tree.RunsWhere(predicate, span=span))

    def sessions(
        self,
        span: Span,
        word: tree.Name,
        gap: tree.Expr,
        _at_most: Token | None,
        most: tree.Expr | None,
    ) -> Clause:
        if word.text != "gap":
            message = f"expected `gap` after `sessions`, got `{word}`"
            self.problems.add("unknown-option", word, message, "write `sessions gap 30 minutes`")
        return Clause("runs", span, tree.Sessions(gap, most, span=span))

    def until(self, span: Span, predicate: tree.Expr, or_end: bool = False) -> Clause:
        return Clause("until", span, tree.Until(predicate, or_end, span=span))

    def or_end(self, _span: Span) -> bool:
        return True

    def within(self, span: Span, amount: tree.Int | tree.Real, unit: tree.Name) -> Clause:
        full = tree.Name(unit_name(amount, unit.text), span=unit.span)
        return Clause("within", span, tree.Within(amount, full, span=span))

    def having(self, span: Span, predicate: tree.Expr) -> Clause:
        return Clause("having", span, predicate)

    def keep(
        self, span: Span, option: tree.Name, next_start: tree.Sharing | tree.Resuming | None
    ) -> Clause:
        return Clause("keep", span, (option, next_start))

    def sharing(self, span: Span, amount: tree.Int | tree.Real, unit: tree.Name) -> tree.Sharing:
        count = check_count(self.problems, amount, MAX_EVENTS, "the number of shared events")
        whole = tree.Int(count if isinstance(amount, tree.Int) else 1, span=amount.span)
        return tree.Sharing(whole, unit, span=span)

    def resuming(
        self, span: Span, word: tree.Name, which: tree.Name, label: tree.Name
    ) -> tree.Resuming:
        if word.text != "at":
            message = f"expected `at` after `resuming`, got `{word}`"
            hint = "write `resuming at first …` or `resuming at last …`"
            self.problems.add("unknown-option", word, message, hint)
        return tree.Resuming(which, label, span=span)

    def unpadded(self, span: Span) -> Clause:
        return Clause("unpadded", span, True)

    def lookback(self, span: Span, count: tree.Int | tree.Real) -> Clause:
        hint = "use a smaller lookback"
        value = check_count(self.problems, count, MAX_LOOKBACK, "the lookback", hint)
        return Clause("lookback", span, tree.Int(value, span=count.span))

    def measures(self, span: Span, *measures: tree.Measure) -> Clause:
        return Clause("measures", span, measures)

    def measure(self, span: Span, value: tree.Expr, name: tree.Name) -> tree.Measure:
        return tree.Measure(value, name, span=span)

    def _clauses(self, clauses: Any) -> dict[str, Any]:
        """Return the clauses as keyword arguments of their item; note duplicates."""
        by_rule: dict[str, Clause] = {}
        for clause in clauses:
            if by_rule.setdefault(clause.rule, clause) is not clause:
                word = CLAUSE_WORDS.get(clause.rule, clause.rule)
                hint = "remove one of the two"
                if clause.rule == "pairs":
                    hint = "join the pairs with `or`: `match R or after S match T`"
                self.problems.add("clause-twice", clause.span, f"duplicate `{word}` clause", hint)
        return {rule: clause.value for rule, clause in by_rule.items()}

    def _declare(self, name: tree.Name) -> None:
        assert name.span is not None
        if self.problems.source.text[slice(*name.span)] == "is_first":
            self.problems.add(
                "reserved-word",
                name.span,
                "`is_first` is a built-in predicate and cannot be declared",
                "choose another name, or write it in backticks wherever it is used: `` `is_first` ``",
            )

    # --- Regular expressions

    def union(self, span: Span, *parts: tree.Regex) -> tree.Regex:
        return tree.flat(tree.Union, parts, span)

    def intersection(self, span: Span, *parts: tree.Regex) -> tree.Regex:
        return tree.flat(tree.Intersection, parts, span)

    def concat(self, span: Span, *parts: tree.Regex) -> tree.Regex:
        return tree.flat(tree.Concat, parts, span)

    def complement_of(self, span: Span, body: tree.Regex) -> tree.Regex:
        return tree.Complement(body, span=span)

    def star(self, span: Span, body: tree.Regex, reluctant: Token | None) -> tree.Regex:
        return tree.Repeat(body, 0, None, reluctant is not None, span=span)

    def plus(self, span: Span, body: tree.Regex, reluctant: Token | None) -> tree.Regex:
        return tree.Repeat(body, 1, None, reluctant is not None, span=span)

    def optional(self, span: Span, body: tree.Regex, reluctant: Token | None) -> tree.Regex:
        return tree.Repeat(body, 0, 1, reluctant is not None, span=span)

    def exactly(
        self, span: Span, body: tree.Regex, count: tree.Int | tree.Real, reluctant: Token | None
    ) -> tree.Regex:
        times = check_count(self.problems, count, MAX_COUNT, "the count")
        return tree.Repeat(body, times, times, reluctant is not None, span=span)

    def at_least(
        self, span: Span, body: tree.Regex, count: tree.Int | tree.Real, reluctant: Token | None
    ) -> tree.Regex:
        least = check_count(self.problems, count, MAX_COUNT, "the count")
        return tree.Repeat(body, least, None, reluctant is not None, span=span)

    def from_to(
        self,
        span: Span,
        body: tree.Regex,
        low: tree.Int | tree.Real,
        high: tree.Int | tree.Real,
        reluctant: Token | None,
    ) -> tree.Regex:
        least = check_count(self.problems, low, MAX_COUNT, "the count")
        most = check_count(self.problems, high, MAX_COUNT, "the count")
        if least > most:
            assert low.span
            assert high.span
            self.problems.add(
                "counts-reversed",
                Span(low.span.start, high.span.end),
                f"expected the smaller count first, got {{{least},{most}}}",
                f"write {{{most},{least}}}",
            )
            most = least
        return tree.Repeat(body, least, most, reluctant is not None, span=span)

    def bracket(self, span: Span, predicate: tree.Expr) -> tree.Regex:
        return tree.Atom(predicate, span=span)

    def bare(self, span: Span, name: tree.Name) -> tree.Regex:
        return tree.Atom(self.ref(span, name), span=span)

    def any_event(self, span: Span) -> tree.Regex:
        return tree.Anything(span=span)

    def empty(self, span: Span) -> tree.Regex:
        return tree.Empty(span=span)

    def labelled(self, span: Span, name: tree.Name, body: tree.Regex) -> tree.Regex:
        self._declare(name)
        return tree.Labelled(name, body, span=span)

    # --- Expressions

    def iff_of(self, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Expr:
        return tree.Iff(left, right, span=span)

    def implies_of(self, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Expr:
        return tree.Implies(left, right, span=span)

    def not_of(self, span: Span, operand: tree.Expr) -> tree.Expr:
        return tree.Not(operand, span=span)

    def quantified(
        self, span: Span, quantifier: Any, of_set: Token | None, bound: tree.Name, body: tree.Expr
    ) -> tree.Expr:
        return tree.Quantified(quantifier.value, bound, body, of_set is not None, span=span)

    def bound(self, span: Span, variable: tree.Name | Token) -> tree.Name:
        if isinstance(variable, tree.Name):
            return variable
        self.problems.add(
            "rebinding",
            span,
            f"`{variable}` is a position of the window and cannot be bound by a quantifier",
            "choose another name, such as `x`",
        )
        return tree.Name(str(variable), span=span)

    def compare(self, span: Span, *chain: Any) -> tree.Expr:
        return tree.Compare(chain[::2], tuple(op.value for op in chain[1::2]), span=span)

    def between(
        self, span: Span, value: tree.Expr, negated: Token | None, low: tree.Expr, high: tree.Expr
    ) -> tree.Expr:
        return tree.Between(value, low, high, negated is not None, span=span)

    def in_list(
        self, span: Span, value: tree.Expr, negated: Token | None, *options: tree.Expr
    ) -> tree.Expr:
        return tree.In(value, options, negated is not None, span=span)

    def in_set(
        self, span: Span, position: tree.Expr, negated: Token | None, name: tree.Name
    ) -> tree.Expr:
        return tree.Member(position, name, negated is not None, span=span)

    def like(
        self, span: Span, value: tree.Expr, negated: Token | None, pattern: tree.Expr
    ) -> tree.Expr:
        return tree.Like(value, pattern, negated is not None, span=span)

    def is_null(self, span: Span, value: tree.Expr, negated: Token | None) -> tree.Expr:
        return tree.IsNull(value, negated is not None, span=span)

    def binary(self, span: Span, left: tree.Expr, op: Any, right: tree.Expr) -> tree.Expr:
        return tree.Binary(op.value, left, right, span=span)

    def negate(self, span: Span, value: tree.Expr) -> tree.Expr:
        return tree.Neg(value, span=span)

    def positive(
        self, span: Span, number: tree.Int | tree.Real, unit: tree.Name | None
    ) -> tree.Expr:
        return _duration(number, unit, span) if unit else number

    def negative(
        self, span: Span, number: tree.Int | tree.Real, unit: tree.Name | None
    ) -> tree.Expr:
        value: tree.Int | tree.Real
        if isinstance(number, tree.Int):
            value = tree.Int(-number.value, span=span)
        else:
            value = tree.Real(number.value.copy_negate(), span=span)
        return _duration(value, unit, span) if unit else value

    def text(self, _span: Span, value: tree.Text) -> tree.Expr:
        return value

    def true(self, span: Span) -> tree.Expr:
        return tree.Bool(True, span=span)

    def false(self, span: Span) -> tree.Expr:
        return tree.Bool(False, span=span)

    def moment(self, span: Span, type_: tree.Name, text: tree.Text) -> tree.Expr:
        return tree.Moment(type_, text.value, span=span)

    def ref(
        self, span: Span, name: tree.Name, offset: int = 0, label: str = ""
    ) -> tree.Ref | tree.IsFirst:
        assert name.span is not None
        if self.problems.source.text[slice(*name.span)] == "is_first":
            return tree.IsFirst(offset, label, span=span)
        return tree.Ref(name.text, offset, label, span=span)

    def indexed(self, span: Span, name: tree.Name, index: tree.Expr) -> tree.Expr:
        return self.ref(span, name, check_index(self.problems, name.text, index))

    def ref_at_label(self, span: Span, label: tree.Name, name: tree.Name) -> tree.Expr:
        return self.ref(span, name, label=label.text)

    def indexed_at_label(
        self, span: Span, label: tree.Name, name: tree.Name, index: tree.Expr
    ) -> tree.Expr:
        offset = check_index(self.problems, f"{label}.{name}", index)
        return self.ref(span, name, offset, label.text)

    def call(self, span: Span, name: tree.Name, *args: tree.Expr | None) -> tree.Expr:
        present = tuple(arg for arg in args if arg)
        predicate = self.ref(span, name)
        if isinstance(predicate, tree.IsFirst) and len(present) == 1:  # is_first(begin)
            return tree.Holds(predicate, present[0], span=span)
        return tree.Call(name, present, span=span)

    def call_at(self, span: Span, name: tree.Name, *args: tree.Expr | None) -> tree.Expr:
        *values, index = args
        assert index is not None
        present = tuple(arg for arg in values if arg)
        return self._at(tree.Call(name, present, span=span), index)

    def filtered(self, span: Span, name: tree.Name, *args: tree.Expr | None) -> tree.Expr:
        *values, condition = args
        return tree.Call(name, tuple(arg for arg in values if arg), condition, span=span)

    def call_star(self, span: Span, name: tree.Name, star: Token) -> tree.Call:
        return tree.Call(name, self._star(name, star), span=span)

    def filtered_star(
        self, span: Span, name: tree.Name, star: Token, condition: tree.Expr
    ) -> tree.Call:
        return tree.Call(name, self._star(name, star), condition, span=span)

    def call_star_at(self, span: Span, name: tree.Name, star: Token, index: tree.Expr) -> tree.Expr:
        return self._at(self.call_star(span, name, star), index)

    def filtered_star_at(
        self, span: Span, name: tree.Name, star: Token, condition: tree.Expr, index: tree.Expr
    ) -> tree.Expr:
        return self._at(self.filtered_star(span, name, star, condition), index)

    def _star(self, name: tree.Name, star: Token) -> tuple[tree.Expr, ...]:
        """Return the arguments that `*` stands for: none of `count`, and no other has it."""
        if name.text.lower() == "count":  # `COUNT` is an unknown aggregate, which is said elsewhere
            return ()
        message = f"`*` is no argument of `{name}`"
        hint = f"write `count(*)`, or name a value: `{name}(x)`"
        assert star.start_pos is not None
        self.problems.add("syntax", Span(star.start_pos, star.start_pos + 1), message, hint)
        return (tree.Int(1),)

    def filtered_at(self, span: Span, name: tree.Name, *args: tree.Expr | None) -> tree.Expr:
        *values, condition, index = args
        assert index is not None
        present = tuple(arg for arg in values if arg)
        return self._at(tree.Call(name, present, condition, span=span), index)

    def _at(self, call: tree.Call, index: tree.Expr) -> tree.Expr:
        offset = check_index(self.problems, str(call), index)
        return replace(call, offset=offset)

    def holds(self, span: Span, predicate: tree.Expr, position: tree.Expr) -> tree.Expr:
        return tree.holds_at(predicate, position, span)

    def mark(self, span: Span, word: Any) -> tree.Expr:
        return tree.Mark(word.value, span=span)

    # --- Words

    def name(self, span: Span, token: Token) -> tree.Name:
        return tree.Name(name_of(token), span=span)

    def string(self, span: Span, token: Token) -> tree.Text:
        return tree.Text(token[1:-1].replace("''", "'"), span=span)

    def number(self, span: Span, token: Token) -> tree.Int | tree.Real:
        return read_number(self.problems, token, span)


def _duration(amount: tree.Int | tree.Real, unit: tree.Name, span: Span) -> tree.Duration:
    full = tree.Name(unit_name(amount, unit.text), span=unit.span)
    return tree.Duration(amount, full, span=span)


def _finished(child: Any) -> Any:
    """Return the node of a complete chain; anything else is returned as it is."""
    if isinstance(child, Chain):
        first, last = child.parts[0].span, child.parts[-1].span
        span = Span(first.start, last.end) if first and last else None
        return tree.flat(child.kind, child.parts, span)
    return child
