"""Charts: streams with their windows over them, and what both the chart and the report draw.

`streams` has the events and windows, `thinning` chooses what is drawn of them, `chart` makes a
Vega-Lite chart with altair, and `files` writes it.
"""

from __future__ import annotations

from importlib.util import find_spec

from wex.errors import WexError

# Okabe and Ito's colours, which colour-blind readers tell apart; yellow, hard to see on white, is last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
NEUTRAL = "#767676"  # what has no colour of its own, on white and on black


def require_pictures() -> None:
    """Raise a WexError if altair or vl-convert is not installed."""
    for module, what in (("altair", "altair"), ("vl_convert", "vl-convert-python")):
        if find_spec(module) is None:
            hint = "install it: pip install 'wex-windows[pictures]'"
            raise WexError("no-pictures", f"{what}, which draws charts, is not installed", hint)
