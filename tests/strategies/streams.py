"""Random events for the fields of `tests.strategies.specs`: small domains, so that things happen."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa
from hypothesis import strategies as st

from tests.strategies.specs import FIELDS
from wex.theory.evaluate import Event

HOUR = 3_600_000_000
START = 1_769_853_600_000_000  # 2026-01-31 10:00

# Values that floating-point arithmetic rounds, beside ones that it does not.
floats = st.sampled_from(
    [0.0, -0.0, 1.0, 2.0, 2.5, -1.0, 0.1, 0.2, 0.3, 1e-20, 1e16, 1e300, -3.3, float("inf")]
)
smalls = st.integers(-3, 3)
times = st.one_of(
    st.integers(0, 6).map(lambda step: START + step * HOUR // 2),
    st.integers(-6, 6).map(lambda step: step * 10 * HOUR - 1),  # before and after 1970
)

EXACT_VALUES: dict[str, st.SearchStrategy[object]] = {
    "key": st.sampled_from(["a", "b"]),
    "ts": times,
    "day": st.integers(20_480, 20_490) | st.integers(-70, 3),
    "x": floats,
    "y": floats,
    "n": smalls,
    "m": smalls,
    "name": st.sampled_from(["a", "b", "it's"]),
    "side": st.sampled_from(["a", "b", "c"]),
    "ok": st.booleans(),
    "end": smalls,
}
events: st.SearchStrategy[Event] = st.fixed_dictionaries(EXACT_VALUES)  # type: ignore[arg-type]


def _gappy(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(*[values] * 7, st.none())


# Some values are NULL or NaN: no matter where they are only measured.
_GAPPY_VALUES: dict[str, st.SearchStrategy[object]] = {
    **EXACT_VALUES,
    **{each: _gappy(EXACT_VALUES[each]) for each in ("key", "x", "n", "name", "ok", "day", "side")},
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
