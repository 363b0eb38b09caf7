"""Values among which a witness looks for its own: numbers, texts and years near those of the guards."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.spec.patterns import filled
from wex.theory.terms import Comparison, Constant, Like, atoms, fields, is_opaque
from wex.theory.texts import possible_matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wex.theory.evaluate import Value
    from wex.theory.terms import Field, Guard

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


def constants_of(guards: Iterable[Guard]) -> dict[str, list[Value]]:
    """Return for each field the constants in its comparisons."""
    values_of: dict[str, dict[Value, None]] = {}
    for atom in (atom for guard in guards for atom in atoms(guard)):
        if isinstance(atom, Comparison):
            known = [side.value for side in (atom.left, atom.right) if isinstance(side, Constant)]
            for field in fields(atom):
                values_of.setdefault(field.name, {}).update(dict.fromkeys(known))
    return {name: list(values) for name, values in values_of.items()}


def numbers_to_try(
    last: Sequence[Value], constants: Sequence[Value], unit: int
) -> Iterable[Fraction]:
    """Return numbers to try, the preferred ones first: near the last value, small, near constants."""
    near = [Fraction(value) for value in last[-1:] if isinstance(value, int | Fraction)]
    known = [Fraction(value) for value in constants if isinstance(value, int | Fraction)]
    numbers: list[Fraction] = []
    for value in near:
        numbers += [value + unit, value, value - unit]
    numbers += [Fraction(factor * unit) for factor in (1, 0, 2, -1)]
    for constant in known:
        for value in [Fraction(0), *near]:
            numbers += [constant + value + step for step in (0, unit, -unit)]
    for value in near:
        for divisor in (2, 4, 16, 256, 4096):
            step = Fraction(unit, divisor)
            numbers += [value + step, value - step]
    return dict.fromkeys(numbers)


def default_value(field: Field) -> Value:
    """Return a default value of a field."""
    if field.type.values:
        return field.type.values[0]
    defaults: dict[str, Value] = {"whole": 0, "real": Fraction(0), "text": "", "bool": False}
    return defaults[field.kind]
