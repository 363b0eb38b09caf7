"""Kernels run as Python: the same windows and states as compiled, without numba."""

from __future__ import annotations

import subprocess
import sys

import pytest

import wex
from wex import examples
from wex.engine.kernels.compiled import interpreted

SPECS = {name: str(examples.spec(name)) for name in examples.with_data()}
X = "stream s (x int) window w"
MORE = {
    "registers": f"{X} match [x > x[-1]]+ until [x < x[-1]] measure sum(x) as total",
    "sliding": f"{X} match any{{5}} measure max(x) as most, var(x) as spread",
    "moving": f"{X} match [x > 2] any* [x > 4] measure count_distinct(x) as n, collect(x) as xs",
    "disjoint": f"{X} match [x > 1]+ keep disjoint within 4 events measure min(x) as least",
    "tracked": f"{X} match [x < 5] [x >= first(x)]* [x < first(x)] measure sum(x) as total",
    "preferred": f"{X} match [x > 2] (any* [x > 8])? keep leftmost until [x > 3] or end measure sum(x) as total",
    "preferred, having": f"{X} match [x > 2] any*? keep preferred measure sum(x) as total having total > 20",
    "labels": f"{X} after any* [x > 3] match p:any* q:[x > 4] | q:[x > 8] or match q:(any{{2}}) measure count(p) as n, sum(q.x) as total",
    "labels, tracked": f"{X} match p:[x <= 4]* q:[x > first(x)] p:any? keep leftmost measure sum(p.x) as total",
    "assumption": f"{X} match [x > 3] any{{2}} measure avg(x) as mean assume [x >= 0]*",
}


@pytest.mark.parametrize("name", [*SPECS, *MORE])
def test_interpreted_kernels_find_the_same_windows(name: str) -> None:
    spec = wex.parse(SPECS.get(name) or MORE[name])
    data = (
        examples.data(name).slice(0, 2000)
        if name in SPECS
        else {"x": [number * number % 11 for number in range(60)]}
    )
    compiled, plain = wex.Processor(spec), wex.Processor(spec)
    with interpreted():
        windows, state = plain.feed(data), plain.state()
        rest = plain.close()
    assert windows.num_rows + rest.num_rows > 0
    assert windows.equals(compiled.feed(data))
    assert state == compiled.state()
    assert rest.equals(compiled.close())


def test_numba_is_imported_when_a_kernel_is_compiled() -> None:
    code = (
        "import sys, wex; from wex.engine.kernels.compiled import interpreted\n"
        "spec = wex.parse('stream s (x int) window w match [x > 0]')\n"
        "with interpreted(): print(wex.find(spec, {'x': [1]}).num_rows, 'numba' in sys.modules)\n"
        "print(wex.find(spec, {'x': [1]}).num_rows, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1 False", "1 True"]
