"""The docs agree with the code. Their code blocks are tested by conftest.py; this module tests the rest."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from dataclasses import fields
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from sphinx.util.inventory import InventoryFile

import wex
from wex.cli.app import cli
from wex.errors import DATA_CODES
from wex.limits import Limits
from wex.spec.aggregates import AGGREGATES
from wex.spec.parser import grammar
from wex.spec.problems import CODES
from wex.spec.types import FIELD_TYPE_NAMES
from wex.spec.vocabulary import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        ROOT / "benchmarks" / "README.md",
        ROOT / "requirements" / "README.md",
    )
]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def prose(name: str) -> str:
    """Return a page without its code blocks."""
    text = (ROOT / name).read_text("utf-8")
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def inline_code(name: str) -> list[str]:
    """Return the texts in backticks of a page."""
    return re.findall(r"`([^`\n]+)`", prose(name))


# --- paths and modules -------------------------------------------------------------------------

FOLDERS = ("src", "tests", "docs", "benchmarks", "scripts", "requirements", ".ci")
# A path: of a folder of the repository, of a source file, or of a folder such as `engine/input/`.
PATH = re.compile(
    rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./-]*|[\w./-]+\.(?:py|lark)|[a-z_][a-z_/]*/"
)


@cache
def source_files() -> list[str]:
    """Return the Python files of the repository."""
    paths = [
        path
        for folder in ("src", "tests", "benchmarks", "docs")
        for path in (ROOT / folder).rglob("*.py")
    ]
    return [path.relative_to(ROOT).as_posix() for path in paths]


@cache
def tree_paths() -> frozenset[str]:
    """Return every file and folder of the repository, and each path below a folder that ends it."""
    files = [
        path.relative_to(ROOT)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and "_build" not in path.parts
    ]
    files += [path.relative_to(ROOT) for path in ROOT.iterdir() if path.is_file()]
    paths = {path for file in files for path in (file, *file.parents) if path.parts}
    return frozenset("/".join(path.parts[i:]) for path in paths for i in range(len(path.parts)))


@pytest.mark.parametrize("name", PAGES)
def test_every_path_that_a_page_names_exists(name: str) -> None:
    paths = {text for text in inline_code(name) if PATH.fullmatch(text)}
    assert {path for path in paths if path.strip("/") not in tree_paths()} == set()


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_a_page_links_to_exists(name: str) -> None:
    text = re.sub(r"`[^`\n]*`", "", prose(name))
    links = re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", text)
    assert {link for link in links if not ((ROOT / name).parent / link).exists()} == set()


def is_importable(dotted: str) -> bool:
    """Tell whether a name is a module, or an attribute that can be reached from one."""
    parts = dotted.split(".")
    value: object = import_module(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        if not hasattr(value, part) and inspect.ismodule(value):
            try:
                import_module(".".join(parts[:i]))
            except ModuleNotFoundError:
                return False
        if not hasattr(value, part):
            return part in getattr(value, "__annotations__", {})  # a field without a default
        value = getattr(value, part)
    return True


@pytest.mark.parametrize("name", PAGES)
def test_every_dotted_name_that_a_page_uses_can_be_imported(name: str) -> None:
    names = {
        match[0]
        for text in inline_code(name)
        for match in re.finditer(r"(?<![\w./])wex(\.\w+)+", text)
    }
    assert {dotted for dotted in names if not is_importable(dotted)} == set()


def test_every_dotted_name_in_the_sources_can_be_imported() -> None:
    """Docstrings and comments refer to other modules in backticks."""
    named = {
        (file, dotted)
        for file in source_files()
        if file.startswith("src/")
        for dotted in re.findall(r"`(wex(?:\.\w+)+)", (ROOT / file).read_text("utf-8"))
    }
    assert {(file, dotted) for file, dotted in named if not is_importable(dotted)} == set()


@pytest.mark.parametrize("name", PAGES)
def test_every_definition_that_a_page_places_in_a_module_is_there(name: str) -> None:
    """Check the names in phrases such as: `satisfiable` and `model` in `theory/solver.py`."""
    phrase = re.compile(r"((?:`[\w.]+`(?:, | and )?)+) in\s+`([\w/]+\.py)`")
    absent = set()
    for names, path in phrase.findall(prose(name)):
        files = [file for file in source_files() if f"/{file}".endswith(f"/{path}")]
        source = "\n".join((ROOT / file).read_text("utf-8") for file in files)
        for dotted in re.findall(r"`([\w.]+)`", names):
            last = dotted.rpartition(".")[2]
            if not re.search(
                rf"^\s*(?:def {last}\b|class {last}\b|{last}\b.*=)", source, re.MULTILINE
            ):
                absent.add((path, dotted))
    assert absent == set()


@pytest.mark.parametrize("name", PAGES)
def test_every_test_that_a_page_names_exists(name: str) -> None:
    tests = {test for text in inline_code(name) for test in re.findall(r"test_\w+(?![\w.])", text)}
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert {test for test in tests if f"def {test}(" not in sources} == set()


@pytest.mark.parametrize("name", PAGES)
def test_every_command_that_a_page_names_exists(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    modules = set(re.findall(r"python -m ([\w.]+)", text))
    assert {module for module in modules if find_spec(module) is None} == set()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z]+)|`make ([a-z]+)", text, re.MULTILINE)) <= {
        pair for target in targets for pair in ((target, ""), ("", target))
    }


# --- error codes -------------------------------------------------------------------------------

CODE = re.compile(r"[a-z]+(-[a-z]+)*")


def code_tables() -> dict[str, dict[str, str]]:
    """Return the tables of docs/errors.md: by the name of the section, the meaning of each code."""
    sections = re.split(r"^##+ (.*)$", page("errors.md"), flags=re.MULTILINE)
    row = re.compile(r"^\| `([a-z-]+)` \| (.*) \|$", re.MULTILINE)
    return {
        title: dict(row.findall(text))
        for title, text in zip(sections[1::2], sections[2::2], strict=True)
    }


@cache
def raised_codes() -> dict[str, set[str]]:
    """Return every error code that a module of `src` names, with the callables it is passed to.

    A callable takes a code if it has a parameter or a field `code`. A code that is not passed as
    a literal is assigned to `code`, returned by a function `…_code`, or begins a triple of code,
    message and hint.
    """
    trees = [ast.parse(path.read_text("utf-8")) for path in (ROOT / "src").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    takers = code_takers(nodes)
    codes: dict[str, set[str]] = {}
    for node in nodes:
        for code, taker in named_codes(node, takers):
            if CODE.fullmatch(code):
                codes.setdefault(code, set()).add(taker)
    return codes


def code_takers(nodes: list[ast.AST]) -> dict[str, int]:
    """Return the names of callables that take a code, with its place among the arguments."""
    takers: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            names = [
                argument.arg for argument in node.args.args if argument.arg not in ("self", "cls")
            ]
            if "code" in names and node.name != "__init__":
                takers[node.name] = names.index("code")
        elif isinstance(node, ast.ClassDef):
            names = [
                getattr(part.target, "id", "")
                for part in node.body
                if isinstance(part, ast.AnnAssign)
            ]
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    names = [argument.arg for argument in method.args.args[1:]]
            if "code" in names:
                takers[node.name] = names.index("code")
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    before = -1
    while before != len(takers):  # subclasses take what their bases take
        before = len(takers)
        for node in classes:
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            for base in bases:
                if base in takers:
                    takers.setdefault(node.name, takers[base])
    takers.pop("LimitError", None)  # takes the name of a limit
    return takers


def named_codes(node: ast.AST, takers: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the codes that a node names, each with the name of the callable or variable."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in takers and len(node.args) > max(1, takers[name]):
            yield from ((code, name) for code in literals(node.args[takers[name]]))
        for keyword in node.keywords:
            if name in takers and keyword.arg == "code":
                yield from ((code, name) for code in literals(keyword.value))
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        first = target.elts[0] if isinstance(target, ast.Tuple) else target
        if isinstance(first, ast.Name) and first.id.lower() == "code" and node.value is not None:
            yield from ((code, first.id) for code in literals(node.value))
    elif isinstance(node, ast.FunctionDef) and node.name.endswith("_code"):
        for part in ast.walk(node):
            if isinstance(part, ast.Return) and part.value is not None:
                yield from ((code, node.name) for code in literals(part.value))
    elif isinstance(node, ast.Tuple) and len(node.elts) == 3:
        yield from ((code, "triple") for code in literals(node) if "-" in code)


def literals(node: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression can be; of a tuple, those of its first part."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.Tuple) and node.elts:
        yield from literals(node.elts[0])


def test_the_tables_of_codes_are_those_of_the_code() -> None:
    tables = code_tables()
    assert tables["Codes of a SpecError"] == CODES
    assert tables["Codes of a DataError"] == DATA_CODES
    # Where the effort is not enough, an answer is unknown.
    named = {field.name.replace("_", "-") for field in fields(Limits)} - {"effort"}
    limits = {f"limit-{name}" for name in named}
    assert tables["Codes of a LimitError"].keys() == limits


def test_every_code_that_is_raised_is_documented_and_the_other_way_round() -> None:
    tables = code_tables()
    limits = tables.pop("Codes of a LimitError").keys()
    assert {code for table in tables.values() for code in table} - limits == raised_codes().keys()


def test_codes_of_other_errors_have_an_entry_of_their_own() -> None:
    """A code can belong to two kinds of errors, as `unknown-option` does."""
    tables = code_tables()
    separate = {"Codes of a SpecError", "Codes of a DataError", "Codes of a LimitError"}
    documented = {code for title in tables.keys() - separate for code in tables[title]}
    plain = {"WexError", "StateError", "UnboundedError"}
    assert {code for code, takers in raised_codes().items() if takers & plain} <= documented


# --- public names ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built_docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the documentation; a warning is an error."""
    folder = tmp_path_factory.mktemp("html")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_documentation_builds_without_a_warning(built_docs: Path) -> None:
    assert (built_docs / "language.html").exists()


