"""The order of the ways in which an expression matches, by the definition.

Read it beside "Preference" and "Labels" (docs/semantics.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.compile.window import ANYWHERE
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.reference.windows import Definition, Pair

Labels = tuple[tuple[str, ...], ...]  # for each event on a way its labels, the outermost first
Ways = dict[int, Labels]  # by their ends, the preferred way first


class Preference:
    """The ways in which the expressions of a window match from a start, the preferred one first.

    A way is known by where it ends, as two ways with one end are one window: `ways` returns each
    end once, in the place of the best way to it, and with the labels of that way.
    """

    def __init__(self, definition: Definition, begin: int) -> None:
        self.definition, self.begin = definition, begin

    def first(self, pairs: set[Pair]) -> int:
        """Return the end of the preferred window among those of the start."""
        b = self.begin
        if self.definition.runs is not None:
            return next(e for start, e in pairs if start == b)  # a start has one run
        ends = (end - 1 for ways in self._of_pairs() for end in ways)
        return next(e for e in ends if (b, e) in pairs)

    def labels(self, e: int) -> Labels:
        """Return the labels of each event on the preferred way to match the window to e."""
        return next(ways[e + 1] for ways in self._of_pairs() if e + 1 in ways)

    def _of_pairs(self) -> Iterator[Ways]:
        """Yield the ways of each pair that takes part, in the order of the text."""
        definition, b = self.definition, self.begin
        for pair in definition.window.pairs:
            if b in definition.ends(pair.after or ANYWHERE, definition.first, definition.first):
                yield self.ways(pair.match, b)

    def ways(self, regex: tree.Regex, start: int) -> Ways:
        """Return every j such that the grams start … j-1 are in the language, the preferred first."""
        match regex:
            case tree.Labelled(name, body):
                return {
                    end: tuple((name.text, *inner) for inner in labels)
                    for end, labels in self.ways(body, start).items()
                }
            case tree.Concat(parts):
                reached: Ways = {start: ()}
                for part in parts:
                    reached = self._after_each(reached, part)
                return reached
            case tree.Union(parts):
                return _once(way for part in parts for way in self.ways(part, start).items())
            case tree.Intersection((first, *others)):
                allowed = [self._ends(other, start) for other in others]
                ways = self.ways(first, start).items()
                return {end: labels for end, labels in ways if all(end in s for s in allowed)}
            case tree.Complement():
                return _without_labels(sorted(self._ends(regex, start), reverse=True), start)
            case tree.Repeat(body, low, high, reluctant):
                reached = {start: ()}
                for _ in range(low):
                    before, reached = reached, self._after_each(reached, body)
                    if list(reached.items()) == list(before.items()):
                        break  # so it stays, however often it is repeated
                more = None if high is None else high - low
                optional = self._optional(body, more, reluctant, min(reached, default=start))
                return _once(
                    (end, labels + more_labels)
                    for middle, labels in reached.items()
                    for end, more_labels in optional[middle].items()
                )
        # A gram or none: at most one end.
        return _without_labels(sorted(self._ends(regex, start)), start)

    def _ends(self, regex: tree.Regex, start: int) -> frozenset[int]:
        return self.definition.ends(regex, start, self.begin)

    def _after_each(self, reached: Ways, regex: tree.Regex) -> Ways:
        return _once(
            (end, labels + more_labels)
            for middle, labels in reached.items()
            for end, more_labels in self.ways(regex, middle).items()
        )

    def _optional(
        self, body: tree.Regex, most: int | None, reluctant: bool, first: int
    ) -> dict[int, Ways]:
        """Return for each position from `first` on the ways of `body{0,most}` from there.

        One more iteration comes before stopping, or after it if reluctant. An iteration that
        consumes nothing is the last one.
        """
        positions = range(self.definition.count, first - 1, -1)
        ways = {position: self.ways(body, position) for position in positions}

        def one_more(rest: dict[int, Ways], position: int) -> Ways:
            stop = (position, ())
            more = [
                (end, labels + more_labels)
                for middle, labels in ways[position].items()
                for end, more_labels in ([stop] if middle == position else rest[middle].items())
            ]
            return _once([stop, *more] if reluctant else [*more, stop])

        # An iteration that is not the last consumes a gram, so that there are no more than grams.
        after: dict[int, Ways] = {}
        if most is None or most > len(positions):
            for position in positions:
                after[position] = one_more(after, position)
            return after
        after = {position: {position: ()} for position in positions}
        for _ in range(most):
            after = {position: one_more(after, position) for position in positions}
        return after


def _once(ways: Iterable[tuple[int, Labels]]) -> Ways:
    """Return each end once, where it comes first."""
    once: Ways = {}
    for end, labels in ways:
        once.setdefault(end, labels)
    return once


def _without_labels(ends: Iterable[int], start: int) -> Ways:
    return {end: ((),) * (end - start) for end in ends}
