"""Paths and streams in words: the predicates that a window tells events apart by, and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.analysis.regions.graph import SILENT
from wex.compile.guards import as_written, deciding_parts, guards_of, predicates
from wex.compile.to_predicate import predicate_of
from wex.spec import tree
from wex.theory.terms import fields
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from wex.analysis.regions.contexts import Edge
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning
    from wex.theory.terms import Guard

MOST = 4  # events that are named one by one
MOST_VALUES = 12  # of a field, in a sentence


def named_guards(meaning: Meaning, compiled: CompiledWindow) -> dict[Guard, tree.Expr]:
    """Return the guards of a window as they are written."""
    return as_written(guards_of(deciding_parts(compiled.window), meaning.fields))


def class_in_words(meaning: Meaning, subject: AnalysedWindow, cls: int) -> str:
    """Return what a window asks of the events of a class, as a regular expression."""
    if cls == SILENT:
        return "any"
    compiled = subject.compiled
    written = named_guards(meaning, compiled)
    named = [written[guard] for guard in compiled.letters.guards]
    predicate = predicate_of(compiled.letters, named, subject.masks[cls])
    return "any" if predicate == tree.Bool(True) else f"[{predicate}]"


def events_in_words(meaning: Meaning, subject: AnalysedWindow, path: Sequence[Edge]) -> str:
    """Return what a window reads along a path, as a regular expression."""
    shown = [class_in_words(meaning, subject, edge.classes[0]) for edge in path[:MOST]]
    return " ".join(shown) + (" …" if len(path) > MOST else "")


def fields_read(meaning: Meaning, at: int) -> list[str]:
    """Return the fields that decide about a window."""
    window = meaning.expanded.windows[at]
    read = {
        field.name
        for part in deciding_parts(window)
        for each in predicates(part)
        for field in fields(guard_of(each, meaning.fields))
    }
    return [name for name in meaning.fields if name in read]


def stream_in_words(meaning: Meaning, at: int, stream: pa.Table) -> str:
    """Return a small stream in a line: the values of the fields that a window reads."""
    names = fields_read(meaning, at) or stream.column_names
    more = ", …" if stream.num_rows > MOST_VALUES else ""
    shown = []
    for name in names:
        values = stream.column(name).slice(0, MOST_VALUES).to_pylist()
        texts = [f"{each:g}" if isinstance(each, float) else str(each) for each in values]
        shown.append(f"{name} = {', '.join(texts)}{more}")
    return "; ".join(shown)
