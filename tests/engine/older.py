"""Engines as earlier versions made them, to write the states that these wrote."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from wex.compile.plan import Plan
from wex.engine.engine import Engine


def older_engine(plan: Plan, *given: int, **options: Any) -> Engine:
    """Return an engine that holds also the starts that earlier ones dominate."""
    with patch("wex.engine.machines.tables.dominance", return_value=None):
        return Engine(plan, *given, **options)


def pairing_engine(plan: Plan, *given: int, **options: Any) -> Engine:
    """Return an engine that holds also the starts that only several earlier ones together dominate."""
    with patch("wex.automata.dominance.MOST_SETS", 0):
        return Engine(plan, *given, **options)
