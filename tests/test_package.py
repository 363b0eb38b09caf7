"""The package as a whole: what importing it loads, and what it promises."""

from __future__ import annotations

import subprocess
import sys

import wex

HEAVY = ("lark", "z3", "numba", "numpy", "pyarrow", "pandas", "pyspark", "click", "rich")


def test_importing_wex_loads_nothing_heavy() -> None:
    code = f"import sys, wex; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert all(getattr(wex, name) is not None for name in wex.__all__)
    assert set(wex.__all__) <= set(dir(wex))


def test_unknown_names_are_attribute_errors() -> None:
    assert not hasattr(wex, "no_such_thing")


def test_every_error_is_a_wex_error() -> None:
    assert issubclass(wex.SpecError, wex.WexError)
    assert issubclass(wex.LimitError, wex.WexError)
