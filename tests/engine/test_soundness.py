"""States, buckets and plans whose checksum fits and whose content does not, written by hand."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import wex
from tests.engine.tables import SPEC as BUCKET_SPEC
from tests.engine.tables import microseconds, table
from wex.compile import plan as plans
from wex.compile.plan import Plan
from wex.engine.engine import Engine, engine_of
from wex.engine.running_streams import RunningStreams
from wex.engine.state.state import FRAME, State, to_bytes, to_ipc
from wex.engine.state.state_check import read_state
from wex.engine.streaming import bucket as buckets
from wex.engine.streaming.bucket import Bucket, Rules, fingerprint_of
from wex.framing import CHECKSUM, VERSION_BYTES, Frame
from wex.stages import plan_of

SPEC = wex.parse("""
  stream s (k string, x int, y real) partition by k
  assume [x >= 0]*
  window w match [x > 0] any* [x > 5] measure collect(x) as c, count_distinct(y) as d, sum(x) as s, min_by(x, y) as m
""")
ENGINE = engine_of(SPEC)


def content_of(saved: bytes, frame: Frame) -> bytes:
    return saved[len(frame.magic) + VERSION_BYTES + CHECKSUM :]


def state() -> State:
    streams = RunningStreams(ENGINE)
    streams.feed({"k": ["a", "a", "b"], "x": [1, 2, 3], "y": [0.5, 0.5, 1.0]})
    return streams.everything()


def put(name: str, column: str, values: list[object]) -> Callable[[State], State]:
    """Return what writes other values into the column of a table."""

    def change(found: State) -> State:
        whole = {"": found.streams, **found.lists}
        at = whole[name].column_names.index(column)
        type_ = whole[name].column(column).type
        whole[name] = whole[name].set_column(at, column, pa.array(values, type_))
        return State(whole.pop(""), whole)

    return change


def retyped(name: str, column: str, type_: pa.DataType) -> Callable[[State], State]:
    """Return what gives a column another type."""

    def change(found: State) -> State:
        whole = {"": found.streams, **found.lists}
        at = whole[name].column_names.index(column)
        whole[name] = whole[name].set_column(at, column, pa.nulls(whole[name].num_rows, type_))
        return State(whole.pop(""), whole)

    return change


BAD: dict[str, Callable[[State], State]] = {
    "a state beyond the automaton": put("", "state.0", [99, 0]),
    "a state below zero": put("", "state.0", [-1, 0]),
    "a promise beyond its automaton": put("", "promise", [7, 0]),
    "a position below zero": put("", "position", [-5, 1]),
    "a position near 2^63": put("", "position", [2**63 - 1, 1]),
    "counts that are too many": put("", "#held.0", [2, 5]),
    "counts that overflow": put("", "#held.0", [2**62, 2**62]),
    "counts below zero": put("", "#held.0", [4, -1]),
    "no last event": put("", "#tail", [0, 1]),
    "an end to come": put("", "last.0", [5, -1]),
    "a slot beyond the config": put("held.0", "slot", [1000, 0, 0]),
    "a slot below zero": put("held.0", "slot", [-1, 0, 0]),
    "a start to come": put("held.0", "position", [0, 9, 0]),
    "a start before the stream": put("held.0", "position", [-1, 1, 0]),
    "starts in the wrong order": put("held.0", "position", [1, 0, 0]),
    "starts at one place": put("held.0", "position", [0, 0, 0]),
    "a clock without `within`": put("held.0", "clock", [1, 0, 0]),
    "a NULL for a number": put("held.0", "slot", [None, 0, 0]),
    "a list that is NULL": put("held.0", "0.value", [None, [2], [3]]),
    "a NULL in a list": put("held.0", "0.value", [[None], [2], [3]]),
    "a list that is too long": put("held.0", "0.value", [[1, 2, 3], [2], [3]]),
    "a NULL among different ones": put("held.0", "1.value", [[None], [0.5], [1.0]]),
    "a sum beyond its events": put("held.0", "2.high", [2**62, 0, 0]),
    "a count beyond its events": put("held.0", "2.n", [2, 1, 1]),
    "a value without its key": put("held.0", "3.key", [None, 0.5, 1.0]),
    "spoilt or not": put("held.0", "0.spoilt", [None, False, False]),
    "another type": retyped("held.0", "slot", pa.int32()),
    "another type of a field": retyped("tail", "x", pa.string()),
    "another type of a key": retyped("", "key.k", pa.int64()),
    "a NULL that guards read": put("tail", "x", [None, 3]),
    "an event of another stream": put("tail", "k", ["b", "b"]),
    "one stream twice": put("", "key.k", ["a", "a"]),
    "a list that is missing": lambda found: State(found.streams, {"tail": found.lists["tail"]}),
    "rows that are missing": lambda found: State(found.streams, {**found.lists, "held.0": pa.table({})}),
    "a column twice": lambda found: State(
        found.streams.append_column("position", found.streams.column("position")), found.lists
    ),
}  # fmt: skip


def test_the_state_as_it_is() -> None:
    saved = to_bytes(state(), ENGINE.fingerprint)
    assert read_state(saved, ENGINE).size == 2
    again = RunningStreams(ENGINE, saved)
    found = again.feed({"k": ["a"], "x": [6], "y": [1.0]})
    assert found["c"].to_pylist() == [[1, 2, 6], [2, 6]]


@pytest.mark.parametrize("what", BAD)
def test_a_state_that_cannot_be(what: str) -> None:
    bad = BAD[what](state())
    if what in ("an event of another stream", "one stream twice"):
        change = put("tail", "k", ["a", "a"]) if what.startswith("one") else (lambda each: each)
        bad = change(bad)
    with pytest.raises(wex.StateError) as caught:
        RunningStreams(ENGINE, to_bytes(bad, ENGINE.fingerprint))
    assert caught.value.code == "state-damaged"


SLIDING = "stream s (x int) window w match any{20} measure sum(x) as s"
REGISTERS = "stream s (x int) window w match [x = 1] [x = 0]* [x = 2] keep longest"
MOVING = "stream s (x int) window w match [x = 1] any{10} | [x = 2] any{12} [x = 1]"


@pytest.mark.parametrize(("text", "kind"), [(SLIDING, "sliding"), (REGISTERS, "registers"), (MOVING, "moving")])  # fmt: skip
def test_slots_of_each_machine(text: str, kind: str) -> None:
    engine = Engine(plan_of(wex.parse(text)))
    assert engine.windows[0].machine.kind == kind
    processor = RunningStreams(engine)
    processor.feed({"x": [1, 0]})
    whole = processor.everything()
    held = whole.lists["held.0"].num_rows
    assert held
    for slot in (-1, 30, 31, 10**6, 2**62):
        bad = put("held.0", "slot", [slot] * held)(whole)
        with pytest.raises(wex.StateError):
            RunningStreams(engine, to_bytes(bad, engine.fingerprint))
    gone = State(put("", "#held.0", [0])(whole).streams, {**whole.lists, "held.0": pa.table({})})
    if kind == "registers":  # a register that nobody has filled
        with pytest.raises(wex.StateError):
            RunningStreams(engine, to_bytes(gone, engine.fingerprint))
    else:
        RunningStreams(engine, to_bytes(gone, engine.fingerprint)).feed({"x": [0] * 40})


def test_tables_that_arrow_would_not_survive() -> None:
    """Offsets of a text that point outside of it: reading that would read any memory."""
    processor = RunningStreams(ENGINE)
    processor.feed({"k": ["k" * 977], "x": [1], "y": [0.5]})
    whole = processor.everything()
    tables = [whole.streams, *whole.lists.values()]
    payloads = [to_ipc(each) for each in tables]
    offsets, wild = (np.array([0, end], dtype=np.int32).tobytes() for end in (977, 10**6))
    before, there, after = payloads[0].rpartition(offsets)  # behind the metadata
    assert there
    payloads[0] = before + wild + after
    index = {
        "plan": ENGINE.fingerprint,
        "tables": ["", *whole.lists],
        "sizes": [len(each) for each in payloads],
    }
    head = json.dumps(index).encode()
    body = len(head).to_bytes(4, "big") + head + b"".join(payloads)
    with pytest.raises(wex.StateError, match="ArrowInvalid"):
        RunningStreams(ENGINE, FRAME.closed(body))


@pytest.mark.parametrize(
    "body", [b"", b"\0\0\0\1[", b"\0\0\0\2{}", b"\xff\xff\xff\xff", b"\0\0\0\2[]rest"]
)
def test_an_index_that_is_none(body: bytes) -> None:
    with pytest.raises(wex.StateError):
        RunningStreams(ENGINE, FRAME.closed(body))


def test_states_of_own_aggregates_are_read_as_states() -> None:
    @wex.aggregate("kept_sum")
    class KeptSum:
        result_type = "int"

        def zero(self) -> int:
            return 0

        def add(self, state: int, event: int) -> int:
            return state + event

        def merge(self, left: int, right: int) -> int:
            return left + right

        def result(self, state: int) -> int:
            return state

    engine = engine_of(
        wex.parse("stream s (x int) window w match [x > 0]+ [x = 0] measure kept_sum(x) as m")
    )
    processor = RunningStreams(engine)
    processor.feed({"x": [1]})
    codes = {}
    for content in (b"", b"[", b"\xff", b'{"d": [[[], 1]]}', b"[" * 100_000, b'"text"'):
        bad = put("held.0", "0.state", [content])(processor.everything())
        with pytest.raises(wex.WexError) as caught:
            RunningStreams(engine, to_bytes(bad, engine.fingerprint)).feed({"x": [1, 0]})
        codes[content[:5]] = caught.value.code
    assert set(codes.values()) == {"state-damaged", "aggregate-failed"}
    assert codes[b'"text'] == "aggregate-failed"  # JSON as it should be, and no state of this class


# --- Buckets


def bucket() -> tuple[Engine, bytes]:
    engine = engine_of(BUCKET_SPEC)
    found = Bucket.of(engine, Rules())
    found.arrive(table([("a", 1, 1), ("a", 2, 2), ("b", 50, 0)]), microseconds(10))
    found.advance(microseconds(20))
    return engine, found.saved()


def test_a_flipped_byte_of_a_bucket_is_noticed() -> None:
    engine, saved = bucket()
    for at in range(len(saved)):
        damaged = bytearray(saved)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(wex.StateError):
            Bucket.of(engine, Rules(), bytes(damaged))
        with pytest.raises(wex.StateError):
            fingerprint_of(bytes(damaged))


def test_buckets_of_the_first_version_are_read() -> None:
    engine, saved = bucket()
    first = b"WEXBUCKET1" + content_of(saved, buckets.FRAME)
    again = Bucket.of(engine, Rules(), first)
    assert fingerprint_of(first) == fingerprint_of(saved) == engine.fingerprint
    assert again.saved() == saved
    # Without a checksum nobody can tell that rows which wait are gone; the state has one.
    head = first.index(b"\n") + 1
    for cut in range(head + json.loads(first[10:head])["state"]):
        with pytest.raises(wex.StateError):
            Bucket.of(engine, Rules(), first[:cut])


def test_heads_and_rows_of_buckets() -> None:
    engine, saved = bucket()
    line, _, rest = content_of(saved, buckets.FRAME).partition(b"\n")
    head = json.loads(line)
    for change in (
        {"state": -1},
        {"state": 10**9},
        {"state": True},
        {"buckets": "1"},
        {"plan": 3},
        {"more": 1},
    ):
        content = json.dumps({**head, **change}).encode() + b"\n" + rest
        with pytest.raises(wex.StateError):
            Bucket.of(engine, Rules(), buckets.FRAME.closed(content))
    for bad in (None, 3, "text", b"", b"WEXBUCKET1{", b"WEXBUCKET1{}\n", b"WEXBUCKET1{[\n"):
        with pytest.raises(wex.StateError):
            fingerprint_of(bad)  # type: ignore[arg-type]


# --- Plans


PLAN = plan_of(
    wex.parse("""stream s (t timestamp, x real, o other) order by t assume [x > -0.5]*
  window w match [x > x[-1]]+ [x / 2 = 1] until [x < 0] within 5 seconds measure avg(x) as a, first(o) as f
    having a > 1""")
)


def changed(path: str, value: object) -> bytes:
    """Return the plan with another value at a place such as `windows.0.keep`."""
    whole = json.loads(zlib.decompress(content_of(PLAN.to_bytes(), plans.FRAME)))
    node: Any = whole
    *places, last = [int(each) if each.isdigit() else each for each in path.split(".")]
    for each in places:
        node = node[each]
    node[last] = value
    return plans.FRAME.closed(zlib.compress(json.dumps(whole).encode()))


def array(values: list[Any], dtype: str, shape: list[int] | None = None) -> dict[str, object]:
    content = base64.b64encode(np.array(values).astype(dtype if dtype != "|O" else "<i8").tobytes())
    return {
        "@": "array",
        "dtype": dtype,
        "shape": shape or [len(values)],
        "content": content.decode(),
    }


def nested(depth: int) -> dict[str, object]:
    guard: dict[str, object] = {"@": "Always", "value": True}
    for _ in range(depth):
        guard = {"@": "Not", "operand": guard}
    return guard


WRONG: list[tuple[str, object]] = [
    ("windows", []),
    ("windows.0", None),
    ("windows.0.name", "\ud800"),
    ("windows.0.keep", "some"),
    ("windows.0.lookback", 0),
    ("windows.0.lookback", 10**9),
    ("windows.0.lookback", True),
    ("windows.0.pad", 1),
    ("windows.0.until", 2**70),
    ("windows.0.until", -1),
    ("windows.0.until", 0.5),
    ("windows.0.within_time", -1),
    ("windows.0.within_time", 2**64),
    ("windows.0.within_events", 3),
    ("windows.0.starts", array([5] * 9, "<i4")),
    ("windows.0.starts", array([0], "<i8")),
    ("windows.0.starts", array([0], "|O")),
    ("windows.0.starts", array([0], "<i4", [2**40])),
    ("windows.0.starts", array([0], "<i4", [-1])),
    ("windows.0.window.table", array([99], "<i4", [1, 1])),
    ("windows.0.window.table", array([], "<i4", [0, 3])),
    ("windows.0.window.classes", array([0], "<i4")),
    ("windows.0.window.final", array([2], "|b1")),
    ("windows.0.window", {"@": "Plan"}),
    ("windows.0.letters.guards", [0, 99]),
    ("windows.0.letters.rows", []),
    ("windows.0.letters.rows", [[True]]),
    ("windows.0.letters.rows.0", [1, 0]),
    ("windows.0.measures.0.aggregates.0.name", "collect"),
    ("windows.0.measures.0.aggregates.0.types", []),
    ("windows.0.measures.0.aggregates.0.arguments.0.offset", -(10**9)),
    ("windows.0.measures.0.aggregates.0.arguments.0.offset", 1),
    ("windows.0.measures.0.aggregates.0.arguments.0.name", "o"),
    ("windows.0.measures.0.type.name", "string"),
    ("windows.0.measures.0.name", "start_index"),
    ("windows.0.measures.1.name", "a"),
    ("windows.0.measures.0.value.name", "#7"),
    ("windows.0.having", {"@": "IsFirst", "offset": 0}),
    ("stream.fields.0", ["t"]),
    ("stream.fields.1.0", "t"),
    ("stream.fields.1.1.name", "duration"),
    ("stream.fields.1.1.values", ["a"]),
    ("stream.order_by", ["o"]),
    ("stream.order_by", ["nothing"]),
    ("stream.partition_by", ["o"]),
    ("stream.guarded", ["y"]),
    ("stream.skip_nulls", None),
    ("stream.moments", [["x", 1]]),
    ("guards.0", nested(500)),
    ("guards.0", {"@": "And", "parts": []}),
    ("guards.0", {"@": "Truth", "field": {"@": "Constant", "value": True}}),
    ("guards.0.op", "~"),
    ("guards.0.left", {"@": "Constant", "value": 2**64}),
    ("guards.0.left", {"@": "Constant", "value": "text"}),
    ("guards.0.left", {"@": "Constant", "value": {"@": "Fraction", "value": "1/0"}}),
    ("guards.0.left", {"@": "Constant", "value": {"@": "Fraction", "value": "1e999999999"}}),
    ("guards.0.left", {"@": "Field", "name": "o", "offset": 0, "type": {"@": "Type", "name": "other", "values": [], "item": None}}),
    ("promise.table", []),
    ("promise.table.0", [99]),
    ("promise.live", []),
    ("promise.first", 7),
    ("promise.phases", []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), WRONG, ids=[str(at) for at in range(len(WRONG))])
def test_a_plan_that_cannot_be(path: str, value: object) -> None:
    with pytest.raises(wex.StateError) as caught:
        Plan.from_bytes(changed(path, value))
    assert caught.value.code == "state-damaged"


def test_a_plan_that_could_be() -> None:
    """Fewer clauses are a plan, too; an aggregate may be one that is registered elsewhere."""
    assert Plan.from_bytes(changed("windows.0.having", None)).windows[0].having is None
    name = "registered_elsewhere"
    plan = Plan.from_bytes(changed("windows.0.measures.0.aggregates.0.name", name))
    assert plan.windows[0].measures[0].aggregates[0].name == name


def test_a_plan_that_is_nested_without_end() -> None:
    text = '{"@":"Not","operand":' * 20_000 + "1" + "}" * 20_000
    with pytest.raises(wex.StateError):
        Plan.from_bytes(plans.FRAME.closed(zlib.compress(text.encode())))


def test_a_plan_that_unpacks_to_more_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wex.compile.codec.MOST_BYTES", 1000)
    with pytest.raises(wex.StateError, match="incomplete or too large"):
        Plan.from_bytes(plans.FRAME.closed(zlib.compress(b" " * 10_000)))
