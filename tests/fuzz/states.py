"""Damaged plans, states and buckets: each is refused, or runs; none ends the process.

`python -m tests.fuzz.states 20000 1` tries that many, the second number chooses which; they run in
a process of their own, and what kills it is told with the number that shows it again:
`python -m tests.fuzz.states one NUMBER 1`.
"""

from __future__ import annotations

import base64
import json
import random
import signal
import subprocess
import sys
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import wex
from tests.engine.compare import find_by
from tests.engine.older import older_engine
from wex.compile import plan as plans
from wex.compile.plan import Plan
from wex.engine.engine import Engine
from wex.engine.running_streams import RunningStreams
from wex.engine.state import state as states
from wex.engine.state.state import State, from_ipc, to_bytes, to_ipc
from wex.engine.streaming import bucket as buckets
from wex.engine.streaming.bucket import Bucket, Rules
from wex.framing import CHECKSUM, VERSION_BYTES, Frame
from wex.stages import plan_of

SECONDS = 60  # that one try may take


@wex.aggregate("fuzzed_sum")
class FuzzedSum:
    """A sum whose states are plain values."""

    result_type = "int"

    def zero(self) -> tuple[int, ...]:
        return (0, 0)

    def add(self, state: Any, event: int) -> tuple[int, ...]:
        return (state[0] + event, state[1] + 1)

    def merge(self, left: Any, right: Any) -> tuple[int, ...]:
        return (left[0] + right[0], left[1] + right[1])

    def result(self, state: Any) -> int:
        return int(state[0])


@wex.aggregate("fuzzed_texts")
class FuzzedTexts:
    """A text that is kept as bytes of its own."""

    result_type = "string"

    def zero(self) -> str:
        return ""

    def add(self, state: str, event: str) -> str:
        return state + event

    def merge(self, left: str, right: str) -> str:
        return left + right

    def result(self, state: str) -> str:
        return state

    def dump(self, state: str) -> bytes:
        return state.encode()

    def load(self, content: bytes) -> str:
        return content.decode()


STREAM = """stream s (k string, t timestamp, x int, y real, d date, ok bool,
  side enum('a', 'b'), name string, v other) partition by k order by t """
ALL = """count() as n, count(name) as c, sum(x) as s, avg(y) as a, min(y) as lo, max(x) as hi,
  var(y) as v1, stddev(x) as v2, first(name) as f, last(d) as l, collect(x) as all_x, collect(v) as all_v,
  count_distinct(name) as cd, count_distinct(y) as cy, count_if(x > 1) as ci, some(ok) as so, every(ok) as ev,
  min_by(name, y) as mb, max_by(x, name) as xb, sum(x) / count() as q, first(v) as fv, max(name) as mn,
  nth(name, 2) as n2, nth(x, -3) as n3, median(y) as me, percentile(x, 0.9) as p9, mode(side) as mo"""
