"""The table of verdicts in the docs equals the answers of the analysis."""

from __future__ import annotations

import pytest
from benchmarks.lookback_plot import PAGE, PICTURE, drawn
from benchmarks.verdicts import KNOWN, REASONED, gallery

import wex


def table() -> dict[str, list[str]]:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {row[0]: row[1:5] for row in cells if len(row) == 6 and row[0] != "spec"}


def test_the_table_is_whole() -> None:
    assert set(table()) == set(gallery())
    assert len(table()) >= 120
    assert sum("unknown" in row for row in table().values()) <= 4


@pytest.mark.parametrize("name", [name for name in gallery() if name != "count to zero"])
def test_the_table_is_right(name: str) -> None:
    for window in wex.check(wex.parse(gallery()[name])):
        found = [*map(str, window.answers.values()), str(window.regions)]
        assert found == table()[name]


def test_the_table_has_what_is_known() -> None:
    known = {name: answers for name, (_, answers) in KNOWN.items()}
    reasoned = {name: answers for name, (_, answers, _) in REASONED.items()}
    for name, answers in {**known, **reasoned}.items():
        for cell, answer in zip(table()[name], answers, strict=False):
            assert answer in (cell, "?"), name


def test_the_plot_shows_the_table() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn()
