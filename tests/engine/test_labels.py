"""Labels: the engine parses windows as the definition does, in any pieces, and finds the same windows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import find_by
from tests.engine.matchers import COUNTS, LETS, LETTERS
from tests.strategies.specs import greedy
from wex.compile.plan import Plan
from wex.engine import labels
from wex.engine.engine import Engine, engine_of
from wex.engine.input.prepare import PreparedInput
from wex.engine.labels import event_labels
from wex.engine.streaming.bucket import Bucket, Rules
from wex.reference.find import find_by_definition
from wex.spec import tree
from wex.stages import plan_of

HEAD = f"stream s ({LETTERS}, n int) {LETS} let later = n > n[-1]\n"
words = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-2, 3)), max_size=11)
Word = list[tuple[str, int]]
ATOMS = ["a", "b", "c", "any", "()", "[later]", "~(a b)", "[n >= 0]"]
RUNNING = ["[n <= first(n)]", "[sum(n) <= 3]", "[n >= max(n)]"]
MEASURES = (
    "count(p) as p, count(q) filter [n > 0] as q, collect(label()) as l, collect(q.n) as all_q, last(p.n - p.n[-1]) as d,"
    " sum(p.n) as total, nth(label(), -1) as latest, mode(label()) filter [n > 0] as often, count() as size,"
    " max(q.n) - min(p.n) as span, first(q.x) as x, count_if(p.later) as later, min_by(p.x, p.n) as least"
)
RESUMING = [
    f"keep leftmost resuming at {end} {label}" for end in ("first", "last") for label in "pq"
]
KEEPS = [
    "", "keep shortest", "keep longest", "keep disjoint", "keep preferred", "keep leftmost",
    "keep leftmost sharing 1 event", *RESUMING,
]  # fmt: skip


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {})".format, inner, inner),
        st.builds("({} | {})".format, inner, inner),
        st.builds("({} & any* b?)".format, inner),
        st.builds("{}:({})".format, st.sampled_from("pqp"), inner),
        st.builds("({}){}".format, inner, st.sampled_from(COUNTS).filter(lambda c: c != "{2}?")),
    )


def expressions(atoms: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(st.sampled_from(atoms), compound, max_leaves=6)


@st.composite
def specs(draw: st.DrawFn) -> tree.Spec:
    """Return a spec with one window, whose labels are `p` and `q`, in any places."""
    inner = expressions(ATOMS + RUNNING if draw(st.integers(0, 3)) == 0 else ATOMS)
    pairs = [f"match p:({draw(inner)}) {draw(inner)} q:({draw(inner)})"]
    afters = draw(st.lists(st.sampled_from(["any* a", "any* b", "(any any)*"]), max_size=2))
    pairs += [f"after {after} match {draw(inner)} q:({draw(inner)})" for after in afters]
    clauses = [
        draw(st.sampled_from(["", "", "until [b]", "until [a] or end"])),
        draw(st.sampled_from(["", "", "within 4 events"])),
        draw(st.sampled_from(KEEPS)),
        draw(st.sampled_from(["", "", "unpadded"])),
        f"measure {MEASURES}",
        draw(st.sampled_from(["", "having p > q", "having size != 2 and p <= 2"])),
    ]
    return wex.parse(f"{HEAD} window w {' or '.join(pairs)} {' '.join(clauses)}")


def table(word: Word) -> pa.Table:
    return pa.table(
        {
            "x": pa.array([letter for letter, _ in word], pa.string()),
            "n": pa.array([number for _, number in word], pa.int64()),
        }
    )


def in_order(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: (row["end_index"], row["start_index"]))


@given(specs(), words, st.sets(st.integers(1, 10), max_size=4))
def test_the_engine_is_the_definition_in_any_pieces(
    spec: tree.Spec, word: Word, cuts: set[int]
) -> None:
    data = table(word)
    expected = find_by_definition(spec, data).to_pylist()
    assert wex.find(spec, data).to_pylist() == expected
    processor, rows = wex.Processor(spec), []
    places = [0, *sorted(cut for cut in cuts if cut < len(word)), len(word)]
    for begin, end in pairwise(places):
        rows += processor.feed(data.slice(begin, end - begin)).to_pylist()
        processor = wex.Processor.restore(spec, processor.state())
    rows += processor.close().to_pylist()
    assert in_order(rows) == in_order(expected)


@given(specs(), words)
def test_labels_do_not_change_which_windows_there_are(spec: tree.Spec, word: Word) -> None:
    window = spec.windows[0]
    if window.having is not None or isinstance(window.next_start, tree.Resuming):
        return  # which depend on labels
    prefers = window.keep is not None and window.keep.text in ("preferred", "leftmost")
    matches = [tree.unlabelled(pair.match) for pair in window.pairs]
    pairs = tuple(
        replace(pair, match=match if prefers else greedy(match))
        for pair, match in zip(window.pairs, matches, strict=True)
    )
    plain = replace(spec, windows=(replace(window, pairs=pairs, measures=()),), source=None)
    columns = ["start_index", "end_index"]
    engines = map(engine_of, (spec, wex.parse(str(plain))))
    one, two = (find_by(engine, table(word)).select(columns) for engine in engines)
    assert one.equals(two)


@given(specs(), words)
def test_a_plan_carries_labels_and_windows_can_be_parsed_part_by_part(
    spec: tree.Spec, word: Word
) -> None:
    whole = find_by(engine_of(spec), table(word))
    engine = Engine(Plan.from_bytes(plan_of(spec).to_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "MOST_EVENTS", 3)
        assert find_by(engine, table(word)).equals(whole)


def test_the_strategy_finds_windows() -> None:
    """Keep the laws above honest: many streams have windows with labels."""
    seen = {"specs": 0, "with windows": 0, "with two labels": 0}

    @given(specs(), words)
    def look(spec: tree.Spec, word: Word) -> None:
        windows = find_by(engine_of(spec), table(word)).to_pylist()
        seen["specs"] += 1
        seen["with windows"] += len(windows) > 0
        seen["with two labels"] += any(len(set(row["l"])) > 1 for row in windows)

    look()
    assert seen["with windows"] > seen["specs"] / 5
    assert seen["with two labels"] > seen["specs"] / 20


def test_several_streams_of_several_lengths() -> None:
    spec = wex.parse(
        "stream s (k string, x int) partition by k"
        " window w match up:([x > 0]+) down:([x < 0]+) until [x >= 0] or end"
        " measure sum(up.x) as up, count(down) as down, collect(label()) as l"
    )
    keys = ["a", "b", "b", "a", "b", "c", "a", "b", "a", "b", "c", "c"]
    values = [1, 1, 2, 2, -1, 5, -1, -2, 0, 1, -3, -4]
    data = {"k": keys, "x": values}
    expected = find_by_definition(spec, data)
    assert expected.num_rows == 5
    assert wex.find(spec, data).equals(expected)
    processor = wex.Processor(spec)
    rows = []
    for at in range(len(keys)):
        rows += processor.feed({"k": keys[at : at + 1], "x": values[at : at + 1]}).to_pylist()
        processor = wex.Processor.restore(spec, processor.state())
    rows += processor.close().to_pylist()

    def place(row: dict[str, object]) -> tuple[object, ...]:
        return row["k"], row["end_index"], row["start_index"]

    assert sorted(rows, key=place) == sorted(expected.to_pylist(), key=place)


def test_long_expressions_and_long_windows() -> None:
    numbers = list(range(300))
    spec = "stream s (n int) window w after () match p:(any{{120}}) {} q:(any{{130}}) until [false] or end"
    for middle, events in (("r:any*", 50), ("r:(any{50})", 50), ("(r:any any)*", 25)):
        text = f"{spec.format(middle)} measure count(p) as p, count(q) as q, count(r) as r, max(p.n) as last"
        (row,) = wex.find(text, {"n": numbers}).to_pylist()
        assert (row["p"], row["q"], row["r"], row["last"]) == (120, 130, events, 119)
    long = wex.find(
        "stream s (n int) window w after () match p:([n >= 0]*) q:any until [false] or end"
        " measure count(p) as p, first(q.n) as q",
        {"n": list(range(200_000))},
    )
    assert long.select(["p", "q"]).to_pylist() == [{"p": 199_999, "q": 199_999}]


@pytest.mark.parametrize("more", ["", " [n <= first(n)]*"])
def test_more_predicates_than_fit_into_a_code(more: str) -> None:
    parts = " | ".join(f"{'pq'[n % 2]}:([n = {n}] r:[n > {n}]*)" for n in range(11))
    spec = wex.parse(
        f"stream s (n int) window w after any* [n > 7] match ({parts}){more} or match q:any measure collect(label()) as l,"
        " sum(p.n) as p, sum(q.n) as q, count(r) as r"
    )
    data = {"n": [number * number * 7 % 12 + number % 3 for number in range(60)]}
    expected = find_by_definition(spec, data)
    assert set(expected["r"].to_pylist()) >= {0, 1, 2}
    assert wex.find(spec, data).equals(expected)
    processor = wex.Processor(spec)
    rows = [row for n in data["n"] for row in processor.feed({"n": [n]}).to_pylist()]
    assert rows + processor.close().to_pylist() == expected.to_pylist()


def test_files_are_read_batch_by_batch(tmp_path: Path) -> None:
    spec = wex.parse(
        "stream s (t int, x int) order by t window w match up:([x > 0]+) down:([x < 0]+?) [x = 0]"
        " measure sum(up.x) as up, count(down) as down, collect(label()) as l"
    )
    values = [1, 2, -1, -1, 0, 5, -1, 0, 0, 1, 1, 1, -2, -2, -2, -2, 0] * 20
    data = pa.table({"t": list(range(len(values))), "x": values})
    pq.write_table(data, tmp_path / "events.parquet", row_group_size=7)
    expected = find_by_definition(spec, data)
    assert expected.num_rows > 60
    assert wex.find_in_file(spec, tmp_path / "events.parquet").equals(expected)


def test_a_watermark_closes_windows_with_labels() -> None:
    spec = wex.parse(
        "stream s (ts timestamp, x int) order by ts"
        " window w match up:([x > 0]+) down:([ts - first(ts) <= 5 seconds]*)"
        " until [ts - first(ts) > 5 seconds] or end keep longest measure collect(label()) as l, sum(down.x) as d"
    )
    times = pa.array([second * 1_000_000 for second in (1, 2, 3, 4)], pa.timestamp("us"))
    data = pa.table({"ts": times, "x": [1, 1, -1, -2]})
    bucket = Bucket.of(engine_of(spec), Rules())
    bucket.arrive(data, 0)
    reports = []
    for second in (2, 3, 5, 6, 60):
        bucket = Bucket.of(engine_of(spec), Rules(), bucket.saved())
        reports.append(bucket.advance(second * 1_000_000).to_pylist())
    assert reports[3] == wex.find(spec, data).to_pylist()
    assert [len(report) for report in reports] == [0, 0, 0, 1, 0]
    assert (reports[3][0]["l"], reports[3][0]["d"]) == (["up", "up", "down", "down"], -3)


def test_arithmetic_that_fails_outside_of_the_label_is_no_error() -> None:
    head = "stream s (x real, y int) window w match p:[y = 0]* q:[y > 0] keep longest measure "
    data = {"x": [0.0, 0.0], "y": [0, 2]}
    assert wex.find(head + "sum(q.y / q.y) as m", data)["m"].to_pylist() == [None, 1.0][1:]
    with pytest.raises(wex.DataError) as caught:
        wex.find(head + "sum(p.x / p.x) as m", data)
    assert caught.value.code == "arithmetic"
    nan = {"x": [float("nan"), 1.0], "y": [0, 2]}
    assert wex.find(head + "sum(q.x) as m", nan)["m"].to_pylist() == [1.0]
    with pytest.raises(wex.DataError):
        wex.find(head + "sum(p.x) as m", nan)


def test_events_are_kept_only_while_a_window_is_open() -> None:
    spec = wex.parse(f"{HEAD} window w match a p:(b+) c measure count(p) as n")
    processor = wex.Processor(spec)
    sizes = []
    for letters in ("cc", "ab", "bb", "c", "ccc"):
        processor.feed({"x": list(letters), "n": [0] * len(letters)})
        sizes.append(engine_tail(spec, processor.state()))
    assert sizes == [1, 3, 5, 1, 1]


def engine_tail(spec: tree.Spec, state: bytes) -> int:
    from wex.engine.state.state_check import read_state  # noqa: PLC0415

    return int(read_state(state, engine_of(spec)).tail_counts[0])


def test_the_label_of_each_event() -> None:
    spec = wex.parse(f"{HEAD} window w match p:(a q:(b+)) c? keep longest until [a] or end")
    engine = engine_of(spec)
    prepared = PreparedInput(engine, {"x": list("abbcab"), "n": [0] * 6})
    prior = engine.fresh(1)
    runs, windows, _ = engine._stages(prepared.batch(prior), prior, last=True)
    found = windows[0]
    shown = event_labels(runs[0], found.streams, found.starts, found.ends).to_pylist()
    assert list(zip(found.starts, found.ends, strict=True)) == [(0, 3), (4, 5)]
    assert shown == ["p", "q", "q", None, "p", "q"]


@pytest.mark.parametrize(
    "window",
    [
        "match q:[not x = x[-1]] any measure collect(label()) as l",
        "match any (l:[not x[-2] >= 2] any | any any) keep leftmost resuming at first l",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_labels_of_first_events_that_a_state_keeps(window: str, size: int) -> None:
    """Labels are read again from events of earlier batches, the first ones of a stream among them."""
    spec = wex.parse(f"stream s (x int) window w {window}")
    x = [2] * 6
    processor = wex.Processor(spec)
    parts = [processor.feed({"x": x[row : row + size]}) for row in range(0, len(x), size)]
    rows = [row for part in [*parts, processor.close()] for row in part.to_pylist()]
    assert rows == wex.find(spec, {"x": x}).to_pylist()
    assert rows == find_by_definition(spec, {"x": x}).to_pylist()
