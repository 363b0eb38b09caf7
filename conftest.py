"""Test settings for the whole repository, and how the code blocks of the docs are tested.

- `python` blocks run, one after the other, in a folder of their own.
- `wex` blocks are specs; one without a `stream` stands under the last stream on its page. Python blocks
  know the last one as `last_spec`.
- a `wex` or `csv` block behind a comment `<!-- file: NAME -->` is written to that file, too.
- `console` blocks run: `$ command` and what it prints.
- the files of a recipe (`<!-- {recipe} NAME -->`) are copied to the folder; its spec is the last one of the page.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from tests.spark import JAVA

import wex

if TYPE_CHECKING:
    from collections.abc import Iterator

# Warnings about specs cost an analysis each; tests of them switch the logger on.
logging.getLogger("wex").setLevel(logging.ERROR)

os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA)  # of all drivers that tests start

# Laws are tried on other examples in every run, except where a run decides about a change.
PROFILES = {
    "default": settings(max_examples=200),
    "ci": settings(max_examples=60, derandomize=True),
    "thorough": settings(max_examples=5000),
}
SPARK = [  # the files with the longest jobs first
    "tests/spark/test_sessions",
    "tests/spark/test_connect",
    "tests/spark/test_cluster",
    "tests/cli/test_endless",
    "tests/cli/test_failures",
    "tests/cli/test_run",
]
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
for name, profile in PROFILES.items():
    settings.register_profile(name, profile, deadline=None, suppress_health_check=SLOW_IS_FINE)
settings.load_profile(os.environ.get("WEX_TEST_PROFILE", "ci" if "CI" in os.environ else "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that accepts what golden files are compared with."""
    parser.addoption("--update-golden", action="store_true", help="accept new golden files")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, the jobs on Spark, so that two processes end together."""

    def place(item: pytest.Item) -> int:
        return next((at for at, file in enumerate(SPARK) if file in item.nodeid), len(SPARK))

    items.sort(key=place)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Tell whether golden files are to be written anew."""
    return bool(request.config.getoption("--update-golden"))


def _enter_folder(namespace: dict[str, Any]) -> None:
    namespace["_folder"] = tempfile.TemporaryDirectory()
    namespace["_home"] = Path.cwd()
    namespace["_stream"] = ""
    os.chdir(namespace["_folder"].name)


def _leave_folder(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


def _spec_block(example: Example) -> None:
    text = str(example.parsed)
    _write_file(example)
    if re.search(r"^stream\b", text, re.MULTILINE):
        example.namespace["_stream"] = text
    else:
        text = f"{example.namespace['_stream']}\n{text}"
    example.namespace["last_spec"] = wex.parse(text)


def _wrong_block(example: Example) -> None:
    _write_file(example)
    with pytest.raises(wex.SpecError):
        wex.parse(str(example.parsed))


def _write_file(example: Example) -> None:
    named = re.search(r"<!-- file: (\S+) -->$", _text_before(example))
    if named:
        Path(named[1]).write_text(str(example.parsed), "utf-8")


def _recipes(document: Document) -> Iterator[Region]:
    for match in re.finditer(r"^<!-- \{recipe\} (\S+) -->$", document.text, re.MULTILINE):
        yield Region(match.start(), match.end(), match[1], _copy_recipe)


def _copy_recipe(example: Example) -> None:
    name, folder = str(example.parsed), Path(example.path).parent
    for file in folder.glob(f"{name}.*"):
        shutil.copy(file, file.name)
    example.namespace["_stream"] = (folder / f"{name}.wex").read_text("utf-8")


def _text_before(example: Example) -> str:
    return example.document.text[: example.start].rstrip()


def _console_block(example: Example) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        done = subprocess.run(
            command,
            shell=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": path},
            check=False,
        )
        assert done.stdout.rstrip() == expected.rstrip()


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        CodeBlockParser("wex", _spec_block),
        CodeBlockParser("wex-wrong", _wrong_block),
        CodeBlockParser("csv", _write_file),
        CodeBlockParser("sql", _write_file),
        CodeBlockParser("console", _console_block),
        _recipes,
    ],
    patterns=["*.md"],
    setup=_enter_folder,
    teardown=_leave_folder,
).pytest()
