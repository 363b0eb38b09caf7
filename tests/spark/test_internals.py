"""Undocumented parts of PySpark are used in one module only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import wex

DOCUMENTED = {
    "pyspark",
    "pyspark.errors",
    "pyspark.sql",
    "pyspark.sql.functions",
    "pyspark.sql.streaming",
    "pyspark.sql.types",
}
MODULES = [
    path
    for path in Path(wex.__file__).parent.rglob("*.py")
    if (path.parent.name, path.name) != ("spark", "internals.py")
    and "pyspark" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_only_documented_modules_are_imported(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            assert not str(name).startswith(("pyspark", "py4j")) or name in DOCUMENTED, name
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"_jvm", "_jsc", "_jdf", "_sc", "_gateway", "_stackTrace"}
