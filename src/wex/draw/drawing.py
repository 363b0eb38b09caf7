"""`wex.draw`: a drawing of automata or regions, as SVG, DOT or PNG."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wex.compile.ksla import KSLA
from wex.draw import subjects, svg
from wex.draw.dot import dot_of
from wex.draw.panels import picture
from wex.engine.files.sources import no_file_error
from wex.errors import WexError, did_you_mean
from wex.plot import require_pictures
from wex.spec import as_spec
from wex.threads import cached_property

if TYPE_CHECKING:
    from os import PathLike

    from wex.draw.subjects import Groups
    from wex.plot.theme import Theme
    from wex.spec import SpecLike

WHAT = ("automata", "regions")
SUFFIXES = (".svg", ".dot", ".png")
PNG_SCALE = 2.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """A drawing, which a notebook shows; `save` writes it to a file.

    Large automata are summarised in `svg`; `dot` has all their states.
    """

    label: str
    groups: Groups = field(repr=False)

    @cached_property
    def svg(self) -> str:
        """Return the drawing as SVG, which follows the light or dark theme of its reader."""
        return picture(self.groups, self.label)

    @property
    def parts(self) -> list[Drawing]:
        """Return a drawing of each graph, for pages that put them below each other where they are narrow."""
        return [replace(self, groups=[[panel]]) for group in self.groups for panel in group]

    @cached_property
    def dot(self) -> str:
        """Return the drawing as DOT, the language of Graphviz, without a layout."""
        return dot_of(self.groups)

    def png(self, theme: Theme = "light", scale: float = PNG_SCALE) -> bytes:
        """Return the drawing as PNG, in one theme. This needs vl-convert-python."""
        return png_of(self.svg, theme, scale)

    def save(self, path: str | PathLike[str], theme: Theme = "light") -> None:
        """Write the drawing to a file that ends in `.svg`, `.dot` or `.png`; only PNG has one theme."""
        match suffix_of(path):
            case ".svg":
                content = self.svg.encode()
            case ".dot":
                content = self.dot.encode()
            case _:
                content = self.png(theme)
        try:
            Path(path).write_bytes(content)
        except OSError as error:
            raise no_file_error(str(path), error, "give a path that can be written") from error

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg


def suffix_of(path: str | PathLike[str]) -> str:
    """Return the ending of the name of a picture, or raise a WexError if there is no such format."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        hint = f"give the file a name that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        message = f"{path}: the name does not tell the format of the picture"
        raise WexError("unknown-format", message, hint)
    return suffix


def png_of(picture: str, theme: Theme, scale: float = PNG_SCALE) -> bytes:
    """Return a picture as PNG, in one theme."""
    require_pictures("vl_convert")
    import vl_convert  # noqa: PLC0415  (an extra)

    content: bytes = vl_convert.svg_to_png(svg.in_theme(picture, theme), scale=scale)
    return content


def draw(subject: SpecLike | KSLA, what: str = "automata", window: str | None = None) -> Drawing:
    """Return the drawing of a spec, of one of its windows, or of an automaton."""
    require_pictures("igraph")
    if what not in WHAT:
        raise WexError(
            "wrong-argument", f"cannot draw {what!r}", did_you_mean(what, WHAT, "it can be")
        )
    if isinstance(subject, KSLA):
        if what != "automata" or window is not None:
            message = "an automaton has neither windows nor regions"
            raise WexError("wrong-argument", message, "give the spec instead")
        return Drawing("automaton", subjects.of_ksla(subject))
    spec = as_spec(subject)
    of_what = subjects.of_automata if what == "automata" else subjects.of_regions
    return Drawing(f"{what} of {window or spec.stream.name.text}", of_what(spec, window))
