"""Example specs: those of the paper, and common tasks.

>>> from wex import examples
>>> "trend" in examples.names()
True
>>> examples.spec("sliding")
<Spec of stream events; windows: sliding>

Some come with real data and the windows in it:

>>> import wex
>>> windows = wex.find(examples.spec("stocks"), examples.data("stocks"))
>>> windows.equals(examples.windows("stocks").cast(windows.schema))
True
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from wex.spec import parse

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import pyarrow as pa

    from wex.spec.tree import Spec


def names() -> list[str]:
    """Return the names of the example specs without data."""
    return _specs(resources.files(__name__))


def with_data() -> list[str]:
    """Return the names of the example specs that come with data."""
    return _specs(_data())


def text(name: str) -> str:
    """Return the text of an example spec."""
    folder = _data() if name in with_data() else resources.files(__name__)
    return folder.joinpath(f"{name}.wex").read_text("utf-8")


def spec(name: str) -> Spec:
    """Return an example spec."""
    return parse(text(name), f"{name}.wex")


def data(name: str) -> pa.Table:
    """Return the data of an example spec."""
    return _csv(f"{name}.csv")


def windows(name: str) -> pa.Table:
    """Return the windows that an example spec finds in its data."""
    return _csv(f"{name}.windows.csv")


def _data() -> Traversable:
    return resources.files(__name__).joinpath("data")


def _specs(folder: Traversable) -> list[str]:
    files = [file.name for file in folder.iterdir()]
    return sorted(name.removesuffix(".wex") for name in files if name.endswith(".wex"))


def _csv(name: str) -> pa.Table:
    from pyarrow import csv  # noqa: PLC0415  (heavy)

    with _data().joinpath(name).open("rb") as file:
        return csv.read_csv(file)
