"""All ways to label the events of a window, by the definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.compile.window import ANYWHERE
from wex.spec import tree

if TYPE_CHECKING:
    from wex.reference.preference import Labels
    from wex.reference.windows import Definition

Labellings = frozenset[tuple[int, "Labels"]]  # an end, and the labels of the events up to it


def labellings(definition: Definition, b: int, e: int) -> set[Labels]:
    """Return the labels of the events b … e in every way to match them."""
    ways = _Ways(definition, b)
    return {
        once(labels)
        for pair in definition.window.pairs
        if b in definition.ends(pair.after or ANYWHERE, definition.first, definition.first)
        for end, labels in ways.of(pair.match, b)
        if end == e + 1
    }


def once(labels: Labels) -> Labels:
    """Return labels as measures see them: each of an event once, in any order, the innermost last."""
    return tuple((*sorted(set(own) - {own[-1]}), own[-1]) if own else () for own in labels)


class _Ways:
    """The ways in which expressions match from a start, in no order."""

    def __init__(self, definition: Definition, begin: int) -> None:
        self.definition, self.begin = definition, begin

    def of(self, regex: tree.Regex, start: int) -> Labellings:
        """Return where the sequences of an expression end, with the labels of their events."""
        match regex:
            case tree.Labelled(name, body):
                return frozenset(
                    (end, tuple((name.text, *inner) for inner in labels))
                    for end, labels in self.of(body, start)
                )
            case tree.Concat(parts):
                reached: Labellings = frozenset([(start, ())])
                for part in parts:
                    reached = self._after(reached, part)
                return reached
            case tree.Union(parts):
                return frozenset(way for part in parts for way in self.of(part, start))
            case tree.Intersection((first, *others)):
                allowed = [self.definition.ends(other, start, self.begin) for other in others]
                ways = self.of(first, start)
                return frozenset(way for way in ways if all(way[0] in ends for ends in allowed))
            case tree.Repeat(body, low, high):
                return self._repeated(body, low, high, start)
        ends = self.definition.ends(regex, start, self.begin)
        return frozenset((end, ((),) * (end - start)) for end in ends)

    def _repeated(self, body: tree.Regex, low: int, high: int | None, start: int) -> Labellings:
        reached: Labellings = frozenset([(start, ())])
        for _ in range(low):
            reached = self._after(reached, body)
        ways, more = reached, 0
        while reached and (high is None or low + more < high):
            reached = self._after(reached, body) - ways
            ways |= reached
            more += 1
        return ways

    def _after(self, reached: Labellings, regex: tree.Regex) -> Labellings:
        return frozenset(
            (end, labels + further)
            for middle, labels in reached
            for end, further in self.of(regex, middle)
        )
