"""`keep longest` after `having`: the windows that are left out make no difference."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, find_moving, outcome
from tests.engine.test_machines import by_stream
from tests.engine.ways import in_pieces
from wex.engine import longest_run
from wex.engine.engine import engine_of
from wex.engine.longest_run import LongestRun, is_searched
from wex.engine.machines import room
from wex.reference.find import find_by_definition

MATCHES = [
    "match any+", "match [x > 1]+ [x < 7]", "match [x < 5] any*", "match any* [x > 3] any*", "match any{1,20}",
    "match any+ until [x = 4]", "match any+ until [x > 5] or end", "match any+ within 9 events", "match any{3,12} within 8 seconds",
    "after any* [x = 2] match any+", "match (any any)+ | [x > 2]+", "match any{2} [x < 8]*",
]  # fmt: skip
MEASURES = (
    "max(x) as top, min(x) as least, count() as n, count(y) as known, sum(x) as total, sum(y) as weight, avg(y) as mean,"
    " max(y) as high, max(t) - min(t) as long, last(t) - first(t) as since, count_if(x > 5) as big, first(x) as one,"
    " max(x) - min(x) as range, max(x) filter [x < 7] as lower, sum(x - 4) as net, max(s) as name"
)
CONDITIONS = [
    "top > 6", "least <= 1", "n >= 3", "n <= 4", "top < 8", "least > 0", "total > 20", "total <= 30", "weight > 2.0", "mean < 1.5",
    "high < 2.0", "long <= 5 seconds", "since >= 4 seconds", "big >= 2", "big < 2", "known > 1", "known < 3", "one = 3",
    "range > 4", "lower < 5", "lower > 3", "net > 0", "n != 3", "4 < n", "9 >= top", "name = 'b'", "not n > 4",
    "total - n < 20", "n % 2 = 0", "mean is null", "2 * top > n + 3", "total / n > 4",
]  # fmt: skip


@st.composite
def specs(draw: st.DrawFn) -> wex.Spec:
    parts = draw(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=3))
    having = draw(st.sampled_from([" and ", " and ", " or "])).join(parts)
    names = {word for part in parts for word in part.replace("(", " ").split()}
    measures = [each for each in _split(MEASURES) if each.rpartition(" as ")[2] in names]
    if draw(st.integers(0, 9)) == 0:
        measures.append("sum(x * 2305843009213693951) as huge")  # it may overflow
    match = draw(st.sampled_from(MATCHES))
    return wex.parse(
        "stream s (k int, t timestamp, x int, y real, s string) partition by k order by t"
        f" window w {match} keep longest measure {', '.join(measures)} having {having}"
    )


def _split(measures: str) -> list[str]:
    return [each.strip() for each in measures.split(",")]


def data(chance: Random) -> pa.Table:
    """Return streams whose events are seconds apart; some values are missing."""
    gaps = chance.random() < 0.4
    keys, times, numbers, reals, texts = [], [], [], [], []
    for key in range(chance.randint(1, 3)):
        time = 0
        for _ in range(chance.randint(0, 25)):
            time += chance.randint(1, 3)
            keys.append(key)
            times.append(time * 1_000_000)
            numbers.append(chance.randint(0, 9))
            reals.append(
                None if gaps and chance.random() < 0.4 else chance.choice([-1.0, 0.5, 2.0])
            )
            texts.append(None if gaps and chance.random() < 0.4 else chance.choice("abc"))
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "t": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
            "x": pa.array(numbers, pa.int64()),
            "y": pa.array(reals, pa.float64()),
            "s": pa.array(texts, pa.string()),
        }
    )


@given(specs(), st.randoms(use_true_random=False))
def test_the_search_is_the_definition(spec: wex.Spec, chance: Random) -> None:
    table = data(chance)
    expected = outcome(find_by_definition, spec, table)
    with patch.object(longest_run, "MORE", chance.choice([2, 8])):
        assert_same(outcome(wex.find, spec, table), expected)
        assert_same(outcome(find_moving, spec, table), expected)
        if isinstance(expected, pa.Table):
            assert_same(by_stream(in_pieces(spec, table, chance)), by_stream(expected))
        with patch.object(room, "MOST_LATE", 3):
            assert_same(outcome(wex.find, spec, table), expected)


def test_the_strategy_searches() -> None:
    """Keep the law above honest: most batches are searched, some in one round and some in several."""
    seen = {"runs": 0, "searched": 0, "decided": 0, "bounded": 0}
    parts_of = LongestRun._parts

    def noted(run: LongestRun) -> longest_run._Parts | None:
        parts = parts_of(run)
        seen["runs"] += 1
        if parts is not None:
            seen["searched"] += 1
            seen["decided"] += parts.first_decides
            seen["bounded"] += parts.of_shorter is not None
        return parts

    @given(specs(), st.randoms(use_true_random=False))
    def look(spec: wex.Spec, chance: Random) -> None:
        outcome(wex.find, spec, data(chance))

    with patch.object(LongestRun, "_parts", noted):
        look()
    assert seen["searched"] > seen["runs"] / 2
    assert seen["searched"] / 10 < seen["decided"] < seen["searched"]
    assert seen["bounded"] > seen["searched"] / 20


@pytest.mark.parametrize(
    ("measure", "having", "tried"),
    [
        ("max(x) as m", "m > 2", 1),
        ("count() as n", "n >= 500", 1),
        ("count() as n", "n <= 200", 2),
        ("max(x) as m, count() as n", "m < 1 and n >= 3", 2),
    ],
)
def test_few_windows_are_tried(measure: str, having: str, tried: int) -> None:
    """Of 1,000,000 pairs of events a window for each event is found: no more in a round."""
    spec = wex.parse(
        f"stream s (x real) window w match any+ keep longest measure {measure} having {having}"
    )
    assert is_searched(engine_of(spec).windows[0])
    table = pa.table({"x": np.random.default_rng(1).normal(size=1000)})
    counts = []
    oldest = LongestRun._oldest

    def counted(*arguments: object) -> object:
        matches = oldest(*arguments)  # type: ignore[arg-type]
        counts.append(len(matches.end))
        return matches

    with patch.object(LongestRun, "_oldest", counted):
        wex.find(spec, table)
    assert len(counts) == tried
    assert max(counts) <= 1000
