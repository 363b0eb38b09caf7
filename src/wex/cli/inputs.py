"""The options of commands that read events from files: which streams, and how text is written."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from wex.cli.terminal import Setting
from wex.engine.files.options import in_python, in_shell, text_options
from wex.engine.files.sources import STDIN
from wex.engine.find import Request
from wex.engine.input.key_filter import parse_keys
from wex.errors import DataError, clean
from wex.spec import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wex.engine.files.options import TextOptions
    from wex.engine.files.sources import Given

OPTIONS = (
    click.option(
        "--where-key",
        "where",
        multiple=True,
        type=Setting(),
        help="Read only the streams with this value in a key column, such as symbol=A. Repeatable.",
    ),
    click.option(
        "--input-format",
        help="Format of FILE: parquet, csv, json (one object per line) or arrow.  [default: by its name]",
    ),
    click.option("--delimiter", help="Character between CSV columns, or `tab`.  [default: ,]"),
    click.option("--quote", help='Character around quoted CSV values.  [default: "]'),
    click.option(
        "--no-header",
        is_flag=True,
        help="The CSV has no header line; its columns are the fields of the stream, in order.",
    ),
    click.option(
        "--timestamp-format",
        multiple=True,
        help="Format of timestamps in CSV and JSON: iso, epoch-s, epoch-ms, epoch-us, or a pattern such as"
        " '%d.%m.%Y %H:%M'. Repeatable.  [default: iso]",
    ),
    click.option(
        "--decimal-comma",
        is_flag=True,
        help="Numbers in CSV and JSON strings have a decimal comma: 1,5.",
    ),
    click.option(
        "--null",
        multiple=True,
        help="Text that stands for NULL in CSV and JSON, in addition to the empty one. Repeatable.",
    ),
    click.option(
        "--empty-as-text",
        is_flag=True,
        help="Read an empty value of a string column as '', not NULL.",
    ),
    click.option(
        "--encoding", help="Encoding of CSV and JSON, such as utf-16 or cp1252.  [default: utf-8]"
    ),
)
TEXT_OPTIONS = (
    "delimiter",
    "quote",
    "no_header",
    "timestamp_format",
    "decimal_comma",
    "null",
    "empty_as_text",
    "encoding",
)


@dataclass(frozen=True)
class Reading:
    """How files are read: their format, how text is written in them, and which streams to keep."""

    input_format: str | None
    options: TextOptions
    where_key: Mapping[str, object] | None

    def request(self, given: Given, *, rows: bool = False, threads: int | None = None) -> Request:
        """Return the request to read some files in this way."""
        return Request(given, self.input_format, self.options, self.where_key, rows, threads)


def input_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command; it gets them as one argument, `reading`."""

    @wraps(command)
    def with_reading(
        *, where: tuple[tuple[str, str], ...], input_format: str | None, **others: Any
    ) -> int:
        options = text_options(**{name: others.pop(name) for name in TEXT_OPTIONS})
        reading = Reading(input_format, options, parse_keys(where) or None)
        return command(reading=reading, **others)

    decorated: Callable[..., int] = with_reading
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    return decorated


def check_inputs(spec: str, *paths: str) -> None:
    """Raise a UsageError if a spec and files were swapped, or if several are standard input."""
    if (spec, *paths).count(STDIN) > 1:
        raise click.UsageError("- stands for standard input, which can be read once only")
    swapped = next((path for path in paths if path.endswith(SUFFIX)), None)
    if swapped is not None and not spec.endswith(SUFFIX):
        words = {spec: swapped, swapped: spec}
        command = shlex.join(["wex", *(words.get(word, word) for word in sys.argv[1:])])
        message = f"{spec} and {swapped} are swapped, the spec comes first: {command}"
        raise click.UsageError(clean(message))


@contextmanager
def options_of_the_shell() -> Iterator[None]:
    """Write the options that an error suggests as they are typed in a shell, not as in Python."""
    try:
        yield
    except DataError as error:
        if error.options:
            error.hint = str(error.hint).replace(
                in_python(error.options), in_shell(error.options), 1
            )
        raise
