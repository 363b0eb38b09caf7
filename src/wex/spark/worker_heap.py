"""What garbage collection costs on a worker.

After every task Spark's Python workers collect garbage, which walks over all objects of the process:
with the libraries that an engine needs about 50 ms, ten times in a micro-batch.
"""

from __future__ import annotations

import gc
import sys

MOST = 16  # times that objects are set aside

_modules: list[int] = []  # how many were loaded whenever objects were set aside


def settle() -> None:
    """Set the objects of this process aside from garbage collection, when it has loaded modules.

    To be called at the end of a task. Modules live as long as the process. What else lives at this
    moment is freed as ever when nothing refers to it; only if it is part of a cycle it is kept. So this
    happens a few times at most.
    """
    count = len(sys.modules)
    if len(_modules) < MOST and (not _modules or _modules[-1] != count):
        gc.collect()
        gc.freeze()
        _modules.append(count)
