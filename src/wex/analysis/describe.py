"""Events of a path in words: the predicates that a window tells them apart by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.analysis.space import SILENT
from wex.spec import tree
from wex.theory.translate import guard_of
from wex.windows.guards import deciding_parts, predicates
from wex.windows.readable import predicate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.analysis.contexts import Edge
    from wex.analysis.subject import Subject
    from wex.spec import Meaning
    from wex.theory.terms import Guard
    from wex.windows.compile import CompiledWindow

MOST = 4  # events that are named one by one


def named_guards(meaning: Meaning, compiled: CompiledWindow) -> dict[Guard, tree.Expr]:
    """Return the guards of a window as they are written."""
    written: dict[Guard, tree.Expr] = {}
    for part in deciding_parts(compiled.window):
        for each in predicates(part):
            written.setdefault(guard_of(each, meaning.fields), each)
    return written


def class_in_words(meaning: Meaning, subject: Subject, cls: int) -> str:
    """Return what a window asks of the events of a class, as a regular expression."""
    if cls == SILENT:
        return "any"
    compiled = subject.compiled
    written = named_guards(meaning, compiled)
    named = [written[guard] for guard in compiled.letters.guards]
    predicate = predicate_of(compiled.letters, named, subject.masks[cls])
    return "any" if predicate == tree.Bool(True) else f"[{predicate}]"


def events_in_words(meaning: Meaning, subject: Subject, path: Sequence[Edge]) -> str:
    """Return what a window reads along a path, as a regular expression."""
    shown = [class_in_words(meaning, subject, edge.classes[0]) for edge in path[:MOST]]
    return " ".join(shown) + (" …" if len(path) > MOST else "")
