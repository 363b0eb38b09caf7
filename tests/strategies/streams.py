"""Random events for the fields of `tests.strategies.specs`: small domains, so that things happen."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pyarrow as pa
from hypothesis import strategies as st

from tests.strategies.specs import FIELDS
from wex.theory.evaluate import Event, Value

HOUR = 3_600_000_000
START = 1_769_853_600_000_000  # 2026-01-31 10:00

# Values that floating-point arithmetic rounds, beside ones that it does not.
FLOATS = [0.0, -0.0, 1.0, 2.0, 2.5, -1.0, 0.1, 0.2, 0.3, 1e-20, 1e16, 1e300, -3.3, float("inf")]
SMALLS = list(range(-3, 4))
VALUES: dict[str, Sequence[Value]] = {
    "key": ["a", "b"],
    # Times after 2026, and before and after 1970.
    "ts": [START + step * HOUR // 2 for step in range(7)]
    + [step * 10 * HOUR - 1 for step in range(-6, 7)],
    "day": [*range(20_480, 20_491), *range(-70, 4)],
    "x": [*FLOATS],
    "y": [*FLOATS],
    "n": [*SMALLS],
    "m": [*SMALLS],
    "name": ["a", "b", "it's"],
    "side": ["a", "b", "c"],
    "ok": [False, True],
    "end": [*SMALLS],
}
floats = st.sampled_from(FLOATS)
times = st.sampled_from(VALUES["ts"])
EXACT_VALUES = {name: st.sampled_from(values) for name, values in VALUES.items()}
events: st.SearchStrategy[Event] = st.fixed_dictionaries(EXACT_VALUES)


def _gappy(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(*[values] * 7, st.none())


# Some values are NULL or NaN: no matter where they are only measured.
GAPPY = ("key", "x", "n", "name", "ok", "day", "side")
_GAPPY_VALUES: dict[str, st.SearchStrategy[object]] = {
    **EXACT_VALUES,
    **{each: _gappy(EXACT_VALUES[each]) for each in GAPPY},
    "y": st.one_of(*[floats] * 15, st.just(float("nan"))),
}
gappy_events: st.SearchStrategy[Event] = st.fixed_dictionaries(_GAPPY_VALUES)  # type: ignore[arg-type]
some_events = st.lists(events, max_size=10) | st.lists(gappy_events, max_size=10)


def exact(event: Event) -> Event:
    """Return an event with fractions for floats."""
    big = Fraction(10) ** 400  # the exact numbers have no infinite ones
    return {
        name: (big if value == float("inf") else Fraction(value))
        if isinstance(value, float)
        else value
        for name, value in event.items()
    }


def table(rows: Sequence[Event]) -> pa.Table:
    """Return events as an Arrow table of the types that the fields have."""
    types = {
        "string": pa.string(), "enum": pa.string(), "timestamp": pa.timestamp("us"), "date": pa.date32(),
        "real": pa.float64(), "int": pa.int64(), "bool": pa.bool_(),
    }  # fmt: skip
    columns = {}
    for name, type_ in FIELDS.items():
        target = types[type_.name]
        storage = {"timestamp": pa.int64(), "date": pa.int32()}.get(type_.name, target)
        columns[name] = pa.array([row[name] for row in rows], storage).cast(target)
    return pa.table(columns)


def random_streams(chance: Random, count: int, *, longest: int = 12) -> pa.Table:
    """Return a table of streams of such events; in one table of two, values are missing."""
    gaps, rows = chance.random() < 0.5, []
    for stream in range(count):
        for _ in range(chance.randint(0, longest)):
            row: dict[str, Value] = {name: chance.choice(values) for name, values in VALUES.items()}
            if gaps:
                row |= {name: None for name in GAPPY if chance.random() < 0.05}
                row["y"] = float("nan") if chance.random() < 0.05 else row["y"]
            rows.append({**row, "key": f"k{stream}" if stream else None})
    chance.shuffle(rows)
    return table(rows)
