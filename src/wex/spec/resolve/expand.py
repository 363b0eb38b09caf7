"""Expansion: lets are replaced by their values, `prev`, chains, `between` and `in` by plain terms.

The result is a spec with the same windows, over fields only. Each atom of its predicates is a
single comparison, a bool field or `is_first`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.aggregates import is_aggregate, uses_aggregates
from wex.spec.numbers import MAX_LOOKBACK
from wex.spec.resolve.aggregate_checks import MAX_HISTORY
from wex.spec.resolve.nulls import with_null_tests
from wex.spec.resolve.runs import spelled_out
from wex.spec.resolve.scope import in_order
from wex.spec.tree import MAX_DEPTH, MAX_TERMS, deeper_than
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wex.spec.problems import Problems

Lets = dict[str, tree.Expr]


RunsOfWindows = tuple[tree.Runs | None, ...]


def expand(spec: tree.Spec, problems: Problems) -> tuple[tree.Spec, RunsOfWindows]:
    """Return the spec with lets and sugar expanded, or note that it would become too large.

    Also return the clause `runs` or `sessions` of each window, without lets.
    """
    lets: Lets = {}
    unchanged = spec, tuple(window.runs for window in spec.windows)
    sizes: dict[str, tuple[int, int]] = {}
    for let in in_order(spec.lets, problems):
        sizes[let.name.text] = terms, depth = _size(let.value, sizes)
        if terms > MAX_TERMS or depth > MAX_DEPTH:
            amount = f"{terms:,} terms" if terms > MAX_TERMS else f"{depth} levels"
            problems.add(
                "too-large",
                let.name,
                f"`{let.name.text}` expands to {amount}",
                f"a let expands to at most {MAX_TERMS:,} terms and {MAX_DEPTH} levels:"
                " use fewer lets inside lets",
            )
            return unchanged
        lets[let.name.text] = expand_expr(let.value, lets)
    if _too_large(spec, sizes, problems):
        return unchanged
    windows = [_window(window, lets) for window in spec.windows]
    expanded = replace(
        spec,
        lets=(),
        assumes=tuple(replace(assume, regex=_regex(assume.regex, lets)) for assume in spec.assumes),
        windows=tuple(
            _window(spelled_out(window, spec.stream), {}) if window.runs else window
            for window in windows
        ),
        source=None,
    )
    expanded = with_null_tests(expanded)
    _check_reach(expanded, problems)
    return expanded, tuple(window.runs for window in windows)


def _too_large(spec: tree.Spec, sizes: Mapping[str, tuple[int, int]], problems: Problems) -> bool:
    """Note the item with which the expanded spec would become too large, before expanding it."""
    total = 0
    items: list[tree.Assume | tree.Window] = [*spec.assumes, *spec.windows]
    for item in items:
        terms, _ = _size(item, sizes)
        total += terms
        if total > MAX_TERMS:
            message = f"with this item the spec expands to {total:,} terms"
            hint = f"a spec expands to at most {MAX_TERMS:,} terms: use fewer lets inside lets"
            problems.add("too-large", _place(item), message, hint)
            return True
    return False


def _check_reach(spec: tree.Spec, problems: Problems) -> None:
    """Note expanded items that are nested too deeply or look back too far."""
    items: list[tree.Assume | tree.Window] = [*spec.assumes, *spec.windows]
    for item in items:
        if deeper_than(MAX_DEPTH, item):
            message = f"with its lets expanded, this is nested more than {MAX_DEPTH} levels deep"
            problems.add("too-large", _place(item), message, "use simpler lets")
        lookback = deepest_lookback(item)
        if lookback > MAX_LOOKBACK:
            message = f"with its lets expanded, this looks back {lookback:,} events"
            hint = f"the maximum lookback is {MAX_LOOKBACK:,}"
            problems.add("count-too-large", _place(item), message, hint)
        for node in _not_of_aggregates(item):
            message = f"`{node}`: this is computed of events, not of aggregates"
            hint = "aggregate it: `first(year(ts))`, `some(name like 'A%')`"
            problems.add("aggregate-here", node if node.span else _place(item), message, hint)
        for call, field in _of_other(item, spec.stream):
            message = f"`{call}`: an aggregate in a predicate cannot read a field of type other"
            hint = f"write `count()`, or `count() filter [{field} is not null]`"
            problems.add("wrong-type", call if call.span else _place(item), message, hint)
        for ref in _like_results(item):
            message = f"beside aggregates in predicates a field cannot be called `{ref.name}`"
            problems.add("aggregate-here", ref if ref.span else _place(item), message, "rename it")
        history = _deepest_history(item)
        if history > MAX_HISTORY:
            message = f"an aggregate here looks back {history:,} events"
            hint = f"an aggregate can look back at most {MAX_HISTORY} events"
            problems.add("count-too-large", _place(item), message, hint)


def deepest_lookback(node: tree.Node) -> int:
    """Return how many events back a node reads, at most."""
    reads = (part for part in tree.walk(node) if isinstance(part, tree.Ref | tree.IsFirst))
    return max((-part.offset for part in reads), default=0)


def _like_results(item: tree.Node) -> list[tree.Ref]:
    """Return the fields of predicates with aggregates that have the name of a result, `#0` and so on."""
    if not isinstance(item, tree.Window):
        return []
    parts = [part for part in (*item.pairs, item.until) if part and uses_aggregates(part)]
    reads = (node for part in parts for node in tree.walk(part) if isinstance(node, tree.Ref))
    return [ref for ref in reads if ref.name[:1] == "#" and ref.name[1:].isdecimal()]


def _not_of_aggregates(item: tree.Node) -> list[tree.Node]:
    """Return patterns, and parts of times by the calendar or a zone, of aggregates in predicates."""
    if not isinstance(item, tree.Window):
        return []
    return [
        node
        for part in (*item.pairs, item.until)
        if part
        for node in tree.walk(part)
        if _needs_events(node) and any(map(uses_aggregates, node.children()))
    ]


def _of_other(item: tree.Node, stream: tree.Stream) -> list[tuple[tree.Call, str]]:
    """Return the aggregates in predicates of a window that read fields of type other, and these."""
    if not isinstance(item, tree.Window):
        return []
    others = {field.name.text for field in stream.fields if field.type.name.text == OTHER.name}
    return [
        (node, argument.name)
        for part in (*item.pairs, item.until)
        if part
        for node in tree.walk(part)
        if isinstance(node, tree.Call) and is_aggregate(node)
        for argument in node.args
        if isinstance(argument, tree.Ref) and argument.name in others
    ]


def _needs_events(node: tree.Node) -> bool:
    if not isinstance(node, tree.Call):
        return isinstance(node, tree.Like)
    in_zone = any(isinstance(argument, tree.Text) for argument in node.args[1:])
    return not is_aggregate(node) and (in_zone or node.name.text in ("year", "month", "day"))


def _deepest_history(item: tree.Node) -> int:
    """Return how many events back an aggregate of a predicate looks, at most."""
    calls = (part for part in tree.walk(item) if isinstance(part, tree.Call))
    return max((-call.offset for call in calls), default=0)


def _place(item: tree.Assume | tree.Window) -> tree.Node:
    return item.name if isinstance(item, tree.Window) else item


def _size(node: tree.Node, sizes: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the number of terms and of levels that a node has once its lets are expanded."""
    terms = deepest = 0
    stack = [(node, 1)]
    while stack:
        top, depth = stack.pop()
        name = top.name if isinstance(top, tree.Ref) else ""
        if isinstance(top, tree.Call) and top.name.text in sizes:
            name = top.name.text
        inner_terms, inner_depth = sizes.get(name, (1, 0))
        terms += inner_terms
        deepest = max(deepest, depth + inner_depth)
        stack.extend((child, depth + 1) for child in top.children())
    return terms, deepest


