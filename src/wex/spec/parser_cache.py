"""The tables of the parser, kept on disk: building them takes longer than reading most specs."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from lark import Lark


def cached_parser(grammar: str, **options: object) -> Lark:
    """Return the LALR parser of a grammar, read from the user's cache, or built and kept there.

    Without a cache that can be read and written, it is built.
    """
    import lark  # noqa: PLC0415  (loaded when something is parsed, not by workers)

    key = repr((grammar, sorted(options.items()), lark.__version__, sys.version_info[:2]))
    name = f"grammar-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    with contextlib.suppress(Exception):  # no such file, a truncated one, tables of another lark
        path = _folder() / name
        content = path.read_bytes()
        _PlainData(io.BytesIO(content)).load()
        return lark.Lark.load(io.BytesIO(content))
    parser = lark.Lark(grammar, parser="lalr", **options)
    with contextlib.suppress(OSError, RuntimeError):  # nowhere to keep it
        _keep(parser, _folder() / name)
    return parser


class _PlainData(pickle.Unpickler):
    """Refuse pickles that could run code: the tables are dicts, lists, strings and numbers."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"expected plain data, got {module}.{name}")


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "wex")


def _keep(parser: Lark, path: Path) -> None:
    """Write the tables as a whole: another process may read or write them at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            parser.save(file)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
