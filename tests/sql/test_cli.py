"""`wex translate` of a query."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import run

QUERY = """
SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts
  PATTERN (a up+ down)
  DEFINE up AS x > PREV(x), down AS x < PREV(x))
"""
TYPES = ("--column", "ts=timestamp", "--column", "x=real not null")


@pytest.fixture
def query(tmp_path: Path) -> str:
    path = tmp_path / "rise.SQL"
    path.write_text(QUERY, "utf-8")
    return str(path)


def test_a_query_is_printed_as_a_spec(query: str) -> None:
    done = run("translate", query, *TYPES)
    assert done.returncode == 0
    assert "match any up+ down\n  keep leftmost\n" in done.stdout.decode()


def test_an_error_names_the_file_and_the_place(query: str) -> None:
    done = run("translate", query, "--column", "ts=timestamp", "--column", "y=real")
    assert done.returncode == 2
    assert f"{query}:5:16" in done.stderr.decode()
    assert "the schema has no column `x`" in done.stderr.decode()


def test_a_dialect_that_does_not_exist(query: str) -> None:
    done = run("translate", query, *TYPES, "--dialect", "trin")
    assert done.returncode == 2
    assert "did you mean `trino`?" in done.stderr.decode()


def test_a_file_that_does_not_exist() -> None:
    done = run("translate", "no/such.sql")
    assert done.returncode == 2
    assert "error[no-file]" in done.stderr.decode()


def test_a_spec_needs_a_notation() -> None:
    done = run("translate", "-", stdin="stream s (x int) window w match any")
    assert done.returncode == 2
    assert "--to" in done.stderr.decode()