def _window(window: tree.Window, lets: Lets) -> tree.Window:
    return replace(
        window,
        pairs=tuple(
            replace(
                pair,
                after=_regex(pair.after, lets) if pair.after else None,
                match=_regex(pair.match, lets),
            )
            for pair in window.pairs
        ),
        where=_formula(window.where, lets) if window.where else None,
        runs=window.runs and _runs(window.runs, lets),
        until=window.until
        and replace(window.until, predicate=expand_expr(window.until.predicate, lets)),
        measures=tuple(
            replace(measure, value=expand_expr(_counting(measure.value, window), lets))
            for measure in window.measures
        ),
        having=window.having and expand_expr(window.having, {}),
    )


def _counting(measure: tree.Expr, window: tree.Window) -> tree.Expr:
    """Return a measure in which labels that are counted are told from fields: `count(down)`."""
    labels = frozenset(name for pair in window.pairs for name in tree.labels_in(pair.match))
    return _with_counts(measure, labels) if labels else measure


def _with_counts(node: tree.Expr, labels: frozenset[str]) -> tree.Expr:
    match node:
        case tree.Call(tree.Name("count"), (tree.Ref(name, 0, "") as ref,)) if name in labels:
            return replace(node, args=(replace(ref, name="", label=name),))
        case tree.Binary(_, left, right):
            return replace(node, left=_with_counts(left, labels), right=_with_counts(right, labels))
        case tree.Neg(value):
            return replace(node, value=_with_counts(value, labels))
        case tree.Call(_, args) if not is_aggregate(node):
            return replace(node, args=tuple(_with_counts(arg, labels) for arg in args))
    return node