@pytest.fixture(scope="module")
def entries(built_docs: Path) -> set[str]:
    """Return the dotted names that have an entry in the reference."""
    inventory = InventoryFile.loads((built_docs / "objects.inv").read_bytes(), uri="").data
    return {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}


def public_names(module: str) -> list[str]:
    home = import_module(module)
    defined = [
        name
        for name, value in vars(home).items()
        if getattr(value, "__module__", None) == module and not name.startswith("_")
    ]
    return list(getattr(home, "__all__", defined))


@pytest.mark.parametrize("module", ["wex", "wex.build", "wex.examples", "wex.limits", "wex.spark"])
def test_every_public_name_has_an_entry_in_the_reference(module: str, entries: set[str]) -> None:
    home = import_module(module)
    needed = set()
    for name in public_names(module):
        needed.add(f"{module}.{name}")
        value = getattr(home, name)
        if inspect.isclass(value):
            needed |= {
                f"{module}.{name}.{member}"
                for member, what in vars(value).items()
                if not member.startswith("_")
                and (inspect.isroutine(what) or isinstance(what, property))
            }
    assert needed - entries == set()


@pytest.mark.parametrize("name", wex.__all__)
def test_every_class_that_a_public_function_returns_has_an_entry(
    name: str, entries: set[str]
) -> None:
    value = getattr(wex, name)
    if inspect.isfunction(value):
        returned = str(inspect.signature(value).return_annotation).removeprefix("tree.")
        known = {entry.rpartition(".")[2] for entry in entries}
        assert returned.startswith(("pa.", "alt.", "bool", "str", "None")) or returned in known


