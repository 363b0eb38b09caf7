"""Long streams: over the borders of blocks, with many open starts, chains, and thousands of keys.

The definition is too slow for these; four machines that were built apart have to agree instead.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import wex
from tests.engine.compare import assert_same, find_by
from tests.strategies.specs import with_scales
from wex.engine.engine import Engine, engine_of
from wex.engine.input import batch
from wex.engine.machines import choose as machines
from wex.spec import tree
from wex.stages import plan_of

EVENTS = 30_000
STREAM = "stream s (k int, t timestamp, x int, ok bool, name string) partition by k order by t\n"
MEASURES = """
  measure sum(x) as s, avg(x) as a, min(x) as low, max(name) as high, first(name) as f, last(x) as l,
    count_if(ok) as yes, count_distinct(x) as d, var(x) as v, max_by(name, x) as best, sum(x - x[-1]) as way
"""
WINDOWS = {
    "registers": "after any* [x = 0] match [x > 3] [x != 0]* [x = 0]",
    "registers, until": "match [x = 0] [x != 0]* until [x = 0] or end",
    "registers, within": "after any* [x = 9] match [x < 9]+ [x = 9] within 8 events",
    "a session": "match [is_first or x = 0] [x != 0]* until [x = 0] or end",
    "configs": "match [x > 3]{2,} [not ok]",
    "configs, joined": "match [ok] any* [x = 9] | [not ok] [x > 2]* [x = 9] keep shortest",
    "configs, longest": "match any+ within 20 seconds keep longest",
    "configs, until": "match [ok]+ until [x > 4] within 5 events",
    "disjoint": "match [ok] [x > 1]{2} any keep disjoint",
    "disjoint, within": "match [x > 1] any* [x = 0] within 6 seconds keep disjoint",
    "sliding": "match any{20}",
    "sliding, broken": "after any* [ok] match any [x > 0]{12}",
    "a chain inside": "match [x = 9] [x > 0]{10} [not ok] any* [x = 9] keep shortest",
    "two chains": "match [ok] any{15} [x = 1] | [not ok] [x >= 0]{9} [x = 2]",
    "a chain, until": "match any{12} until [x = 0]",
    "a chain, within": "match [ok] any{8} [x > 1]* [x = 0] within 14 events",
    "a chain, disjoint": "match [x = 9] any{9} [ok] keep disjoint",
    "having": "match [x > 2]+ having s >= 12 keep disjoint",
    "having, shortest": "match [x > 1]+ having s >= 8 keep shortest",
    "tracked": "match [x < 5] [x >= first(x)]* [x < first(x)]",
    "tracked, until": "match [sum(x) < 20]+ until [sum(x) + x >= 20 or name = min(name)] or end keep longest",
    "tracked, within": "match any [x <= max(x)[-1] and avg(x) > 3]+ within 9 seconds keep disjoint",
    "tracked, many guards": "match [x < 5] ([x = 1] | [x = 2 and ok] | [name = 'a'] | [x = 3] | [x = 4]"
    " | [x = 5] | [x = 6] | [x > 6] | [name = 'b' and x = 0])* [count() > 3 and x > avg(x)] keep shortest",
    "preferred": "match [ok] [x > 1]* [x = 0] | [x = 9] any*? [x = 3] keep preferred",
    "preferred, leftmost": "match [x = 9] ([x > 0]* [x = 0])? keep leftmost",
    "preferred, within": "match [ok] any* [x = 9] keep leftmost sharing 2 events within 20 seconds until [ok]",
    "preferred, having": "match [x > 1]+ having s >= 12 keep preferred",
    "many guards": "match "
    + " | ".join(f"[x = {n} and ok] [x > {n}]" for n in range(6))
    + " | [name = 'a'] [name = 'b'] [x < 9 and x[-2] < 5]",
}


def table(keys: int) -> pa.Table:
    random = np.random.default_rng(keys)
    times = np.cumsum(random.integers(0, 3, EVENTS))
    rows = pa.table({
        "k": random.integers(0, keys, EVENTS),
        "t": pa.array(times * 1_000_000, pa.timestamp("us")),
        "x": random.integers(0, 10, EVENTS),
        "ok": random.random(EVENTS) < 0.5,
        "name": pa.array(["a", "b", "it's"]).take(pa.array(random.integers(0, 3, EVENTS))),
    })  # fmt: skip
    return rows.sort_by([(name, "ascending") for name in ("t", "x", "ok", "name")])


def spec_of(name: str) -> tree.Spec:
    return with_scales(wex.parse(f"{STREAM} window w {WINDOWS[name]} {MEASURES}"))


def test_every_machine_is_there() -> None:
    kinds = {name: engine_of(spec_of(name)).windows[0].machine.kind for name in WINDOWS}
    for name, kind in kinds.items():
        expected = {"regi": "registers", "conf": "configs", "slid": "sliding", "a ch": "moving"}
        expected["pref"] = "preferred"
        if name[:4] in expected:
            assert kind == expected[name[:4]], name


@pytest.mark.parametrize("keys", [1, 300])
@pytest.mark.parametrize("name", WINDOWS)
def test_machines_blocks_and_batches_agree(
    name: str, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, data = spec_of(name), table(keys)
    expected = wex.find(spec, data)
    assert expected.num_rows > 0
    monkeypatch.setattr(batch, "BLOCK", 1000)
    monkeypatch.setattr(machines, "BLOCK", 7)
    assert_same(wex.find(spec, data), expected)
    assert_same(find_by(Engine(plan_of(spec), most_configs=1), data), expected)
    processor, parts = wex.Processor(spec), []
    for begin, end in pairwise([0, 1, 2, 2, 6_000, 6_001, 20_000, EVENTS]):
        parts.append(processor.feed(data.slice(begin, end - begin)))
        processor = wex.Processor.restore(spec, processor.state())
    parts.append(processor.close())
    whole = pa.concat_tables(parts)
    order = whole.append_column("#", pa.array(range(whole.num_rows)))
    if "preferred" in name:  # reported when they are decided
        order = order.sort_by([("end_index", "ascending"), ("start_index", "ascending")])
        order = order.set_column(order.num_columns - 1, "#", pa.array(range(whole.num_rows)))
    order = order.sort_by([("k", "ascending"), ("#", "ascending")])
    assert_same(order.drop_columns(["#"]).combine_chunks(), expected.combine_chunks())
