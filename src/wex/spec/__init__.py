"""The spec language: grammar, syntax tree, parser, printer and resolver."""

from __future__ import annotations

from codecs import BOM_UTF8
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wex import limits
from wex.errors import SpecError, WexError, hint_for_path
from wex.spec.parser import read
from wex.spec.problems import Problems, Source, Span
from wex.spec.resolve import Meaning, resolve
from wex.spec.tree import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.limits import Limits

__all__ = ["Meaning", "SpecLike", "as_spec", "load", "meaning", "parse", "parse_bytes"]

SpecLike: TypeAlias = Spec | str | PathLike[str]
SUFFIX = ".wex"


def as_spec(spec: SpecLike) -> Spec:
    """Return the spec given as a Spec, as text, or as the path of a file.

    A string is a path if it is a single word, or a single line that ends in `.wex`; any other
    string is the text of a spec.

    >>> as_spec("stream s (x real) window rise match [x > x[-1]]+")
    <Spec of stream s; windows: rise>
    >>> as_spec("no/such.wex")
    Traceback (most recent call last):
    ...
    wex.errors.WexError: error[no-file]: no/such.wex: No such file or directory
      = help: give the path of a spec file
    """
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, str):
        return load(spec) if _is_path(spec) else _parsed(spec, limits.current())
    if isinstance(spec, PathLike):
        return load(spec)
    kind = type(spec).__name__
    hint = "make one with wex.parse(text), wex.load(path) or wex.build"
    raise WexError("not-a-spec", f"expected a Spec, text or a path, got {kind}", hint)


def _is_path(text: str) -> bool:
    words = len(text.split())
    return words == 1 or (words > 1 and text.endswith(SUFFIX) and len(text.splitlines()) == 1)


@lru_cache(maxsize=64)
def _parsed(text: str, _: Limits) -> Spec:
    return parse(text)


def parse(text: str, name: str = "<spec>") -> Spec:
    """Return the spec written in a text, or raise a SpecError that lists all its mistakes."""
    if not isinstance(text, str):
        kind = type(text).__name__
        hint = "read a file with wex.load(path)"
        raise WexError("not-a-spec", f"expected the text of a spec, got {kind}", hint)
    return _meaning_of_text(text, name).spec


def parse_bytes(content: bytes, name: str = "<spec>") -> Spec:
    """Return the spec in the content of a file, which must be UTF-8."""
    limits.require("spec_bytes", len(content), f"the size of {name} in bytes")
    content = content.removeprefix(BOM_UTF8)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        start = len(content[: error.start].decode("utf-8"))
        source = Source(content.decode("utf-8", errors="replace"), name)
        message = f"expected UTF-8, found byte {content[error.start]:#04x} at offset {error.start}"
        hint = "save the file as UTF-8"
        diagnostic = source.diagnostic(Span(start, start + 1), "encoding", message, hint)
        raise SpecError([diagnostic]) from None
    return parse(text, name)


def load(path: str | PathLike[str]) -> Spec:
    """Return the spec in a file."""
    most = limits.current().spec_bytes
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
            size = max(len(content), Path(path).stat().st_size)
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        reason = getattr(error, "strerror", None) or "cannot read this file"
        hint = hint_for_path(str(path), "give the path of a spec file")
        raise WexError("no-file", f"{path}: {reason}", hint) from error
    limits.require("spec_bytes", size, f"the size of {path} in bytes")
    return parse_bytes(content, str(path))


def meaning(spec: Spec) -> Meaning:
    """Return the meaning of a spec: names resolved, lets expanded, lookback counted.

    >>> meaning(parse("stream s (x real) let d = x - x[-1] window w match [d[-1] > 2]")).lookbacks
    (2,)
    """
    if spec.source is None:  # built in Python: errors point into its printed text
        return _meaning_of_text(str(spec), "<spec>")
    problems = Problems(spec.source)
    return _resolved(spec, problems)


def _meaning_of_text(text: str, name: str) -> Meaning:
    limits.require("spec_bytes", len(text), f"the size of {name} in characters")
    problems = Problems(Source(text, name))
    draft = read(problems.source, problems)
    return _resolved(draft.spec, problems, draft.broken)


def _resolved(spec: Spec | None, problems: Problems, broken: Iterable[str] = ()) -> Meaning:
    resolved = resolve(spec, problems, broken) if spec else None
    problems.raise_if_any()
    assert resolved is not None
    return resolved
