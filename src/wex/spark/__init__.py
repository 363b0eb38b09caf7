"""WEX on Spark: the windows of a spec in DataFrames, batches of Arrow columns on the workers.

It works on classic sessions and on Spark Connect, and changes no setting of a session.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wex.spark.dataframe import create_view, windows
    from wex.spark.errors import recovered
    from wex.spark.statements import sql
    from wex.spark.table_functions import register

__all__ = ["create_view", "recovered", "register", "sql", "windows"]

# Workers import modules of this package, and need neither the analysis nor the solver.
MODULES = {
    "create_view": "dataframe",
    "recovered": "errors",
    "register": "table_functions",
    "sql": "statements",
    "windows": "dataframe",
}


def __getattr__(name: str) -> object:
    """Take a public name from its module when it is first used."""
    if name not in MODULES:
        raise AttributeError(f"module 'wex.spark' has no attribute {name!r}")
    value: object = getattr(import_module(f"wex.spark.{MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
