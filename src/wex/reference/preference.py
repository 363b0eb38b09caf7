"""The order of the ways in which an expression matches, by the definition.

Read it beside "Preference" (docs/semantics.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.compile.window import ANYWHERE
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.reference.windows import Definition, Pair


class Preference:
    """The ways in which the expressions of a window match from a start, the preferred one first.

    A way is known by where it ends, as two ways with one end are one window: `ways` returns each
    end once, in the place of the best way to it.
    """

    def __init__(self, definition: Definition, begin: int) -> None:
        self.definition, self.begin = definition, begin

    def first(self, pairs: set[Pair]) -> int:
        """Return the end of the preferred window among those of the start."""
        definition, b = self.definition, self.begin
        if definition.runs is not None:
            return next(e for start, e in pairs if start == b)  # a start has one run
        ends = (
            end - 1
            for pair in definition.window.pairs
            if b in definition.ends(pair.after or ANYWHERE, definition.first, definition.first)
            for end in self.ways(pair.match, b)
        )
        return next(e for e in ends if (b, e) in pairs)

    def ways(self, regex: tree.Regex, start: int) -> list[int]:
        """Return every j such that the grams start … j-1 are in the language, the preferred first."""
        match regex:
            case tree.Concat(parts):
                reached = [start]
                for part in parts:
                    reached = self._after_each(reached, part)
                return reached
            case tree.Union(parts):
                return _once(end for part in parts for end in self.ways(part, start))
            case tree.Intersection((first, *others)):
                allowed = [self._ends(other, start) for other in others]
                return [end for end in self.ways(first, start) if all(end in s for s in allowed)]
            case tree.Complement():
                return sorted(self._ends(regex, start), reverse=True)
            case tree.Repeat(body, low, high, reluctant):
                reached = [start]
                for _ in range(low):
                    before, reached = reached, self._after_each(reached, body)
                    if reached == before:
                        break  # so it stays, however often it is repeated
                more = None if high is None else high - low
                optional = self._optional(body, more, reluctant, min(reached, default=start))
                return _once(end for middle in reached for end in optional[middle])
        return sorted(self._ends(regex, start))  # a gram or none: at most one end

    def _ends(self, regex: tree.Regex, start: int) -> frozenset[int]:
        return self.definition.ends(regex, start, self.begin)

    def _after_each(self, reached: list[int], regex: tree.Regex) -> list[int]:
        return _once(end for middle in reached for end in self.ways(regex, middle))

    def _optional(
        self, body: tree.Regex, most: int | None, reluctant: bool, first: int
    ) -> dict[int, list[int]]:
        """Return for each position from `first` on the ways of `body{0,most}` from there.

        One more iteration comes before stopping, or after it if reluctant. An iteration that
        consumes nothing is the last one.
        """
        positions = range(self.definition.count, first - 1, -1)
        ways = {position: self.ways(body, position) for position in positions}

        def one_more(rest: dict[int, list[int]], position: int) -> list[int]:
            more = [
                end
                for middle in ways[position]
                for end in ([position] if middle == position else rest[middle])
            ]
            return _once([position, *more] if reluctant else [*more, position])

        # An iteration that is not the last consumes a gram, so that there are no more than grams.
        after: dict[int, list[int]] = {}
        if most is None or most > len(positions):
            for position in positions:
                after[position] = one_more(after, position)
            return after
        after = {position: [position] for position in positions}
        for _ in range(most):
            after = {position: one_more(after, position) for position in positions}
        return after


def _once(ends: Iterable[int]) -> list[int]:
    """Return each end once, where it comes first."""
    return list(dict.fromkeys(ends))
