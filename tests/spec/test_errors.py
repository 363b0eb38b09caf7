"""Errors in specs: golden files, one pair per mistake.

`NAME.wex` is the spec, `NAME.txt` the error. To accept changed messages:
`.venv/bin/pytest tests/spec/test_errors.py --update-golden`.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import wex
from wex.spec import load, tree
from wex.spec.problems import CODES

GOLDEN = Path(__file__).parents[1] / "golden" / "errors"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.wex"))


def error_of(name: str, monkeypatch: pytest.MonkeyPatch) -> wex.SpecError:
    monkeypatch.chdir(GOLDEN)  # so that the error shows the file name only
    with pytest.raises(wex.SpecError) as caught:
        load(f"{name}.wex")
    return caught.value


@pytest.mark.parametrize("name", NAMES)
def test_the_error_is_the_golden_one(
    name: str, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    shown = f"{error_of(name, monkeypatch)}\n"
    golden = GOLDEN / f"{name}.txt"
    if update_golden:
        golden.write_text(shown, "utf-8")
    assert shown == golden.read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_errors_survive_pickling(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = error_of(name, monkeypatch)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.diagnostics == error.diagnostics


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(NAMES)


def test_every_code_has_a_golden_file() -> None:
    errors = "\n".join(path.read_text("utf-8") for path in GOLDEN.glob("*.txt"))
    in_files = set(re.findall(r"^error\[([a-z-]+)\]", errors, re.MULTILINE))
    elsewhere = {
        "truth-value",  # only in Python: tests/test_build.py
        "too-deep",  # generated below: the file would be long
        "sql",  # only in a query of SQL: tests/sql/test_errors.py
        "contradiction",  # only in a call: tests/engine/test_find.py
    }
    assert in_files | elsewhere == set(CODES)
    assert not in_files & elsewhere


@pytest.mark.parametrize(
    "nested",
    [
        f"window w match {'(' * 10_000}any{')' * 10_000}",
        f"let a = {'(' * 10_000}x{')' * 10_000}",
        f"window w match {'(any ' * 10_000}{'|any)' * 10_000}",
        f"window w match {'~' * 10_000}any",
        f"window w match any{'*' * 10_000}",
        f"let a = {'-' * 10_000}x",
        f"let a = {'not ' * 10_000}x > 1",
        f"let a = {'x + ' * 10_000}x",
        f"let a = {'abs(' * 10_000}x{')' * 10_000}",
        f"window w where {'exists y: ' * 10_000}begin < y",
        f"window w where {'begin < end implies ' * 10_000}begin < end",
    ],
)
def test_deep_nesting_is_an_error_and_no_recursion(nested: str) -> None:
    with pytest.raises(wex.SpecError) as caught:
        wex.parse(f"stream s (x real) {nested}")
    assert caught.value.code == "too-deep"


@pytest.mark.parametrize(
    ("open_only", "last"), [("(", "("), ("[", "["), ("(any ", "("), ("[x > (", "(")]
)
def test_ten_thousand_open_brackets_are_an_error(open_only: str, last: str) -> None:
    with pytest.raises(wex.SpecError) as caught:
        wex.parse(f"stream s (x real) window w match {open_only * 10_000}")
    error = caught.value
    assert (error.code, error.message) == ("bracket", f"this `{last}` is never closed")


def test_long_sequences_are_not_nested() -> None:
    spec = wex.parse(
        f"stream s (x real) let a = {'x > 1 and ' * 5_000}x > 1 window w match {'any ' * 5_000}"
    )
    conjunction, sequence = spec.lets[0].value, spec.windows[0].pairs[0].match
    assert isinstance(conjunction, tree.And)
    assert isinstance(sequence, tree.Concat)
    assert (len(conjunction.parts), len(sequence.parts)) == (5_001, 5_000)
    assert wex.parse(str(spec)) == spec


def test_a_file_of_ten_megabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.wex"
    path.write_text("# filler\n" * 1_200_000)
    with pytest.raises(wex.LimitError) as caught:
        wex.load(path)
    assert caught.value.limit == "spec_bytes"
    assert caught.value.code == "limit-spec-bytes"
    assert "wex.limits.raised(spec_bytes=10800000)" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_a_raised_limit_lets_a_large_file_through(tmp_path: Path) -> None:
    path = tmp_path / "large.wex"
    path.write_text("stream s (x real)\n" + "# filler\n" * 120_000 + "window w match any\n")
    with wex.limits.raised(spec_bytes=2_000_000):
        assert wex.load(path) == wex.parse("stream s (x real) window w match any")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "dos.wex"
    path.write_bytes(b"\xef\xbb\xbfstream s (x real)\r\nwindow w match [y > 1]\r\n")
    with pytest.raises(wex.SpecError) as caught:
        wex.load(path)
    assert (caught.value.line, caught.value.column) == (2, 17)
    assert caught.value.source_line == "window w match [y > 1]"


def test_long_lines_are_cut_around_the_caret() -> None:
    text = f"stream s (x real) window w match {'any ' * 200}[y > 1] {'any ' * 200}"
    with pytest.raises(wex.SpecError) as caught:
        wex.parse(text)
    lines = str(caught.value).splitlines()
    caret = lines[4].index("^")
    assert lines[3][caret] == "y"
    assert max(map(len, lines[:5])) < 120


@pytest.mark.parametrize(
    ("mistakes", "code"),
    [
        ("window w match a" + " unpadded" * 8_000, "clause-twice"),
        ("window w match a\n" * 4_000, "duplicate-name"),
        ("".join(f"let l{n} = l{n} and a\n" for n in range(8_000)), "let-cycle"),
        ("".join(f"let l{n} = l{(n + 1) % 9_000} and a\n" for n in range(9_000)), "let-cycle"),
        ("window w match " + " ".join(f"nobody{n}" for n in range(4_000)), "unknown-name"),
        ("let b = " + "x" * 900_000, "unknown-name"),
        ("let q = c = 'abc\n" + "let r = c = 'x'\n" * 5_000, "quote"),
    ],
)
def test_many_mistakes_give_a_short_error(mistakes: str, code: str) -> None:
    """Not in quadratic time either: each of these took minutes or did not end."""
    with pytest.raises(wex.SpecError) as caught:
        wex.parse(f"stream s (a bool, c string) {mistakes}")
    assert caught.value.code == code
    assert len(str(caught.value)) < 30_000
    assert len(caught.value.diagnostics) <= 100


def test_the_first_open_quote_is_blamed() -> None:
    with pytest.raises(wex.SpecError) as caught:
        wex.parse("stream s (c string)\nlet q = c = 'abc\n" + "let r = c = 'x'\n" * 50)
    assert (caught.value.code, caught.value.line) == ("quote", 2)
