"""The builder makes the same tree as the parser, and only trees that text can express."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given

import wex
from tests.strategies import specs, trees
from wex import build as w
from wex.spec import tree


def rebuilt(node: tree.Expr) -> w.Expr:
    """Rebuild an expression with the operators and functions of the builder."""
    match node:
        case tree.Int(value) | tree.Real(value) | tree.Text(value) | tree.Bool(value):
            return w.literal(value)
        case tree.Duration(amount, unit):
            return w.duration(amount.value, unit.text)
        case tree.Ref(label=label) | tree.IsFirst(label=label) if label:
            return rebuilt(replace(node, label="")).at(label)
        case tree.Ref(name, offset):
            return w.measured(name)[offset] if offset else w.measured(name)
        case tree.IsFirst(offset):
            return w.is_first[offset] if offset else w.is_first
        case tree.Mark(which):
            return w.begin if which == "begin" else w.end
        case tree.Neg(value):
            return -rebuilt(value)
        case tree.Binary("+", left, right):
            return rebuilt(left) + rebuilt(right)
        case tree.Binary("-", left, right):
            return rebuilt(left) - rebuilt(right)
        case tree.Binary("*", left, right):
            return rebuilt(left) * rebuilt(right)
        case tree.Binary("/", left, right):
            return rebuilt(left) / rebuilt(right)
        case tree.Binary("//", left, right):
            return rebuilt(left) // rebuilt(right)
        case tree.Binary(_, left, right):
            return rebuilt(left) % rebuilt(right)
        case tree.Call(tree.Name("floor"), (value, *steps), None) if 1 <= len(steps) <= 2:
            return w.floor(rebuilt(value), *map(rebuilt, steps))
        case tree.Call(tree.Name("starts_with"), (value, start), None):
            return rebuilt(value).starts_with(rebuilt(start))
        case tree.Like(value, pattern, negated):
            like = rebuilt(value).not_like if negated else rebuilt(value).like
            return like(rebuilt(pattern))
        case tree.IsNull(value, negated):
            return rebuilt(value).is_not_null() if negated else rebuilt(value).is_null()
        case tree.Call(name, args, condition, offset):
            call = w.call(name.text, *map(rebuilt, args))
            call = call.filter(rebuilt(condition)) if condition else call
            return call[offset] if offset else call
        case tree.Compare(operands, ops):
            first, *rest = map(rebuilt, operands)
            chain = [part for pair in zip(ops, rest, strict=True) for part in pair]
            return w.compare(first, *chain)
        case tree.Between(value, low, high, negated):
            form = rebuilt(value).not_between if negated else rebuilt(value).between
            return form(rebuilt(low), rebuilt(high))
        case tree.In(value, options, negated):
            choose = rebuilt(value).not_in if negated else rebuilt(value).is_in
            return choose(*map(rebuilt, options))
        case tree.Member(position, name, negated):
            member = rebuilt(position).not_in if negated else rebuilt(position).is_in
            return member(w.SetVariable(name.text))
        case tree.Not(operand):
            return ~rebuilt(operand)
        case tree.And(parts):
            first, *rest = map(rebuilt, parts)
            for part in rest:
                first = first & part
            return first
        case tree.Or(parts):
            first, *rest = map(rebuilt, parts)
            for part in rest:
                first = first | part
            return first
        case tree.Implies(left, right):
            return rebuilt(left).implies(rebuilt(right))
        case tree.Iff(left, right):
            return rebuilt(left).iff(rebuilt(right))
        case tree.Quantified(quantifier, variable, body, True):
            bind_set = w.exists_set if quantifier == "exists" else w.forall_set
            return bind_set(variable.text, lambda _: rebuilt(body))
        case tree.Quantified(quantifier, variable, body, False):
            bind = w.exists if quantifier == "exists" else w.forall
            return bind(variable.text, lambda _: rebuilt(body))
        case tree.Holds(predicate, position):
            return rebuilt(predicate)(rebuilt(position))
        case tree.Moment(name, text):  # the builder has only valid ones
            return w.Expr(tree.Moment(tree.Name(name.text), text))
    raise TypeError(node)


def rebuilt_regex(node: tree.Regex) -> w.Regex | w.Expr:
    """Rebuild a regular expression with the builder."""
    match node:
        case tree.Atom(predicate):
            return rebuilt(predicate)
        case tree.Anything():
            return w.any
        case tree.Empty():
            return w.empty
        case tree.Concat(parts):
            first, *rest = map(rebuilt_regex, parts)
            for part in rest:
                first = first >> part
            return first
        case tree.Union(parts):
            return joined(parts, "|")
        case tree.Intersection(parts):
            return joined(parts, "&")
        case tree.Complement(body):
            return rebuilt_regex(body).complement()
        case tree.Labelled(label, body):
            return rebuilt_regex(body).label(label.text)
        case tree.Repeat(reluctant=True):
            greedy = rebuilt_regex(replace(node, reluctant=False))
            assert isinstance(greedy, w.Regex)
            return greedy.reluctant()
        case tree.Repeat(body, 0, None):
            return rebuilt_regex(body).star()
        case tree.Repeat(body, 1, None):
            return rebuilt_regex(body).plus()
        case tree.Repeat(body, 0, 1):
            return rebuilt_regex(body).optional()
        case tree.Repeat(body, low, None):
            return rebuilt_regex(body).at_least(low)
        case tree.Repeat(body, low, high):
            return rebuilt_regex(body).times(low, high)
    raise TypeError(node)


def test_labels_are_those_of_the_text() -> None:
    t = w.stream("s", price="real", size="int")
    fall, rise = t.price < t.price[-1], t.price > t.price[-1]
    spec = w.spec(
        t,
        w.window(
            "turn",
            match=w.any >> fall.plus().label("down") >> rise.label("up").plus(),
            measures={
                "rises": w.count(w.label("up")),
                "bottom": w.last(t.price.at("down")),
                "value": w.sum((t.price * t.size[-1]).at("up")),
                "first": w.some(w.is_first.at("down")),
                "parts": w.collect(w.label()),
            },
        ),
    )
    text = """
    stream s (price real, size int)
    window turn match any down:([price < price[-1]]+) up:[price > price[-1]]+
      measure count(up) as rises, last(down.price) as bottom, sum(up.price * up.size[-1]) as value,
              some(down.is_first) as first, collect(label()) as parts
    """
    assert spec == wex.parse(text)


def joined(parts: tuple[tree.Regex, ...], op: str) -> w.Regex | w.Expr:
    # `|` and `&` of two predicates make a predicate, so the first one is wrapped as a Regex.
    first, *rest = map(rebuilt_regex, parts)
    whole = first if isinstance(first, w.Regex) else w.Regex(tree.Atom(first.node))
    for part in rest:
        whole = whole | part if op == "|" else whole & part
    return whole


def rebuilt_window(node: tree.Window) -> tree.Window:
    """Rebuild a window with the builder."""
    within, onward = node.within, node.next_start
    return w.window(
        node.name.text,
        pairs=[
            (rebuilt_regex(pair.after) if pair.after else None, rebuilt_regex(pair.match))
            for pair in node.pairs
        ],
        where=rebuilt(node.where) if node.where else None,
        **rebuilt_runs(node.runs),
        until=rebuilt(node.until.predicate) if node.until else None,
        or_end=bool(node.until and node.until.or_end),
        within=None
        if within is None
        else w.events(int(within.amount.value))
        if within.unit.text == "events"
        else w.duration(within.amount.value, within.unit.text),
        keep=node.keep.text if node.keep else None,
        sharing=onward.amount.value if isinstance(onward, tree.Sharing) else None,
        resuming=(onward.which.text, onward.label.text)
        if isinstance(onward, tree.Resuming)
        else None,
        unpadded=node.unpadded,
        lookback=node.lookback.value if node.lookback else None,
        measures={measure.name.text: rebuilt(measure.value) for measure in node.measures},
        having=rebuilt(node.having) if node.having else None,
    )


def rebuilt_runs(node: tree.Runs | None) -> dict[str, Any]:
    """Return the arguments of the builder for runs."""
    match node:
        case tree.RunsOf((value,)):
            return {"runs_of": rebuilt(value)}
        case tree.RunsOf(values):
            return {"runs_of": list(map(rebuilt, values))}
        case tree.RunsWhere(predicate):
            return {"runs_where": rebuilt(predicate)}
        case tree.Sessions(gap, most):
            length = {} if most is None else {"sessions_at_most": rebuilt(most)}
            return {"sessions_gap": rebuilt(gap), **length}
    return {}


def rebinds(node: tree.Node, bound: frozenset[str] = frozenset()) -> bool:
    """Tell whether a quantifier binds a name that is already bound, which the builder rejects."""
    if isinstance(node, tree.Quantified):
        if node.variable.text in bound:
            return True
        bound |= {node.variable.text}
    return any(rebinds(child, bound) for child in node.children())


@given(trees.exprs)
def test_expressions_built_and_parsed_agree(expr: tree.Expr) -> None:
    assume(not rebinds(expr))
    assert rebuilt(expr).node == expr


@given(trees.regexes)
def test_regular_expressions_built_and_parsed_agree(regex: tree.Regex) -> None:
    assume(not rebinds(regex))
    built = rebuilt_regex(regex)
    assert (built.node if isinstance(built, w.Regex) else tree.Atom(built.node)) == regex


@given(specs.specs())
def test_specs_built_and_parsed_agree(spec: tree.Spec) -> None:
    stream = w.stream(
        spec.stream.name.text,
        {field.name.text: str(field.type) for field in spec.stream.fields},
        partition_by=tree.texts(spec.stream.partition_by),
        order_by=tree.texts(spec.stream.order_by),
        nulls=spec.stream.nulls.text if spec.stream.nulls else None,
    )
    built = w.spec(
        stream,
        *(w.let(let.name.text, rebuilt(let.value)) for let in spec.lets),
        *(w.assume(rebuilt_regex(item.regex), unchecked=item.unchecked) for item in spec.assumes),
        *(
            w.at_most(int(rate.events.value), rebuilt(rate.duration), unchecked=rate.unchecked)
            for rate in spec.rates
        ),
        *map(rebuilt_window, spec.windows),
    )
    assert built == spec == wex.parse(str(spec))


def test_the_trend_built_is_the_trend_written() -> None:
    t = w.stream(
        "trades",
        symbol="string",
        ts="timestamp",
        price="real",
        partition_by="symbol",
        order_by="ts",
    )
    up = t.price > t.price[-1]
    down2 = (t.price[-2] > t.price[-1]) & (t.price[-1] > t.price)
    spec = w.spec(
        t,
        w.window(
            "trend",
            after=w.any.star() >> down2,
            match=up >> (~down2).star() >> down2,
            measures={"mean": w.avg(t.price)},
        ),
    )
    down = "[price[-2] > price[-1] and price[-1] > price]"
    assert spec == wex.parse(f"""
        stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
        window trend
          after any* {down}
          match [price > price[-1]] [not ({down[1:-1]})]* {down}
          measure avg(price) as mean""")


def test_python_values_become_constants() -> None:
    t = w.stream("s", ts="timestamp", day="date", x="real", ok="bool")
    assert str(t.x > 0.1) == "x > 0.1"
    assert str(t.x > Decimal("1e3")) == "x > 1e+3"
    assert str(2 * t.x + 1 - t.x / 3) == "2 * x + 1 - x / 3"
    assert str(1 - t.x) == "1 - x"
    assert str(1 / t.x) == "1 / x"
    assert str(1 + t.x) == "1 + x"
    assert str(t.ok == True) == "ok = true"  # noqa: E712
    assert str(t.ts - t.ts[-1] > timedelta(minutes=90)) == "ts - ts[-1] > 90 minutes"
    assert (
        str(t.ts > datetime(2026, 1, 31, 10, tzinfo=UTC))
        == "ts > timestamp '2026-01-31 10:00:00+00:00'"
    )
    assert str(t.day >= date(2026, 1, 31)) == "day >= date '2026-01-31'"
    assert str(t.x > 0) == "x > 0"


untyped: Any = w  # calls that a type checker rejects must be rejected at run time as well


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        (lambda t: t.prise, "unknown-name"),
        (lambda t: t["prise"], "unknown-name"),
        (lambda t: t.price[1], "lookback-positive"),
        (lambda t: t.price[-1][-1], "lookback-here"),
        (
            lambda t: untyped.spec(t, v := w.let("v", 1), w.window("w", match=t.price > v[-1])),
            "lookback-here",
        ),
        (
            lambda t: untyped.spec(t, untyped.window("w", match=t.price > untyped.prev(2, 2))),
            "lookback-here",
        ),
        (lambda t: bool(t.price > 1), "truth-value"),
        (lambda t: 0 < t.price < 9, "truth-value"),
        (lambda t: (t.price > 1) and (t.price < 9), "truth-value"),
        (lambda t: ~(t.ok >> t.ok), "wrong-sort"),
        (lambda t: t.price.filter(t.ok), "filter-here"),
        (lambda t: t.price > float("nan"), "number-out-of-range"),
        (lambda t: t.price > object(), "wrong-sort"),
        (lambda t: untyped.window("w", after=untyped.any), "nothing-to-match"),
        (lambda t: untyped.window("w", match=untyped.any, or_end=True), "clause-conflict"),
        (lambda t: untyped.window("w", sessions_at_most=3), "clause-conflict"),
        (lambda t: untyped.window("w", match=untyped.any, within=t.price), "wrong-sort"),
        (lambda t: untyped.spec(t, untyped.window("w", match=t.price)), "wrong-sort"),
        (lambda t: untyped.spec(t, untyped.window("w", match=t.ok.times(5, 2))), "counts-reversed"),
        (
            lambda t: untyped.spec(t, untyped.window("w", match=t.ok, keep="longets")),
            "unknown-option",
        ),
        (lambda t: untyped.spec(t, untyped.window("", match=t.ok)), "quote"),
        (lambda t: untyped.spec(t, [untyped.window("w", match=t.ok)]), "wrong-sort"),
        (lambda t: untyped.spec(t, None), "wrong-sort"),
        (lambda t: untyped.spec(t, t.ok), "wrong-sort"),
        (lambda t: untyped.spec(t, t), "wrong-sort"),
        (
            lambda t: untyped.exists("x", lambda x: untyped.exists("x", lambda y: x < y)),
            "rebinding",
        ),
        (lambda t: untyped.spec(untyped.stream("s", e="enum('p' junk, 'q')")), "unknown-option"),
        (lambda t: untyped.spec(t, untyped.window("w", match=t.ok, keep="")), "quote"),
        (lambda t: untyped.window("w", match=t.ok, unpadded="no"), "wrong-sort"),
        (lambda t: untyped.compare(t.price, "> 1 and price <", 3), "wrong-sort"),
        (lambda t: untyped.compare(0, "<", t.price, "<="), "wrong-sort"),
        (lambda t: untyped.begin.is_in(untyped.SetVariable("X"), 3), "wrong-sort"),
        (lambda t: untyped.window("w", match="a"), "wrong-sort"),
        (lambda t: untyped.window("w", match=True), "wrong-sort"),
        (lambda t: untyped.window("w", match=t.ok, within=5), "wrong-sort"),
        (lambda t: untyped.window("w", match=t.ok, within="5 minutes"), "wrong-sort"),
        (lambda t: untyped.window("w", match=t.ok, until=t.ok.star()), "wrong-sort"),
        (lambda t: untyped.duration("5", "minutes"), "wrong-sort"),
        (lambda t: t.price["a"], "lookback-not-constant"),
    ],
)
def test_mistakes_in_python_are_spec_errors_too(mistake: object, code: str) -> None:
    t = w.stream("s", price="real", ok="bool")
    assert callable(mistake)
    with pytest.raises(wex.SpecError) as caught:
        mistake(t)
    assert caught.value.code == code
    assert caught.value.hint


def test_streams_behave_as_python_objects() -> None:
    t = w.stream("s", {"end": "int"}, price="real", side=w.enum("buy", "it's"))
    assert hasattr(t, "price")
    assert not hasattr(t, "volume")
    assert str(t["end"]) == "`end`"
    assert "enum('buy', 'it''s')" in repr(t)
    with pytest.raises(TypeError):
        iter(t.price)


def test_filters_add_up() -> None:
    t = w.stream("s", x="real", ok="bool")
    assert str(w.avg(t.x).filter(t.ok).filter(t.x > 1)) == "avg(x) filter [ok and x > 1]"


def test_a_column_may_be_called_name() -> None:
    assert str(w.stream("users", name="string", fields="int").name) == "name"


def test_a_constant_may_be_named() -> None:
    t = w.stream("s", x="real")
    limit = w.let("limit", 3)
    assert w.spec(t, limit, w.window("w", match=t.x > limit)).lets[0].value == tree.Int(3)


def test_only_a_greedy_quantifier_becomes_reluctant() -> None:
    assert str(w.any.star().reluctant().node) == "any*?"
    for regex in (w.any, w.any.star().reluctant()):
        with pytest.raises(wex.SpecError) as caught:
            regex.reluctant()
        assert caught.value.code == "reluctant-here"
    with pytest.raises(wex.SpecError) as caught:
        w.window("w", match=w.any, sharing=1)
    assert caught.value.code == "sharing-here"


@pytest.mark.parametrize(
    ("clauses", "code"),
    [
        ({"resuming": ("last", "l")}, "resuming-here"),
        ({"keep": "leftmost", "resuming": ("last", "l"), "sharing": 1}, "clause-conflict"),
        ({"keep": "leftmost", "resuming": ("last",)}, "wrong-sort"),
    ],
)
def test_where_the_next_window_begins_is_checked(clauses: dict[str, Any], code: str) -> None:
    with pytest.raises(wex.SpecError) as caught:
        w.window("w", match=w.any, **clauses)
    assert caught.value.code == code
