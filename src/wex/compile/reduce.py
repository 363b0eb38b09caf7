"""A smaller form of the same window: no letters that no data has, no guards that nobody needs.

Letters that the order of the stream rules out go; states that only they reach or tell apart go
with them; and a guard that the others determine is not evaluated. No window changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex import limits
from wex.compile.normal_form import NormalForm, restricted
from wex.compile.stream_order import sorting
from wex.theory import terms
from wex.theory.letters import Letters, TooManyRowsError, combinations
from wex.theory.terms import Absolute, Always, Arithmetic, Comparison, Guard, Negative, Term

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.spec import Meaning

Row = tuple[bool, ...]


def smaller(
    meaning: Meaning,
    letters: Letters,
    form: NormalForm,
    until: int | None,
    lookback: int,
    *,
    pad: bool,
) -> tuple[Letters, NormalForm, int | None]:
    """Return letters, normal form and the letters that `until` lets follow, all smaller or equal."""
    kept = _possible(meaning, letters, lookback, pad=pad)
    behaviour = {
        letter: (
            int(form.prefix.classes[letter]),
            int(form.window.classes[letter]),
            until is not None and until >> letter & 1,
        )
        for letter in kept
    }
    chosen = _needed(letters, kept, behaviour)
    if len(kept) == len(letters) and len(chosen) == len(letters.guards):
        return letters, form, until
    rows: dict[Row, int] = {}
    for letter in kept:
        rows.setdefault(tuple(letters.rows[letter][at] for at in chosen), letter)
    ordered = sorted(rows)
    members = [rows[row] for row in ordered]
    found = Letters(tuple(letters.guards[at] for at in chosen), tuple(ordered))
    follows = None
    if until is not None:
        follows = sum(1 << at for at, letter in enumerate(members) if until >> letter & 1)
    return found, restricted(form, members), follows


def _possible(meaning: Meaning, letters: Letters, lookback: int, *, pad: bool) -> list[int]:
    """Return the letters that an event can have in its stream, which is sorted."""
    relevant = {field.name for guard in letters.guards for field in terms.fields(guard)}
    order = sorting(meaning, relevant).guard
    if isinstance(order, Always) or not lookback:
        return list(range(len(letters)))
    most = 2 * limits.current().letters
    rows: set[Row] = set()
    try:
        for missing in range(lookback + 1 if pad else 1):
            found = combinations(
                (*letters.guards, order), lookback, missing=missing, floating=True, most=most
            )
            # The first event of a stream has none before it that it could be compared with.
            rows.update(row[:-1] for row in found if row[-1] or missing == lookback)
    except TooManyRowsError:
        return list(range(len(letters)))
    return [letter for letter, row in enumerate(letters.rows) if row in rows]


def _needed(
    letters: Letters, kept: Sequence[int], behaviour: dict[int, tuple[int, int, int]]
) -> list[int]:
    """Return guards that tell apart what has to be; a fault that one may raise is not lost."""
    chosen = list(range(len(letters.guards)))
    rows = {
        letter: sum(true << at for at, true in enumerate(letters.rows[letter])) for letter in kept
    }
    for at in reversed(range(len(letters.guards))):
        others = [each for each in chosen if each != at]
        faults = {term for each in others for term in _computed(letters.guards[each])}
        if not faults.issuperset(_computed(letters.guards[at])):
            continue
        seen: dict[int, tuple[int, int, int]] = {}
        without = {letter: row & ~(1 << at) for letter, row in rows.items()}
        if all(
            seen.setdefault(row, behaviour[letter]) == behaviour[letter]
            for letter, row in without.items()
        ):
            chosen, rows = others, without
    return chosen


def _computed(guard: Guard) -> Iterator[Term]:
    """Yield what is computed to decide a guard: each may have no result, which is an error."""
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
        case Negative(value) | Absolute(value):
            yield term
            yield from _parts(value)
