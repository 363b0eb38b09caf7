"""What the subcommands share: reading specs, printing results and errors, types of options."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from rich.console import Console
from rich.text import Text

from wex import limits
from wex.cli.tables import print_table
from wex.engine.files.formats import named_format
from wex.engine.kernels.compiled import before_compiling
from wex.errors import SpecError, WexError, clean, counted
from wex.spec import load, parse_bytes
from wex.spec.types import UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from rich.progress import Progress

    from wex.spec.tree import Spec


SHOWN = 20  # rows of a result that are printed on a terminal
SILENT_SECONDS = 2.0  # before progress is shown
STYLES = {"error": "bold red", "-->": "blue", "= help:": "green"}


def out() -> Console:
    """Return the console for texts: in colour on a terminal, and lines are not cut."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False)


def deliver(
    result: pa.Table,
    counts: str,
    output: str | None,
    output_format: str | None = None,
    *,
    json_wanted: bool,
    wide: bool,
) -> None:
    """Write a result to a file, or print it, as JSON or as a table; `counts` says what it has.

    A `wide` table has all columns, also if a terminal is too narrow.
    """
    from wex.engine.files.writing import json_lines, write_table  # noqa: PLC0415  (loads Arrow)

    if output is not None:
        write_table(result, Path(output), output_format)
        click.echo(clean(f"{counts}, in {output}"), err=True)
        return
    if json_wanted:
        for line in json_lines(result):
            click.echo(line)
        return
    shown = SHOWN if sys.stdout.isatty() else result.num_rows
    hidden = print_table(result, shown, wide=wide)
    more = f", the first {shown} shown" if result.num_rows > shown else ""
    click.echo(clean(f"{counts}{more}"), err=True)
    if hidden:
        click.echo(clean(f"not shown: {', '.join(hidden)} (--wide shows all columns)"), err=True)


def read_spec(path: str) -> Spec:
    """Return the spec in a file, or on standard input for `-`."""
    if path == "-":
        if sys.stdin is None:
            raise WexError("no-file", "standard input is closed", "give the path of a spec file")
        return parse_bytes(sys.stdin.buffer.read(limits.current().spec_bytes + 1), "<stdin>")
    try:
        return load(path)
    except SpecError as error:
        if named_format(Path(path)) is None:
            raise
        message = f"{path} is data by its name, and its content is not a spec"
        raise WexError("not-a-spec", message, "give the path of a spec file") from error


def require_spark() -> None:
    """Raise a WexError if PySpark is not installed."""
    if find_spec("pyspark") is None:
        hint = "install it: pip install 'wex-windows[spark]'"
        raise WexError("no-spark", "PySpark is not installed", hint)


def warn_if_unbounded(spec: Spec, windows: pa.Table | None = None) -> None:
    """Warn on standard error of windows that can hold an unbounded number of starts.

    If `windows` were found, also of those that can never be among them.
    """
    from wex.analysis import boundedness_guard as guard  # noqa: PLC0415  (loads the solver)

    absent = guard.names_without_rows(spec, windows) if windows is not None else None
    for line in (*guard.unbounded(spec), *(guard.never_found(spec, absent) if absent else ())):
        click.echo(clean(f"warning: {line}"), err=True)


@contextmanager
def reading_progress() -> Iterator[Callable[[int, int, float | None], None]]:
    """Yield a function that shows progress on standard error, if that is a terminal, from two seconds on.

    It takes the number of events read, of windows found, and the part of the input that has been read.
    """
    if not (sys.stderr and sys.stderr.isatty()):
        yield lambda _events, _windows, _share: None
        return
    begin = time.monotonic()
    with ExitStack() as shown:
        bar: Progress | None = None

        def update(events: int, windows: int, share: float | None) -> None:
            nonlocal bar
            seconds = time.monotonic() - begin
            if bar is None:
                if seconds < SILENT_SECONDS:
                    return
                bar = shown.enter_context(_progress_bar())
            counts = f"{counted(events, 'event')}, {counted(windows, 'window')}"
            per_cent = "" if share is None else f"{100 * share:3.0f} %"
            rate = f"{_short(events / seconds)} events/s"
            done = None if share is None else round(1000 * share)
            bar.update(bar.task_ids[0], completed=done, total=1000 if share is not None else None)
            bar.update(bar.task_ids[0], per_cent=per_cent, counts=counts, rate=rate)

        yield update


