"""Names as Spark reads them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return a column name as Spark's expressions read it."""
    return f"`{name.replace('`', '``')}`"
