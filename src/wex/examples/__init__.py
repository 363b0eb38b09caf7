"""Specs to learn from: the paper's examples, and five tasks that every reader should recognise.

>>> from wex import examples
>>> "trend" in examples.names()
True
>>> examples.spec("sliding")
<Spec of stream events; windows: sliding>
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from wex.spec import parse

if TYPE_CHECKING:
    from wex.spec.tree import Spec


def names() -> list[str]:
    """Return the names of the example specs."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(".wex") for file in files if file.name.endswith(".wex"))


def text(name: str) -> str:
    """Return an example spec as text."""
    return resources.files(__name__).joinpath(f"{name}.wex").read_text("utf-8")


def spec(name: str) -> Spec:
    """Return an example spec."""
    return parse(text(name), f"{name}.wex")
