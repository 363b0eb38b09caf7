"""Options of text files: separators, encodings, formats that CSV and JSON leave open.

The names are those of the arguments of `find_in_file`, and of the options of `wex find`.
"""

from __future__ import annotations

import codecs
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from wex.engine.files.moments import ISO, check_format
from wex.errors import WexError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

TAB_WORDS = ("tab", "\\t")


@dataclass(frozen=True)
class TextOptions:
    """Options for reading texts; those about columns and lines apply to CSV only."""

    delimiter: str | None = None  # between columns; else a tab in .tsv files, and a comma
    quote: str = '"'
    no_header: bool = False  # the columns are the fields of the stream line, in order
    timestamp_format: tuple[str, ...] = ()  # each is tried in turn; none: ISO 8601
    decimal_comma: bool = False
    null: tuple[str, ...] = ()  # texts that are NULL, beside an empty field
    empty_as_text: bool = False  # an empty field of a string column is the empty string
    encoding: str = "utf-8"

    @property
    def formats(self) -> tuple[str, ...]:
        """Return the formats of timestamps, in the order in which they are tried."""
        return self.timestamp_format or (ISO,)

    def having(self, changed: Mapping[str, object]) -> TextOptions:
        """Return a copy of the options with some changed."""
        return replace(self, **changed)  # type: ignore[arg-type]


NAMES = tuple(field.name for field in fields(TextOptions))


def text_options(**given: object) -> TextOptions:
    """Return the options of a call, checked.

    >>> text_options(delimiter="tab", timestamp_format="%b %d %Y").timestamp_format
    ('%b %d %Y',)
    """
    for name in given:
        if name not in NAMES:
            hint = did_you_mean(name, NAMES, "the options are")
            raise WexError("unknown-option", f"there is no option `{name}`", hint)
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in ("timestamp_format", "null"):
        if name in chosen:
            chosen[name] = _texts(name, chosen[name])
    for name in ("no_header", "decimal_comma", "empty_as_text"):
        if not isinstance(chosen.get(name, False), bool):
            raise _wrong(name, chosen[name], "give True or False")
    options = TextOptions().having(chosen)
    for pattern in options.timestamp_format:
        check_format(pattern)
    delimiter = options.delimiter
    if delimiter in TAB_WORDS:
        options = replace(options, delimiter="\t")
    elif delimiter is not None and not _separates(delimiter):
        raise _wrong("delimiter", delimiter, "give one character, as `;` or `tab`")
    if not _separates(options.quote) or options.quote == (options.delimiter or ","):
        raise _wrong("quote", options.quote, "give one character that is not the delimiter")
    try:
        name = codecs.lookup(options.encoding).name
        "".encode(name)
    except (LookupError, TypeError, ValueError):
        raise _wrong("encoding", options.encoding, "as utf-8, utf-16, latin-1, cp1252") from None
    return replace(options, encoding=name)


def _texts(name: str, given: object) -> tuple[str, ...]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Iterable) or not all(isinstance(each, str) for each in several):
        raise _wrong(name, given, "give a text, or a list of texts")
    return tuple(several)


def _separates(given: object) -> bool:
    return isinstance(given, str) and len(given) == 1 and given.isascii() and given not in "\r\n\0"


def _wrong(name: str, given: object, hint: str) -> WexError:
    return WexError("wrong-option", f"{name} cannot be {given!r}", hint)


def in_python(options: Mapping[str, object]) -> str:
    """Return options as arguments of a call.

    >>> in_python({"timestamp_format": ("%b %d %Y",), "no_header": True})
    "timestamp_format='%b %d %Y', no_header=True"
    """
    return ", ".join(f"{name}={_alone(value)!r}" for name, value in options.items())


def in_shell(options: Mapping[str, object]) -> str:
    r"""Return options as arguments of a command line.

    >>> print(in_shell({"timestamp_format": ("%b %d %Y",), "no_header": True, "delimiter": "\t"}))
    --timestamp-format '%b %d %Y' --no-header --delimiter tab
    """
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
            continue
        for each in value if isinstance(value, tuple) else (value,):
            words += [option, "tab" if each == "\t" else shlex.quote(str(each))]
    return " ".join(words)


def _alone(value: object) -> object:
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return value
