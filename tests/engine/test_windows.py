"""Windows by the definition: the worked cases, every clause by hand, and the laws."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same_error, outcome
from tests.strategies import specs, streams
from wex import examples
from wex.spec import tree
from wex.spec.resolve.runs import spelled_out
from wex.spec.vocabulary import PREFERENCE
from wex.theory.evaluate import Event


def pairs(spec: str, **columns: Sequence[object]) -> list[tuple[int, int]]:
    found = wex.find(wex.parse(spec), dict(columns))
    return list(zip(found["start_index"].to_pylist(), found["end_index"].to_pylist(), strict=True))


def numbers(clauses: str, values: Sequence[object], lets: str = "") -> list[tuple[int, int]]:
    return pairs(f"stream s (x real) {lets} window w {clauses}", x=values)


def letters(clauses: str, word: str) -> list[tuple[int, int]]:
    lets = " ".join(f"let {c} = letter = '{c}'" for c in "abc")
    return pairs(
        f"stream s (letter enum('a', 'b', 'c')) {lets} window w {clauses}", letter=list(word)
    )


# --- The worked cases


def test_the_papers_trend() -> None:
    prices = [3, 2.5, 2, 3, 3.5, 3.2, 4, 4.5, 4.2, 3.9, 4.2]
    lets = "let D2 = x[-2] > x[-1] and x[-1] > x let U1 = x > x[-1]"
    regex = "after any* D2 match U1 [not D2]* D2"
    formula = (
        "where U1(begin) and D2(begin - 1) and D2(end) and begin < end"
        " and forall p: begin < p and p < end implies not D2(p)"
    )
    assert numbers(regex, prices, lets) == [(3, 9)]
    assert numbers(formula, prices, lets) == [(3, 9)]


def test_sliding_windows() -> None:
    spec = "after (any any)* match any{5}"
    assert numbers(spec, list(range(12))) == [(0, 4), (2, 6), (4, 8), (6, 10)]


def test_tumbling_windows() -> None:
    assert numbers("after (any{5})* match any{5}", list(range(12))) == [(0, 4), (5, 9)]


def test_a_star_b() -> None:
    assert letters("after any* match [a]* [b]", "aaab") == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_arrhythmia() -> None:
    spec = "after any* match [x[-1] > x[-2] and x[-1] > x[0] and x[-1] > 4]"
    assert numbers(spec, [1, 5, 2, 6, 3]) == [(2, 2), (4, 4)]


@pytest.mark.parametrize("count", range(5))
def test_every_prefix(count: int) -> None:
    assert numbers("after () match any+", list(range(count))) == [(0, e) for e in range(count)]


def test_sessions() -> None:
    spec = """stream s (t int) window w
      match [is_first or t - t[-1] > 30] [t - t[-1] <= 30]* until [t - t[-1] > 30] or end"""
    assert pairs(spec, t=[0, 10, 20, 60, 65]) == [(0, 2), (3, 4)]


# --- W0


def test_a_window_has_at_least_one_event() -> None:
    assert numbers("match any*", [1, 2]) == [(0, 0), (0, 1), (1, 1)]
    assert numbers("match ()", [1, 2]) == []
    assert numbers("match any{0}", [1, 2]) == []


def test_the_first_gram_is_at_k_and_needs_an_empty_prefix() -> None:
    assert numbers("after () match [x > x[-2]] unpadded", [0, 1, 2, 3]) == [(2, 2)]
    assert numbers("after any match [x > x[-2]] unpadded", [0, 1, 2, 3]) == [(3, 3)]
    assert numbers("after [false]* match [x > x[-2]] unpadded", [0, 1, 2, 3]) == [(2, 2)]


def test_unpadded_windows_begin_where_all_their_lookback_exists() -> None:
    assert numbers("match [x > x[-2]] | any unpadded", [1, 2]) == []
    assert numbers("match any lookback 2 unpadded", [1, 2]) == []
    assert numbers("match any lookback 2 unpadded", [1, 2, 3]) == [(2, 2)]
    assert numbers("match any lookback 2", [1, 2]) == [(0, 0), (1, 1)]
    assert numbers("match [x > x[-2]] | any", [1, 2]) == [(0, 0), (1, 1)]


def test_a_window_that_two_pairs_recognise_is_one() -> None:
    assert numbers("match any or after () match any any?", [1, 2]) == [(0, 0), (0, 1), (1, 1)]


def test_complement_has_the_empty_sequence() -> None:
    assert numbers("after ~any match any", [1, 2, 3]) == [(0, 0), (2, 2)]
    assert numbers("after ~~() match any", [1, 2, 3]) == [(0, 0)]
    assert letters("match ~(any* [b] any*)", "aba") == [(0, 0), (2, 2)]


def test_intersection() -> None:
    assert letters("match (a any*) & (any* b)", "aabb") == [(0, 2), (1, 2), (0, 3), (1, 3)]


# --- The clauses, each by hand


def test_until_keeps_windows_before_an_event_and_reports_them_there() -> None:
    assert letters("match a+ until [b]", "aabac") == [(0, 1), (1, 1), (3, 3)][:2]
    assert letters("match a+ until [b]", "aa") == []
    assert letters("match a+ until [b] or end", "aabaa") == [(0, 1), (1, 1), (3, 4), (4, 4)]


def test_until_sees_the_next_gram_with_its_own_lookback() -> None:
    assert numbers("match any+ until [x < x[-1]] keep longest", [9, 1, 2, 3, 1]) == [(0, 0), (0, 3)]
    assert numbers("match any+ until [x < x[-1]] keep longest unpadded", [9, 1, 2, 3, 1]) == [
        (1, 3)
    ]


def test_within_events_counts_both_ends() -> None:
    assert numbers("match any+ within 2 events", [1, 2, 3]) == [
        (0, 0),
        (0, 1),
        (1, 1),
        (1, 2),
        (2, 2),
    ]


def test_within_a_duration_leaves_the_until_event_out() -> None:
    spec = """stream s (ts timestamp, ok bool) order by ts
      window w match any+ until [ok] within 10 minutes keep longest"""
    start = datetime(2026, 1, 31)
    at = [start + timedelta(minutes=m) for m in (0, 4, 10, 30)]
    assert pairs(spec, ts=at, ok=[False, False, False, True]) == [(0, 2)]
    late = [start + timedelta(minutes=m) for m in (0, 4, 11, 30)]
    assert pairs(spec, ts=late, ok=[False, False, False, True]) == [(1, 2)]


def test_having_keeps_windows_by_their_measures() -> None:
    spec = "match any+ measure sum(x) as total having total between 3 and 5"
    assert numbers(spec, [1, 2, 3]) == [(0, 1), (1, 2), (2, 2)]


def test_having_with_null_does_not_hold() -> None:
    assert numbers("match any measure var(x) as v having v >= 0", [1, 2]) == []
    assert numbers("match any measure var(x) as v having not v >= 0", [1, 2]) == []


def test_keep() -> None:
    word = "aabab"
    assert letters("match a any* b", word) == [(0, 2), (1, 2), (0, 4), (1, 4), (3, 4)]
    assert letters("match a any* b keep all", word) == letters("match a any* b", word)
    assert letters("match a any* b keep shortest", word) == [(0, 2), (1, 2), (3, 4)]
    assert letters("match a any* b keep longest", word) == [(0, 2), (0, 4)]
    assert letters("match a any* b keep disjoint", word) == [(0, 2), (3, 4)]


def test_keep_comes_after_having() -> None:
    spec = "match a any* b measure count() as n having n >= 4"
    assert letters(f"{spec} keep shortest", "aabab") == [(0, 4), (1, 4)]
    assert letters(f"{spec} keep longest", "aabab") == [(0, 4)]


def test_atoms_about_missing_events_are_false() -> None:
    assert numbers("match [x <= x[-1]]", [1, 1, 2]) == [(1, 1)]
    assert numbers("match [not x > x[-1]]", [1, 1, 2]) == [(0, 0), (1, 1)]
    assert numbers("match [is_first[-1]]", [1, 1, 2]) == [(1, 1)]
    assert numbers("match [is_first]", [1, 2]) == [(0, 0)]


# --- Formulas


def test_formulas_range_from_k_to_end() -> None:
    assert numbers("where begin = end and [x > x[-1]](end)", [1, 2, 3]) == [(1, 1), (2, 2)]
    assert numbers("where forall p: begin <= p", [1, 2]) == [(0, 0), (0, 1)]
    assert numbers("where exists p: end < p", [1, 2]) == []


def test_positions_outside_the_range_satisfy_nothing() -> None:
    assert numbers("where [true](begin - 1) and begin = end", [1, 2]) == [(1, 1)]
    assert numbers("where not [true](end + 1) and begin = end", [1, 2]) == [(0, 0), (1, 1)]
    assert numbers("where begin - 1 < end + 5 and begin = end", [1]) == [(0, 0)]
    assert numbers("where forall set X: not end + 1 in X", [1]) == [(0, 0)]


def test_even_length_needs_a_set() -> None:
    spec = """where exists set X: begin in X and end not in X
      and forall p: begin <= p and p < end implies (p in X iff p + 1 not in X)"""
    assert numbers(spec, [1, 2, 3, 4]) == [(0, 1), (1, 2), (0, 3), (2, 3)]


# --- Laws


@given(specs.specs(), st.lists(streams.events, max_size=6))
def test_windows_are_reported_without_delay(spec: tree.Spec, events: list[Event]) -> None:
    """windows(w[:n]) are the windows of w reported before n, `or end` and preference aside."""
    ordered = sorted(events, key=lambda event: str(event["ts"]))
    rows = [{**event, "key": "a", "ts": streams.START + at} for at, event in enumerate(ordered)]
    no_end = [
        tree.Window(**{**vars(w), "until": w.until and tree.Until(w.until.predicate)})
        for w in (spelled_out(window, spec.stream) for window in spec.windows)
        if not (w.keep and w.keep.text in PREFERENCE)
    ]
    assume(no_end)
    plain = wex.parse(str(tree.Spec(spec.stream, spec.lets, (), tuple(no_end))))
    parts = [outcome(wex.find, plain, streams.table(rows[:n])) for n in range(len(rows) + 1)]
    errors = [part for part in parts if isinstance(part, wex.DataError)]
    if errors:  # arithmetic without a result, or a NaN: the same one in every longer stream
        assert parts[-len(errors) :] == errors
        return assert_same_error(errors[-1], errors[0])
    delay = {w.name.text: 0 if w.until is None else 1 for w in plain.windows}
    windows = [part.to_pylist() for part in parts if isinstance(part, pa.Table)]
    for n, part in enumerate(windows):
        assert part == [w for w in windows[-1] if w["end_index"] + delay[w["window_name"]] < n]
    return None


@given(
    st.text("abc", max_size=12),
    st.sampled_from(["a*b", "(a|b)+c?", "a(b|c)*a", "(ab){1,3}", "[bc]+"]),
)
def test_windows_agree_with_re(word: str, pattern: str) -> None:
    written = {
        "a*b": "a* b", "(a|b)+c?": "(a | b)+ c?", "a(b|c)*a": "a (b | c)* a", "(ab){1,3}": "(a b){1,3}",
        "[bc]+": "[b or c]+",
    }  # fmt: skip
    expected = {
        (b, e)
        for b in range(len(word))
        for e in range(b, len(word))
        if re.fullmatch(pattern, word[b : e + 1])
    }
    assert set(letters(f"match {written[pattern]}", word)) == expected


# --- Real data, against loops written by hand


def test_trends_in_stocks() -> None:
    data = examples.data("stocks").to_pylist()
    found = wex.find(examples.spec("stocks"), examples.data("stocks"))
    expected = []
    for symbol in sorted({row["symbol"] for row in data}):
        prices = [r["price"] for r in sorted(data, key=lambda r: r["day"]) if r["symbol"] == symbol]
        start = None
        for at in range(2, len(prices)):
            falling = prices[at - 2] > prices[at - 1] > prices[at]
            after_falls = at >= 3 and prices[at - 3] > prices[at - 2] > prices[at - 1]
            if start is None and prices[at] > prices[at - 1] and after_falls:
                start = at
            elif start is not None and falling:
                expected.append((symbol, start, at))
                start = None
    rows = [(row["symbol"], row["start_index"], row["end_index"]) for row in found.to_pylist()]
    assert rows == expected
    assert found.equals(examples.windows("stocks").cast(found.schema))


def test_peaks_in_an_ecg() -> None:
    h = examples.data("ecg")["h"].to_pylist()
    peaks = [
        at
        for at in range(1, len(h) - 1)
        if h[at] > h[at - 1] and h[at] >= h[at + 1] and h[at] > 150
    ]
    found = wex.find(examples.spec("ecg"), examples.data("ecg"))
    assert found["at"].to_pylist() == peaks
    assert found.equals(examples.windows("ecg").cast(found.schema))


def test_warm_afternoons_in_seattle() -> None:
    t = examples.data("seattle")["temp"].to_pylist()
    expected, start = [], None
    for at in range(1, len(t)):
        if start is None and t[at] > 70 >= t[at - 1]:
            start = at
        elif start is not None and at <= start + 2 and not t[at] > 70:
            start = None
        elif start is not None and t[at] < 65:
            expected.append((start, at))
            start = None
    found = wex.find(examples.spec("seattle"), examples.data("seattle"))
    rows = found.select(["start_index", "end_index"]).to_pylist()
    assert [(row["start_index"], row["end_index"]) for row in rows] == expected
    assert found.equals(examples.windows("seattle").cast(found.schema))
