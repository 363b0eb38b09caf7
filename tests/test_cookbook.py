"""The recipes of the cookbook: the data, the windows and the verdict of each page are the true ones.

Pages also show them where nobody builds the site.
"""

from __future__ import annotations

import re
import runpy
import sys
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


# --- Pages that are read without the site

DOCS = COOKBOOK.parent
DIRECTIVE = re.compile(r"^[`~]{3}\{(\w[\w-]*)\}", re.MULTILINE)


def test_what_pages_show_without_the_site_is_current(update_golden: bool) -> None:
    """`make docs` writes it, as `--update-golden` does."""
    for page, text in runpy.run_path(str(DOCS / "make_pages.py"))["pages"]().items():
        if update_golden:
            page.write_text(text, "utf-8")
        assert page.read_text("utf-8") == text


def test_pages_can_be_read_without_the_site() -> None:
    """No directive hides what a page shows, and every picture is there."""
    for page in (path for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts):
        text = page.read_text("utf-8")
        # The docstrings of the API, and the HTML of a notebook, are nowhere else.
        assert set(DIRECTIVE.findall(text)) <= {"eval-rst", "raw"}, page
        for picture in re.findall(r"!\[[^]]*\]\(([^):]+)\)", text):
            assert (page.parent / picture).exists(), (page, picture)
    for name in RECIPES:
        text = (COOKBOOK / name / "index.md").read_text("utf-8")
        assert recipe_file(name, ".wex").read_text("utf-8") in text
        assert all(f"({name}{ending})" in text for ending in (".wex", ".csv", ".windows.csv"))


def test_the_site_shows_directives_instead() -> None:
    sys.path.insert(0, str(DOCS / "_extensions"))
    for_the_site = runpy.run_path(str(DOCS / "_extensions" / "page_text.py"))["for_the_site"]
    page = for_the_site((DOCS / "tutorial.md").read_text("utf-8"))
    assert "```{windows} alarm.wex fridges.csv\n```" in page
    assert "```{plot} warm.wex fridges.csv\n:alt: The temperatures of two fridges" in page
    assert "```{code-block} py\n:caption: job.py\n" in page
    assert "<!-- end -->" not in page
    index = for_the_site((DOCS / "index.md").read_text("utf-8"))
    assert index.count("```{toctree}\n:hidden:\n") == 4
