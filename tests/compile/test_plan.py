"""Plans travel as bytes, are named by what they say, and damaged ones are refused."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.strategies import specs
from wex import examples
from wex.compile import codec
from wex.compile.plan import Plan
from wex.spec import tree
from wex.stages import plan_of

TREND = plan_of(examples.spec("trend"))
RUN = """
import sys
from wex.compile.plan import Plan
plan = Plan.from_bytes(sys.stdin.buffer.read())
print(plan.fingerprint, [name for name in ("z3", "lark") if name in sys.modules])
"""


@given(specs.specs())
@settings(max_examples=60)
def test_there_and_back_again(spec: tree.Spec) -> None:
    try:
        plan = plan_of(spec)
    except wex.LimitError:
        return  # a formula with many variables
    again = Plan.from_bytes(plan.to_bytes())
    assert again.to_bytes() == plan.to_bytes()
    assert again.fingerprint == plan.fingerprint == plan_of(wex.parse(str(spec))).fingerprint
    assert (again.stream, again.guards) == (plan.stream, plan.guards)
    for one, two in zip(again.windows, plan.windows, strict=True):
        assert (one.letters, one.measures, one.having) == (two.letters, two.measures, two.having)
        assert np.array_equal(one.window.table, two.window.table)
        assert one.window.table.dtype == two.window.table.dtype


def test_each_guard_is_listed_once() -> None:
    plan = plan_of(
        wex.parse("stream s (x real) window a match [x > 1] window b match [x > 1] [x > 2]")
    )
    assert len(plan.guards) == 2
    assert [window.letters.guards for window in plan.windows] == [(0,), (0, 1)]


def test_names_and_layout_do_not_change_the_plan_but_meaning_does() -> None:
    one = wex.parse("stream s (x real) let up = x > x[-1] window w match up+")
    two = wex.parse("stream s (x real) window w match [x > x[-1]] [x > x[-1]]*")
    other = wex.parse("stream s (x real) window w match [x >= x[-1]]+")
    assert plan_of(one).fingerprint == plan_of(two).fingerprint
    assert plan_of(one).fingerprint != plan_of(other).fingerprint


def test_a_plan_is_read_without_solver_and_grammar() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=TREND.to_bytes(), capture_output=True, check=True
    )
    assert done.stdout.decode().split(maxsplit=1) == [TREND.fingerprint, "[]\n"]


@given(st.integers(0, len(TREND.to_bytes()) - 1), st.integers(1, 255))
def test_flipped_bits_are_refused(place: int, change: int) -> None:
    content = bytearray(TREND.to_bytes())
    content[place] ^= change
    with pytest.raises(wex.StateError):
        Plan.from_bytes(bytes(content))


@given(st.integers(0, len(TREND.to_bytes()) - 1))
def test_truncated_plans_are_refused(length: int) -> None:
    with pytest.raises(wex.StateError):
        Plan.from_bytes(TREND.to_bytes()[:length])


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(content: bytes) -> None:
    for prefix in (b"", b"WEXPLAN", b"WEXPLAN\0\1"):
        with pytest.raises(wex.StateError):
            Plan.from_bytes(prefix + content)


def test_another_version_says_which() -> None:
    content = TREND.to_bytes().replace(b"WEXPLAN\0\1", b"WEXPLAN\0\7", 1)
    with pytest.raises(wex.StateError, match="version 7") as caught:
        Plan.from_bytes(content)
    assert caught.value.code == "state-version"


def test_a_long_chain_stays_small() -> None:
    plan = plan_of(wex.parse("stream s (x real) window w match any{100000}"))
    assert len(plan.to_bytes()) < 1_000_000


def test_the_written_form_of_version_1_stays() -> None:
    """Names and the place of clauses in the bytes do not follow the names in the code."""
    plan = plan_of(
        wex.parse("""stream s (t timestamp, x real) order by t assume [x > 0]*
  window w match [x > 1]+ until [x < 1] or end within 5 seconds keep longest measure count() as n having n > 1""")
    )
    written = json.loads(codec.canonical(plan))
    assert set(written) == {"@", "guards", "promise", "stream", "windows"}
    assert written["promise"]["@"] == "PlannedPromise"
    (window,) = written["windows"]
    assert set(window) == {
        "@", "having", "keep", "letters", "lookback", "measures", "name", "or_end", "pad", "prefix", "starts",
        "until", "window", "within_events", "within_time",
    }  # fmt: skip
    assert (window["@"], window["keep"], window["or_end"]) == ("PlannedWindow", "longest", True)
    assert (window["within_events"], window["within_time"]) == (None, 5_000_000)
    assert plan.fingerprint == "50fbc778f3c439416fe606f112c743bd"
