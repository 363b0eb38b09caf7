"""The smaller form of a window: the same windows with fewer letters, guards and states.

Letters that the order of the stream rules out are removed, and with them the states that only they
reach or distinguish. A guard that the other guards determine is removed, too: it is not evaluated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex import limits
from wex.compile.labels import restricted as restricted_labels
from wex.compile.normal_form import restricted
from wex.compile.preference import restricted as restricted_preference
from wex.compile.stream_order import stream_order
from wex.theory import terms
from wex.theory.letters import Letters, TooManyRowsError, combinations
from wex.theory.terms import (
    Absolute,
    Always,
    Arithmetic,
    Calendar,
    Comparison,
    Guard,
    Local,
    Negative,
    Term,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.compile.labels import LabelForm
    from wex.compile.preference import PreferenceForm
    from wex.compile.window import CompiledWindow

Row = tuple[bool, ...]


def reduce_window(compiled: CompiledWindow) -> CompiledWindow:
    """Return the same window with fewer letters, guards and states, where possible."""
    letters, form, until = compiled.letters, compiled.form, compiled.until
    preference, labels = compiled.preference, compiled.labels
    kept = _possible(compiled)
    behaviour = {
        letter: (
            int(form.prefix.classes[letter]),
            int(form.window.classes[letter]),
            until is not None and until >> letter & 1,
            *_preference_classes(preference, letter),
            *_label_classes(labels, letter),
        )
        for letter in kept
    }
    chosen = _needed(letters, kept, behaviour)
    if len(kept) == len(letters) and len(chosen) == len(letters.guards):
        return compiled
    rows: dict[Row, int] = {}
    for letter in kept:
        rows.setdefault(tuple(letters.rows[letter][guard] for guard in chosen), letter)
    ordered = sorted(rows)
    fewer = Letters(tuple(letters.guards[guard] for guard in chosen), tuple(ordered))
    return over_letters(compiled, fewer, [rows[row] for row in ordered])


def over_letters(
    compiled: CompiledWindow, letters: Letters, members: Sequence[int]
) -> CompiledWindow:
    """Return a window over other letters; `members` has for each the letter that acts like it now."""
    until, preference, labels = compiled.until, compiled.preference, compiled.labels
    follows = None
    if until is not None:
        follows = sum(1 << new for new, letter in enumerate(members) if until >> letter & 1)
    return replace(
        compiled,
        letters=letters,
        form=restricted(compiled.form, members),
        until=follows,
        preference=preference and restricted_preference(preference, members),
        labels=labels and restricted_labels(labels, members),
    )


def _preference_classes(preference: PreferenceForm | None, letter: int) -> tuple[int, ...]:
    if preference is None:
        return ()
    return int(preference.prefix.classes[letter]), int(preference.ways.classes[letter])


def _label_classes(labels: LabelForm | None, letter: int) -> tuple[int, ...]:
    if labels is None:
        return ()
    return int(labels.prefix.classes[letter]), int(labels.classes[letter])


def _possible(compiled: CompiledWindow) -> list[int]:
    """Return the letters that events of a sorted stream can have."""
    letters, lookback = compiled.letters, compiled.lookback
    relevant = {field.name for guard in letters.guards for field in terms.fields(guard)}
    order = stream_order(compiled.source.meaning, relevant).guard
    if isinstance(order, Always) or not lookback:
        return list(range(len(letters)))
    most = 2 * limits.current().letters
    rows: set[Row] = set()
    try:
        for missing in range(1 if compiled.window.unpadded else lookback + 1):
            possible = combinations(
                (*letters.guards, order), lookback, missing=missing, floating=True, most=most
            )
            # The first event of a stream has no event before it, so the order says nothing of it.
            rows.update(row[:-1] for row in possible if row[-1] or missing == lookback)
    except TooManyRowsError:
        return list(range(len(letters)))
    return [letter for letter, row in enumerate(letters.rows) if row in rows]


def _needed(
    letters: Letters, kept: Sequence[int], behaviour: dict[int, tuple[int, ...]]
) -> list[int]:
    """Return guards that suffice to distinguish letters that behave differently.

    A guard whose arithmetic can fail stays, unless another guard computes the same: a failure is
    an error whether or not the guard decides anything.
    """
    chosen = list(range(len(letters.guards)))
    rows = {
        letter: sum(true << bit for bit, true in enumerate(letters.rows[letter])) for letter in kept
    }
    for guard in reversed(range(len(letters.guards))):
        others = [other for other in chosen if other != guard]
        kept_terms = {term for other in others for term in computed(letters.guards[other])}
        if not kept_terms.issuperset(computed(letters.guards[guard])):
            continue
        seen: dict[int, tuple[int, ...]] = {}
        without = {letter: row & ~(1 << guard) for letter, row in rows.items()}
        if all(
            seen.setdefault(row, behaviour[letter]) == behaviour[letter]
            for letter, row in without.items()
        ):
            chosen, rows = others, without
    return chosen


def computed(guard: Guard) -> Iterator[Term]:
    """Yield the terms whose arithmetic can fail when a guard is evaluated."""
    for atom in terms.atoms(guard):
        if isinstance(atom, Comparison):
            for side in (atom.left, atom.right):
                yield from _parts(side)


def _parts(term: Term) -> Iterator[Term]:
    match term:
        case Arithmetic(_, left, right):
            yield term
            yield from _parts(left)
            yield from _parts(right)
        case Negative(value) | Absolute(value) | Local(value):
            yield term
            yield from _parts(value)
        case Calendar(_, value):
            yield from _parts(value)
