"""Findings of the analysis beside its verdicts."""

from __future__ import annotations

import pytest

import wex

X = "stream s (x real) "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (X + "window w match [x > 1 and x < 0] | any", "`x > 1 and x < 0` can never hold"),
        (
            X + "let up = x > x[-1] window w match up any* up [x[-1] < x[-2]]",
            "event 2, `x > x[-1]`, contradicts event 3, `x[-1] < x[-2]`",
        ),
        (
            X + "window w match [false] any",
            "the window `w` can never occur: it has no start, or its expression matches nothing",
        ),
        (X + "assume [false] any window w match any", "no stream meets `assume [false] any`"),
        (X + "assume any* window w match any", "`assume any*` excludes no stream"),
        (
            X + "assume [x > 0] any* assume [x < 0] any* window w match any",
            "no stream meets all assumptions together",
        ),
        (
            X + "window w match [x > 1] [x[-1] > 0] | [x < 1] [x[-1] > 2]",
            "some starts of `w` are held although they can never end in a window",
        ),
        ("stream s (t int) order by t window w match [t < t[-1]]+", "`t < t[-1]` can never hold"),
        (
            X + "assume [x > 0]* window w match [x > 0] | [x < 0] any",
            "2 of 3 kinds of events of `w` never occur",
        ),
    ],
)
def test_findings(text: str, said: str) -> None:
    assert said in str(wex.check(wex.parse(text)))


def test_nothing_is_odd_about_a_good_spec() -> None:
    report = wex.check(wex.parse(X + "window w match [x > x[-1]]{3}"))
    assert report.findings == report["w"].findings == ()
