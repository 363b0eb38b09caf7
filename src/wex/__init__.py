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
from typing import TYPE_CHECKING, Any

import wex.automata  # (now, so that later imports do not replace the functions of these names)
import wex.draw
import wex.plot
import wex.report
import wex.threads  # noqa: F401  (forks wait for the imports below)
from wex.api import __all__ as __all__

__version__ = "0.1.0"

for folder in ("automata", "draw", "plot", "report"):  # these names are public functions
    del globals()[folder]
del folder

if TYPE_CHECKING:
    from wex.api import *  # noqa: F403


def __getattr__(name: str) -> object:
    """Take a public name from `wex.api` when it is first used."""
    if name == "spark":  # a package of its own, that loads PySpark
        return import_module("wex.spark")
    if name not in __all__:
        raise AttributeError(f"module 'wex' has no attribute {name!r}")
    value: object = getattr(import_module("wex.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def load_ipython_extension(shell: Any) -> None:
    """Let a notebook show Arrow tables, such as windows, as tables: `%load_ext wex`."""
    from wex.draw.notebook import html_of  # noqa: PLC0415

    shell.display_formatter.formatters["text/html"].for_type_by_name(
        "pyarrow.lib", "Table", html_of
    )