def _runs(runs: tree.Runs, lets: Lets) -> tree.Runs:
    match runs:
        case tree.RunsOf(values):
            return replace(runs, values=tuple(expand_expr(value, lets) for value in values))
        case tree.RunsWhere(predicate):
            return replace(runs, predicate=expand_expr(predicate, lets))
        case tree.Sessions(gap, most):
            longest = most and expand_expr(most, lets)
            return replace(runs, gap=expand_expr(gap, lets), most=longest)


def _regex(regex: tree.Regex, lets: Lets) -> tree.Regex:
    match regex:
        case tree.Atom(predicate):
            return replace(regex, predicate=expand_expr(predicate, lets))
        case tree.Concat(parts):
            return replace(regex, parts=tuple(_regex(part, lets) for part in parts))
        case tree.Union(parts):
            return replace(regex, parts=tuple(_regex(part, lets) for part in parts))
        case tree.Intersection(parts):
            return replace(regex, parts=tuple(_regex(part, lets) for part in parts))
        case tree.Complement(body):
            return replace(regex, body=_regex(body, lets))
        case tree.Repeat(body):
            return replace(regex, body=_regex(body, lets))
        case tree.Labelled(_, body):
            return replace(regex, body=_regex(body, lets))
    return regex


def _formula(node: tree.Expr, lets: Lets) -> tree.Expr:
    match node:
        case tree.And(parts):
            return tree.flat(tree.And, [_formula(part, lets) for part in parts], node.span)
        case tree.Or(parts):
            return tree.flat(tree.Or, [_formula(part, lets) for part in parts], node.span)
        case tree.Implies(left, right):
            return replace(node, left=_formula(left, lets), right=_formula(right, lets))
        case tree.Iff(left, right):
            return replace(node, left=_formula(left, lets), right=_formula(right, lets))
        case tree.Not(operand):
            return replace(node, operand=_formula(operand, lets))
        case tree.Quantified(_, _, body):
            return replace(node, body=_formula(body, lets))
        case tree.Holds(predicate, position):
            return tree.holds_at(expand_expr(predicate, lets), position, node.span)
        case tree.Call(name, (position,)):
            predicate = expand_expr(tree.Ref(name.text, span=name.span), lets)
            return tree.holds_at(predicate, position, node.span)
        case tree.Compare(operands, ops) if len(ops) > 1:
            return _chain(operands, ops, node)
        case tree.Member(position, name, True):
            return tree.Not(tree.Member(position, name, span=node.span), span=node.span)
    return node


