"""The items of a spec: the stream, what is assumed of it, windows, and the spec they make."""

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
    """A field that is not there: an AttributeError too, so that `hasattr` works."""


class Stream:
    """A stream: its fields are attributes, `t.price`, or items, `t["end"]`."""

    def __init__(self, node: tree.Stream) -> None:
        self._node = node

    def __repr__(self) -> str:
        return str(self._node)

    def __getitem__(self, name: str) -> Expr:
        names = [field.name.text for field in self._node.fields]
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
    """Return a stream; fields whose names Python cannot take as arguments go into `fields`."""
    typed = {**(fields or {}), **more_fields}
    return Stream(
        tree.Stream(
            tree.Name(name),
            tuple(tree.Field(tree.Name(each), _type(typed[each])) for each in typed),
            _names(partition_by),
            _names(order_by),
            tree.Name(nulls) if nulls else None,
        )
    )


def enum(*values: str) -> str:
    """Return the type of a field with these values only: `side=w.enum("buy", "sell")`."""
    return str(tree.FieldType(tree.Name("enum"), tuple(map(tree.Text, values))))


def assume(regex: Pattern, *, unchecked: bool = False) -> tree.Assume:
    """Return what every stream is promised to look like."""
    return tree.Assume(regex_of(regex), unchecked)


def window(
    name: str,
    *,
    match: Pattern | None = None,
    after: Pattern | None = None,
    pairs: Iterable[tuple[Pattern | None, Pattern]] = (),
    where: Expr | None = None,
    until: Expr | None = None,
    or_end: bool = False,
    within: timedelta | tree.Within | Expr | None = None,
    keep: str | None = None,
    pad: bool = False,
    lookback: int | None = None,
    measures: Mapping[str, Expr] | None = None,
    having: Expr | None = None,
) -> tree.Window:
    """Return a window: `match` and perhaps `after`, more of them as `pairs`, or `where`."""
    if after is not None and match is None:
        hint = "give match=… too"
        fail("nothing-to-match", name, "`after` needs a `match`", hint)
    if or_end and until is None:
        hint = "give until=… too, or match up to the end of the data in another way"
        fail("clause-conflict", name, "`or end` belongs to `until`", hint)
    all_pairs = [*([(after, match)] if match is not None else []), *pairs]
    return tree.Window(
        tree.Name(name),
        tuple(
            tree.Pair(regex_of(first) if first is not None else None, regex_of(second))
            for first, second in all_pairs
        ),
        where=node_of(where) if where is not None else None,
        until=tree.Until(node_of(until), _flag(or_end, "or_end")) if until is not None else None,
        within=_within(within),
        keep=tree.Name(keep) if keep is not None else None,
        pad=_flag(pad, "pad"),
        lookback=tree.Int(lookback) if lookback is not None else None,
        measures=tuple(
            tree.Measure(node_of(value), tree.Name(each))
            for each, value in (measures or {}).items()
        ),
        having=node_of(having) if having is not None else None,
    )


def spec(about: Stream, *items: Let | tree.Assume | tree.Window) -> tree.Spec:
    """Return the spec, checked as if it had been read from text."""
    nodes = [item.item if isinstance(item, Let) else item for item in items]
    for node in nodes:
        if not isinstance(node, tree.Let | tree.Assume | tree.Window):
            hint = "give the stream first, then lets, assumptions and windows, one after the other"
            fail("wrong-sort", repr(node), f"a {type(node).__name__} is no item of a spec", hint)
    built = tree.Spec(
        about._node,  # noqa: SLF001
        tuple(node for node in nodes if isinstance(node, tree.Let)),
        tuple(node for node in nodes if isinstance(node, tree.Assume)),
        tuple(node for node in nodes if isinstance(node, tree.Window)),
    )
    return parse(str(built), "<built spec>")


def _within(value: timedelta | tree.Within | Expr | None) -> tree.Within | None:
    if value is None or isinstance(value, tree.Within):
        return value
    length = node_of(value)
    if not isinstance(length, tree.Duration):
        hint = 'write within=w.events(10), within=w.duration(5, "minutes"), or a timedelta'
        fail("wrong-sort", repr(value), "a window is within so many events or so long", hint)
    return tree.Within(length.amount, length.unit)


def _flag(value: bool, name: str) -> bool:
    if not isinstance(value, bool):
        fail("wrong-sort", repr(value), f"{name} is True or False", f"write {name}=True")
    return value


def _names(names: str | Iterable[str]) -> tuple[tree.Name, ...]:
    return tuple(map(tree.Name, [names] if isinstance(names, str) else names))


def _type(text: str) -> tree.FieldType:
    found = _ENUM.fullmatch(text)
    if not found:
        return tree.FieldType(tree.Name(text))
    values = [value[1:-1].replace("''", "'") for value in re.findall(_VALUE, found[1])]
    return tree.FieldType(tree.Name("enum"), tuple(map(tree.Text, values)))
