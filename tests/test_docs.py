"""The docs say what the code says. Their code blocks are tested where they stand: see conftest.py."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from wex.errors import DATA_CODES
from wex.spec.aggregates import AGGREGATES
from wex.spec.parser import grammar
from wex.spec.problems import CODES
from wex.spec.types import FIELD_TYPE_NAMES
from wex.spec.vocabulary import RESERVED

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def test_the_reserved_words_are_those_of_the_grammar() -> None:
    words = {str(t.pattern.value) for t in grammar().terminals if t.pattern.value.isalpha()}
    assert words == RESERVED
    listed = re.search(r"keywords everywhere: (.*?)\.", page("language.md"), re.DOTALL)
    assert listed
    assert set(listed[1].split()) == RESERVED


def test_every_code_is_explained() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", page("errors.md"), re.MULTILINE))
    assert rows == CODES | DATA_CODES


@pytest.mark.parametrize("word", [*AGGREGATES, *FIELD_TYPE_NAMES])
def test_the_language_reference_names_every_aggregate_and_type(word: str) -> None:
    assert re.search(rf"`{word}\b", page("language.md"))


def test_every_rule_of_the_grammar_has_an_example() -> None:
    """Parse the examples of the language reference and see which rules they use."""
    blocks = re.findall(r"^```wex\n(.*?)^```", page("language.md"), re.DOTALL | re.MULTILINE)
    used: set[str] = set()
    for block in blocks:
        for item in re.split(r"^(?=(?:stream|let|assume|window)\b)", block, flags=re.MULTILINE):
            if re.sub(r"#.*", "", item).strip():
                used |= {str(rule.data) for rule in grammar().parse(item).iter_subtrees()}
    rules = {str(rule.alias or rule.origin.name) for rule in grammar().rules}
    inlined = {name for name in rules if name.startswith("_")}  # helpers that Lark makes
    transparent = {
        str(rule.origin.name) for rule in grammar().rules if rule.options.expand1 and not rule.alias
    } - used
    assert rules - used - inlined - transparent == set()


def test_the_help_of_make_explains_every_target() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("help", "setup", "demo", "test", "lint", "bench", "docs"):
        assert re.search(rf"^  make {target} +\w+", done.stdout, re.MULTILINE)


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "language.html").exists()
