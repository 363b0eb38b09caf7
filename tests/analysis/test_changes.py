"""Differences between two specs, when a state of the old one is continued with the new one."""

from __future__ import annotations

import pytest

import wex
from wex.analysis.changes import first_change, spec_of_origin
from wex.stages import plan_of

HEAD = "stream s (k string, t timestamp, x real, y real) partition by k order by t "
ONE = HEAD + "window w match "
SAME = [
    (ONE + "[x > 0] [x > 0]*", ONE + "[x > 0]+"),
    (HEAD + "let a = x > 0 window w match [a]{2} measure count() filter [a] as n",
     ONE + "[x > 0] [x > 0] measure count() filter [x > 0] as n"),
    (ONE + "[x > y] window v match [x > 0]", HEAD + "window v match [x > 0] window w match [x > y]"),
    (ONE + "[x > 0]+ within 5 minutes", ONE + "[x > 0] [x > 0]* within 300 seconds keep all"),
]  # fmt: skip
OTHER = {
    "the fields were": (ONE + "any", ONE.replace("y real", "y int") + "any"),
    "`partition by` was k, and is none": (ONE + "any", ONE.replace("partition by k ", "") + "any"),
    "`nulls` was error": (ONE + "any", ONE.replace("order by t", "order by t nulls skip") + "any"),
    "the windows were w, and are v": (ONE + "any", ONE.replace("window w", "window v") + "any"),
    "the measures were none, and are count() as n": (ONE + "any", ONE + "any measure count() as n"),
    "`assume` was": (
        HEAD + "assume [x > 0]* window w match any",
        HEAD + "assume [x > 1]* window w match any",
    ),
    "only the old spec has the window `w` from event 0 to 0 of the stream x = ": (
        ONE + "[x > 0]",
        ONE + "[x > 2]",
    ),
    "only the new spec has": (ONE + "[x > 2]", ONE + "[x > 0]"),
    # Nobody checks that streams keep to this.
    "of the stream x = ": (
        HEAD + "assume [x >= x[-1]]* unchecked window w match [x > 5] [x > 3]",
        HEAD + "assume [x >= x[-1]]* unchecked window w match [x > 5] [x > 5]",
    ),
    # NULL is an error in what guards read; floats are rounded, whole numbers overflow.
    "the fields that guards read were x, and are x, y": (
        ONE + "[x > 0]",
        ONE + "[x > 0 and (y > 0 or y <= 0)]",
    ),
    "the comparisons with arithmetic were": (ONE + "[x + 1 > y + 1]", ONE + "[x > y]"),
}


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_words(old: str, new: str) -> None:
    assert first_change(wex.parse(old), wex.parse(new)) is None


@pytest.mark.parametrize("said", OTHER)
def test_what_changed(said: str) -> None:
    old, new = OTHER[said]
    assert said in str(first_change(wex.parse(old), wex.parse(new)))


@pytest.mark.parametrize(
    ("clause", "old_text"), [("", "{}\n  pad"), ("unpadded", "{}"), ("unpadded", "{}\n  unpadded")]
)
def test_the_plan_of_a_checkpoint_says_where_windows_begin(clause: str, old_text: str) -> None:
    """Old texts say `pad` where windows begin at the first event, and nothing where they do not."""
    plain = wex.parse(ONE + "[x > x[-1]]")
    spec = wex.parse(ONE + f"[x > x[-1]] {clause}")
    assert spec_of_origin(old_text.format(plain), plan_of(spec)) == str(spec)
