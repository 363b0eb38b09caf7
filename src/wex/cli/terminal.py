"""What the subcommands share: exit statuses, and how things look on a terminal."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import contextmanager
from datetime import timedelta
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, TextIO

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wex import limits
from wex.engine.kernels.compiled import before_compiling
from wex.errors import SpecError, WexError, clean
from wex.spec import load, parse_bytes
from wex.spec.types import UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from wex.spec.tree import Spec


STYLES = {"error": "bold red", "-->": "blue", "= help:": "green"}


def out(*, wide: bool = False) -> Console:
    """Return the console for results: colours on a terminal only; `wide` lines are cut there only."""
    width = 100_000 if wide and not sys.stdout.isatty() else None
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False, width=width)


def rows_table(table: pa.Table) -> Table:
    """Return the rows of a result to look at."""
    from wex.engine.files.writing import shown_rows  # noqa: PLC0415  (loads Arrow)

    shown = Table(*map(clean, table.column_names), box=SIMPLE_HEAD)
    for row in shown_rows(table):
        shown.add_row(*map(clean, row))
    return shown


def counted(number: int, noun: str) -> str:
    """Return how many there are of something.

    >>> counted(1, "window"), counted(1200, "event")
    ('1 window', '1,200 events')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def read_spec(path: str) -> Spec:
    """Return the spec in a file, or on standard input for `-`."""
    if path == "-":
        if sys.stdin is None:
            raise WexError("no-file", "standard input is closed", "give the path of a spec file")
        return parse_bytes(sys.stdin.buffer.read(limits.current().spec_bytes + 1), "<stdin>")
    return load(path)


def require_spark() -> None:
    """Raise a WexError if PySpark is not there."""
    if find_spec("pyspark") is None:
        hint = "install it: pip install 'wex-windows[spark]'"
        raise WexError("no-spark", "PySpark is not installed", hint)


def warn_if_unbounded(spec: Spec) -> None:
    """Say on standard error if the starts that a window holds can grow without bound."""
    from wex.analysis.boundedness_guard import unbounded  # noqa: PLC0415  (loads the solver)

    for line in unbounded(spec):
        click.echo(clean(f"warning: {line}"), err=True)


@contextmanager
def reading_progress() -> Iterator[Callable[[int, int, int | None], None]]:
    """Show on standard error how far a file is read, if that is a terminal."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield lambda _read, _found, _rows: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    text = TextColumn("{task.fields[told]}")
    console = Console(file=sys.stderr)
    with Progress(BarColumn(), text, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None, told="")

        def told(read: int, found: int, rows: int | None) -> None:
            line = f"{counted(read, 'event')}, {counted(found, 'window')}"
            bar.update(task, completed=read, total=rows, told=line)

        yield told


def announce_compiling() -> None:
    """Say on standard error why the first run takes longer, if that is a terminal."""
    if sys.stderr.isatty():
        line = "compiling kernels for the first time, about 10 s …"
        before_compiling(lambda: click.echo(line, err=True))


def fail(error: WexError) -> None:
    """Print an error to standard error, in colour on a terminal."""
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True, emoji=False)
    for line in str(error).splitlines():
        text = Text(line)
        for mark, style in STYLES.items():
            at = line.find(mark)
            if at >= 0 and line[:at].strip() == "":
                text.stylize(style, at, at + len(mark))
        if set(line.partition("|")[2].strip()) == {"^"}:
            text.stylize("bold red", line.index("^"))
        console.print(text)


def as_json(error: WexError) -> dict[str, object]:
    """Return an error for machines."""
    if isinstance(error, SpecError):
        return {"errors": [each.as_dict() for each in error.diagnostics]}
    return {"errors": [{"code": error.code, "message": error.message, "hint": error.hint}]}


def print_json(value: object) -> None:
    """Print a value for machines."""
    click.echo(json.dumps(value, indent=2))


class Setting(click.ParamType[tuple[str, str]]):
    """A setting, written `name=value`."""

    name = "name=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return name and value."""
        name, equals, rest = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} is not of the form name=value", param, ctx)
        return name, rest


class Duration(click.ParamType[timedelta]):
    """A time as specs write it: `20 seconds`, `1 hour`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the time."""
        number, _, unit = str(value).partition(" ")
        if not number.isdigit() or unit not in UNITS:
            self.fail(f"{value!r} is not like '20 seconds' or '1 hour'", param, ctx)
        return timedelta(microseconds=int(number) * UNITS[unit])


def hide_pandas() -> None:
    """Let this process go on as if pandas were not installed.

    Where it is, PyArrow imports it for the first array, which takes longer than most commands.
    """
    sys.meta_path.insert(0, _WithoutPandas())


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is hidden from this command", name=fullname)


class Pipe(io.TextIOWrapper):
    """A text stream that goes on into nowhere once its reader has gone."""

    def write(self, text: str) -> int:
        """Write, unless nobody reads any more."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flush, unless nobody reads any more."""
        try:
            super().flush()
        except BrokenPipeError:
            self._give_up()

    def _give_up(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def guarded(stream: TextIO | None) -> TextIO:
    """Return a stream for output that never fails for want of a reader or of an encoding."""
    if stream is None:  # closed before the program began
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # a test's own
    encoding, buffered = stream.encoding, not stream.line_buffering
    return Pipe(
        stream.detach(), encoding=encoding, errors="backslashreplace", line_buffering=not buffered
    )