SPECS = [
    STREAM + f"window w match [x > x[-1]]+ keep longest measure {ALL}",
    STREAM + f"window w match [x > 0] any* [x > 2] measure {ALL}",
    STREAM + "window w match [x > 0] any* [x > 2] within 4 events keep shortest measure sum(x) as s",
    STREAM + "window w match [x > 0]+ until [x = 0] or end within 7 seconds measure collect(name) as c",
    STREAM + f"window w match any{{12}} measure {ALL}",
    STREAM + "window w match any{12} | [x > 2] any{15} [ok] within 20 seconds measure sum(x) as s, var(x) as q",
    STREAM + "window w match [x > 0] any* [x > 2] keep disjoint measure count() as n having n > 2",
    STREAM + "window w match [x > 0] any* [x > 2] within 11 seconds keep disjoint until [x < 2] or end",
    STREAM + "assume [x >= 0]* assume [t >= t[-1]]* window w match [side = 'a'] [side = 'b']+ keep longest",
    STREAM + "window w match [x > 0]+ [x = 0] measure fuzzed_sum(x) as s, fuzzed_texts(name) as f",
    STREAM + "window w where begin + 2 = end and [x > x[-1]](begin) window z match [x[-2] = x] any* [ok]",
    STREAM + "window w match ([x > 1] any{3} | [x < 2] any{5})+ keep longest measure max_by(d, t) as m",
    STREAM + "window w match [name is null] [x % 3 = 1 or hour(t) > 2 and name like 'u%']*"
    " [year(d) = 1970 and floor(t, 10 seconds) != floor(t[-1], 10 seconds)] window z match [name[-1] is null]",
    "stream s (x int, y real) nulls skip window w match [y > 1.5] [x < 9]* [y - y[-1] > 0.5] measure avg(x) as a",
    STREAM + "window w runs of side, ok measure sum(x) as s, collect(v) as c window u sessions gap 2 seconds"
    " window c sessions gap 2 seconds at most 5 seconds measure sum(x) as s",
    STREAM + f"window w match any [x <= max(x) and y >= min(y)[-1]]* [sum(x) > 9 or avg(y) > 3.5] measure {ALL}",
    STREAM + "nulls skip window w match [name != max(name)[-1]]* [min_by(name, x) = 'vv'] until [count() > 3] or end keep longest",
    STREAM + f"window w match [x > 0] (any* [x > 2])? keep preferred within 9 seconds measure {ALL}",
    STREAM + "window w match [x > 0]+ ([ok]* [x > 2])? keep leftmost until [x < 2] or end measure sum(x) as s",
    STREAM + "window w match [x > 0] any*? keep leftmost sharing 2 events measure count() as n having n > 2",
    STREAM + "window w match [x > 0] l:([x > 1]+) any*? [x = 3] keep leftmost resuming at last l measure count() as n",
    STREAM + "nulls skip window w match any [sum(x) < 9 and name != max(name)[-1]]* [y > avg(y)] keep leftmost measure sum(x) as s",
    "stream s (x int) window w after any* [x = 0] match [x > 0]{2,4} until [x = 1] or end keep shortest",
    STREAM + "window w match p:([x > 0]+) q:(any*) [x > 2] measure sum(p.x) as s, collect(q.name) as c, mode(label()) as l",
    STREAM + "window w after any* [x = 0] match p:[x > 0]* q:any or match q:([x > 1]+?) p:(r:any*) [ok] until [x = 1] or end"
    " keep leftmost within 9 seconds measure count(p) as n, max(q.y) as y, last(r.v) as v, nth(label(), 2) as l having n > 0",
    STREAM + "window w match p:(any [sum(x) < 9]*) q:[y > avg(y)] measure fuzzed_sum(p.x) as s, median(q.y) as m",
    STREAM + "window w match any* [x > 1] [x > 2] keep longest measure sum(x) as s window z match [x > 0]{3} keep disjoint",
    STREAM + "window w match any* [x > 1] [x < 3] until [ok] or end keep disjoint measure collect(name) as c",
    STREAM + "window w match [x = 0] any* [x = 1] | [x = 2] any* [x = 3] | [x = 4] any* [x = 1 or x = 3] keep longest measure sum(x) as s",
    STREAM + "assume at most 5 events in 5 seconds assume at most 60 events in 1 minute"
    " window w match [x > 0] any* [x > 2] within 7 seconds measure sum(x) as s",
]  # fmt: skip


def events(begin: int, count: int, chance: random.Random, *, untyped: bool = False) -> pa.Table:
    """Return events that follow one another in time; what is NULL may come without a type."""
    times = range(begin, begin + count)
    return pa.table(
        {
            "k": [chance.choice("ab") for _ in times],
            "t": pa.array([at * 1_000_000 for at in times], pa.timestamp("us")),
            "x": [chance.randint(0, 4) for _ in times],
            "y": [chance.choice([0.0, 1.0, 2.5, 4.0]) for _ in times],
            "d": pa.array([chance.randint(0, 9) for _ in times], pa.date32()),
            "ok": [chance.random() < 0.5 for _ in times],
            "side": [chance.choice("ab") for _ in times],
            "name": [chance.choice(["u", "vv", None]) for _ in times],
            "v": pa.nulls(count) if untyped else [[at] for at in times],
        }
    )


@dataclass(frozen=True)
class Sound:
    """What is damaged: a plan, and a state and a bucket that its engine has saved."""

    plan: bytes
    engine: Engine
    state: bytes
    bucket: bytes