def expand_expr(
    node: tree.Expr, lets: Lets, shift: int = 0, *, aggregates_by: int = 0
) -> tree.Expr:
    """Return an expression with its lets expanded and every offset moved by `shift`.

    Offsets of aggregates are moved by `aggregates_by`, too, but nothing inside of them.

    >>> up = tree.Compare((tree.Ref("price"), tree.Ref("price", -1)), (">",))
    >>> str(expand_expr(tree.Ref("up", -1), {"up": up}))
    'price[-1] > price[-2]'
    """

    def inner(child: tree.Expr) -> tree.Expr:
        return expand_expr(child, lets, shift, aggregates_by=aggregates_by)

    match node:
        case tree.Ref(name, offset, label):
            if name in lets:
                moved = offset + shift
                value = expand_expr(lets[name], {}, moved, aggregates_by=aggregates_by)
                return tree.at_label(value, label) if label else value
            return replace(node, offset=offset + shift) if shift else node
        case tree.IsFirst(offset):
            return replace(node, offset=offset + shift)
        case tree.Call(tree.Name("prev" | "lag"), (value, *steps)):
            back = steps[0].value if steps and isinstance(steps[0], tree.Int) else 1
            return expand_expr(value, lets, shift - back, aggregates_by=aggregates_by)
        case tree.Call(_, args, condition, offset) if is_aggregate(node):
            return replace(
                node,
                args=tuple(expand_expr(arg, lets) for arg in args),
                filter=expand_expr(condition, lets) if condition else None,
                offset=offset + shift + aggregates_by,
            )
        case tree.Call(_, args, condition):
            return replace(
                node, args=tuple(map(inner, args)), filter=inner(condition) if condition else None
            )
        case tree.Neg(value):
            return replace(node, value=inner(value))
        case tree.Not(operand):
            return replace(node, operand=inner(operand))
        case tree.Binary(_, left, right):
            return replace(node, left=inner(left), right=inner(right))
        case tree.And(parts):
            return tree.flat(tree.And, map(inner, parts), node.span)
        case tree.Or(parts):
            return tree.flat(tree.Or, map(inner, parts), node.span)
        case tree.Compare(operands, ops):
            return _chain(tuple(map(inner, operands)), ops, node)
        case tree.Between(value, low, high, negated):
            operands = (inner(low), inner(value), inner(high))
            return _negate(_chain(operands, ("<=", "<="), node), negated)
        case tree.In(value, options, negated):
            left = inner(value)
            equalities = [
                tree.Compare((left, inner(option)), ("=",), span=node.span) for option in options
            ]
            return _negate(tree.flat(tree.Or, equalities, node.span), negated)
        case tree.Like(value, pattern, negated):
            test = replace(node, value=inner(value), pattern=inner(pattern), negated=False)
            return _negate(test, negated)
        case tree.IsNull(value, negated):
            return _negate(replace(node, value=inner(value), negated=False), negated)
    return node


def _chain(
    operands: tuple[tree.Expr, ...], ops: tuple[tree.CompareOp, ...], node: tree.Expr
) -> tree.Expr:
    """Return a chain of comparisons as a conjunction of single ones."""
    single = [
        tree.Compare(operands[index : index + 2], (op,), span=node.span)
        for index, op in enumerate(ops)
    ]
    return tree.flat(tree.And, single, node.span)


def _negate(node: tree.Expr, negated: bool) -> tree.Expr:
    return tree.Not(node, span=node.span) if negated else node
