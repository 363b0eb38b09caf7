"""Every function that takes a spec accepts a Spec, text, or a path."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import wex
from wex.spec import SpecLike, as_spec

TEXT = "stream s (x int) window w match [x > x[-1]]+"
DATA = {"x": [1, 2, 1]}
SPEC = wex.parse(TEXT)
STATE = wex.Processor(SPEC).state()

DOORS: list[Callable[[SpecLike], object]] = [
    lambda spec: wex.find(spec, DATA).to_pylist(),
    lambda spec: str(wex.check(spec)),
    lambda spec: str(wex.explain(spec)),
    lambda spec: wex.equivalent(spec, SPEC),
    lambda spec: wex.equivalent(SPEC, spec),
    lambda spec: wex.includes(spec, SPEC),
    lambda spec: wex.includes(SPEC, spec),
    lambda spec: wex.is_empty(spec).window,
    wex.to_formula,
    wex.to_regex,
    lambda spec: wex.Processor(spec).feed(DATA).to_pylist(),
    lambda spec: wex.Processor.restore(spec, STATE).feed(DATA).to_pylist(),
]


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_text_and_paths(
    door: Callable[[SpecLike], object], tmp_path: Path
) -> None:
    (tmp_path / "a spec.wex").write_text(TEXT)
    (tmp_path / "other").write_text(TEXT)
    expected = door(SPEC)
    for given in (TEXT, tmp_path / "a spec.wex", str(tmp_path / "a spec.wex"), tmp_path / "other"):
        assert door(given) == expected


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("given", [None, 3, [TEXT], TEXT.encode(), {}])
def test_every_door_refuses_anything_else(door: Callable[[object], object], given: object) -> None:
    with pytest.raises(wex.WexError) as caught:
        door(given)
    assert caught.value.code == "not-a-spec"
    assert caught.value.message == f"expected a Spec, text or a path, got {type(given).__name__}"


def test_files_are_searched_by_specs_as_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n2\n1\n")
    assert wex.find_in_file(TEXT, tmp_path / "x.csv").equals(wex.find(SPEC, DATA))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("", "empty-spec"),
        ("  \n", "empty-spec"),
        ("trend", "no-file"),  # a single word is a path
        ("no such.wex", "no-file"),
        ("window w\nmatch up # as in up.wex", "stream-count"),  # several lines are text
        ("stream s (x int) window", "syntax"),
        (Path("stream s (x int)"), "no-file"),
        ("a\0b", "no-file"),
    ],
)
def test_what_a_string_is(given: SpecLike, code: str) -> None:
    with pytest.raises(wex.WexError) as caught:
        as_spec(given)
    assert caught.value.code == code


def test_a_text_is_parsed_once() -> None:
    assert as_spec(TEXT) is as_spec(TEXT)
    assert as_spec(SPEC) is SPEC


def test_parse_takes_text_only() -> None:
    with pytest.raises(wex.WexError, match="expected the text of a spec, got PosixPath"):
        wex.parse(Path("trend.wex") if os.name == "posix" else 1)  # type: ignore[arg-type]
