"""The errors of WEX, how they are printed, and hints that suggest a similar name.

Every mistake of a user raises a WexError with a stable code and a hint on how to fix it.
"""

from __future__ import annotations

import os
import unicodedata
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Longer source lines are cut around the caret, so that an error fits on a screen.
SHOWN_COLUMNS = 100
MOST_SHOWN = 20  # diagnostics in one error
MOST_NAMED = 12  # names in one hint


class WexError(Exception):
    """A mistake in a call, a spec or the data, with a hint on how to fix it."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {clean(self.message)}"]
        if self.hint:
            lines.append(f"  = help: {clean(self.hint)}")
        return "\n".join(lines)


class LimitError(WexError):
    """A limit was exceeded; the hint says how to raise it."""

    def __init__(self, limit: str, message: str, hint: str) -> None:
        super().__init__(f"limit-{limit.replace('_', '-')}", message, hint)
        self.args = (limit, message, hint)  # pickle passes these to __init__
        self.limit = limit


class UnboundedError(WexError):
    """A spec whose number of open starts is unbounded, on a stream without end.

    `witness` is a stream, as an Arrow table, on which it grows, or None if none was found.
    """

    def __init__(self, code: str, message: str, hint: str, witness: Any = None) -> None:
        super().__init__(code, message, hint)
        self.args = (code, message, hint, witness)
        self.witness = witness


class StateError(WexError):
    """Saved bytes that cannot be used: damaged, or of another version or spec."""


# Every code a DataError can have, with its meaning. Codes are stable: tools may rely on them.
DATA_CODES = {
    "arithmetic": "arithmetic without a result: integer overflow, or not a number",
    "arrow": "data that Arrow cannot process: too large, or of a type that it cannot sort",
    "assumption": "a stream that violates an assumption (`assume`)",
    "changed": "data that has changed since its ranges were determined",
    "column-clash": "a column that has the name of another one in the rows of windows",
    "column-twice": "two columns of one name",
    "enum-value": "a value that the enum does not list",
    "interleaved": "rows of one stream that are not adjacent, in data sorted by key",
    "late": "an event that sorts before an earlier event of its stream",
    "malformed": "text that is not a valid row: an incomplete message, or another format",
    "missing-column": "a field of the stream that is not a column of the data",
    "not-columns": "something that holds no columns",
    "null": "NULL or NaN in a field that a window depends on",
    "null-order": "NULL or NaN in a column that orders the stream",
    "sub-microsecond": "a timestamp finer than microseconds",
    "unknown-key": "a key that no stream of the data has",
    "unsorted": "rows that are not in the required order",
    "unreadable": "a file whose content does not match its format or the fields",
    "timestamp-range": "a timestamp that 64 bits of microseconds cannot hold",
    "windows-unfit": "windows, found elsewhere, that are not windows of these events",
    "wrong-column-type": "a column whose type does not match the type of the field",
    "wrong-value": "a value that does not match the type of the field",
    "zones-mixed": "timestamps with and without a time zone",
}


class DataError(WexError):
    """Data that a spec cannot be run on.

    The attributes say where: the column, the key of the stream and the position of the event, for
    files also the file and the line. `options` are arguments of `find_in_file` that may help.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str,
        *,
        column: str | None = None,
        key: tuple[object, ...] | None = None,
        position: int | None = None,
        file: str | None = None,
        line: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        assert code in DATA_CODES, code
        super().__init__(code, message, hint)
        self.column = column
        self.key = key
        self.position = position
        self.file = file
        self.line = line
        self.options = options

    def __reduce__(self) -> tuple[object, ...]:
        names = ("column", "key", "position", "file", "line", "options")
        places = {name: getattr(self, name) for name in names}
        return _data_error, (self.code, self.message, self.hint, places)

    def __str__(self) -> str:
        lines = super().__str__().splitlines()
        places = []
        if self.file is not None:
            places.append(self.file)
        if self.line is not None:
            places.append(f"line {self.line:,}")
        if self.column is not None:
            places.append(f"column `{self.column}`")
        if self.key:
            places.append(f"stream {', '.join(map(repr, self.key))}")
        if self.position is not None:
            places.append(f"event {self.position}")
        if places:
            lines.insert(1, clean(f"  --> {', '.join(places)}"))
        return "\n".join(lines)


