"""The stream, assumptions and windows of a spec, and `spec`, which puts them together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wex.build.operators import Expr, Let, Pattern, fail, node_of, regex_of
from wex.errors import SpecError, did_you_mean
from wex.spec import parse, tree
from wex.spec.problems import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

_VALUE = r"'(?:[^']|'')*'"
_ENUM = re.compile(rf"\s*enum\s*\(\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)\s*", re.DOTALL)


class _NoFieldError(SpecError, AttributeError):
    """An unknown field. Also an AttributeError, so that `hasattr` works."""


class Stream:
    """A stream: its fields are attributes, `t.price`, or items, `t["end"]`."""

    def __init__(self, node: tree.Stream) -> None:
        self._node = node

    def __repr__(self) -> str:
        return str(self._node)

    def __getitem__(self, name: str) -> Expr:
        names = tree.texts(field.name for field in self._node.fields)
        if name in names:
            return Expr(tree.Ref(name))
        message = f"the stream has no field called `{name}`"
        problem = Source(name).diagnostic(
            Span(0, len(name)), "unknown-name", message, did_you_mean(name, names, "the fields are")
        )
        raise _NoFieldError([problem])

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]


def stream(
    name: str,
    fields: Mapping[str, str] | None = None,
    /,
    *,
    partition_by: str | Iterable[str] = (),
    order_by: str | Iterable[str] = (),
    nulls: str | None = None,
    **more_fields: str,
) -> Stream:
    """Return a stream; `fields` is for names that cannot be keyword arguments."""
    typed = {**(fields or {}), **more_fields}
    return Stream(
        tree.Stream(
            tree.Name(name),
            tuple(tree.Field(tree.Name(field), _type(type_)) for field, type_ in typed.items()),
            _names(partition_by),
            _names(order_by),
            tree.Name(nulls) if nulls else None,
        )
    )


def enum(*values: str) -> str:
    """Return the type of a field with a fixed list of values: `side=w.enum("buy", "sell")`."""
    return str(tree.FieldType(tree.Name("enum"), tuple(map(tree.Text, values))))


def assume(regex: Pattern, *, unchecked: bool = False) -> tree.Assume:
    """Return an assumption: every stream matches the regular expression."""
    return tree.Assume(regex_of(regex), unchecked)


def at_most(events: int, duration: timedelta | Expr, *, unchecked: bool = False) -> tree.Rate:
    """Return an assumption: every stream has at most so many events in any time of a length.

    >>> from wex import build as w
    >>> print(w.at_most(100, w.duration(1, "second")))
    assume at most 100 events in 1 second
    """
    number, length = node_of(events), node_of(duration)
    if not isinstance(number, tree.Int | tree.Real):
        message = f"expected a number of events, got {type(events).__name__}"
        fail("wrong-sort", repr(events), message, 'write w.at_most(100, w.duration(1, "second"))')
    if not isinstance(length, tree.Duration):
        hint = 'write w.at_most(100, w.duration(1, "second")), or give a timedelta'
        fail("wrong-sort", repr(duration), "expected a duration", hint)
    unit = tree.Name("event" if number.value == 1 else "events")
    return tree.Rate(number, unit, length, _flag(unchecked, "unchecked"))


def window(
    name: str,
    *,
    match: Pattern | None = None,
    after: Pattern | None = None,
    pairs: Iterable[tuple[Pattern | None, Pattern]] = (),
    where: Expr | None = None,
    runs_of: Expr | Iterable[Expr] = (),
    runs_where: Expr | None = None,
    sessions_gap: timedelta | Expr | float | None = None,
    sessions_at_most: timedelta | Expr | float | None = None,
    until: Expr | None = None,
    or_end: bool = False,
    within: timedelta | tree.Within | Expr | None = None,
    keep: str | None = None,
    sharing: int | None = None,
    resuming: tuple[str, str] | None = None,
    unpadded: bool = False,
    lookback: int | None = None,
    measures: Mapping[str, Expr] | None = None,
    having: Expr | None = None,
) -> tree.Window:
    """Return a window, given by `match` and `after`, by several such `pairs`, by `where`, or by runs.

    Runs are given by one of `runs_of`, `runs_where` and `sessions_gap`; `sessions_at_most` is the
    length at which sessions are cut.
    `sharing` is the number of events that `keep="leftmost"` lets two windows share. With
    `resuming=("last", "fall")` the next window may begin at the last event that has a label.
    """
    if after is not None and match is None:
        fail("nothing-to-match", name, "`after` needs `match`", "add match=…")
    if or_end and until is None:
        fail("clause-conflict", name, "`or_end` needs `until`", "add until=…, or remove or_end")
    if sessions_at_most is not None and sessions_gap is None:
        hint = "add sessions_gap=…, or remove sessions_at_most"
        fail("clause-conflict", name, "`sessions_at_most` needs `sessions_gap`", hint)
    all_pairs = [*([(after, match)] if match is not None else []), *pairs]
    return tree.Window(
        tree.Name(name),
        tuple(
            tree.Pair(None if before is None else regex_of(before), regex_of(regex))
            for before, regex in all_pairs
        ),
        where=node_of(where) if where is not None else None,
        runs=_runs(name, runs_of, runs_where, (sessions_gap, sessions_at_most)),
        until=tree.Until(node_of(until), _flag(or_end, "or_end")) if until is not None else None,
        within=_within(within),
        keep=tree.Name(keep) if keep is not None else None,
        next_start=_next_start(name, keep, sharing, resuming),
        unpadded=_flag(unpadded, "unpadded"),
        lookback=tree.Int(lookback) if lookback is not None else None,
        measures=tuple(
            tree.Measure(node_of(value), tree.Name(measure))
            for measure, value in (measures or {}).items()
        ),
        having=node_of(having) if having is not None else None,
    )


def spec(about: Stream, *items: Let | tree.Assume | tree.Rate | tree.Window) -> tree.Spec:
    """Return the spec of a stream and its items, checked like a spec in text."""
    nodes = [item.item if isinstance(item, Let) else item for item in items]
    for node in nodes:
        if not isinstance(node, tree.Let | tree.Assume | tree.Rate | tree.Window):
            message = f"expected a let, an assumption or a window, got {type(node).__name__}"
            hint = "write w.spec(stream, let, …, window, …)"
            fail("wrong-sort", repr(node), message, hint)
    built = tree.Spec(
        about._node,  # noqa: SLF001
        tuple(node for node in nodes if isinstance(node, tree.Let)),
        tuple(node for node in nodes if isinstance(node, tree.Assume)),
        tuple(node for node in nodes if isinstance(node, tree.Window)),
        tuple(node for node in nodes if isinstance(node, tree.Rate)),
    )
    return parse(str(built), "<built spec>")


def _runs(
    name: str,
    values: Expr | Iterable[Expr],
    predicate: Expr | None,
    sessions: tuple[timedelta | Expr | float | None, timedelta | Expr | float | None],
) -> tree.Runs | None:
    gap, most = sessions
    listed = (values,) if isinstance(values, Expr) else tuple(values)
    clauses: list[tree.Runs] = []
    if listed:
        clauses.append(tree.RunsOf(tuple(map(node_of, listed))))
    if predicate is not None:
        clauses.append(tree.RunsWhere(node_of(predicate)))
    if gap is not None:
        clauses.append(tree.Sessions(node_of(gap), None if most is None else node_of(most)))
    if len(clauses) > 1:
        message = "a window has one of `runs_of`, `runs_where` and `sessions_gap`"
        fail("clause-conflict", name, message, "keep one of them, or build several windows")
    return clauses[0] if clauses else None


def _within(value: timedelta | tree.Within | Expr | None) -> tree.Within | None:
    if value is None or isinstance(value, tree.Within):
        return value
    length = node_of(value)
    if not isinstance(length, tree.Duration):
        hint = 'write within=w.events(10), within=w.duration(5, "minutes"), or a timedelta'
        fail("wrong-sort", repr(value), "expected a number of events or a duration", hint)
    return tree.Within(length.amount, length.unit)


def _next_start(
    name: str, keep: str | None, sharing: int | None, resuming: tuple[str, str] | None
) -> tree.Sharing | tree.Resuming | None:
    for clause, value in (("sharing", sharing), ("resuming", resuming)):
        if value is not None and keep is None:
            hint = f'add keep="leftmost", or remove {clause}'
            fail(f"{clause}-here", name, f"`{clause}` needs `keep`", hint)
    if sharing is not None and resuming is not None:
        message = "the next window begins by `sharing` or by `resuming`, not by both"
        fail("clause-conflict", name, message, "keep one of them")
    if sharing is not None:
        return tree.Sharing(tree.Int(sharing), tree.Name("event" if sharing == 1 else "events"))
    if resuming is None:
        return None
    if list(map(type, resuming)) != [str, str]:
        hint = 'write resuming=("first", "fall") or resuming=("last", "fall")'
        fail("wrong-sort", repr(resuming), "expected `first` or `last`, and a label", hint)
    which, label = map(tree.Name, resuming)
    return tree.Resuming(which, label)


def _flag(value: bool, name: str) -> bool:
    if not isinstance(value, bool):
        fail("wrong-sort", repr(value), f"{name} must be True or False", f"write {name}=True")
    return value


def _names(names: str | Iterable[str]) -> tuple[tree.Name, ...]:
    return tuple(map(tree.Name, [names] if isinstance(names, str) else names))


def _type(text: str) -> tree.FieldType:
    enum_match = _ENUM.fullmatch(text)
    if not enum_match:
        return tree.FieldType(tree.Name(text))
    values = [value[1:-1].replace("''", "'") for value in re.findall(_VALUE, enum_match[1])]
    return tree.FieldType(tree.Name("enum"), tuple(map(tree.Text, values)))
