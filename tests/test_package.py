"""The package as a whole: what importing it loads, its public names, its list of stages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import wex
from wex import api, examples, stages
from wex.analysis.explain import SHOWN
from wex.compile.window import CompiledWindow
from wex.spec import meaning

HEAVY = ("lark", "z3", "numba", "numpy", "pyarrow", "pandas", "pyspark", "click", "rich", "igraph")


def test_importing_wex_loads_nothing_heavy() -> None:
    code = f"import sys, wex, wex.api; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert all(getattr(wex, name) is not None for name in wex.__all__)
    assert set(wex.__all__) <= set(dir(wex))


def test_unknown_names_are_attribute_errors() -> None:
    assert not hasattr(wex, "no_such_thing")
    assert not hasattr(api, "no_such_thing")


def test_every_error_is_a_wex_error() -> None:
    assert issubclass(wex.SpecError, wex.WexError)
    assert issubclass(wex.LimitError, wex.WexError)


def test_every_public_name_is_in_the_api() -> None:
    assert wex.__all__ == api.__all__
    assert all(getattr(wex, name) is getattr(api, name) for name in api.__all__)
    assert all(getattr(wex, name).__doc__ for name in api.__all__)


def test_each_stage_takes_the_value_of_the_one_before() -> None:
    names = [stages.TEXT, *(stage.name for stage in stages.STAGES)]
    assert [stage.takes for stage in stages.STAGES] == names[:-1]
    assert names == [
        "text", "tree", "meaning", "guards", "letters", "automata", "normal form", "smaller form", "least form", "plan",
        "machine",
    ]  # fmt: skip


def test_the_architecture_page_prints_the_list_of_stages() -> None:
    page = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (printed,) = re.findall(
        r"<!-- stages -->\n```\n(.*?)\n```\n<!-- end of stages -->", page, re.DOTALL
    )
    assert printed == stages.listing()


def test_explain_shows_every_stage() -> None:
    assert list(SHOWN) == [stage.name for stage in stages.STAGES]


@pytest.mark.parametrize("name", ["trend", "trend_formula", "session"])
def test_running_to_a_stage_gives_what_tracing_gives(name: str) -> None:
    spec = examples.spec(name)
    values = {stage.name: value for stage, value in stages.trace(spec)}
    assert stages.run(spec, "tree") is values["tree"] is spec
    assert stages.plan_of(spec).fingerprint == values["plan"].fingerprint  # type: ignore[attr-defined]
    for stage in ("normal form", "smaller form"):
        (one,), (two,) = (value.values for value in (stages.run(spec, stage), values[stage]))  # type: ignore[attr-defined]
        assert isinstance(one, CompiledWindow)
        assert (one.letters, one.until) == (two.letters, two.until)
        assert one.form.window.states == two.form.window.states


def test_equal_windows_of_different_specs_are_compiled_once() -> None:
    head = "stream s (x real) window w match [x > 7] [x < 7]"
    one, two = (meaning(wex.parse(text)) for text in (head, f"{head} window v match any"))
    assert stages.compile_window(one, 0) is stages.compile_window(two, 0)
