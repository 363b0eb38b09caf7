"""Colours and fonts of all pictures, light and dark.

A picture says what each part is by a class (`wex-final`), and a role of the palette gives its colour.
Lines and marks are in the colours of Okabe and Ito, which colour-blind readers can tell apart; no
picture says anything by colour alone. Text has a contrast of 4.5 or more, lines and marks of 3 or
more, in both themes (WCAG AA).

A picture follows the reader's system. A page can decide for itself: `data-theme="dark"` or `"light"`
on any element around the picture; JupyterLab and VS Code are recognised by their own marks.
"""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark"]

# Roles, and their colours. `paper` is the background; `ink` and `muted` are text; `edge` is the line
# of an arrow; `state` and `dead` fill states; the others are lines, marks and badges.
PALETTE: dict[Theme, dict[str, str]] = {
    "light": {
        "paper": "#ffffff",
        "ink": "#1b1f24",
        "muted": "#57606a",
        "edge": "#6e7781",
        "rule": "#d0d7de",
        "state": "#eef6fb",
        "dead": "#f3f3f3",
        "blue": "#006ba8",
        "green": "#00795a",
        "orange": "#a35200",
        "purple": "#9c3f75",
        "red": "#b3261e",
    },
    "dark": {
        "paper": "#14181d",
        "ink": "#e8eaed",
        "muted": "#a3adb8",
        "edge": "#8b96a2",
        "rule": "#3a424c",
        "state": "#1d2a36",
        "dead": "#23262a",
        "blue": "#56b4e9",
        "green": "#3ecf9f",
        "orange": "#f0a030",
        "purple": "#dc93bc",
        "red": "#ff8a7a",
    },
}
# The windows of a chart or a report: Okabe and Ito's colours, lighter on dark paper. NEUTRAL is what has
# no colour of its own, on both.
WINDOW_COLOURS: dict[Theme, tuple[str, ...]] = {
    "light": ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#b0a400"),
    "dark": ("#56b4e9", "#f0803c", "#2fd0a0", "#e59cc5", "#f2b134", "#a5c8ff", "#f0e442"),
}
NEUTRAL = "#767676"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# What encloses a picture, where a page has decided on a theme.
FORCED: dict[Theme, tuple[str, ...]] = {
    "light": ("[data-theme=light]", "[data-jp-theme-light=true]", ".vscode-light"),
    "dark": ("[data-theme=dark]", "[data-jp-theme-light=false]", ".vscode-dark"),
}


def colours(
    scope: str, theme: Theme | None = None, values: dict[Theme, dict[str, str]] = PALETTE
) -> str:
    """Return the CSS that sets the colours of a class of elements, as variables `--wex-ink` and so on.

    Without a theme they follow the reader's system and the page around them.
    """
    if theme is not None:
        return f"{scope} {{ {_variables(values[theme])} }}"
    lines = [
        f"{scope} {{ {_variables(values['light'])} }}",
        f"@media (prefers-color-scheme: dark) {{ {scope} {{ {_variables(values['dark'])} }} }}",
    ]
    for forced, marks in FORCED.items():
        selectors = ", ".join(f"{mark} {scope}" for mark in marks)
        lines.append(f"{selectors} {{ {_variables(values[forced])} }}")
    return "\n".join(lines)


def with_values(css: str, theme: Theme) -> str:
    """Return CSS with the colours of a theme in place of variables, for programs that know none.

    >>> with_values(".wex-final { stroke: var(--wex-green) }", "light")
    '.wex-final { stroke: #00795a }'
    """
    for role, colour in PALETTE[theme].items():
        css = css.replace(f"var(--wex-{role})", colour)
    return css


def _variables(values: dict[str, str]) -> str:
    return " ".join(f"--wex-{role}: {colour};" for role, colour in values.items())
