"""Finds the files of an input: paths, patterns, folders and standard input."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from wex.engine.files.formats import (
    check_format_name,
    compression_of,
    format_by_content,
    format_of,
    named_format,
)
from wex.errors import DataError, WexError

if TYPE_CHECKING:
    from typing import BinaryIO

Given: TypeAlias = str | Path | Iterable[str | Path]

STDIN = "-"
HEAD = 4096  # bytes that tell what a file is
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write NULL in the name of a folder


@dataclass(frozen=True)
class File:
    """A file that can be read more than once, and the columns of its folder: `symbol=A/part.parquet`."""

    path: Path
    shown: str
    format: str
    compression: str | None = None
    constants: Mapping[str, str | None] = field(default_factory=dict)

    def opened(self) -> pa.NativeFile:
        """Open the file, decompressed."""
        return pa.input_stream(str(self.path), compression=self.compression)


@contextmanager
def files_of(given: Given, input_format: str | None = None) -> Iterator[list[File]]:
    """Yield the files that a user names, in order; pipes are copied to a file first."""
    if input_format is not None:
        check_format_name(input_format)
    named = [file for each in _listed(given) for file in _named(each, input_format)]
    with tempfile.TemporaryDirectory(prefix="wex-", ignore_cleanup_errors=True) as folder:
        yield [
            _file(path, root, input_format, Path(folder) / str(at))
            for at, (path, root) in enumerate(named)
        ]


def _listed(given: Given) -> list[str]:
    several: object = [given] if isinstance(given, (str, Path)) else given
    paths = list(several) if isinstance(several, Iterable) else []
    if not paths or not all(isinstance(each, (str, os.PathLike)) for each in paths):
        hint = "give a path, a pattern as 'data/*.csv', a folder, or a list of these"
        raise WexError("no-file", f"{given!r} names no file", hint)
    names = [os.fspath(each) for each in paths]
    for name in names:
        if not name or "\0" in name:  # an unset variable of the shell, not the current folder
            raise WexError("no-file", f"{name!r} names no file", "give the path of a file")
    return names


def _named(given: str, input_format: str | None) -> list[tuple[str, Path | None]]:
    """Return the files of a path, a pattern or a folder, each with the folder that was named."""
    path = Path(given)
    if given == STDIN:
        return [(given, None)]
    if path.is_dir():
        return [(str(each), path) for each in _of_folder(path, input_format)]
    if not path.exists() and glob.has_magic(given):
        found = sorted(each for each in glob.glob(given, recursive=True) if _is_visible(Path(each)))  # noqa: PTH207
        if not found:
            raise WexError("no-file", f"{given}: no file matches", "give a path that exists")
        return [
            file
            for each in found
            for file in (_named(each, input_format) if Path(each).is_dir() else [(each, None)])
        ]
    return [(given, None)]


def _of_folder(folder: Path, input_format: str | None) -> list[Path]:
    """Return the data files of a folder, and of those below it that are named `column=value`."""
    files = list(_walked(folder))
    formats = {each: named_format(each) for each in files}
    if input_format is not None:
        found = [each for each in files if formats[each] in (None, input_format)]
    else:
        found = [each for each in files if formats[each] is not None]
        kinds = sorted({str(formats[each]) for each in found})
        if len(kinds) > 1:
            hint = f"say which to read: --input-format {kinds[0]}, or input_format={kinds[0]!r}"
            raise WexError(
                "unknown-format", f"{folder} has files of several formats: {', '.join(kinds)}", hint
            )
    if not found:
        kind = f"{input_format} file" if input_format else "file whose name tells its format"
        raise WexError("no-file", f"{folder}: there is no {kind} in this folder", "name its files")
    return found


def _walked(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise no_file_error(str(folder), error) from error
    for entry in entries:
        if not _is_visible(entry):
            continue
        if not entry.is_dir():
            yield entry
        elif "=" in entry.name:
            yield from _walked(entry)


def _is_visible(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def _file(given: str, root: Path | None, input_format: str | None, copy: Path) -> File:
    if given == STDIN:
        if sys.stdin is None:
            raise WexError("no-file", "standard input is closed", "give the path of a file")
        _copy(sys.stdin.buffer, copy)
        return _checked(copy, "<stdin>", input_format, copy, sniff=True)
    path = Path(given)
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return _checked(path, given, input_format, copy, constants=_constants(path, root))
        with path.open("rb") as pipe:
            _copy(pipe, copy)
    except OSError as error:
        raise no_file_error(given, error) from error
    return _checked(copy, given, input_format, copy, sniff=True)


def _checked(
    path: Path,
    shown: str,
    input_format: str | None,
    copy: Path,
    *,
    constants: Mapping[str, str | None] | None = None,
    sniff: bool = False,
) -> File:
    with path.open("rb") as opened:
        compression = compression_of(opened.read(HEAD))
    try:
        if input_format is None and sniff:
            with pa.input_stream(str(path), compression=compression) as stream:
                kind = format_by_content(stream.read(HEAD))
        else:
            kind = format_of(Path(shown), input_format)
        if compression is not None and kind in ("parquet", "arrow"):  # read from many places
            copy = copy.with_name(f"{copy.name}.plain")
            with pa.input_stream(str(path), compression=compression) as stream:
                _copy(stream, copy)
            path, compression = copy, None
    except OSError as error:
        raise damaged_file_error(shown, error, compression or "") from error
    return File(path, shown, kind, compression, constants or {})


def _copy(source: BinaryIO | pa.NativeFile, target: Path) -> None:
    with target.open("wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)


def _constants(path: Path, root: Path | None) -> dict[str, str | None]:
    """Return the columns that the names of nested folders give, in the manner of Hive."""
    if root is None:
        return {}
    pairs = [each.partition("=") for each in path.relative_to(root).parts[:-1]]
    return {
        unquote(name): None if value == NO_PARTITION else unquote(value) for name, _, value in pairs
    }


def no_file_error(
    shown: str, error: OSError, hint: str = "give the path of a readable file"
) -> WexError:
    """Return the error for a file that cannot be opened."""
    reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
    return WexError("no-file", f"{shown}: {reason}", hint)


def damaged_file_error(shown: str, error: Exception, kind: str) -> DataError:
    """Return the error for a file whose content is not in its format."""
    message = str(error).splitlines()[0] if str(error) else "it cannot be read"
    hint = f"check that the file is complete and really {kind}"
    return DataError("unreadable", message, hint, file=shown)


def refuse_overwriting(output: Path, given: Given) -> None:
    """Raise a WexError if an output would replace an input, or lie in its folder."""
    target = output.absolute()
    for each in _listed(given):
        if each == STDIN:
            continue
        for path, _ in _all_named(each):
            if output.exists() and Path(path).exists() and output.samefile(path):
                raise _overwriting(output, path)
        if Path(each).is_dir():
            inside = target.resolve().is_relative_to(Path(each).resolve())
            if inside and _is_visible(target) and _is_read_there(target, Path(each)):
                raise _overwriting(output, each)
        elif glob.has_magic(each) and _matches(target, str(Path(each).absolute())):
            raise _overwriting(output, each)


def _all_named(given: str) -> list[tuple[str, Path | None]]:
    if Path(given).is_dir():
        return [(str(each), None) for each in _walked(Path(given))]
    try:
        return _named(given, None)
    except WexError:  # no file matches: told when it is read
        return []


def _matches(target: Path, pattern: str) -> bool:
    return fnmatch(str(target), pattern) if "**" in pattern else target.match(pattern)


def _is_read_there(target: Path, folder: Path) -> bool:
    between = target.resolve().relative_to(folder.resolve()).parts[:-1]
    return all("=" in part for part in between) and named_format(target) is not None


def _overwriting(output: Path, given: str) -> WexError:
    hint = "write to another file, outside of what is read"
    return WexError("output-is-input", f"{output} would overwrite or join the input {given}", hint)
