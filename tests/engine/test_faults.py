"""Which fault is told where a batch has several: the first one of the first stream.

By definition that is the fault of the shortest prefix of a stream that has one, and at one event
what is told first is: late, NULL or NaN, outside of an enum, arithmetic of predicates, an
assumption, then what measures the windows that the event reports.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from wex.reference.find import find_by_definition

SPEC = wex.parse("""
  stream s (k string, side enum('a', 'b'), x real, n int, m real) partition by k
  assume [n < 50]* assume [n != 7 or n[-1] = 0]*
  window ratio match [x / n > 1] any{1,2}
    measure sum(n) as total, sum(m) / count(m) as mean, max(m) as most
  window far match [n + n[-1] > 3]+ until [side = 'b'] or end measure first(n * 2) as d, avg(1 / (m - m)) as i
  window near match [n >= 0] measure sum(m) as s having s < 10
""")
HUGE = 2**62
values = {
    "side": st.sampled_from(["a", "a", "b", "b", None, "c"]),
    "x": st.sampled_from([1.0, 2.0, 4.0, 0.0, None, float("nan"), float("inf")]),
    "n": st.sampled_from([1, 1, 2, 3, 3, 0, 7, 60, HUGE, None]),
    "m": st.sampled_from([1.0, None, float("nan"), float("inf")]),
}
plain = {
    "side": st.sampled_from("ab"),
    "x": st.sampled_from([1.0, 2.0]),
    "n": st.sampled_from([1, 2, 3]),
    "m": st.sampled_from([1.0, None]),
}
events = st.one_of(*[st.fixed_dictionaries(plain)] * 3, st.fixed_dictionaries(values))
Events = list[dict[str, object]]
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("side", pa.string()),
        ("x", pa.float64()),
        ("n", pa.int64()),
        ("m", pa.float64()),
    ]
)


def table(rows: Events, key: str = "a") -> pa.Table:
    return pa.Table.from_pylist([{"k": key, **row} for row in rows], SCHEMA)


def told(error: wex.DataError | None) -> tuple[object, ...] | None:
    return None if error is None else (error.code, error.column, error.key, error.position)


def fault(run: object, *data: object) -> wex.DataError | None:
    try:
        run(*data)  # type: ignore[operator]
    except wex.DataError as error:
        return error
    return None


def in_pieces(whole: pa.Table, chance: random.Random, spec: wex.Spec = SPEC) -> None:
    processor, row = wex.Processor(spec), 0
    while row < whole.num_rows:
        size = chance.randint(1, 4)
        processor.feed(whole.slice(row, size))
        processor = wex.Processor.restore(spec, processor.state())
        row += size
    processor.close()


def alike(one: wex.DataError | None, two: wex.DataError | None) -> bool:
    """Tell whether two errors are about the same; guards that fail together have no order."""
    first, second = told(one), told(two)
    if first and second and first[0] == second[0] == "arithmetic":
        return first[2:] == second[2:]
    return first == second


@given(st.lists(events, max_size=8), st.randoms(use_true_random=False))
def test_one_stream_in_any_pieces(rows: Events, chance: random.Random) -> None:
    whole = table(rows)
    expected = fault(find_by_definition, SPEC, whole)
    found = fault(wex.find, SPEC, whole)
    assert alike(found, expected)
    assert told(fault(in_pieces, whole, chance)) == told(found)


# Windows whose measures fail: `keep` may have excluded them before `having` judges them.
JUDGED = [
    wex.parse(f"{str(SPEC).partition('assume')[0]} window w {match} keep {keep} {measures}")
    for match in (
        "match any+",
        "match [n > 1] any* [side = 'b']",
        "match any any? until [side = 'b'] or end",
        "match any [n <= max(n)]* within 4 events",
    )
    for keep in ("all", "shortest", "longest", "disjoint")
    for measures in (
        "measure max(m) as most, count() as c",
        "measure max(m) as most, count() as c having c >= 1",
        "measure sum(m) as total, count() as c having c != 2 and (total > 0 or c > 0)",
    )
]


@given(st.sampled_from(JUDGED), st.lists(events, max_size=8), st.randoms(use_true_random=False))
def test_having_judges_the_same_windows_in_any_pieces(
    spec: wex.Spec, rows: Events, chance: random.Random
) -> None:
    whole = table([{**row, "n": row["n"] or 1, "side": row["side"] or "a"} for row in rows])
    found = fault(wex.find, spec, whole)
    assert alike(found, fault(find_by_definition, spec, whole))
    assert told(fault(in_pieces, whole, chance, spec)) == told(found)


@pytest.mark.parametrize("keep", ["shortest", "disjoint"])
def test_a_window_that_cannot_be_kept_has_no_fault(keep: str) -> None:
    spec = wex.parse(f"""
      stream s (k string, n int, m real) partition by k
      window w match [n = 0] any* keep {keep} measure max(m) as most, count() as c having c >= 1""")
    nan = float("nan")
    data = {"k": [], "n": [], "m": []}  # type: ignore[var-annotated]
    for key in "abc":
        for at in range(30):
            data["k"].append(key)
            data["n"].append(at % 3)
            data["m"].append(nan if at % 3 == 1 else 1.0)
    starts = [at for _ in "abc" for at in range(0, 30, 3)]
    assert wex.find(spec, data)["start_index"].to_pylist() == starts
    data["m"][30 + 15] = nan  # the window that begins there has to be judged
    error = fault(wex.find, spec, data)
    assert told(error) == ("arithmetic", "most", ("b",), 15)


@given(st.lists(events, max_size=8))
def test_it_is_the_fault_of_the_shortest_prefix(rows: Events) -> None:
    def feed(count: int) -> wex.DataError | None:
        return fault(wex.Processor(SPEC).feed, table(rows[:count]))

    shortest = next((feed(n) for n in range(1, len(rows) + 1) if feed(n)), None)
    found = fault(wex.find, SPEC, table(rows))
    if shortest is not None:
        assert told(found) == told(shortest)
    elif found is not None:  # only the end of the stream shows it
        assert (found.code, found.column) == ("arithmetic", "d") or found.column == "i"


@given(st.lists(events, max_size=6), st.lists(events, max_size=6), st.integers(0, 9))
def test_streams_go_by_key(one: Events, two: Events, seed: int) -> None:
    both = pa.concat_tables([table(two, "b"), table(one, "a")])
    marked = both.append_column("#", pa.array(range(both.num_rows)))
    order = list(range(both.num_rows))
    random.Random(seed).shuffle(order)
    # Rows of one stream stay in their order, whatever lies between them.
    chosen = [iter(range(len(two))), iter(range(len(two), both.num_rows))]
    mixed = [next(chosen[at >= len(two)]) for at in order]
    found = fault(wex.find, SPEC, marked.take(pa.array(mixed, pa.int64())))
    first = fault(wex.find, SPEC, table(one, "a")) or fault(wex.find, SPEC, table(two, "b"))
    assert told(found) == told(first)
    expected = fault(find_by_definition, SPEC, both)
    assert alike(found, expected)
    fed = fault(wex.Processor(SPEC).feed, both)
    # What the end of a stream shows is not told by a batch after which more may come.
    ended = any(not fault(wex.Processor(SPEC).feed, table(rows, key)) and fault(wex.find, SPEC, table(rows, key))
                for rows, key in ((one, "a"), (two, "b")))  # fmt: skip
    assert ended or told(fed) == told(found)


KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "null": ("x", {"x": None, "side": "c", "n": 60}),
    "enum-value": ("side", {"side": "c", "n": 60}),
    "arithmetic": ("x", {"x": 0.0, "n": 0, "side": "a"}),
}


def test_at_one_event_the_kinds_have_an_order() -> None:
    fine: dict[str, object] = {"side": "a", "x": 1.0, "n": 1, "m": 1.0}
    for code, (column, change) in KINDS.items():
        error = fault(wex.find, SPEC, table([fine, {**fine, **change}, {**fine, "x": None}]))
        assert error is not None
        assert (error.code, error.column, error.position) == (code, column, 1)
    nan = {**fine, "x": float("nan"), "n": None}
    error = fault(wex.find, SPEC, table([fine, nan]))
    assert told(error) == ("null", "x", ("a",), 1)


def test_columns_and_values_come_before_events() -> None:
    spec = wex.parse("stream s (x real, n int) window w match [x > n]")
    rows = {"x": [None, 2**60], "n": [1, 1]}
    with pytest.raises(wex.DataError) as caught:
        wex.find(spec, rows)
    assert caught.value.code == "wrong-value"
    with pytest.raises(wex.DataError) as caught:
        wex.find(spec, {"x": rows["x"], "n": ["a", "b"]})
    assert (caught.value.code, caught.value.column) == ("wrong-column-type", "n")
    both = wex.parse("stream s (x real, y real) window w match [x > y]")
    with pytest.raises(wex.DataError) as caught:
        wex.find(both, {"x": [1, 1, 2**60], "y": [1, 2**60, 1]})
    assert (caught.value.code, caught.value.column) == ("wrong-value", "y")
    assert "row 1" in (caught.value.hint or "")
