"""Bad rows put aside: a folder of JSON lines, each with what is wrong and the row as it came.

The workers write the files, each under a name that depends on what it holds and not on who writes
it when: a task or a micro-batch that is done again writes the same file again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from wex.engine.input.bad_rows import CHOICES
from wex.errors import WexError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.engine.input.bad_rows import BadRows

ENDING = ".jsonl"
AT_ONCE = ("s3", "gcs", "abfs")  # where a file is there when it is whole, and cannot be renamed
OF_SPARK = {"s3a": "s3", "s3n": "s3"}  # schemes that Arrow names in another way


@dataclass(frozen=True)
class Aside:
    """What becomes of bad rows: the choice, and the folder that they are put in."""

    choice: BadRows = "fail"
    folder: str | None = None

    @property
    def letters(self) -> DeadLetters | None:
        """Return the folder, if there is one."""
        return None if self.folder is None else DeadLetters(self.folder)


def aside(bad_rows: object, bad_rows_to: object) -> Aside:
    """Return what is to become of bad rows; what cannot be is a WexError."""
    if bad_rows not in CHOICES:
        hint = "say 'fail', 'skip' or 'divert'"
        raise WexError("wrong-argument", f"bad_rows is {bad_rows!r}", hint)
    choice: BadRows = bad_rows  # type: ignore[assignment]
    if choice == "divert" and bad_rows_to is None:
        message = "bad rows are diverted, and nothing says where to"
        raise WexError("wrong-argument", message, "give a folder: bad_rows_to, --bad-rows-to")
    if choice != "divert" and bad_rows_to is not None:
        message = f"a folder for bad rows is given, and they are not diverted but {_DONE[choice]}"
        hint = "say bad_rows='divert', --bad-rows divert, or leave the folder out"
        raise WexError("wrong-argument", message, hint)
    if bad_rows_to is None:
        return Aside(choice)
    if not isinstance(bad_rows_to, str | os.PathLike) or not os.fspath(bad_rows_to):
        message = f"bad_rows_to is {bad_rows_to!r}"
        raise WexError("wrong-argument", message, "give the path or the URL of a folder")
    folder = _everywhere(str(os.fspath(bad_rows_to)))
    DeadLetters(folder).files()  # raises if it cannot be used
    return Aside(choice, folder)


_DONE = {"fail": "an error", "skip": "skipped"}


def _everywhere(folder: str) -> str:
    """Return a folder as Arrow names it, the same for all processes."""
    scheme, mark, rest = folder.partition("://")
    if mark and scheme.lower() != "file":
        return f"{OF_SPARK.get(scheme.lower(), scheme)}://{rest}"
    plain = rest if mark else folder.removeprefix("file:")
    return os.path.abspath(plain)  # noqa: PTH100  (no link is followed)


def new_run() -> str:
    """Return a name for the files of one batch run."""
    return uuid4().hex[:12]


@dataclass(frozen=True)
class DeadLetters:
    """A folder of dead letters."""

    folder: str

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write a file, whole or not at all, over the one of that name."""
        letter = self.letter(name)
        letter.add(lines)
        letter.close()

    def letter(self, name: str) -> Letter:
        """Return a file that is there when it is closed; one without a line is not."""
        return Letter(self, name)

    def files(self, prefix: str = "") -> list[str]:
        """Return the files of dead letters in the folder, by name."""
        try:
            system, folder = self.opened()
            inside = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        except (OSError, pa.ArrowException) as error:
            raise self.unusable(error) from error
        named = [each.base_name for each in inside if each.is_file]
        return sorted(name for name in named if name.startswith(prefix) and name.endswith(ENDING))

    def remove(self, prefix: str = "") -> None:
        """Remove files of dead letters, and nothing else."""
        try:
            system, folder = self.opened()
            for name in self.files(prefix):
                system.delete_file(f"{folder}/{name}")
        except (OSError, pa.ArrowException) as error:
            raise self.unusable(error) from error

    def refuse_used(self) -> None:
        """Raise a WexError if there are files of another run."""
        if self.files():
            message = f"{self.folder} has bad rows of another run in it"
            hint = "choose another folder, or empty it; `wex run` has --mode overwrite and append"
            raise WexError("output-exists", message, hint)

    def opened(self) -> tuple[fs.FileSystem, str]:
        """Return the file system, and where the folder is in it."""
        if "://" not in self.folder:
            return fs.LocalFileSystem(), self.folder
        system, path = fs.FileSystem.from_uri(self.folder)
        return system, path.rstrip("/")

    def unusable(self, error: Exception) -> WexError:
        """Return what it means that the folder cannot be used."""
        message = f"bad rows cannot be put into {self.folder}: {str(error).splitlines()[0]}"
        hint = "give a folder that every worker can write to: a path, s3://, gs:// or hdfs://"
        return WexError("bad-rows-to", message, hint)


class Letter:
    """A file of dead letters that grows out of sight."""

    def __init__(self, letters: DeadLetters, name: str) -> None:
        self._letters, self._name = letters, name
        self._hidden = ""
        self._out: pa.NativeFile | None = None

    def add(self, lines: Iterable[str]) -> None:
        """Add lines."""
        # Half of a surrogate pair has no UTF-8; JSON reads it back from its escape.
        text = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
        if not text:
            return
        try:
            if self._out is None:
                system, folder = self._letters.opened()
                system.create_dir(folder, recursive=True)
                at_once = system.type_name in AT_ONCE
                hidden = f".{self._name}-{uuid4().hex}"
                self._hidden = f"{folder}/{self._name + ENDING if at_once else hidden}"
                self._out = system.open_output_stream(self._hidden)
            self._out.write(text)
        except (OSError, pa.ArrowException) as error:
            raise self._letters.unusable(error) from error

    def abort(self) -> None:
        """Leave nothing behind."""
        if self._out is None:
            return
        try:
            self._out.close()
            self._letters.opened()[0].delete_file(self._hidden)
        except (OSError, pa.ArrowException) as error:
            raise self._letters.unusable(error) from error

    def close(self) -> None:
        """Let the file be seen."""
        if self._out is None:
            return
        try:
            self._out.close()
            system, folder = self._letters.opened()
            target = f"{folder}/{self._name}{ENDING}"
            if target == self._hidden:
                return
            if (
                system.type_name == "hdfs"
                and system.get_file_info(target).type != fs.FileType.NotFound
            ):
                system.delete_file(target)  # the only one that does not rename over a file
            system.move(self._hidden, target)
        except (OSError, pa.ArrowException) as error:
            raise self._letters.unusable(error) from error
