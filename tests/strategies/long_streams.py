"""Windows that kernels run in every way, and streams that are long enough for all of a kernel.

A kernel works in blocks, merges starts, sorts the held ones and grows its buffers: none of that
happens on a stream of ten events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

STREAM = "stream s (k int, t timestamp, x int, ok bool) partition by k order by t\n"
COUNTED = "count() as n, sum(x) as total"  # what `having` asks for
AGGREGATES = [
    "avg(x)", "min(x)", "max(x)", "var(x)", "stddev(x)", "first(x)", "last(t)", "count_if(ok)", "some(ok)", "every(ok)",
    "collect(x)", "count_distinct(x)", "min_by(x, t)", "max_by(t, x)", "sum(x - x[-1])", "count(x) filter [ok]",
]  # fmt: skip

predicates = st.sampled_from(
    ["any", "[x = 0]", "[x = 1]", "[x > 1]", "[x != 0]", "[ok]", "[not ok]", "[x > x[-1]]", "[x = 3 and ok]"]
)  # fmt: skip
counts = st.sampled_from(["", "", "*", "+", "?", "{2}", "{2,}", "{1,3}"])
sequences = st.lists(st.tuples(predicates, counts), min_size=1, max_size=4).map(
    lambda parts: " ".join(predicate + count for predicate, count in parts)
)
# Windows that begin with a value that the rest of them has not: one start at a time.
singles = st.builds(
    lambda value, middle, last: f"[x = {value}] [x != {value}{middle}{last}".rstrip(),
    st.integers(0, 3),
    st.sampled_from(["]*", "]+", "]?", "]{1,4}", " and ok]*"]),
    st.sampled_from([" [x = 0]", " [x = 1]", " [ok]", " any", ""]),
)
# Windows of a few events: starts follow one another through the states, and several end together.
likely = st.sampled_from(["any", "any", "[x != 0]", "[x != 2]", "[ok]", "[x > x[-1]]"])
bounded = st.builds(
    lambda parts, last, count: " ".join([*parts, last + count]),
    st.lists(st.builds(str.__add__, likely, st.sampled_from(["", "", "?"])), max_size=3),
    likely,
    st.sampled_from(["", "?", "{1,2}", "{1,3}"]),
)
chains = st.builds(
    lambda first, middle, count, last: f"{first} {middle}{{{count}}} {last}",
    # After a loop, starts enter the chain together, or younger ones before older ones.
    st.sampled_from(
        ["", "[ok]", "[x = 0]", "[x != 1]* [x = 1]", "([x = 0] [x != 1]* [x = 1] | [x = 2])"]
    ),
    st.sampled_from(["any", "any", "[x > 0]", "[x != 2]"]),
    st.integers(8, 14),
    st.sampled_from(["", "", "any*", "[ok]", "[x = 0]* [ok]"]),
)
fixed = st.sampled_from(["any{9}", "[x != 2]{8}", "[x = 0] any{8}"])  # windows of one length
# Starts are born into several states by turns, which breaks the lists of starts into many runs.
parallels = st.builds(
    lambda loops, ends, last: (
        " | ".join(
            f"[x = {value}] {loop} {end}"
            for value, (loop, end) in enumerate(zip(loops, ends, strict=True))
        )
        + last
    ),
    st.lists(st.sampled_from(["any*", "[ok]*", "[x != 3]*"]), min_size=3, max_size=3),
    st.lists(st.sampled_from(["any", "[x = 3]", "[ok]", "[not ok] any*"]), min_size=3, max_size=3),
    st.sampled_from(["", " | [x = 3] any* [x = 0]"]),
)
matches = st.one_of(
    singles, sequences, chains, fixed, parallels, st.tuples(sequences, sequences).map(" | ".join)
)
prefixes = st.sampled_from(
    ["", "", "", "after any* [x = 0]", "after (any{3})*", "after ()", "after any* [ok] [not ok]"]
)
untils = st.sampled_from(["", "", "", "until [x = 0]", "until [ok] or end", "until [false] or end"])
limits = st.sampled_from(
    ["", "", "", "within 1 events", "within 3 events", "within 8 events", "within 6 seconds", "within 20 seconds"]
)  # fmt: skip
keeps = st.sampled_from(
    ["", "keep shortest", "keep longest", "keep disjoint", "keep preferred", "keep leftmost"]
)
havings = st.sampled_from(["", "", "", "having n > 2", "having total < 9"])


FORMS = {"few starts": bounded | singles, "chains": chains | fixed, "parallels": parallels}


@st.composite
def window_specs(draw: st.DrawFn) -> str:
    """Return the text of a spec of one window, `within` behind its pair, then the other clauses."""
    pair = f"{draw(prefixes)} match {draw(matches)}"
    unpadded = draw(st.sampled_from(["", "", "unpadded"]))
    chosen = draw(st.lists(st.sampled_from(AGGREGATES), max_size=3))
    extra = [f"{aggregate} as m{place}" for place, aggregate in enumerate(chosen)]
    measures = "measure " + ", ".join([COUNTED, *extra])
    clauses = [draw(untils), draw(limits), unpadded, measures, draw(havings), draw(keeps)]
    return f"{STREAM}window w {pair} {' '.join(clauses)}"


@dataclass(frozen=True)
class Recipe:
    """How a table of streams is made: small to draw and to shrink, however long the streams are."""

    rows: int
    keys: int
    rare: int  # the value of x that comes once in a while only
    repeats: int  # how often a value is repeated
    seed: int

    def table(self) -> pa.Table:
        """Return the events in the order of time."""
        random = np.random.default_rng(self.seed)
        weights = np.ones(4)
        weights[self.rare] = 0.15
        x = np.repeat(random.choice(4, self.rows, p=weights / weights.sum()), self.repeats)
        ok = np.repeat(random.random(self.rows) < 0.5, self.repeats)
        seconds = (
            np.arange(self.rows) if self.seed % 2 else np.cumsum(random.integers(1, 4, self.rows))
        )
        return pa.table({
            "k": random.integers(0, self.keys, self.rows),
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us")),
            "x": x[: self.rows],
            "ok": ok[: self.rows],
        })  # fmt: skip


recipes = st.builds(
    Recipe,
    st.integers(1, 160),
    st.sampled_from([1, 1, 2, 30]),
    st.integers(0, 3),
    st.sampled_from([1, 1, 2, 7]),
    st.integers(0, 999),
)
