"""The printer: from the syntax tree back to text, with `parse(show(spec)) == spec`.

Brackets are printed only where the grammar needs them. A quantifier extends as far right as it can,
so it needs brackets unless it comes last; the parameter `last` keeps track of that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.vocabulary import RESERVED

if TYPE_CHECKING:
    from decimal import Decimal

# The binding strength of operators: an operand that binds less tightly than required is bracketed.
IFF, IMPLIES, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY = range(9)
UNION, INTERSECTION, CONCAT, COMPLEMENT, REPEAT, SINGLE = range(6)

STRENGTH: dict[type[tree.Expr], int] = {
    tree.Iff: IFF,
    tree.Implies: IMPLIES,
    tree.Or: OR,
    tree.And: AND,
    tree.Not: NOT,
}

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_SUFFIX = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def show(node: tree.Node) -> str:
    """Return the text of a node.

    >>> show(tree.Or((tree.Ref("a"), tree.And((tree.Ref("b"), tree.Ref("c", -1))))))
    'a or b and c[-1]'
    """
    match node:
        case tree.Expr():
            return _expr(node)
        case tree.Regex():
            return _regex(node)
        case tree.Name(text):
            return _name(text)
        case tree.FieldType(name, values):
            return show(name) + (f"({_list(values)})" if values else "")
        case tree.Field(name, type_):
            return f"{show(name)} {show(type_)}"
        case tree.Let(name, value):
            return f"let {show(name)} = {_expr(value)}"
        case tree.Assume(regex, unchecked):
            return f"assume {_regex(regex)}" + (" unchecked" if unchecked else "")
        case tree.Rate(events, unit, duration, unchecked):
            written = f"assume at most {_expr(events)} {show(unit)} in {_expr(duration)}"
            return written + (" unchecked" if unchecked else "")
        case tree.Pair(after, match):
            return (f"after {_regex(after)}\n  " if after else "") + f"match {_regex(match)}"
        case tree.RunsOf(values):
            return f"runs of {_list(values)}"
        case tree.RunsWhere(predicate):
            return f"runs where {_expr(predicate)}"
        case tree.Sessions(gap, most):
            return f"sessions gap {_expr(gap)}" + (f" at most {_expr(most)}" if most else "")
        case tree.Until(predicate, or_end):
            return f"until [{_expr(predicate)}]" + (" or end" if or_end else "")
        case tree.Within(amount, unit):
            return f"within {_expr(amount)} {show(unit)}"
        case tree.Sharing(amount, unit):
            return f"sharing {_expr(amount)} {show(unit)}"
        case tree.Resuming(which, label):
            return f"resuming at {show(which)} {show(label)}"
        case tree.Measure(value, name):
            return f"{_expr(value)} as {show(name)}"
        case tree.Stream():
            return _stream(node)
        case tree.Window():
            return _window(node)
        case tree.Spec():
            return _spec(node)
    raise TypeError(node)


def _list(nodes: tuple[tree.Node, ...]) -> str:
    return ", ".join(map(show, nodes))


def _name(text: str) -> str:
    if _PLAIN_NAME.fullmatch(text) and text not in RESERVED and text != "is_first":
        return text
    return "`" + text.replace("`", "``") + "`"


# --- Items


def _spec(spec: tree.Spec) -> str:
    groups = [[_stream(spec.stream)]]
    groups.append([show(let) for let in spec.lets])
    groups.append([show(assume) for assume in (*spec.assumes, *spec.rates)])
    groups.extend([_window(window)] for window in spec.windows)
    return "\n\n".join("\n".join(group) for group in groups if group) + "\n"


def _stream(stream: tree.Stream) -> str:
    lines = [f"stream {show(stream.name)} ({_list(stream.fields)})"]
    if stream.partition_by:
        lines.append(f"partition by {_list(stream.partition_by)}")
    if stream.order_by:
        lines.append(f"order by {_list(stream.order_by)}")
    if stream.nulls:
        lines.append(f"nulls {show(stream.nulls)}")
    return "\n  ".join(lines)


def _window(window: tree.Window) -> str:
    lines = [f"window {show(window.name)}"]
    if window.pairs:
        lines.append("\n  or ".join(map(show, window.pairs)))
    if window.where:
        lines.append(f"where {_expr(window.where)}")
    lines.extend(show(clause) for clause in (window.runs, window.until, window.within) if clause)
    if window.keep:
        onward = f" {show(window.next_start)}" if window.next_start else ""
        lines.append(f"keep {show(window.keep)}{onward}")
    if window.unpadded:
        lines.append("unpadded")
    if window.lookback:
        lines.append(f"lookback {show(window.lookback)}")
    if window.measures:
        lines.append(f"measure {_list(window.measures)}")
    if window.having:
        lines.append(f"having {_expr(window.having)}")
    return "\n  ".join(lines)


# --- Regular expressions


def _regex(regex: tree.Regex, needed: int = UNION) -> str:
    text, strength = _regex_form(regex)
    return text if strength >= needed else f"({text})"


def _regex_form(regex: tree.Regex) -> tuple[str, int]:
    match regex:
        case tree.Atom(tree.Ref(name, 0, "")):
            return _name(name), SINGLE
        case tree.Atom(predicate):
            return f"[{_expr(predicate)}]", SINGLE
        case tree.Anything():
            return "any", SINGLE
        case tree.Empty():
            return "()", SINGLE
        case tree.Labelled(name, body):
            return f"{show(name)}:{_regex(body, SINGLE)}", SINGLE
        case tree.Repeat(body, low, high, reluctant):
            text = _regex(body, REPEAT)
            if (low, high) == (0, 1) and isinstance(body, tree.Repeat):
                text = f"({text})"  # a `?` behind a quantifier makes it reluctant
            return text + _count(low, high) + ("?" if reluctant else ""), REPEAT
        case tree.Complement(body):
            return f"~{_regex(body, COMPLEMENT)}", COMPLEMENT
        case tree.Concat(parts):
            return " ".join(_regex(part, COMPLEMENT) for part in parts), CONCAT
        case tree.Intersection(parts):
            return " & ".join(_regex(part, CONCAT) for part in parts), INTERSECTION
        case tree.Union(parts):
            return " | ".join(_regex(part, INTERSECTION) for part in parts), UNION
    raise TypeError(regex)


def _count(low: int, high: int | None) -> str:
    if (low, high) in _SUFFIX:
        return _SUFFIX[low, high]
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


# --- Expressions


def _expr(expr: tree.Expr, needed: int = IFF, last: bool = True) -> str:
    """Return the text of an expression, in brackets if it binds less tightly than needed."""
    if isinstance(expr, tree.Quantified):
        text = _quantified(expr)
        return text if last else f"({text})"
    if _strength(expr) >= needed:
        return _expr_form(expr, last)
    return f"({_expr_form(expr, True)})"


def _strength(expr: tree.Expr) -> int:
    """Return the binding strength of the outermost operator."""
    match expr:
        case tree.Binary(op):
            return SUM if op in "+-" else PRODUCT
        case tree.Compare() | tree.Between() | tree.In() | tree.Member():
            return COMPARE
        case tree.Like() | tree.IsNull():
            return COMPARE
    return STRENGTH.get(type(expr), UNARY)


def _quantified(expr: tree.Quantified) -> str:
    kind = "set " if expr.of_set else ""
    return f"{expr.quantifier} {kind}{show(expr.variable)}: {_expr(expr.body)}"


def _expr_form(expr: tree.Expr, last: bool) -> str:
    match expr:
        case tree.Iff(left, right):
            return f"{_expr(left, IMPLIES, False)} iff {_expr(right, IFF, last)}"
        case tree.Implies(left, right):
            return f"{_expr(left, OR, False)} implies {_expr(right, IMPLIES, last)}"
        case tree.Or(parts):
            return _joined(parts, " or ", AND, last)
        case tree.And(parts):
            return _joined(parts, " and ", NOT, last)
        case tree.Not(operand):
            return f"not {_expr(operand, NOT, last)}"
        case tree.Compare() | tree.Between() | tree.In() | tree.Member():
            return _comparison(expr)
        case tree.Like() | tree.IsNull():
            return _test(expr)
        case tree.Binary(op, left, right):
            level = _strength(expr)
            return f"{_value(left, level)} {op} {_value(right, level + 1)}"
        case tree.Neg(value):
            text = _value(value, UNARY)
            return f"-({text})" if text[0].isdigit() else f"-{text}"
    return _primary(expr)


def _joined(parts: tuple[tree.Expr, ...], word: str, needed: int, last: bool) -> str:
    *front, end = parts
    return word.join([*(_expr(part, needed, False) for part in front), _expr(end, needed, last)])


def _value(expr: tree.Expr, needed: int) -> str:
    return _expr(expr, needed, False)


def _comparison(expr: tree.Expr) -> str:
    match expr:
        case tree.Compare(operands, ops):
            first, *rest = (_value(operand, SUM) for operand in operands)
            return first + "".join(f" {op} {text}" for op, text in zip(ops, rest, strict=True))
        case tree.Between(value, low, high, negated):
            word = "not between" if negated else "between"
            return f"{_value(value, SUM)} {word} {_value(low, SUM)} and {_value(high, SUM)}"
        case tree.In(value, options, negated):
            word = "not in" if negated else "in"
            listed = ", ".join(_value(option, SUM) for option in options)
            return f"{_value(value, SUM)} {word} ({listed})"
        case tree.Member(position, name, negated):
            return f"{_value(position, SUM)} {'not in' if negated else 'in'} {show(name)}"
    raise TypeError(expr)


def _test(expr: tree.Like | tree.IsNull) -> str:
    if isinstance(expr, tree.Like):
        word = "not like" if expr.negated else "like"
        return f"{_value(expr.value, SUM)} {word} {_value(expr.pattern, SUM)}"
    return f"{_value(expr.value, SUM)} {'is not null' if expr.negated else 'is null'}"


def _primary(expr: tree.Expr) -> str:
    match expr:
        case tree.Int(value):
            return str(value)
        case tree.Real(value):
            return _real(value)
        case tree.Text(value):
            return _string(value)
        case tree.Bool(value):
            return "true" if value else "false"
        case tree.Duration(amount, unit):
            return f"{show(amount)} {show(unit)}"
        case tree.Moment(type_, text):
            return f"{show(type_)} {_string(text)}"
        case tree.Ref("", _, label):
            return _name(label)
        case tree.Ref(name, offset, label):
            return _at_label(label) + _name(name) + (f"[{offset}]" if offset else "")
        case tree.IsFirst(offset, label):
            return _at_label(label) + "is_first" + (f"[{offset}]" if offset else "")
        case tree.Mark(which):
            return which
        case tree.Call(name, args, condition, offset):
            text = f"{show(name)}({_list(args)})"
            text += f" filter [{_expr(condition)}]" if condition else ""
            return text + (f"[{offset}]" if offset else "")
        case tree.Holds(predicate, position):
            return f"[{_expr(predicate)}]({_expr(position)})"
    raise TypeError(expr)


def _at_label(label: str) -> str:
    return f"{_name(label)}." if label else ""


def _string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _real(value: Decimal) -> str:
    """Return a number with a point or an exponent, so that it is parsed as a real."""
    text = str(value).lower()
    return text if "." in text or "e" in text else f"{text}.0"
