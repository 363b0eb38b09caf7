"""The public functions and classes of WEX: `import wex` offers these names and no others.

The functions are in the modules of this folder. Each imports its implementation when it is called, so
that importing them loads nothing heavy. Classes come from the modules that are listed in `_CLASSES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wex import notebook
from wex.api.pictures import draw, plot, report
from wex.api.questions import check, equivalent, explain, includes, is_empty, optimise
from wex.api.running import find, find_in_file, label
from wex.api.specs import automata, from_sql, load, parse, to_formula, to_regex, to_sql

if TYPE_CHECKING:
    from wex import build, limits
    from wex.compile.ksla import KSLA
    from wex.engine.processor import Processor
    from wex.errors import DataError, LimitError, SpecError, StateError, UnboundedError, WexError
    from wex.spec.aggregates import aggregate
    from wex.spec.tree import Spec

__all__ = [
    "KSLA",
    "DataError",
    "LimitError",
    "Processor",
    "Spec",
    "SpecError",
    "StateError",
    "UnboundedError",
    "WexError",
    "aggregate",
    "automata",
    "build",
    "check",
    "draw",
    "equivalent",
    "explain",
    "find",
    "find_in_file",
    "from_sql",
    "includes",
    "is_empty",
    "label",
    "limits",
    "load",
    "optimise",
    "parse",
    "plot",
    "report",
    "to_formula",
    "to_regex",
    "to_sql",
]

# The modules of the public classes, and of the decorator `aggregate`, which is one.
_CLASSES = {
    "KSLA": "wex.compile.ksla",
    "DataError": "wex.errors",
    "LimitError": "wex.errors",
    "Processor": "wex.engine.processor",
    "Spec": "wex.spec.tree",
    "SpecError": "wex.errors",
    "StateError": "wex.errors",
    "UnboundedError": "wex.errors",
    "WexError": "wex.errors",
    "aggregate": "wex.spec.aggregates",
}
_MODULES = ("build", "limits")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"wex.{name}")
    if name not in _CLASSES:
        raise AttributeError(f"module 'wex.api' has no attribute {name!r}")
    value: object = getattr(import_module(_CLASSES[name]), name)
    return value


def _html_of(value: object) -> str | None:
    """Return what a notebook shows of a value; classes of lower layers cannot import pictures."""
    from wex.draw.notebook import html_of  # noqa: PLC0415

    return html_of(value)


notebook.provide(_html_of)
