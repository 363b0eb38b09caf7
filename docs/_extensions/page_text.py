"""Pages are Markdown that can be read as it is; here it becomes what the site shows.

- A comment `<!-- file: NAME -->` before a block names the file for the tests (conftest.py), and here for readers.
- `<!-- {directive} ARGUMENTS option=value -->`, some text, `<!-- end -->`: the site has the directive in place of the text.
  The text of `{windows}` and `{recipe}` is written by `docs/make_pages.py`, that of the others is a picture with its description.
- `<!-- {toctree}`, its lines and `-->`: only the site has a table of contents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NAMED = re.compile(r"^<!-- file: (\S+) -->\n```([\w-]+)\n", re.MULTILINE)
PART = re.compile(r"^<!-- \{(\w+)\} ([^\n]+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
CONTENTS = re.compile(r"^<!-- (\{toctree\}.*?)^-->$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[(.*?)\]\((.*?)\)", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A part of a page that the site shows by a directive."""

    kind: str
    arguments: tuple[str, ...]
    options: dict[str, str]
    text: str

    @property
    def picture(self) -> str | None:
        """Return the path of the picture in the text."""
        found = PICTURE.search(self.text)
        return found and found[2]

    @property
    def directive(self) -> str:
        """Return the directive, which has the description of the picture."""
        options = dict(self.options)
        found = PICTURE.search(self.text)
        if self.kind == "plot" and found:
            options["alt"] = " ".join(found[1].split())
        lines = [f":{name}: {value}" for name, value in options.items()]
        return "\n".join([f"```{{{self.kind}}} {' '.join(self.arguments)}", *lines, "```"])


def part_of(match: re.Match[str]) -> Part:
    """Return a part of a page."""
    words = match[2].split()
    options = dict(word.split("=", 1) for word in words if "=" in word)
    return Part(match[1], tuple(word for word in words if "=" not in word), options, match[3])


def parts_of(text: str) -> list[Part]:
    """Return all parts of a page."""
    return [part_of(match) for match in PART.finditer(text)]


def rewritten(text: str, text_of: Callable[[Part], str]) -> str:
    """Return a page with new texts in its parts."""

    def with_text(match: re.Match[str]) -> str:
        return f"<!-- {{{match[1]}}} {match[2]} -->\n{text_of(part_of(match))}<!-- end -->"

    return PART.sub(with_text, text)


def for_the_site(text: str) -> str:
    """Return a page with directives, and with the names of files as captions of their blocks."""
    text = PART.sub(lambda match: part_of(match).directive, text)
    text = CONTENTS.sub(r"```\1```", text)
    return NAMED.sub(r"```{code-block} \2\n:caption: \1\n\n", text)


def content_of(page: str, name: str) -> str | None:
    """Return the content of a file that is a block of a page."""
    block = rf"^<!-- file: {re.escape(name)} -->\n```[\w-]+\n(.*?)^```"
    found = re.search(block, page, re.DOTALL | re.MULTILINE)
    return found and found[1]
