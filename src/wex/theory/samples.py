"""Texts and years among which a witness looks for its values, where the solver models neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.patterns import filled
from wex.theory.terms import Comparison, Constant, Like, atoms, fields, is_opaque
from wex.theory.texts import possible_matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wex.theory.terms import Guard

YEARS = range(2025, 2028)  # tried even if no guard names them


@dataclass(frozen=True)
class Samples:
    """For each field that patterns are about some texts, and the years in which events may lie."""

    texts: Mapping[str, tuple[str, ...]]
    years: tuple[int, ...]


def samples_of(guards: Iterable[Guard]) -> Samples:
    """Return texts that match the patterns of some guards and texts that do not, and their years."""
    every = list(dict.fromkeys(atom for guard in guards for atom in atoms(guard)))
    patterns: dict[str, list[str]] = {}
    for atom in every:
        if isinstance(atom, Like):
            patterns.setdefault(atom.field.name, []).append(atom.pattern)
    texts = {name: dict.fromkeys(_texts(written)) for name, written in patterns.items()}
    years = set(YEARS)
    for atom in every:
        if not isinstance(atom, Comparison):
            continue
        known = [side.value for side in (atom.left, atom.right) if isinstance(side, Constant)]
        for field in fields(atom):
            if field.name in texts:
                texts[field.name].update(dict.fromkeys(v for v in known if isinstance(v, str)))
        if is_opaque(atom):  # it may name a year
            named = [v for v in known if isinstance(v, int) and 1 < v < 9_999]
            years.update(year + step for year in named if year > 31 for step in (-1, 0, 1))
    return Samples({name: tuple(found) for name, found in texts.items()}, tuple(sorted(years)))


def _texts(patterns: list[str]) -> list[str]:
    possible = possible_matches(tuple(dict.fromkeys(patterns)))
    texts = list(possible.values()) if possible else [filled(pattern, "") for pattern in patterns]
    return [*texts, *(filled(pattern, "a") for pattern in patterns), "text", "other", ""]