# --- the command line --------------------------------------------------------------------------


def test_the_page_on_the_command_line_lists_every_command_and_option() -> None:
    sections = re.split(r"^## (.*)$", page("cli.md"), flags=re.MULTILINE)
    listed = dict(zip(["commands", *sections[1::2]], sections[::2], strict=True))
    commands = set(re.findall(r"^\| `wex ([a-z]+)", listed.pop("commands"), re.MULTILINE))
    context = click.Context(cli)
    assert commands == set(cli.list_commands(context))
    named = {
        title: set(
            re.findall(r"`(-[-\w]+)`", "".join(re.findall(r"^\| (.*?) \|", text, re.MULTILINE)))
        )
        for title, text in listed.items()
    }
    expected: dict[str, set[str]] = {title: set() for title in listed}
    for name in commands:
        command = cli.get_command(context, name)
        assert command is not None
        title = f"Options of `wex {name}`"
        options = {text for option in command.params for text in option.opts if text[0] == "-"}
        expected[title if title in listed else "Options of the other commands"] |= options
    assert named == expected


# --- the language ------------------------------------------------------------------------------


def test_the_reserved_words_are_those_of_the_grammar() -> None:
    words = {str(t.pattern.value) for t in grammar().terminals if t.pattern.value.isalpha()}
    assert words == RESERVED
    listed = re.search(r"keywords everywhere: (.*?)\.", page("language.md"), re.DOTALL)
    assert listed
    assert set(listed[1].split()) == RESERVED


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


