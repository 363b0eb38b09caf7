"""Shows the name of a file above the block that is its content.

A comment `<!-- file: NAME -->` before a block names the file for the tests (conftest.py), and here for readers.
"""

from __future__ import annotations

import re

NAMED = re.compile(r"^<!-- file: (\S+) -->\n```([\w-]+)\n", re.MULTILINE)


def with_captions(text: str) -> str:
    """Return a page whose named blocks have their names as captions."""
    return NAMED.sub(r"```{code-block} \2\n:caption: \1\n\n", text)
