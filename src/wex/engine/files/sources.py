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
from wex.errors import DataError, WexError, hint_for_path

if TYPE_CHECKING:
    from typing import BinaryIO

Given: TypeAlias = str | Path | Iterable[str | Path]

STDIN = "-"
HEAD = 4096  # bytes by which the format of a file is recognised
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write NULL in the name of a folder


@dataclass(frozen=True)
class File:
    """A file that can be read more than once.

    `constants` are columns given by the names of its folders, as in `symbol=A/part.parquet`.
    """

    path: Path
    shown: str
    format: str
    compression: str | None = None
    constants: Mapping[str, str | None] = field(default_factory=dict)
    _opened: list[pa.NativeFile] = field(default_factory=list, compare=False, repr=False)

    def open(self) -> pa.NativeFile:
        """Open the file, decompressed."""
        self._opened[:] = [pa.OSFile(str(self.path))]
        return pa.input_stream(self._opened[0], compression=self.compression)

    @property
    def size(self) -> int:
        """The bytes of the file on disk."""
        return self.path.stat().st_size

    @property
    def bytes_read(self) -> int:
        """The bytes that have been read since the file was opened; 0 if it is closed."""
        return int(self._opened[0].tell()) if self._opened and not self._opened[0].closed else 0


@contextmanager
def files_of(given: Given, input_format: str | None = None) -> Iterator[list[File]]:
    """Yield the files that a user names, in order; standard input and pipes are copied to files."""
    if input_format is not None:
        check_format_name(input_format)
    named = [file for path in _paths(given) for file in _named_files(path, input_format)]
    with tempfile.TemporaryDirectory(prefix="wex-", ignore_cleanup_errors=True) as folder:
        yield [
            _file(path, root, input_format, Path(folder) / str(at))
            for at, (path, root) in enumerate(named)
        ]


def _paths(given: Given) -> list[str]:
    listed: object = [given] if isinstance(given, (str, Path)) else given
    paths = list(listed) if isinstance(listed, Iterable) else []
    if not paths or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        hint = "give a path, a pattern such as 'data/*.csv', a folder, or a list of these"
        raise WexError("no-file", f"expected the path of a file, got {given!r}", hint)
    names = [os.fspath(path) for path in paths]
    for name in names:
        if not name or "\0" in name:  # probably an unset variable of the shell
            message = f"expected the path of a file, got {name!r}"
            raise WexError("no-file", message, "give the path of a file")
    return names


def _named_files(given: str, input_format: str | None) -> list[tuple[str, Path | None]]:
    """Return the files of a path, a pattern or a folder, each with the folder that was given."""
    path = Path(given)
    if given == STDIN:
        return [(given, None)]
    if path.is_dir():
        return [(str(file), path) for file in _folder_files(path, input_format)]
    if not path.exists() and glob.has_magic(given):
        names = glob.glob(given, recursive=True)  # noqa: PTH207
        matches = sorted(name for name in names if _is_visible(Path(name)))
        if not matches:
            message = f"{given}: no file matches this pattern"
            raise WexError("no-file", message, "give a path, or a pattern that a file matches")
        return [
            file
            for name in matches
            for file in (
                _named_files(name, input_format) if Path(name).is_dir() else [(name, None)]
            )
        ]
    return [(given, None)]


def _folder_files(folder: Path, input_format: str | None) -> list[Path]:
    """Return the data files of a folder: those of the given format, or of the only one that occurs."""
    formats = {file: named_format(file) for file in _visible_files(folder)}
    if input_format is not None:
        files = [file for file, name in formats.items() if name in (None, input_format)]
    else:
        files = [file for file, name in formats.items() if name is not None]
        names = sorted({str(formats[file]) for file in files})
        if len(names) > 1:
            message = f"{folder} has files of several formats: {', '.join(names)}"
            hint = f"choose one: --input-format {names[0]}, or input_format={names[0]!r}"
            raise WexError("unknown-format", message, hint)
    if not files:
        kind = f"{input_format} file" if input_format else "file with a known extension"
        message = f"{folder}: this folder has no {kind}"
        raise WexError("no-file", message, "give the paths of the files, or another format")
    return files


