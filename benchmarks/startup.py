"""How long it takes before anything happens: importing, and reading a spec."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import wex
from benchmarks.measure import Row, ratio
from wex import examples
from wex.spec.parser import grammar

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows() -> Iterator[Row]:
    yield Row(
        "start Python and import wex",
        "start Python and wait 0.3 s",
        ratio(lambda: _python("import wex"), lambda: _python("import time; time.sleep(0.3)")),
        goal=1,
    )
    yield Row(
        "start Python and import wex",
        "start Python",
        ratio(lambda: _python("import wex"), lambda: _python("")),
    )
    text = examples.text("trend")
    tokens = grammar()
    yield Row(
        "parse, check and expand the trend",
        "its tokens alone",
        ratio(lambda: wex.parse(text), lambda: list(tokens.lex(text)), rounds=50),
    )


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
