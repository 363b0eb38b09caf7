"""Regular expressions: every atom is a predicate, and a bare name is a boolean one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.suggest import closest
from wex.spec.types import BOOL, PREDICATE
from wex.spec.vocabulary import ALIKE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.spec.resolve.events import Events


def check_regex(regex: tree.Regex, events: Events, clauses: Sequence[str]) -> None:
    """Check the atoms; `clauses` are the words that an unknown name may be a misspelling of."""
    match regex:
        case tree.Atom():
            _check_atom(regex, events)
        case tree.Concat(parts):
            _check_concat(parts, events, clauses)
        case tree.Union(parts) | tree.Intersection(parts):
            for part in parts:
                check_regex(part, events, clauses)
        case tree.Complement(body) | tree.Repeat(body):
            check_regex(body, events, clauses)


def _check_concat(parts: Sequence[tree.Regex], events: Events, clauses: Sequence[str]) -> None:
    skipped: tree.Regex | None = None
    for part, behind in zip(parts, [*parts[1:], None], strict=True):
        named = part.predicate if isinstance(part, tree.Atom) else None
        index = behind.predicate if isinstance(behind, tree.Atom) else None
        if isinstance(named, tree.Ref) and not named.offset and isinstance(index, tree.Int):
            assert behind is not None
            _note_index(named, behind, index.value, events)
            skipped = behind
        elif _misspelt(part, events, clauses):
            return  # what follows would have belonged to that clause
        elif part is not skipped:
            check_regex(part, events, clauses)


def _misspelt(part: tree.Regex, events: Events, clauses: Sequence[str]) -> bool:
    """Note a bare name that is not declared and looks like a clause."""
    if not isinstance(part, tree.Atom) or not isinstance(part.predicate, tree.Ref):
        return False
    name = part.predicate.name
    if name in events.scope or events.problems.full:
        return False
    clause = closest(name, clauses, ALIKE)
    if clause is None:
        return False
    message = f"`{name}` is neither a clause nor a name that is declared"
    events.problems.add("unknown-clause", part, message, f"did you mean `{clause}`?")
    return True


def _note_index(name: tree.Ref, index: tree.Regex, offset: int, events: Events) -> None:
    looked = tree.Ref(name.name, min(offset, -1))
    whole = (
        f"[{looked}]" if events.ref(tree.Ref(name.name)) in (BOOL, PREDICATE) else f"[{looked} > …]"
    )
    events.problems.add(
        "lookback-here",
        index,
        "in a regular expression brackets hold a predicate, not an index",
        f"to look back put the whole into brackets: `{whole}`",
    )


def _check_atom(atom: tree.Atom, events: Events) -> None:
    if not isinstance(atom.predicate, tree.Ref):
        events.predicate(atom.predicate)
        return
    type_ = events.ref(atom.predicate)
    if type_ is not None and type_ not in (BOOL, PREDICATE):
        events.problems.add(
            "wrong-sort",
            atom,
            f"`{atom.predicate}` is a value of type {type_.name}, not a predicate",
            f"say what has to hold of it: `[{atom.predicate} > …]`",
        )