def _data_error(code: str, message: str, hint: str, places: dict[str, Any]) -> DataError:
    return DataError(code, message, hint, **places)


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a spec and its place; lines and columns count from 1."""

    code: str
    message: str
    hint: str
    source_name: str
    line: int
    column: int
    width: int
    source_line: str

    def __str__(self) -> str:
        number = str(self.line)
        margin = " " * len(number)
        shown, caret = _excerpt(self.source_line, self.column - 1, self.width)
        return "\n".join(
            (
                f"error[{self.code}]: {clean(self.message)}",
                f"{margin}--> {self.source_name}:{self.line}:{self.column}",
                f"{margin} |",
                f"{number} | {shown}".rstrip(),
                f"{margin} | {caret}",
                f"{margin} = help: {clean(self.hint)}",
            )
        )

    def as_dict(self) -> dict[str, str | int]:
        """Return the attributes as a dict, for example for JSON."""
        return asdict(self)


class SpecError(WexError):
    """A spec with mistakes: one or more diagnostics; `code`, `line` and so on are of the first."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        first = diagnostics[0]
        super().__init__(first.code, first.message, first.hint)
        self.args = (tuple(diagnostics),)  # pickle passes these to __init__
        self.diagnostics = tuple(diagnostics)
        self.line = first.line
        self.column = first.column
        self.source_line = first.source_line

    def __str__(self) -> str:
        shown = [str(diagnostic) for diagnostic in self.diagnostics[:MOST_SHOWN]]
        more = len(self.diagnostics) - len(shown)
        return "\n\n".join([*shown, *([f"... and {more} more"] if more else [])])


def _excerpt(line: str, start: int, width: int) -> tuple[str, str]:
    """Return the visible part of a line, and the carets below it aligned for a terminal."""
    first = max(0, start - SHOWN_COLUMNS // 2) if len(line) > SHOWN_COLUMNS else 0
    last = first + SHOWN_COLUMNS
    before, marked = line[first:start], line[start : min(start + width, last)]
    left, right = "..." if first else "", "..." if last < len(line) else ""
    caret = " " * (len(left) + cells(before)) + "^" * max(1, cells(marked))
    return left + "".join(map(_visible, line[first:last])) + right, caret


def clean(text: str) -> str:
    """Return a message without control characters, which quoted names may contain."""
    return "".join(map(_visible, text))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "window"), counted(1200, "event")
    ('1 window', '1,200 events')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _visible(char: str) -> str:
    """Return a printable character for a character."""
    return char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"


def cells(text: str) -> int:
    """Return the width of a text in a terminal: wide characters count 2, combining ones 0."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)


def closest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the candidate most similar to a word, or None if none is similar.

    >>> closest("prise", ["price", "volume"])
    'price'
    >>> closest("Price", ["price", "volume"])
    'price'
    >>> closest("x", ["price", "volume"]) is None
    True
    """
    names = list(candidates)
    for name in names:
        if name.lower() == word.lower():
            return name
    matches = get_close_matches(word, names, n=1, cutoff=cutoff)
    return matches[0] if matches else None


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str) -> str:
    """Return a hint that names the most similar candidate, or else lists them after `otherwise`.

    >>> did_you_mean("prise", ["price", "volume"], "")
    'did you mean `price`?'
    >>> did_you_mean("x", ["price", "volume"], "the names are")
    'the names are `price`, `volume`'
    """
    names = list(candidates)
    best = closest(word, names)
    if best is not None:
        return f"did you mean `{best}`?"
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{otherwise} {shown}" + (f" and {more} more" if more > 0 else "")


def hint_for_path(path: str, otherwise: str) -> str:
    """Return a hint that names the existing path most similar to one that does not exist."""
    similar = _similar_path(path)
    return otherwise if similar is None else f"did you mean `{similar}`?"


def _similar_path(path: str) -> str | None:
    """Return an existing path whose every part is the given one or the most similar; None: there is none.

    Names are compared without their endings: those make all files of one kind similar.
    """
    anchor = Path(path).anchor
    similar = Path(anchor)
    try:
        for name in Path(path).parts[bool(anchor) :]:
            meant: str | None = name
            if not os.path.lexists(similar / name):
                names = [entry.name for entry in similar.iterdir()]
                stem = closest(_stem(name), map(_stem, names))
                meant = closest(name, (each for each in names if _stem(each) == stem), 0)
            if meant is None:
                return None
            similar /= meant
    except (OSError, ValueError):  # a folder that cannot be read, a file as a folder, a NUL
        return None
    return None if similar == Path(path) else str(similar)


def _stem(name: str) -> str:
    return name.lstrip(".").partition(".")[0] or name
