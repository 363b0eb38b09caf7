"""Order statistics: by the definition, in any pieces, with the values that they keep."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, outcome
from wex.reference.find import find_by_definition

STREAM = "stream s (t timestamp, x int, y real, s string) window w match "
MEASURES = """ measure nth(s, 2) as a, nth(x, -2) as b, nth(y, 1) as c, median(y) as d, median(x) as e, median(t - t[-1]) as f,
  percentile(y, 0.9) as g, percentile(x, 0) as h, percentile(t - t[-1], 0.25) as i, mode(s) as j, mode(y) as k, mode(x) filter [y > 0] as l"""
FORMS = ["any{3}", "any+ within 5 events", "any any{0,4}", "[x > 0] any* [x < 0]"]
rows = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.none() | st.integers(-2, 2),
        st.none() | st.sampled_from([-math.inf, -1.5, 0.0, 0.5, 2.0, math.inf, math.nan]),
        st.none() | st.sampled_from("abc"),
    ),
    max_size=9,
)


@given(st.sampled_from(FORMS), st.sampled_from([(), ("x",)]), rows, st.integers(0, 9))
def test_the_engine_is_the_definition_in_any_pieces(
    form: str, never_null: tuple[str, ...], events: list[tuple[object, ...]], cut: int
) -> None:
    spec = wex.parse(STREAM + form + MEASURES)
    if never_null or "[" in form:
        events = [event for event in events if event[1] is not None]
    types = (pa.timestamp("us"), pa.int64(), pa.float64(), pa.string())
    data = pa.table(
        {
            name: pa.array([event[at] for event in events], type_)
            for at, (name, type_) in enumerate(zip("txys", types, strict=True))
        }
    )
    expected = outcome(find_by_definition, spec, data)
    assert_same(outcome(wex.find, spec, data), expected)
    if isinstance(expected, pa.Table):
        processor = wex.Processor(spec)
        parts = [processor.feed(data.slice(0, cut))]
        processor = wex.Processor.restore(spec, processor.state())
        parts += [processor.feed(data.slice(cut)), processor.close()]
        assert_same(pa.concat_tables(parts), expected)


@pytest.mark.parametrize(
    ("window", "keeps"),
    [
        (
            "match any{9} measure median(x) as m, nth(x, 3) as n",
            (("median(x)", 9), ("nth(x, 3)", 9)),
        ),
        ("match any+ within 5 events measure 1 + mode(x) as m", (("mode(x)", 5),)),
        ("match any+ measure percentile(x, 0.5) as m", (("percentile(x, 0.5)", None),)),
        ("match any+ measure avg(x) as m", ()),
    ],
)
def test_check_lists_what_is_kept(window: str, keeps: tuple[tuple[str, int | None], ...]) -> None:
    assert wex.check(f"stream s (x real) window w {window}")["w"].keeps == keeps
