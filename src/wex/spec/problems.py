"""Mistakes in a spec: their places in the text, and the list that becomes one SpecError.

A `Span` is a place in a `Source`, the text of a spec. The parser and the resolver add problems with
their spans to `Problems` and go on, so that an error reports all mistakes of a spec at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from wex.errors import Diagnostic, SpecError
from wex.threads import cached_property

if TYPE_CHECKING:
    from wex.spec.tree import Node

MOST_PROBLEMS = 100  # further ones are not even looked for
LONGEST_MESSAGE = 400  # characters
_LINE_END = re.compile(r"\r\n|\r|\n")

# Every code a SpecError can have, with its meaning. Codes are stable: tools may rely on them.
CODES = {
    "arguments": "a function or aggregate with too few or too many arguments",
    "aggregate-here": "an aggregate where none can be computed",
    "bad-moment": "an invalid `timestamp '…'` or `date '…'`",
    "bracket": "a bracket that is never closed, or that matches no open one",
    "character": "a character that the language does not use",
    "clause-conflict": "two clauses that exclude each other",
    "clause-twice": "a duplicate clause",
    "contradiction": "an argument of a call that contradicts the spec",
    "column-clash": "two result columns of one name",
    "count-not-whole": "a count that is not a positive whole number",
    "count-too-large": "a count or a lookback over the limit",
    "counts-reversed": "`{5,2}`: the smaller count comes first",
    "duplicate-name": "two declarations of one name",
    "empty-brackets": "`[]` without a predicate or an index",
    "empty-spec": "a file with nothing but blanks and comments",
    "encoding": "a file that is not UTF-8",
    "field-outside-aggregate": "a measure that uses a field outside an aggregate",
    "filter-here": "`filter` after a call that is not an aggregate",
    "formula-here": "part of a formula outside `where`",
    "label-here": "a label, or a field at its events, where there are none",
    "labels-mixed": "an aggregate that reads fields at events with different labels",
    "let-cycle": "lets that are defined in terms of each other",
    "lookback-here": "a lookback where there is no earlier event, such as on a constant",
    "lookback-not-constant": "an index that is not a constant whole number",
    "lookback-positive": "an index that looks ahead",
    "nothing-to-match": "a window without `match`, `where`, `runs` or `sessions`",
    "no-order": "`sessions`, or a duration in `within`, without one timestamp to order by",
    "number-out-of-range": "a number that 64 bits cannot hold",
    "quote": "a quote that is never closed",
    "rebinding": "a quantifier over a position or set that is already bound",
    "reluctant-here": "a reluctant quantifier, such as `+?`, where it changes nothing",
    "reserved-word": "a reserved word used as a name",
    "sharing-here": "`sharing` where windows cannot share that many events",
    "resuming-here": "`resuming` where `keep` does not go from window to window",
    "sql": "a part of a SQL query that WEX cannot say",
    "stream-count": "no `stream`, or more than one",
    "syntax": "text that the grammar does not allow",
    "truth-value": "a predicate used as a Python truth value",
    "too-deep": "expressions nested too deeply",
    "too-large": "a spec that expands to too many terms",
    "unknown-aggregate": "an aggregate or function that does not exist",
    "unknown-clause": "a misspelt clause or keyword",
    "unknown-name": "a name that is not declared",
    "unknown-option": "an option, unit, type or value that does not exist",
    "wrong-sort": "a predicate, value, position, set or formula where another of these is expected",
    "wrong-type": "an operation on values of the wrong types",
}


class Span(NamedTuple):
    """The place of a node or token in the text: offsets, the end not included."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """The text of a spec, and the name that errors show for it."""

    text: str
    name: str = "<spec>"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(line_end.end() for line_end in _LINE_END.finditer(self.text))]

    def diagnostic(self, span: Span, code: str, message: str, hint: str) -> Diagnostic:
        """Return a diagnostic that points at a span, or at the part of it on its first line."""
        index = bisect_right(self._line_starts, span.start) - 1
        start = self._line_starts[index]
        line_end = _LINE_END.search(self.text, start)
        line = self.text[start : line_end.start() if line_end else len(self.text)]
        column = min(span.start - start, len(line))
        width = max(1, min(span.end - span.start, len(line) - column))
        return Diagnostic(code, message, hint, self.name, index + 1, column + 1, width, line)


class Problems:
    """The mistakes noted so far in one source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def add(self, code: str, place: Span | Node, message: str, hint: str) -> None:
        """Note a problem at a span or a node."""
        assert code in CODES, code
        if self.full:
            return
        span = place if isinstance(place, Span) else place.span or Span(0, 0)
        diagnostic = self.source.diagnostic(span, code, _shortened(message), _shortened(hint))
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    @property
    def full(self) -> bool:
        """Tell whether no further problems are noted, so that callers can stop looking for them."""
        return len(self.diagnostics) >= MOST_PROBLEMS

    def raise_if_any(self) -> None:
        """Raise all problems as one SpecError, in the order of the text."""
        if self.diagnostics:
            raise SpecError(sorted(self.diagnostics, key=lambda one: (one.line, one.column)))


def _shortened(text: str) -> str:
    """Return a message that fits on a screen, however long the names it quotes."""
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[: LONGEST_MESSAGE - 60]} … {text[-50:]}"
