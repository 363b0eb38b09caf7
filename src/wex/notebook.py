"""What a notebook shows of a value.

Pictures are made in a layer above the values that they show: `wex.draw` imports the analysis, and not
the other way round. So a class of a lower layer only says that it can be shown, by the line
`_repr_html_ = notebook.html_of`; `wex.api` provides the function that does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_renderers: list[Callable[[object], str | None]] = []


def provide(renderer: Callable[[object], str | None]) -> None:
    """Set the function that returns the HTML of a value, or None if its text is to be shown."""
    _renderers[:] = [renderer]


def html_of(value: object) -> str | None:
    """Return the HTML that a notebook shows, or None if it is to show the text."""
    return _renderers[0](value) if _renderers else None
