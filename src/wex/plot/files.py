"""Writes a chart as SVG, PNG, a page of HTML without network, or its specification as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wex.engine.files.sources import no_file_error
from wex.errors import WexError, closest
from wex.plot import require_pictures

if TYPE_CHECKING:
    from os import PathLike

    import altair as alt

SUFFIXES = (".svg", ".png", ".html", ".json")
SCALE = 2  # pixels of a PNG for each pixel of the chart

GLOBALS = "window.vegaEmbed=vegaEmbed;"
# The JSON of `script_safe` is the only thing in this page that comes from outside.
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>wex plot</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:">
<style>body{margin:1rem;background:#fff}#chart{max-width:100%;overflow-x:auto}</style></head>
<body><div id="chart"></div>
<script type="application/json" id="specification">@specification@</script>
<script>@vega@
vegaEmbed("#chart", JSON.parse(document.getElementById("specification").textContent), {actions: false});
</script></body></html>
"""


def check_suffix(path: str | PathLike[str]) -> str:
    """Return the ending of a file for a chart, or raise a WexError if it is none."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        best = closest(suffix, SUFFIXES)
        hint = f"did you mean {best}?" if best else f"the endings are {', '.join(SUFFIXES)}"
        raise WexError("unknown-format", f"{path}: a chart is not written as `{suffix}`", hint)
    return suffix


def save(chart: alt.VConcatChart, path: str | PathLike[str]) -> None:
    """Write a chart to a file; its ending says how."""
    suffix = check_suffix(path)
    require_pictures()
    target = Path(path)
    specification = chart.to_dict(validate=False)
    import vl_convert  # noqa: PLC0415

    try:
        match suffix:
            case ".svg":
                text = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
                target.write_text(_renumbered(text), encoding="utf-8")
            case ".png":
                target.write_bytes(
                    vl_convert.vegalite_to_png(specification, scale=SCALE, allowed_base_urls=[])
                )
            case ".json":
                text = json.dumps(specification, indent=1, ensure_ascii=False)
                target.write_text(text + "\n", encoding="utf-8")
            case ".html":
                bundle: str = vl_convert.javascript_bundle(GLOBALS)
                vega = bundle.replace("</script", r"<\/script")
                text = PAGE.replace("@specification@", script_safe(specification))
                target.write_text(text.replace("@vega@", vega), encoding="utf-8")
    except OSError as error:
        raise no_file_error(str(path), error, "give a path that can be written") from error


def _renumbered(svg: str) -> str:
    """Return an SVG whose clip paths are numbered from 1: Vega counts those of a process."""
    ids = dict.fromkeys(re.findall(r'<clipPath id="(clip\d+)"', svg))
    numbers = {name: f"clip{number}" for number, name in enumerate(ids, 1)}
    places = r'(<clipPath id="|clip-path="url\(#)(clip\d+)'
    return re.sub(places, lambda found: found[1] + numbers.get(found[2], found[2]), svg)


def script_safe(value: object) -> str:
    r"""Return JSON that cannot end the `script` element around it, nor a line of a script.

    >>> print(script_safe({"name": "</script>"}))
    {"name":"\u003c/script>"}
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", r"\u003c")
