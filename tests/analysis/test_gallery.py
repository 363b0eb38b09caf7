"""The table of verdicts in the docs equals the answers of the analysis."""

from __future__ import annotations

import re

import pytest
from benchmarks.lookback_plot import PAGE, PICTURE, drawn
from benchmarks.verdicts import KNOWN, REASONED, gallery

import wex


def table() -> dict[str, list[str]]:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip("|"))] for row in rows]
    return {row[0]: row[1:5] for row in cells if len(row) == 6 and row[0] != "spec"}


def test_the_table_is_whole() -> None:
    assert set(table()) == set(gallery())
    assert len(table()) >= 120
    assert sum("unknown" in row for row in table().values()) <= 4


@pytest.mark.parametrize("name", list(gallery()))
def test_the_table_is_right(name: str) -> None:
    for window in wex.check(wex.parse(gallery()[name])):
        counts = (window.open, window.held, window.overlap)
        found = [*map(str, counts), str(window.regions)]
        assert found == table()[name]


def test_the_table_has_what_is_known() -> None:
    known = {name: answers for name, (_, answers) in KNOWN.items()}
    reasoned = {name: answers for name, (_, answers, _) in REASONED.items()}
    for name, answers in {**known, **reasoned}.items():
        for cell, answer in zip(table()[name], answers, strict=False):
            assert answer in (cell, "?"), name


# --- How many events after its end a window is decided

X = "stream s (x int) window w match "
T = "stream s (ts timestamp, x int) order by ts assume at most 2 events in 1 second window w match "
DELAYS = {
    "[x > 0]+": "0",
    "[x > 0] any* [x < 0] keep longest": "0",
    "[x > 0] any* [x < 0] keep disjoint": "0",
    "[x > 0]+ keep shortest measure sum(x) as s having s > 5": "0",
    "[x > 0] [x < 0 and x > x[-1]] until [x = 0]": "0",  # it never occurs
    "[x > 0]+ until [x <= 0]": "1",
    "[x > 0]+ until [x <= 0] or end keep longest": "1",
    "[x > 0]+ until [true] or end": "1",  # certain at its end, and reported behind it
    "[x > 0]+ until [false]": "0",
    "any [x > first(x)]* until [x < first(x)]": "at most 1",
    "[x > 0] [x < 0]* keep leftmost": "1",
    "[x > 0] ([x < 0]{3})? keep preferred": "3",
    "[x > 0] any* [x < 0] keep leftmost": "unbounded (linear)",
    "[x > 0] any*? [x < 0] keep leftmost": "0",
    "[x > 0] any* [x < 0] within 7 events keep preferred": "5",
}


@pytest.mark.parametrize("match", DELAYS)
def test_delays(match: str) -> None:
    assert str(wex.check(X + match)["w"].delay) == DELAYS[match]


def test_a_rate_bounds_the_delay() -> None:
    answer = wex.check(T + "[x > 0] any* [x < 0] within 5 seconds keep preferred")["w"].delay
    assert (str(answer), answer.verdict) == ("at most 12", "bounded")


def test_the_plot_shows_the_table() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn()
