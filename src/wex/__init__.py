"""WEX: windows with a meaning.

>>> import wex
>>> spec = wex.parse('''
... stream trades (price real)
... let up = price > price[-1]
... window rise match up{3,}
... ''')
>>> [window.name.text for window in spec.windows]
['rise']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import wex.threads  # noqa: F401  (a fork waits for what is imported below)

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "LimitError",
    "Processor",
    "Spec",
    "SpecError",
    "StateError",
    "UnboundedError",
    "WexError",
    "aggregate",
    "build",
    "check",
    "equivalent",
    "explain",
    "find",
    "find_in_file",
    "includes",
    "is_empty",
    "limits",
    "load",
    "parse",
    "to_formula",
    "to_regex",
]

if TYPE_CHECKING:
    from wex import build, limits
    from wex.analysis.boundedness_guard import find, find_in_file
    from wex.analysis.check import check
    from wex.analysis.compare import equivalent, includes, is_empty
    from wex.analysis.explain import explain
    from wex.compile.to_formula import to_formula
    from wex.compile.to_regex import to_regex
    from wex.engine.processor import Processor
    from wex.errors import DataError, LimitError, SpecError, StateError, UnboundedError, WexError
    from wex.spec import load, parse
    from wex.spec.aggregates import aggregate
    from wex.spec.tree import Spec

# Where each public name lives. They are imported when first used, so that `import wex` is light.
_HOMES = {
    "DataError": "wex.errors",
    "LimitError": "wex.errors",
    "Processor": "wex.engine.processor",
    "Spec": "wex.spec.tree",
    "SpecError": "wex.errors",
    "StateError": "wex.errors",
    "UnboundedError": "wex.errors",
    "WexError": "wex.errors",
    "aggregate": "wex.spec.aggregates",
    "build": "wex",
    "check": "wex.analysis.check",
    "equivalent": "wex.analysis.compare",
    "explain": "wex.analysis.explain",
    "includes": "wex.analysis.compare",
    "is_empty": "wex.analysis.compare",
    "find": "wex.analysis.boundedness_guard",
    "find_in_file": "wex.analysis.boundedness_guard",
    "limits": "wex",
    "load": "wex.spec",
    "parse": "wex.spec",
    "to_formula": "wex.compile.to_formula",
    "to_regex": "wex.compile.to_regex",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wex' has no attribute {name!r}")
    found: object = (
        import_module(f"wex.{name}") if home == "wex" else getattr(import_module(home), name)
    )
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
