"""Run the kernels as plain Python, where numpy checks every index: python -m tests.engine.interpreted.

Set NUMBA_DISABLE_JIT=1. A compiled kernel that writes behind an array goes on without an error.
"""

from __future__ import annotations

import warnings
from unittest.mock import patch

import numba
import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings

import wex
from tests.engine.compare import assert_same
from tests.strategies.long_streams import STREAM, Recipe, recipes, window_specs
from tests.strategies.specs import with_scales
from wex.engine.machines import lanes
from wex.reference.find import find_by_definition

ROWS = 14_000  # more than two buffers of events that act, fewer than are traced together
few = settings(
    max_examples=100,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@few
@given(window_specs(), recipes)
def agrees(text: str, recipe: Recipe) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    assert_same(wex.find(spec, table), find_by_definition(spec, table))


def many_streams() -> None:
    """Run streams of two events: every event acts, and the streams act together."""
    table = pa.table({
        "k": np.arange(ROWS) // 2,
        "t": pa.array(np.arange(ROWS), pa.timestamp("us")),
        "x": np.arange(ROWS) % 2,
        "ok": np.ones(ROWS, dtype=bool),
    })  # fmt: skip
    for match in ("[x = 0] [x != 0]", "[x = 0] [x != 0]? [ok]?", "[x < 2]+"):
        windows = wex.find(f"{STREAM}window w match {match}", table)
        assert windows.num_rows >= ROWS // 2
        assert (windows["start_index"].to_numpy() <= windows["end_index"].to_numpy()).all()


def side_by_side() -> None:
    """Run windows whose automata are traced together, over more than one block of words."""
    table = pa.table({"k": np.repeat([0, 1, 2], [3, 9, ROWS]), "x": np.arange(ROWS + 12) * 7 % 5})
    windows = "".join(
        f"window w{at} match [x = {at}] [x != {at}{also}]* [x = {at}]\n"
        for at, also in enumerate(["", " and x[-1] < 9", " and x[-2] < x[-3]"])
    )
    spec = f"stream s (k int, x int) partition by k\n{windows}"
    with patch.object(lanes, "LEAST", 0):
        together = wex.find(spec, table)
    assert_same(wex.find(spec, table), together)
    assert together.num_rows > ROWS // 3


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    warnings.simplefilter("ignore")  # whole numbers of a kernel wrap around, of Python they warn
    agrees()
    many_streams()
    side_by_side()
