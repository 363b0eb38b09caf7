"""The text of a spec, and the way from an offset in it to a line that a person can look at."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from wex.cached import cached_property
from wex.errors import Diagnostic

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