@cache
def sound(number: int) -> Sound:
    """Return what belongs to one of the specs."""
    spec, chance = wex.parse(SPECS[number]), random.Random(number)
    most = 1 if number % 3 == 2 else 256  # some run on the kernel that moves lists
    engine = Engine(
        plan_of(spec), most, rows=number % 5 < 2
    )  # some keep the events of open windows
    older = older_engine(engine.plan, most, rows=engine.rows)  # holds more starts
    streams = RunningStreams(older)
    streams.feed(events(0, 25, chance, untyped=number % 4 == 1))
    bucket = Bucket.of(older, Rules())
    if engine.stream.order_by:
        bucket.arrive(events(0, 30, chance, untyped=number % 4 == 1), 20_000_000)
    else:
        bucket.run(events(0, 30, chance))
    return Sound(plan_of(spec).to_bytes(), engine, streams.saved(), bucket.saved())


# --- Damage


NUMBERS = (
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    30,
    31,
    32,
    255,
    65535,
    2**31,
    -(2**31),
    2**62,
    2**63 - 1,
    -(2**63),
)


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Return bytes of which some are others."""
    damaged = bytearray(content)
    for at in chance.sample(range(len(content)), min(len(content), chance.randint(1, 3))):
        damaged[at] ^= chance.randint(1, 255)
    return bytes(damaged)


def content_of(saved: bytes, frame: Frame) -> bytes:
    """Return what is in a frame."""
    return saved[len(frame.magic) + VERSION_BYTES + CHECKSUM :]


def changed_json(value: Any, chance: random.Random) -> Any:
    """Return a value of JSON with something else at one place."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, child in items:
            places.append((node, key))
            if isinstance(child, dict | list):
                walk(child)

    value = json.loads(json.dumps(value))
    whole = [value]
    walk(whole)
    for _ in range(chance.randint(1, 2)):
        node, key = chance.choice(places)
        other, place = chance.choice(places)
        gone = [
            isinstance(each, dict) and at not in each for each, at in ((node, key), (other, place))
        ]
        if any(gone):
            continue
        if isinstance(node, dict) and node.get("@") == "array" and chance.random() < 0.9:
            _change_array(node, chance)
        elif isinstance(node, dict) and chance.random() < 0.1:
            node.pop(key, None)
        elif isinstance(node, dict) or key < len(node):
            node[key] = _other_value(node[key], other[place], chance)
    return whole[0]


def _other_value(value: Any, elsewhere: Any, chance: random.Random) -> Any:
    match chance.randrange(4):
        case 0:
            return chance.choice(NUMBERS)
        case 1:
            return json.loads(json.dumps(elsewhere))
        case 2 if type(value) is int:
            return value + chance.choice([1, -1])
    return chance.choice([None, True, False, "", "x", "#0", "\ud800", [], {}, [[]], 10**30, 0.5])


