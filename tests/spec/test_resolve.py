"""The resolver: valid specs are accepted and expanded, any other text gives a SpecError."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import wex
from tests.strategies import specs, trees
from wex.spec import meaning, tree
from wex.spec.problems import CODES
from wex.spec.vocabulary import RESERVED

SOUP = [*sorted(RESERVED), *"()[]{}*+?|&~=<>-/,:.;!", "<=", ">=", "!=", "==", "x", "up", "ts", "real",
        "string", "timestamp", "enum", "count", "avg", "minutes", "events", "longest", "is_first",
        "prev", "3", "2.5", "1e400", "99999999999999999999", "'a'", "'", "`end`", "`", '"', "#", "\n",
        "stream s (x real, ts timestamp, ok bool) order by ts", "let up = x > x[-1]",
        "window w match", "window v where", "begin", "end", "\ufeff", "é", "\x00"]  # fmt: skip


@given(specs.specs())
def test_right_specs_are_accepted_and_print_back(spec: tree.Spec) -> None:
    assert wex.parse(str(spec)) == spec


@given(specs.specs())
def test_expanding_keeps_the_lookback_and_is_done_once(spec: tree.Spec) -> None:
    resolved = meaning(spec)
    again = meaning(resolved.expanded)
    assert again.expanded == resolved.expanded
    assert again.lookbacks == resolved.lookbacks
    assert again.assume_lookbacks == resolved.assume_lookbacks
    assert again.measures == resolved.measures
    assert not resolved.expanded.lets


@given(specs.specs())
def test_nothing_but_plain_atoms_is_left_after_expanding(spec: tree.Spec) -> None:
    for node in tree.walk(meaning(spec).expanded):
        assert not isinstance(node, tree.Between | tree.In)
        if isinstance(node, tree.Compare):
            assert len(node.ops) == 1
        if isinstance(node, tree.Ref):
            assert node.name not in specs.LETS


@given(st.lists(st.sampled_from(SOUP), max_size=40).map(" ".join))
@example("window w match " + "(" * 300 + "x")
@example("stream s (x real) let a = " + "x + " * 500 + "x")
def test_token_soup_gives_a_spec_or_a_spec_error(text: str) -> None:
    assert_spec_or_error(text)


@given(st.text(max_size=60))
def test_any_text_gives_a_spec_or_a_spec_error(text: str) -> None:
    assert_spec_or_error(text)


@given(trees.specs)
def test_trees_that_make_no_sense_give_a_spec_error(spec: tree.Spec) -> None:
    assert_spec_or_error(str(spec))


@given(specs.specs(), st.data())
def test_a_damaged_spec_gives_a_spec_or_a_spec_error(spec: tree.Spec, data: st.DataObject) -> None:
    text = str(spec)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 10)))
    assert_spec_or_error(text[:start] + data.draw(st.sampled_from(["", *SOUP])) + text[end:])


def assert_spec_or_error(text: str) -> None:
    try:
        spec = wex.parse(text)
    except wex.SpecError as error:
        places = [(diagnostic.line, diagnostic.column) for diagnostic in error.diagnostics]
        assert places == sorted(places)
        assert len(set(error.diagnostics)) == len(error.diagnostics)
        lines = re.split(r"\r\n|\r|\n", text)
        for diagnostic in error.diagnostics:
            assert diagnostic.code in CODES
            assert diagnostic.message
            assert diagnostic.hint
            assert diagnostic.source_line == lines[diagnostic.line - 1]
            assert 1 <= diagnostic.column <= len(diagnostic.source_line) + 1
            assert diagnostic.width >= 1
        assert f"error[{error.code}]: " in str(error)
    else:
        assert wex.parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("written", "lookback"),
    [
        ("match [x > 1]", 0),
        ("match [x > x[-3]]", 3),
        ("match up2", 2),
        ("match [up2[-1]]", 3),
        ("match [prev(up, 2)]", 3),
        ("match [prev(x, 0) > prev(3, 0)]", 0),
        ("match [is_first[-2]]", 2),
        ("match any until [x[-1] > 0]", 1),
        ("after [x[-4] > 0] match any", 4),
        ("where up(begin) and [x[-2] > 0](end)", 2),
        ("match any lookback 5", 5),
        ("match [x[-3] > 0] lookback 1", 3),
        ("match any measure sum(x[-4]) as s", 0),
    ],
)
def test_the_lookback_of_a_window(written: str, lookback: int) -> None:
    text = f"""stream s (x real) let up = x > x[-1] let up2 = up and up[-1]
    let unused = x[-9] > 0 assume [x[-7] > 0]* window w {written}"""
    resolved = meaning(wex.parse(text))
    assert resolved.lookbacks == (lookback,)
    assert resolved.assume_lookbacks == (7,)


@pytest.mark.parametrize(
    "written",
    [
        "let wk = 7 days let k = 'p' window w match [d > d[-1] + wk and e = k and d < d[-1] + (1 day + 1 day)]",
        "let one = ok window w where one(begin) and is_first(begin) and [one](end)",
        "let deep = " + "(" * 45 + "x" + " + 1)" * 45 + " window w match [deep > 1]",
        "window w match [x > 5e-324 and x < 1.7976931348623157e308]",
    ],
)
def test_an_expanded_spec_parses_back(written: str) -> None:
    stream = "stream s (x real, ok bool, d date, e enum('p', 'q')) "
    resolved = meaning(wex.parse(stream + written))
    assert wex.parse(str(resolved.expanded)) == resolved.expanded
    assert meaning(resolved.expanded).lookbacks == resolved.lookbacks
