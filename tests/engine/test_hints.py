"""Errors about data say what happened and how to mend it: why arithmetic has no result, what ties are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import wex
from tests.engine.tables import SPEC, table
from wex.engine.engine import engine_of
from wex.engine.streaming.bucket import Bucket, Rules
from wex.reference.find import find_by_definition

INF, NAN = float("inf"), float("nan")
TWO = "stream s (x real, n int) window w match any{2} measure "
ONE = "stream s (x real, n int) window w match "


def refused(spec: str, *batches: Any) -> wex.DataError:
    """Return the error of the last of several batches."""
    processor = wex.Processor(wex.parse(spec))
    *fine, last = batches
    for each in fine:
        processor.feed(each)
    with pytest.raises(wex.DataError) as caught:
        processor.feed(last)
    return caught.value


ARITHMETIC = [
    (TWO + "sum(x) / sum(n) as m", [0.0, 0.0], [0, 0], "zero is divided by zero", "measure `a` and `b`"),
    (TWO + "avg(x / n) as m", [0.0, 0.0], [0, 0], "zero is divided by zero", "divisor"),
    (ONE + "[x / n > 2]", [0.0, 0.0], [0, 0], "zero is divided by zero", "`a > 2 * b`"),
    (TWO + "sum(x) as m having m / m > 1", [0.0, 0.0], [0, 0], "zero is divided by zero", "divisor"),
    (TWO + "sum(x) as m", [INF, -INF], [0, 0], "infinite values cancel", "infinite"),
    (TWO + "var(x) as m", [INF, 1.0], [0, 0], "infinite values cancel", "infinite"),
    (ONE + "[x - x[-1] > 2]", [INF, INF], [0, 0], "infinite values cancel", "infinite"),
    (ONE + "[x * n > 2]", [INF, INF], [0, 0], "infinite values cancel", "infinite"),
    (TWO + "max(x) as m", [NAN, 1.0], [0, 0], "reads a NaN", "filter [x = x]"),
    (TWO + "sum(x + 1) as m", [NAN, 1.0], [0, 0], "reads a NaN", "filter [x = x]"),
    (TWO + "min_by(n, x) as m", [NAN, 1.0], [0, 0], "reads a NaN", "filter [x = x]"),
    (TWO + "sum(n) as m", [0.0, 0.0], [2**62, 2**62], "does not fit into 64 bits", "smaller"),
    (TWO + "sum(n * 4) as m", [0.0, 0.0], [2**62, 1], "does not fit into 64 bits", "smaller"),
    (ONE + "[n + n > 2]", [0.0, 0.0], [2**62, 1], "does not fit into 64 bits", "smaller"),
    (ONE + "[-n > 2]", [0.0, 0.0], [-(2**63), 1], "does not fit into 64 bits", "smaller"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "x", "n", "message", "hint"), ARITHMETIC)
def test_why_arithmetic_has_no_result(
    spec: str, x: list[float], n: list[int], message: str, hint: str
) -> None:
    data = {"x": x, "n": n}
    error = refused(spec, data)
    assert error.code == "arithmetic"
    assert message in error.message
    assert hint in (error.hint or "")
    with pytest.raises(wex.DataError) as caught:
        find_by_definition(wex.parse(spec), data)
    assert (caught.value.message, caught.value.hint) == (error.message, error.hint)


def test_the_reason_is_that_of_the_first_event_that_fails() -> None:
    """Of one aggregate, events fail for different reasons; only one of them is in the window."""
    spec = ONE + "[n < 9]+ until [n = 9] keep longest measure sum(x / n) as m"
    overflow = {"x": [0.0, INF, 1.0, 1.0], "n": [9, 1, 1, 9]}
    wex.find(wex.parse(spec), overflow)
    error = refused(spec, {"x": [NAN, 1.0, 0.0, NAN, 1.0], "n": [9, 1, 0, 1, 9]})
    assert "zero is divided by zero" in error.message
    later = refused(spec, {"x": [0.0, 1.0], "n": [0, 1]}, {"x": [1.0], "n": [9]})
    assert "an earlier batch" in later.message


def test_filter_leaves_nan_out() -> None:
    """As the hint says."""
    spec = wex.parse(TWO + "sum(x) filter [x = x] as m")
    assert wex.find(spec, {"x": [NAN, 1.0], "n": [0, 0]})["m"].to_pylist() == [1.0]


def test_a_column_that_is_there_twice() -> None:
    error = refused(ONE + "[x > 1]", pa.table([[1.0], [2.0], [1]], names=["x", "x", "n"]))
    assert error.code == "column-twice"
    assert "2 columns called `x`" in error.message
    assert "rename or drop" in (error.hint or "")
    assert "did you mean" not in str(error)


# --- Late events

TIES = "stream s (t int, x real, seq int, name string) order by t window w match [x > 0]"


def row(t: int, x: float, seq: int | None, name: str = "") -> dict[str, object]:
    return {"t": [t], "x": [x], "seq": pa.array([seq], pa.int64()), "name": [name]}


def test_an_event_before_the_last_one() -> None:
    error = refused(TIES, row(5, 1.0, 1), row(4, 1.0, 2))
    assert error.message == "an event at 4 comes after one at 5"
    assert error.hint == "feed the events of a stream in ascending order of `t`"


def test_ties_name_the_column_that_decides_and_one_that_could() -> None:
    error = refused(TIES, row(5, 2.0, 1), row(5, 1.0, 2))
    assert error.message.endswith("the tie is decided by `x`, 1.0 before 2.0")
    assert "in the order of the stream line" in (error.hint or "")
    assert "write `order by t, seq`" in (error.hint or "")
    better = TIES.replace("order by t", "order by t, seq")
    processor = wex.Processor(wex.parse(better))
    for each in (row(5, 2.0, 1), row(5, 1.0, 2)):
        processor.feed(each)  # as the hint says
    assert "event at 5, 1 comes after one at 5, 2" in str(
        refused(better, row(5, 1.0, 2), row(5, 1.0, 1))
    )


def test_ties_that_no_column_can_mend() -> None:
    error = refused(TIES, row(5, 2.0, 3, "b"), row(5, 1.0, 2, "c"))
    assert "`order by t, n` with a column `n` that numbers them" in (error.hint or "")
    null = refused(TIES, row(5, 1.0, 3), row(5, 1.0, None))
    assert "decided by `seq`, NULL before 3" in null.message
    assert "-0.0 sorts before 0.0" in refused(TIES, row(5, 0.0, 3), row(5, -0.0, 3)).message


def test_late_events_of_buckets() -> None:
    strict = Bucket.of(engine_of(SPEC), Rules(late="error"))
    strict.run(table([("a", 5, 3)]))
    with pytest.raises(wex.DataError) as caught:
        strict.run(table([("a", 5, 2), ("b", 1, 1)]))
    assert "the tie is decided by `x`, 2 before 3" in caught.value.message
    assert "late='drop'" in (caught.value.hint or "")
    assert strict.run(table([("a", 5, 4), ("b", 1, 1)])).num_rows
