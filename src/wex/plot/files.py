"""Writes a chart as SVG, PNG, a page of HTML without network, or its specification as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wex.engine.files.sources import no_file_error
from wex.errors import WexError, closest
from wex.plot import require_pictures
from wex.plot.theme import NEUTRAL, PALETTE, WINDOW_COLOURS, colours

if TYPE_CHECKING:
    from os import PathLike

    import altair as alt

    from wex.plot.theme import Theme

SUFFIXES = (".svg", ".png", ".html", ".json")
SCALE = 2  # pixels of a PNG for each pixel of the chart

# A style in the SVG comes before the attributes that Vega writes; programs that know no variables keep those.
ROLES: dict[Theme, dict[str, str]] = {
    theme: palette
    | {f"window-{number}": colour for number, colour in enumerate(WINDOW_COLOURS[theme])}
    for theme, palette in PALETTE.items()
}
WINDOW_RULES = "\n".join(
    f'.wex-plot [{part}="{colour}"] {{ {part}: var(--wex-window-{number}); }}'
    for number, colour in enumerate(WINDOW_COLOURS["light"])
    for part in ("fill", "stroke")
)
RULES = f"""
{WINDOW_RULES}
.wex-plot > rect {{ fill: var(--wex-paper); }}
.wex-plot text {{ fill: var(--wex-ink); }}
.wex-plot text[fill="{NEUTRAL}"] {{ fill: var(--wex-muted); }}
.wex-plot .role-mark [stroke="{NEUTRAL}"] {{ stroke: var(--wex-edge); }}
.wex-plot .role-mark [fill="{NEUTRAL}"] {{ fill: var(--wex-edge); }}
.wex-plot .role-axis-grid line {{ stroke: var(--wex-rule); }}
.wex-plot .role-axis-domain line, .wex-plot .role-axis-tick line {{ stroke: var(--wex-edge); }}
""".strip()
# How Vega itself draws on dark paper, in a page.
DARK = {
    "background": PALETTE["dark"]["paper"],
    "title": {"color": PALETTE["dark"]["ink"]},
    "axis": {
        "labelColor": PALETTE["dark"]["ink"],
        "titleColor": PALETTE["dark"]["ink"],
        "gridColor": PALETTE["dark"]["rule"],
        "domainColor": PALETTE["dark"]["edge"],
        "tickColor": PALETTE["dark"]["edge"],
    },
    "legend": {"labelColor": PALETTE["dark"]["ink"], "titleColor": PALETTE["dark"]["ink"]},
}

GLOBALS = "window.vegaEmbed=vegaEmbed;"
# The JSON of `script_safe` is the only thing in this page that comes from outside.
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>wex plot</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:">
<style>@colours@ body{margin:1rem;background:var(--wex-paper)}#chart{max-width:100%;overflow-x:auto}</style></head>
<body><div id="chart"></div>
<script type="application/json" id="specification">@specification@</script>
<script>@vega@
const dark = matchMedia("(prefers-color-scheme: dark)");
const show = () => vegaEmbed("#chart", JSON.parse(document.getElementById("specification").textContent),
  {actions: false, config: dark.matches ? @dark@ : {}, tooltip: {theme: dark.matches ? "dark" : "light"}});
dark.addEventListener("change", show);
show();
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
    require_pictures("altair", "vl_convert")
    target = Path(path)
    specification = chart.to_dict(validate=False)
    import vl_convert  # noqa: PLC0415

    try:
        match suffix:
            case ".svg":
                target.write_text(svg_of(chart), encoding="utf-8")
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
                text = PAGE.replace("@colours@", colours("body"))
                text = text.replace("@dark@", json.dumps(DARK))
                text = text.replace("@vega@", vega)  # what users say comes last
                text = text.replace("@specification@", script_safe(specification))
                target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise no_file_error(str(path), error, "give a path that can be written") from error


def svg_of(chart: alt.VConcatChart) -> str:
    """Return a chart as SVG in the colours of the page around it, or of the reader's system."""
    import vl_convert  # noqa: PLC0415

    text = vl_convert.vegalite_to_svg(chart.to_dict(validate=False), allowed_base_urls=[])
    head, bracket, body = _renumbered(text).partition(">")
    fitting = 'class="marks wex-plot" style="max-width: 100%; height: auto"'
    head = head.replace('class="marks"', fitting, 1)
    return f"{head}{bracket}<style>{colours('.wex-plot', values=ROLES)}\n{RULES}</style>{body}"


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
