"""The queries of docs/compare as whole statements: what `from_sql` makes of them, and Flink, if it is here."""

from __future__ import annotations

import pytest
from benchmarks.peers import agreement
from benchmarks.peers.pages import PAGES

import wex

# Flink's documentation counts an hour as within an hour, and so does the spec on that page.
STANDARD = {("flink", "38")}


@pytest.mark.parametrize("page", PAGES)
def test_queries_as_specs_have_the_windows_of_the_specs_beside_them(page: str) -> None:
    compared, different = 0, []
    for trial in agreement.trials(page):
        if "(says)" not in trial.query.title or (page, trial.query.number) in STANDARD:
            continue
        try:
            windows = trial.of_translation(ended=True)
        except wex.SpecError:
            continue
        compared += 1
        if windows != trial.of_spec(ended=True):
            different.append(trial.query.title)
    assert compared
    assert not different
