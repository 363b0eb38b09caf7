"""`wex draw`: files by their names, SVG on standard output, and mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import TREND, run


def test_a_drawing_is_written_to_a_file(tmp_path: Path) -> None:
    done = run("draw", str(TREND), "--what", "regions", "-o", str(tmp_path / "trend.dot"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"drawn in {tmp_path / 'trend.dot'}\n"
    assert (tmp_path / "trend.dot").read_text("utf-8").startswith("digraph wex {")


def test_without_a_file_the_name_of_the_spec_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("draw", str(TREND)).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["trend.automata.svg"]


@pytest.mark.parametrize("arguments", [("-",), ("-", "-o", "-")])
def test_svg_is_printed(arguments: tuple[str, ...]) -> None:
    done = run("draw", *arguments, stdin=TREND.read_text("utf-8"))
    assert done.returncode == 0
    assert done.stdout.startswith(b"<svg ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--window", "trent"), "did you mean `trend`?"),
        (("-o", "trend.jpg"), "ends in .svg, .dot or .png"),
        (("-o", "no/such/folder/trend.svg"), "No such file or directory"),
        (("--what", "states"), "'states' is not one of 'automata', 'regions'"),
    ],
)
def test_mistakes_are_explained(arguments: tuple[str, ...], message: str) -> None:
    done = run("draw", str(TREND), *arguments)
    assert done.returncode == 2
    assert message in done.stderr.decode()