def _visible_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, and of those below it that are named `column=value`."""
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
            yield from _visible_files(entry)


def _is_visible(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def _file(given: str, root: Path | None, input_format: str | None, copy: Path) -> File:
    """Return a file that can be read more than once: standard input and pipes are copied."""
    if given == STDIN:
        if sys.stdin is None:
            raise WexError("no-file", "standard input is closed", "give the path of a file")
        _copy(sys.stdin.buffer, copy)
        return _recognised_file(copy, "<stdin>", input_format, copy, sniff=True)
    path = Path(given)
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return _recognised_file(
                path, given, input_format, copy, constants=_constants(path, root)
            )
        with path.open("rb") as pipe:
            _copy(pipe, copy)
    except OSError as error:
        raise no_file_error(given, error) from error
    return _recognised_file(copy, given, input_format, copy, sniff=True)


def _recognised_file(
    path: Path,
    shown: str,
    input_format: str | None,
    copy: Path,
    *,
    constants: Mapping[str, str | None] | None = None,
    sniff: bool = False,
) -> File:
    """Return a file with its format and compression; binary formats are decompressed to `copy`."""
    with path.open("rb") as content:
        compression = compression_of(content.read(HEAD))
    try:
        if input_format is None and sniff:
            with pa.input_stream(str(path), compression=compression) as stream:
                kind = format_by_content(stream.read(HEAD))
        else:
            kind = format_of(Path(shown), input_format)
        if compression is not None and kind in ("parquet", "arrow"):  # not read from start to end
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
    pairs = [folder.partition("=") for folder in path.relative_to(root).parts[:-1]]
    return {
        unquote(name): None if value == NO_PARTITION else unquote(value) for name, _, value in pairs
    }


def no_file_error(shown: str, error: OSError, hint: str | None = None) -> WexError:
    """Return the error for a file that cannot be opened; without a hint, for one to read."""
    reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
    if hint is None:
        hint = hint_for_path(shown, "give the path of a readable file")
    return WexError("no-file", f"{shown}: {reason}", hint)


def damaged_file_error(shown: str, error: Exception, kind: str) -> DataError:
    """Return the error for a file whose content is not in its format."""
    message = str(error).splitlines()[0] if str(error) else "the file cannot be read"
    hint = f"check that the file is complete and really {kind}"
    return DataError("unreadable", message, hint, file=shown)


def refuse_overwriting(output: Path, given: Given) -> None:
    """Raise a WexError if an output would replace an input, or be read as one the next time."""
    target = output.absolute()
    for path in _paths(given):
        if path == STDIN:
            continue
        for file, _ in _all_files(path):
            if output.exists() and Path(file).exists() and output.samefile(file):
                raise _overwriting_error(output, file)
        if Path(path).is_dir():
            inside = target.resolve().is_relative_to(Path(path).resolve())
            if inside and _is_visible(target) and _is_read_from(target, Path(path)):
                raise _overwriting_error(output, path)
        elif glob.has_magic(path) and _matches(target, str(Path(path).absolute())):
            raise _overwriting_error(output, path)


def _all_files(given: str) -> list[tuple[str, Path | None]]:
    """Return the files of a path, a pattern or a folder, in any format."""
    if Path(given).is_dir():
        return [(str(file), None) for file in _visible_files(Path(given))]
    try:
        return _named_files(given, None)
    except WexError:  # no file matches, which is reported when the input is read
        return []


def _matches(target: Path, pattern: str) -> bool:
    return fnmatch(str(target), pattern) if "**" in pattern else target.match(pattern)


def _is_read_from(target: Path, folder: Path) -> bool:
    """Tell whether a file inside of a folder is read with that folder."""
    between = target.resolve().relative_to(folder.resolve()).parts[:-1]
    return all("=" in part for part in between) and named_format(target) is not None


def _overwriting_error(output: Path, given: str) -> WexError:
    message = f"the output {output} is part of the input {given}"
    return WexError("output-is-input", message, "write to a file that is not part of the input")
