"""Queries of SQL as specs: one MATCH_RECOGNIZE, as the standard and several systems write it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from wex.errors import WexError

if TYPE_CHECKING:
    from wex.spec.tree import Spec
    from wex.sql.result import Translation


def require_sqlglot() -> None:
    """Raise a WexError if sqlglot is not installed."""
    if find_spec("sqlglot") is None:
        hint = "install it: pip install 'wex-windows[sql]'"
        raise WexError("no-sqlglot", "sqlglot, which reads SQL, is not installed", hint)


def to_sql(spec: Spec, window: str | None, dialect: str) -> str:
    """Return the query of a window of a spec."""
    require_sqlglot()
    from wex.sql.export import exported  # noqa: PLC0415

    return exported(spec, window, dialect)


def from_sql(query: str, schema: object, dialect: str, name: str) -> Translation:
    """Return the translation of a query; sqlglot is loaded here and not before."""
    if not isinstance(query, str):
        kind = type(query).__name__
        raise WexError("not-a-query", f"expected the text of a query, got {kind}", "give a str")
    require_sqlglot()
    from wex.sql.translation import translated  # noqa: PLC0415

    return translated(query, schema, dialect, name)