# --- the comparison ----------------------------------------------------------------------------

VERDICTS = ("says", "awkward", "cannot")


def compared(system: str) -> list[int]:
    """Count the queries on a page of the comparison: all, by verdict, and with labels or rows."""
    queries = re.split(r"^### ", page(f"compare/{system}.md"), flags=re.MULTILINE)[1:]
    heading = re.compile(r"(\d+)\. .+ \((says|awkward|cannot)\)")
    headings = [heading.fullmatch(query.partition("\n")[0]) for query in queries]
    verdicts = [match[2] for match in headings if match]
    assert [match and match[1] for match in headings] == [str(i + 1) for i in range(len(queries))]
    labelled = sum("<!-- labels -->" in query or "<!-- rows -->" in query for query in queries)
    return [len(queries), *map(verdicts.count, VERDICTS), labelled]


def test_the_comparison_counts_the_queries_of_its_pages() -> None:
    row = re.compile(r"^\| (?:\[.+?\]\(compare/(\w+)\.md\).*?|all) \|((?: \d+ \|)+)$", re.MULTILINE)
    listed = {
        system: [int(number) for number in re.findall(r"\d+", numbers)]
        for system, numbers in row.findall(page("compare.md"))
    }
    total = listed.pop("")
    pages = {path.stem for path in (ROOT / "docs" / "compare").glob("*.md")}
    assert listed == {system: compared(system) for system in pages}
    assert total == [sum(column) for column in zip(*listed.values(), strict=True)]
    assert f"{total[0]} queries" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("verdict", ["cannot", "awkward"])
def test_every_query_that_cannot_be_said_or_is_awkward_has_a_reason(verdict: str) -> None:
    section = re.search(
        rf"^## What [a-z ]*{verdict}.*?(?=^## |\Z)", page("compare.md"), re.DOTALL | re.MULTILINE
    )
    assert section
    reasons = [int(number) for number in re.findall(r"\| (\d+) \|$", section[0], re.MULTILINE)]
    pages = [path.stem for path in (ROOT / "docs" / "compare").glob("*.md")]
    place = 1 + VERDICTS.index(verdict)
    assert sum(reasons) == sum(compared(system)[place] for system in pages)


def test_the_help_of_make_explains_every_target() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("help", "setup", "demo", "test", "lint", "bench", "docs"):
        assert re.search(rf"^  make {target} +\w+", done.stdout, re.MULTILINE)
