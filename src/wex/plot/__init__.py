"""Charts: streams with their windows over them, and what both the chart and the report draw.

`streams` has the events and windows, `thinning` chooses what is drawn of them, `chart` makes a
Vega-Lite chart with altair, and `files` writes it. `theme` has the colours of all pictures.
"""

from __future__ import annotations

from importlib.util import find_spec

from wex.errors import WexError

# The libraries of the extra `pictures`: their names for pip, and what they are for.
LIBRARIES = {
    "altair": ("altair", "makes charts"),
    "vl_convert": ("vl-convert-python", "writes charts and PNG"),
    "igraph": ("igraph", "lays out drawings"),
}


def require_pictures(*modules: str) -> None:
    """Raise a WexError if one of some libraries of the extra `pictures` is not installed."""
    for module in modules:
        if find_spec(module) is None:
            name, what = LIBRARIES[module]
            hint = "install it: pip install 'wex-windows[pictures]'"
            raise WexError("no-pictures", f"{name}, which {what}, is not installed", hint)
