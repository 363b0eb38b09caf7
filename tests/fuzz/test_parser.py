"""The parser's fuzzer in its short form; `make fuzz` runs the long one."""

from __future__ import annotations

import random

import pytest

import wex
from tests.fuzz.parser import STREAM, result, text_of
from wex.spec import tree


def test_every_text_is_a_spec_that_prints_as_it_was_read_or_an_error() -> None:
    found = {result(text_of(random.Random(f"1 {number}"))) for number in range(2_000)}
    assert {"spec", "syntax", "character", "unknown-name", "too-deep"} <= found


@pytest.mark.parametrize("exponent", ["9" * 50, "-" + "9" * 50])
def test_an_exponent_that_nothing_can_hold(exponent: str) -> None:
    assert result(f"{STREAM}window w match [y > 1e{exponent}]") == "number-out-of-range"


@pytest.mark.parametrize(
    "item",
    [
        "window w match " + "ok " * 100_001,
        "window w match [x > " + "1 + " * 100_001 + "1]",
        "window w match " + "~" * 100_001 + "ok",
        "let v = x in (" + "1, " * 100_001 + "1)",
        "assume " + "[ok] " * 50_001 + "window w match " + "[ok] " * 50_001,
    ],
)
def test_what_has_too_many_terms_is_refused_before_it_is_parsed(item: str) -> None:
    with pytest.raises(wex.SpecError, match="more than 100,000 terms") as caught:
        wex.parse(STREAM + item)
    assert caught.value.code == "too-large"


def test_indices_and_counts_are_no_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_TERMS", 15)
    items = "window w match " + "[x[-1] > 1]{2,3} " * 7  # 7 names and 28 numbers, 7 of them terms
    assert result(STREAM + items) == "spec"
    assert result(f"{STREAM}{items} ok ok ok") == "too-large"
