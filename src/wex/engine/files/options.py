"""Options for reading text files: delimiters, encodings, formats of timestamps.

Their names are those of the arguments of `find_in_file` and of the options of `wex find`.
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

    delimiter: str | None = None  # between columns; None: a tab in .tsv files, else a comma
    quote: str = '"'
    no_header: bool = False  # the columns are the fields of the stream line, in order
    timestamp_format: tuple[str, ...] = ()  # tried in this order; empty: ISO 8601
    decimal_comma: bool = False
    null: tuple[str, ...] = ()  # texts that mean NULL, in addition to an empty field
    empty_as_text: bool = False  # an empty field of a string column is the empty string
    encoding: str = "utf-8"

    @property
    def formats(self) -> tuple[str, ...]:
        """Return the formats of timestamps, in the order in which they are tried."""
        return self.timestamp_format or (ISO,)

    def with_changes(self, changes: Mapping[str, object]) -> TextOptions:
        """Return a copy of the options with some changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


NAMES = tuple(field.name for field in fields(TextOptions))


def text_options(**given: object) -> TextOptions:
    """Return the options of a call, checked.

    >>> text_options(delimiter="tab", timestamp_format="%b %d %Y").timestamp_format
    ('%b %d %Y',)
    >>> text_options(null=(text for text in ("NA", "-"))).null
    ('NA', '-')
    """
    for name in given:
        if name not in NAMES:
            hint = did_you_mean(name, NAMES, "the options are")
            raise WexError("unknown-option", f"unknown option `{name}`", hint)
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in ("timestamp_format", "null"):
        if name in chosen:
            chosen[name] = _texts(name, chosen[name])
    for name in ("no_header", "decimal_comma", "empty_as_text"):
        if not isinstance(chosen.get(name, False), bool):
            raise _wrong_option(name, chosen[name], "use True or False")
    options = TextOptions().with_changes(chosen)
    for pattern in options.timestamp_format:
        check_format(pattern)
    delimiter = options.delimiter
    if delimiter in TAB_WORDS:
        options = replace(options, delimiter="\t")
    elif delimiter is not None and not _is_separator(delimiter):
        raise _wrong_option("delimiter", delimiter, "use one character, such as `;`, or `tab`")
    if not _is_separator(options.quote) or options.quote == (options.delimiter or ","):
        raise _wrong_option("quote", options.quote, "use one character other than the delimiter")
    try:
        name = codecs.lookup(options.encoding).name
        "".encode(name)
    except (LookupError, TypeError, ValueError):
        hint = "use an encoding such as utf-8, utf-16, latin-1 or cp1252"
        raise _wrong_option("encoding", options.encoding, hint) from None
    return replace(options, encoding=name)


def _texts(name: str, given: object) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else given
    if isinstance(texts, Iterable):
        texts = tuple(texts)
        if all(isinstance(text, str) for text in texts):
            return texts
    raise _wrong_option(name, given, "use a text or a list of texts")


def _is_separator(given: object) -> bool:
    return isinstance(given, str) and len(given) == 1 and given.isascii() and given not in "\r\n\0"


def _wrong_option(name: str, given: object, hint: str) -> WexError:
    return WexError("wrong-option", f"{name} cannot be {given!r}", hint)


def in_python(options: Mapping[str, object]) -> str:
    """Return options as arguments of a call.

    >>> in_python({"timestamp_format": ("%b %d %Y",), "no_header": True})
    "timestamp_format='%b %d %Y', no_header=True"
    """
    return ", ".join(f"{name}={_single_or_list(value)!r}" for name, value in options.items())


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
        for text in value if isinstance(value, tuple) else (value,):
            words += [option, "tab" if text == "\t" else shlex.quote(str(text))]
    return " ".join(words)


def _single_or_list(value: object) -> object:
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return value
