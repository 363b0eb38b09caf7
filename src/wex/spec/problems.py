"""What is wrong with a spec, collected while reading goes on, so that it is said all at once."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from wex.errors import Diagnostic, SpecError
from wex.threads import cached_property

if TYPE_CHECKING:
    from wex.spec.tree import Node


MOST = 100  # problems: more are not even looked into
LONGEST = 400  # characters of a message


def _cut(text: str) -> str:
    """Return a message that fits on a screen, whatever names it quotes."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 60]} … {text[-50:]}"


# Every code a SpecError can have, and what it means. Codes are stable: tools may rely on them.
CODES = {
    "arguments": "a function or aggregate with too few or too many arguments",
    "aggregate-here": "an aggregate outside `measure`, or inside another one",
    "bad-moment": "a `timestamp '…'` or `date '…'` that is none",
    "bracket": "a bracket that is never closed, closes nothing, or closes another kind",
    "character": "a character that has no place in a spec",
    "clause-conflict": "two clauses that cannot stand in one window",
    "clause-twice": "a clause that stands there twice",
    "contradiction": "an argument of a call that contradicts the spec",
    "column-clash": "two result columns of one name",
    "count-not-whole": "a count with a fraction",
    "count-too-large": "a count or a lookback over the limit",
    "counts-reversed": "`{5,2}`: the smaller count comes first",
    "duplicate-name": "two things of one name",
    "empty-brackets": "`[]` without a predicate",
    "empty-spec": "nothing in the file but blanks and comments",
    "encoding": "a file that is not UTF-8",
    "field-outside-aggregate": "a measure that uses a field outside an aggregate",
    "filter-here": "`filter` behind something that is no aggregate",
    "formula-here": "a piece of a formula outside `where`",
    "let-cycle": "lets that are defined by each other",
    "lookback-here": "an index where there is no event to look back at, as on a constant",
    "lookback-not-constant": "an index that is not a whole number",
    "lookback-positive": "an index that looks ahead",
    "nothing-to-match": "a window with neither `match` nor `where`",
    "no-order": "a duration clause without one timestamp to order by",
    "number-out-of-range": "a number that 64 bits cannot hold",
    "quote": "a quote that is never closed",
    "rebinding": "a quantifier over `begin` or `end`",
    "reserved-word": "a reserved word used as a name",
    "stream-count": "no `stream`, or more than one",
    "syntax": "something that cannot stand where it stands",
    "truth-value": "a predicate used as a Python truth value",
    "too-deep": "expressions nested too deeply",
    "too-large": "lets that expand to too much",
    "unknown-aggregate": "an aggregate or function that does not exist",
    "unknown-clause": "a misspelt clause or keyword",
    "unknown-name": "a name that is not declared",
    "unknown-option": "an option, unit, type or value that does not exist",
    "wrong-sort": "a predicate, value, position, set or formula where another of these belongs",
    "wrong-type": "values of types that do not go together",
}


class Problems:
    """The diagnostics of one source, in the order of the text once they are told."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def add(self, code: str, where: Span | Node, message: str, hint: str) -> None:
        """Note a problem at a span or a node."""
        assert code in CODES, code
        if self.full:
            return
        span = where if isinstance(where, Span) else where.span or Span(0, 0)
        diagnostic = self.source.diagnostic(span, code, _cut(message), _cut(hint))
        if diagnostic not in self.found:
            self.found.append(diagnostic)

    @property
    def full(self) -> bool:
        """Tell whether enough has been found: looking for the cause of more would take long."""
        return len(self.found) >= MOST

    def raise_if_any(self) -> None:
        """Raise all that was noted as one SpecError."""
        if self.found:
            ordered = sorted(self.found, key=lambda each: (each.line, each.column))
            raise SpecError(ordered)


_LINE_END = re.compile(r"\r\n|\r|\n")


class Span(NamedTuple):
    """Where a piece of a spec stands in its text: offsets, the end not included."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A spec as text, with the name to show for it in errors."""

    text: str
    name: str = "<spec>"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    def diagnostic(self, span: Span, code: str, message: str, hint: str) -> Diagnostic:
        """Return a diagnostic that points at a span, or at its part on the first line."""
        index = bisect_right(self._line_starts, span.start) - 1
        start = self._line_starts[index]
        line_end = _LINE_END.search(self.text, start)
        line = self.text[start : line_end.start() if line_end else len(self.text)]
        column = min(span.start - start, len(line))
        width = max(1, min(span.end - span.start, len(line) - column))
        return Diagnostic(code, message, hint, self.name, index + 1, column + 1, width, line)
