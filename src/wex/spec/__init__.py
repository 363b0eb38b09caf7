"""What the user writes: the grammar, the syntax tree, parser, printer and resolver."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import TYPE_CHECKING

from wex import limits
from wex.errors import SpecError, WexError
from wex.spec.parser import read
from wex.spec.problems import Problems
from wex.spec.resolve import Meaning, resolve
from wex.spec.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from wex.spec.tree import Spec

__all__ = ["Meaning", "load", "meaning", "parse", "parse_bytes"]


def parse(text: str, name: str = "<spec>") -> Spec:
    """Return the spec that a text says, or raise a SpecError that says all that is wrong with it.

    >>> spec = parse("stream s (x real) window rise match [x > x[-1]]+")
    >>> spec
    <Spec of stream s; windows: rise>
    >>> print(spec)
    stream s (x real)
    <BLANKLINE>
    window rise
      match [x > x[-1]]+
    <BLANKLINE>
    """
    return _understand(text, name).spec


def parse_bytes(content: bytes, name: str = "<spec>") -> Spec:
    """Return the spec in the content of a file, which has to be UTF-8."""
    limits.require("spec_bytes", len(content), f"the size of {name} in bytes")
    content = content.removeprefix(BOM_UTF8)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        start = len(content[: error.start].decode("utf-8"))
        where = Source(content.decode("utf-8", errors="replace"), name)
        message = f"this file is not UTF-8: byte {error.start} is {content[error.start]:#04x}"
        span = Span(start, start + 1)
        raise SpecError([where.diagnostic(span, "encoding", message, "save it as UTF-8")]) from None
    return parse(text, name)


def load(path: str | PathLike[str]) -> Spec:
    """Return the spec in a file."""
    most = limits.current().spec_bytes
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
            size = max(len(content), Path(path).stat().st_size)
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise WexError("no-file", f"{path}: {reason}", "give the path of a spec file") from error
    limits.require("spec_bytes", size, f"the size of {path} in bytes")
    return parse_bytes(content, str(path))


def meaning(spec: Spec) -> Meaning:
    """Return what a spec means: names resolved, lets expanded, lookback counted.

    >>> meaning(parse("stream s (x real) let d = x - x[-1] window w match [d[-1] > 2]")).lookbacks
    (2,)
    """
    if spec.source is None:  # built in Python: errors point into the text it prints as
        return _understand(str(spec), "<spec>")
    problems = Problems(spec.source)
    return _resolved(spec, problems)


def _understand(text: str, name: str) -> Meaning:
    limits.require("spec_bytes", len(text), f"the size of {name} in characters")
    problems = Problems(Source(text, name))
    draft = read(problems.source, problems)
    return _resolved(draft.spec, problems, draft.broken)


def _resolved(spec: Spec | None, problems: Problems, broken: Iterable[str] = ()) -> Meaning:
    found = resolve(spec, problems, broken) if spec else None
    problems.raise_if_any()
    assert found is not None
    return found