def _change_array(node: dict[str, Any], chance: random.Random) -> None:
    content = bytearray(base64.b64decode(node["content"])) or bytearray(4)
    width = 1 if node["dtype"] == "|b1" else 4
    at = chance.randrange(max(1, len(content) // width)) * width
    number = chance.choice(NUMBERS) if chance.random() < 0.3 else chance.randrange(5)
    number %= 2 ** (8 * width)
    content[at : at + width] = number.to_bytes(width, "little")
    node["content"] = base64.b64encode(bytes(content)).decode()
    if chance.random() < 0.1:
        node["dtype"] = chance.choice(["<i8", "|b1", "<f4", "|O", "<i4", "V4"])
    if chance.random() < 0.1:
        node["shape"] = chance.choice([[], [-1], [0, 0], [2**40, 0], node["shape"][::-1], [1]])


def changed_table(table: pa.Table, chance: random.Random) -> pa.Table:
    """Return a table with other values, rows, columns or types."""
    rows = table.num_rows
    kind = chance.random()
    if not table.num_columns or kind < 0.05:
        return chance.choice([pa.table({}), pa.table({"position": [1]}), table])
    if kind < 0.15 and rows:
        places = [chance.randrange(rows) for _ in range(chance.randint(0, rows + 2))]
        return table.take(pa.array(places, pa.int64()))
    at = chance.randrange(table.num_columns)
    name, column = table.column_names[at], table.column(at)
    if kind < 0.2:
        return chance.choice([table.drop_columns([name]), table.append_column(name, column)])
    if kind < 0.25:
        other = table.column(chance.randrange(table.num_columns))
        return table.set_column(at, name, other)
    if kind < 0.3:
        type_ = chance.choice(
            [pa.int32(), pa.float64(), pa.string(), pa.null(), pa.list_(pa.int64())]
        )
        return table.set_column(at, name, pa.nulls(rows, type_))
    return table.set_column(at, name, _changed_column(column, chance))


def _changed_column(column: pa.ChunkedArray, chance: random.Random) -> pa.Array:
    values, type_ = column.to_pylist(), column.type
    if not values:
        return column
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(values))
        if chance.random() < 0.1:
            values[at] = None
        elif pa.types.is_integer(type_):
            number = chance.choice([*NUMBERS, (values[at] or 0) + chance.choice([1, -1])])
            values[at] = int(np.clip(number, -(2**63), 2**63 - 1))
        elif pa.types.is_floating(type_):
            values[at] = chance.choice([0.0, -1.0, 0.5, 1e300, float("nan"), float("inf"), 1e18])
        elif pa.types.is_boolean(type_):
            values[at] = not values[at]
        elif pa.types.is_list(type_):
            values[at] = chance.choice([[], None, values[at - 1], [None], (values[at] or []) * 3])
        elif pa.types.is_binary(type_):
            values[at] = chance.choice(
                [b"", b"[", b"1", b'{"t": [1]}', b'{"d": [[[], 1]]}', b"\xff", b"[" * 9999]
            )
        elif pa.types.is_string(type_):
            values[at] = chance.choice(["", "zz", "a", "b"])
        else:
            values[at] = chance.choice(values)
    return pa.array(values, type_)


def damaged_plan(it: Sound, chance: random.Random) -> bytes:
    """Return a plan with another content."""
    text = zlib.decompress(content_of(it.plan, plans.FRAME))
    if chance.random() < 0.1:
        return plans.FRAME.closed(zlib.compress(flipped(text, chance)))
    if chance.random() < 0.05:
        return plans.FRAME.closed(flipped(zlib.compress(text), chance))
    return plans.FRAME.closed(
        zlib.compress(json.dumps(changed_json(json.loads(text), chance)).encode())
    )


def damaged_state(it: Sound, chance: random.Random) -> bytes:
    """Return a state with another content."""
    body = content_of(it.state, states.FRAME)
    if chance.random() < 0.1:
        return states.FRAME.closed(flipped(body, chance))
    length = int.from_bytes(body[:4], "big")
    if chance.random() < 0.05:
        index = json.dumps(changed_json(json.loads(body[4 : 4 + length]), chance)).encode()
        return states.FRAME.closed(len(index).to_bytes(4, "big") + index + body[4 + length :])
    state = states.from_bytes(it.state, it.engine.fingerprint)
    tables = {"": state.streams, **state.lists}
    for _ in range(chance.randint(1, 2)):
        name = chance.choice(list(tables))
        tables[name] = changed_table(tables[name], chance)
    return to_bytes(State(tables.pop(""), tables), it.engine.fingerprint)


def damaged_bucket(it: Sound, chance: random.Random) -> bytes:
    """Return a bucket with another content, in the frame of today or as the first version was."""
    content = content_of(it.bucket, buckets.FRAME)
    line, _, rest = content.partition(b"\n")
    head = json.loads(line)
    state, rows = rest[: head["state"]], rest[head["state"] :]
    kind = chance.random()
    if kind < 0.1:
        content = flipped(content, chance)
    elif kind < 0.2:
        content = json.dumps(changed_json(head, chance)).encode() + b"\n" + rest
    elif kind < 0.6:
        state = damaged_state(Sound(it.plan, it.engine, state, b""), chance)
        content = json.dumps({**head, "state": len(state)}).encode() + b"\n" + state + rows
    elif rows:
        rows = to_ipc(changed_table(from_ipc(rows), chance))
        content = line + b"\n" + state + (flipped(rows, chance) if kind > 0.95 else rows)
    return buckets.FRAME.closed(content) if chance.random() < 0.7 else b"WEXBUCKET1" + content


# --- What becomes of it


def run_plan(content: bytes, chance: random.Random) -> None:
    """Run a plan, if it is one."""
    engine = Engine(Plan.from_bytes(content))
    table = events(0, 30, chance)
    find_by(engine, table)
    streams = RunningStreams(engine)
    for begin in (0, 10, 20):
        streams.feed(table.slice(begin, 10))
    RunningStreams(engine, streams.saved()).close()


def run_state(content: bytes, it: Sound, chance: random.Random) -> None:
    """Go on with a state, if it is one."""
    streams = RunningStreams(it.engine, content)
    for begin in (25, 30, 31):
        streams.feed(events(begin, 8, chance) if begin < 31 else events(40, 60, chance))
        streams = RunningStreams(it.engine, streams.saved())
    streams.close()


def run_bucket(content: bytes, it: Sound, chance: random.Random) -> None:
    """Go on with a bucket, if it is one."""
    rules = Rules(expire_after=30_000_000) if it.engine.stream.order_by else Rules()
    bucket = Bucket.of(it.engine, rules, content)
    if it.engine.stream.order_by:
        bucket.next_time()
        bucket.arrive(events(30, 20, chance), 25_000_000)
        bucket = Bucket.of(it.engine, rules, bucket.saved())
        bucket.advance(90_000_000)
    else:
        bucket.run(events(30, 20, chance))
    bucket.saved()


def attempt(number: int, seed: int) -> str:
    """Damage something and use it; return how that ended. Anything but a WexError is raised."""
    chance = random.Random(f"{seed} {number}")
    it = sound(chance.randrange(len(SPECS)))
    kind = ("plan", "state", "bucket")[number % 3]
    whole = {"plan": it.plan, "state": it.state, "bucket": it.bucket}[kind]
    by_accident = chance.random() < 0.2
    damage = {"plan": damaged_plan, "state": damaged_state, "bucket": damaged_bucket}[kind]
    content = flipped(whole, chance) if by_accident else damage(it, chance)
    try:
        if kind == "plan":
            run_plan(content, chance)
        elif kind == "state":
            run_state(content, it, chance)
        else:
            run_bucket(content, it, chance)
    except wex.StateError:
        return f"{kind}: refused"
    except wex.WexError as error:
        assert not by_accident, f"a flipped byte was not noticed: {error}"
        return f"{kind}: {error.code}"
    assert not by_accident, "a flipped byte was not noticed"
    return f"{kind}: ran"


# --- The long form


def child(first: int, end: int, seed: int) -> None:
    """Try some, and say which one is next, so that it is known which one was the last."""
    for number in range(first, end):
        print(number, flush=True)  # noqa: T201
        signal.alarm(SECONDS)
        try:
            print(attempt(number, seed))  # noqa: T201
        except Exception as error:  # noqa: BLE001
            print(f"WRONG {type(error).__name__}: {str(error)[:200]!r}")  # noqa: T201
    signal.alarm(0)


def main(count: int, seed: int) -> int:
    """Try so many in processes of their own; return how many went wrong."""
    first, wrong = 0, 0
    tally: dict[str, int] = {}
    while first < count:
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.states",
            "child",
            str(first),
            str(count),
            str(seed),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        number = first
        for line in done.stdout.splitlines():
            if line.isdigit():
                number = int(line)
            elif line.startswith("WRONG"):
                wrong += 1
                print(f"{number} {seed}: {line}", flush=True)  # noqa: T201
            else:
                tally[line] = tally.get(line, 0) + 1
        if done.returncode:
            wrong += 1
            told = f"{number} {seed}: the process ended with {done.returncode}"
            print(told, done.stderr[-2000:], sep="\n", flush=True)  # noqa: T201
        first = number + 1
    for outcome, times in sorted(tally.items()):
        print(f"{times:7,} {outcome}")  # noqa: T201
    print(f"{count:,} damaged plans, states and buckets, {wrong:,} went wrong")  # noqa: T201
    return wrong


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["child", first, end, seed]:
            child(int(first), int(end), int(seed))
        case ["one", number, seed]:
            print(attempt(int(number), int(seed)))  # noqa: T201
        case [count, seed]:
            sys.exit(main(int(count), int(seed)) > 0)
        case _:
            sys.exit("usage: python -m tests.fuzz.states COUNT SEED")
