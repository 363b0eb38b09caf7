"""The recipes of the cookbook: the data, the windows and the verdict of each page are the true ones."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import wex
from wex.cli import verdicts
from wex.engine.files.reading import read_table
from wex.engine.files.writing import write_table
from wex.reference.find import find_by_definition
from wex.spec import meaning

COOKBOOK = Path(__file__).parents[1] / "docs" / "cookbook"
RECIPES = sorted(path.parent.name for path in COOKBOOK.glob("*/*.wex"))
SCRIPT = runpy.run_path(str(COOKBOOK / "make_data.py"))


def recipe_file(name: str, ending: str) -> Path:
    return COOKBOOK / name / f"{name}{ending}"


def test_every_recipe_is_in_the_list_of_recipes() -> None:
    assert sorted(SCRIPT["RECIPES"]) == RECIPES
    linked = re.findall(r"\(([\w-]+)/index\.md\)", (COOKBOOK / "index.md").read_text("utf-8"))
    assert sorted(linked) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_the_data_is_that_of_the_script(name: str) -> None:
    made = SCRIPT["data"](SCRIPT["RECIPES"][name])
    assert recipe_file(name, ".csv").read_text("utf-8") == made


def test_the_data_of_the_first_page_is_that_of_the_script() -> None:
    made = SCRIPT["data"](SCRIPT["amazon"])
    assert (COOKBOOK.parent / "amazon.csv").read_text("utf-8") == made


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_finds_exactly_its_windows(name: str, tmp_path: Path) -> None:
    windows = wex.find_in_file(recipe_file(name, ".wex"), recipe_file(name, ".csv"))
    write_table(windows, tmp_path / "windows.csv")
    written = (tmp_path / "windows.csv").read_text("utf-8")
    assert written == recipe_file(name, ".windows.csv").read_text("utf-8")


@pytest.mark.parametrize("name", RECIPES)
def test_the_definition_finds_the_same_windows(name: str) -> None:
    spec = wex.load(recipe_file(name, ".wex"))
    data = read_table(recipe_file(name, ".csv"), meaning(spec).fields)
    windows = wex.find(spec, data)
    assert windows.num_rows > 0
    assert find_by_definition(spec, data).equals(windows)


@pytest.mark.parametrize("name", RECIPES)
def test_the_page_names_the_verdict_of_the_analysis(name: str) -> None:
    report = wex.check(recipe_file(name, ".wex"))
    lines = [line.strip() for line in verdicts.lines(report)]
    page = (COOKBOOK / name / "index.md").read_text("utf-8")
    (verdict,) = re.findall(r"`wex check` says `([^`]+)`", page)
    assert verdict in lines
