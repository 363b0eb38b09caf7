"""Comparing the tables of two engines: equal, but for the association of sums of floats.

A sum of floats depends on the order in which it is added up. The tolerance is relative to the sum
of the absolute values, which the spec is made to measure too.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa

from wex.spec import tree

SCALE = "_scale"
TOLERANCE = 1e-11


def with_scales(spec: tree.Spec) -> tree.Spec:
    """Return the spec with a measure of the scale beside each one that adds up floats."""
    windows = []
    for window in spec.windows:
        scales = [
            tree.Measure(
                tree.Call(
                    tree.Name("max"),
                    (tree.Call(tree.Name("abs"), each.value.args),),
                    each.value.filter,
                ),
                tree.Name(each.name.text + SCALE),
            )
            for each in window.measures
            if isinstance(each.value, tree.Call)
            and each.value.name.text in ("sum", "avg", "var", "stddev")
        ]
        windows.append(replace(window, measures=(*window.measures, *scales)))
    return replace(spec, windows=tuple(windows), source=None)


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    """Check that two tables of windows are the same."""
    assert found.schema == expected.schema
    if found.equals(expected):
        return
    for name in expected.column_names:
        ours, theirs = found[name].to_pylist(), expected[name].to_pylist()
        if ours == theirs:
            continue
        assert len(ours) == len(theirs), name
        scales = [1.0] * len(ours)
        if name + SCALE in expected.column_names:
            sizes = expected["end_index"].to_numpy() - expected["start_index"].to_numpy() + 1
            largest = expected[name + SCALE].to_pylist()
            scales = [
                float(size) * (float(each) if isinstance(each, int | float) else 1.0)
                for size, each in zip(sizes, largest, strict=True)
            ]
        for our, their, scale in zip(ours, theirs, scales, strict=True):
            assert _close(our, their, scale), (name, our, their, scale)


def _close(our: object, their: object, scale: float) -> bool:
    if isinstance(our, list) and isinstance(their, list):
        return len(our) == len(their) and all(
            _close(one, two, scale) for one, two in zip(our, their, strict=True)
        )
    if our == their:
        return True
    if not isinstance(our, float) or not isinstance(their, float):
        return False
    if math.isnan(our) or math.isnan(their):
        return math.isnan(our) and math.isnan(their)
    if not math.isfinite(scale * scale):
        return True  # the tolerance is beyond the floats
    apart = abs(our - their)
    spread = abs(our * our - their * their)  # for what is a root
    return apart <= TOLERANCE * scale * max(1.0, scale) or spread <= TOLERANCE * scale * scale