def _progress_bar() -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    texts = (TextColumn(f"{{task.fields[{name}]}}") for name in ("per_cent", "counts", "rate"))
    console = Console(file=sys.stderr)
    bar = Progress(
        BarColumn(bar_width=20), *texts, TimeElapsedColumn(), console=console, transient=True
    )
    bar.add_task("", total=None, per_cent="", counts="", rate="")
    return bar


def _short(number: float) -> str:
    """Return a number in three digits.

    >>> _short(1234567), _short(98765), _short(12)
    ('1.23 M', '98.8 k', '12')
    """
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{letter}"
    return f"{number:.3g}"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say on standard error what takes more than two seconds, if that is a terminal."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield
        return
    status = Console(file=sys.stderr).status(what)
    timer = threading.Timer(SILENT_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def announce_compiling() -> None:
    """Say on standard error when kernels are compiled, if that is a terminal."""
    if sys.stderr.isatty():
        line = "compiling kernels for the first time, about 10 s …"
        before_compiling(lambda: click.echo(line, err=True))


def fail(error: WexError) -> None:
    """Print an error to standard error, in colour on a terminal."""
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True, emoji=False)
    for line in str(error).splitlines():
        text = Text(line)
        for mark, style in STYLES.items():
            if line.lstrip().startswith(mark):
                column = line.index(mark)
                text.stylize(style, column, column + len(mark))
        if set(line.partition("|")[2].strip()) == {"^"}:
            text.stylize("bold red", line.index("^"))
        console.print(text)


def as_json(error: WexError) -> dict[str, object]:
    """Return an error as a value for JSON."""
    if isinstance(error, SpecError):
        return {"errors": [diagnostic.as_dict() for diagnostic in error.diagnostics]}
    return {"errors": [{"code": error.code, "message": error.message, "hint": error.hint}]}


def print_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2))


# A path, for shells that complete it; whether it can be read is said by those who read it.
PATH = click.Path(readable=False)
WIDE = click.option(
    "--wide", is_flag=True, help="Print all columns in full, however wide the table becomes."
)


class Setting(click.ParamType[tuple[str, str]]):
    """A setting, written `name=value`."""

    name = "name=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return the name and the value."""
        name, equals, rest = str(value).partition("=")
        if not name or not equals:
            self.fail(f"expected name=value, got {value!r}", param, ctx)
        return name, rest


class Duration(click.ParamType[timedelta]):
    """A duration as in specs: `20 seconds`, `1 hour`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the duration."""
        number, _, unit = str(value).partition(" ")
        if not number.isdigit() or unit not in UNITS:
            self.fail(f"expected a duration such as '20 seconds', got {value!r}", param, ctx)
        return timedelta(microseconds=int(number) * UNITS[unit])


def hide_pandas() -> None:
    """Make pandas look as if it were not installed, in this process.

    PyArrow imports it, where it is installed, for the first array; that takes half a second.
    """
    sys.meta_path.insert(0, _WithoutPandas())


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is hidden from this command", name=fullname)


class Pipe(io.TextIOWrapper):
    """A text stream that discards its output once the reader has closed the pipe."""

    def write(self, text: str) -> int:
        """Write text, or discard it if the pipe is closed."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._discard()
            return len(text)

    def flush(self) -> None:
        """Flush the stream, or discard its content if the pipe is closed."""
        try:
            super().flush()
        except BrokenPipeError:
            self._discard()

    def _discard(self) -> None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)


def guarded(stream: TextIO | None) -> TextIO:
    """Return a stream that ignores closed pipes and escapes characters it cannot encode."""
    if stream is None:  # closed before the program began
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # a test has replaced it
    encoding, line_buffering = stream.encoding, stream.line_buffering
    return Pipe(
        stream.detach(),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=line_buffering,
    )
