"""Paths and streams in words: the predicates of a window, and the values of its fields."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from wex.analysis.regions.graph import SILENT
from wex.analysis.witness import events_of, held_starts
from wex.compile.guards import as_written, deciding_parts, guards_of, predicates
from wex.compile.measures import deciding_guard
from wex.compile.to_predicate import predicate_of
from wex.errors import WexError
from wex.spec import tree
from wex.spec.types import DATE, DURATION, TIMESTAMP
from wex.theory.terms import (
    And,
    Arithmetic,
    Comparison,
    Constant,
    Field,
    IsNull,
    Like,
    Local,
    Not,
    Or,
    Truth,
    fields,
)
from wex.theory.translate import part_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    import pyarrow as pa

    from wex.analysis.answers import Answer
    from wex.analysis.regions.contexts import Edge
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning
    from wex.spec.types import Type
    from wex.theory.terms import Guard, Term

EPOCH = datetime(1970, 1, 1)  # without a zone, as literals of a spec
ANY = tree.Bool(True)
MOST_SHOWN = 4  # of a path, in a sentence
MOST_VALUES = 12  # of a field, in a sentence
MOST_UNBOUNDED = 3  # starts to ask for where there is no bound
MOST_STARTS = 8  # starts to ask for where there is one


def named_guards(meaning: Meaning, compiled: CompiledWindow) -> dict[Guard, tree.Expr]:
    """Return the guards of a window, each with the predicate as it is written."""
    return as_written(guards_of(deciding_parts(compiled.window), meaning.fields))


def class_predicate(meaning: Meaning, window: AnalysedWindow, cls: int) -> tree.Expr:
    """Return the predicate that the events of a class satisfy."""
    if cls == SILENT:
        return ANY
    compiled = window.compiled
    written = named_guards(meaning, compiled)
    named = [written.get(guard) or _in_words(guard) for guard in compiled.letters.guards]
    return predicate_of(compiled.letters, named, window.masks[cls])


def _in_words(guard: Guard) -> tree.Expr:
    """Return the predicate of a guard that nobody wrote: one that tells regions apart."""
    match guard:
        case Truth(field):
            return tree.Ref(field.name, field.offset)
        case IsNull(field):
            return tree.IsNull(tree.Ref(field.name, field.offset))
        case Like(field, pattern):
            return tree.Like(tree.Ref(field.name, field.offset), tree.Text(pattern))
        case Not(operand):
            return tree.Not(_in_words(operand))
        case And(parts):
            return tree.And(tuple(map(_in_words, parts)))
        case Or(parts):
            return tree.Or(tuple(map(_in_words, parts)))
        case Comparison(op, left, right):
            return tree.Compare((_value(left, right), _value(right, left)), (op,))
    raise TypeError(guard)


def _value(term: Term, other: Term | None = None) -> tree.Expr:
    """Return a value as it is written; a constant has the type of the `other` one, if that is a field."""
    if (part := part_of(term)) is not None:
        name, moment = part
        return tree.Call(tree.Name(name), tuple(_moment(moment)))
    match term:
        case Field(name, offset):
            return tree.Ref(name, offset)
        case Arithmetic(op, left, right):
            return tree.Binary(op, _value(left), _value(right))
        case Constant(value):
            return _constant(value, other.type if isinstance(other, Field) else None)
    raise TypeError(term)


def _moment(term: Term) -> Iterator[tree.Expr]:
    """Yield a point in time, and the zone whose clocks are asked."""
    match term:
        case Local(value, zone):
            yield _value(value)
            yield tree.Text(zone)
        case _:
            yield _value(term)


def _constant(value: int | Fraction | str | bool, type_: Type | None) -> tree.Expr:
    match value:
        case bool():
            return tree.Bool(value)
        case int() if type_ == TIMESTAMP:
            moment = EPOCH + timedelta(microseconds=value)
            return tree.Moment(tree.Name("timestamp"), moment.isoformat(sep=" "))
        case int() if type_ == DATE:
            day = (EPOCH + timedelta(days=value)).date()
            return tree.Moment(tree.Name("date"), day.isoformat())
        case int() if type_ == DURATION:
            return tree.Duration(tree.Int(value), tree.Name("microseconds"))
        case int():
            return tree.Int(value)
        case str():
            return tree.Text(value)
    return tree.Real(Decimal(value.numerator) / value.denominator)


def repetition_in_words(meaning: Meaning, window: AnalysedWindow, cycle: Sequence[Edge]) -> str:
    """Return the events of a cycle in words: `every event with x > 0`."""
    shown = [class_predicate(meaning, window, edge.classes[0]) for edge in cycle[:MOST_SHOWN]]
    if len(cycle) == 1:
        return "every event" if shown[0] == ANY else f"every event with {shown[0]}"
    regex = " ".join("any" if predicate == ANY else f"[{predicate}]" for predicate in shown)
    return f"every repetition of {regex}{' …' if len(cycle) > MOST_SHOWN else ''}"


def fields_read(meaning: Meaning, index: int) -> list[str]:
    """Return the fields that the predicates of a window read."""
    window = meaning.expanded.windows[index]
    read = {
        field.name
        for part in deciding_parts(window)
        for predicate in predicates(part)
        for field in fields(deciding_guard(predicate, meaning.fields))
    }
    return [name for name in meaning.fields if name in read]


def example_stream(meaning: Meaning, index: int, held: Answer) -> tuple[pa.Table, list[int]] | None:
    """Return a short stream on which a window holds starts, and these starts; None: none is known."""
    wanted = MOST_UNBOUNDED if held.bound is None else min(held.bound, MOST_STARTS)
    if not wanted or held.verdict == "unknown":
        return None
    try:
        stream = held.witness(wanted)
    except WexError:
        return None
    return stream, held_starts(meaning, index, events_of(meaning, stream))


def stream_in_words(meaning: Meaning, index: int, stream: pa.Table) -> str:
    """Return the values of a stream in the fields that a window reads, in one line."""
    names = fields_read(meaning, index) or stream.column_names
    more = ", …" if stream.num_rows > MOST_VALUES else ""
    shown = []
    for name in names:
        values = stream.column(name).slice(0, MOST_VALUES).to_pylist()
        texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
        shown.append(f"{name} = {', '.join(texts)}{more}")
    return "; ".join(shown)
