"""The tables of the parser on disk: read back, and never trusted."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from wex.spec.parser_cache import cached_parser

GRAMMAR = 'start: "a"+'
READ_BACK = "<deserialized>"  # what lark calls the source of a parser that it has not built


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "wex"


class Command:
    """An object whose pickle runs a command where it is read."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


def test_tables_are_kept_and_read_back(folder: Path) -> None:
    built = cached_parser(GRAMMAR)
    (path,) = folder.iterdir()
    content = path.read_bytes()
    read = cached_parser(GRAMMAR)
    assert (built.source_path, read.source_path) == ("<string>", READ_BACK)
    assert read.parse("aa") == built.parse("aa")
    assert path.read_bytes() == content


def test_each_grammar_has_tables_of_its_own(folder: Path) -> None:
    cached_parser(GRAMMAR)
    other = cached_parser('start: "b"')
    assert len(list(folder.iterdir())) == 2
    assert other.parse("b").data == "start"


@pytest.mark.parametrize("damage", ["truncated", "empty", "other data", "code"])
def test_damaged_tables_are_built_anew(damage: str, folder: Path, tmp_path: Path) -> None:
    cached_parser(GRAMMAR)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    code = pickle.dumps(Command(f"touch {tmp_path / 'ran'}"))
    path.write_bytes(
        {"truncated": whole[:99], "empty": b"", "other data": pickle.dumps({}), "code": code}[
            damage
        ]
    )
    assert cached_parser(GRAMMAR).parse("aa").data == "start"
    assert not (tmp_path / "ran").exists()
    assert cached_parser(GRAMMAR).source_path == READ_BACK
    assert list(folder.iterdir()) == [path]


def test_without_a_cache_the_parser_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cached_parser(GRAMMAR).parse("aa").data == "start"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
