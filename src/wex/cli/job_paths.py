"""The paths of a job that are on this machine, checked before Spark starts, which takes seconds.

What cannot be decided here is left to Spark: paths of other file systems, formats whose sources are
not files, and plain paths where a setting or a cluster may give them another meaning.
"""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wex.errors import WexError, hint_for_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE_FORMATS = ("parquet", "csv", "json", "orc", "text")
URL = re.compile(r"file:(?=/(?!/)|///)(//)?")  # file:/data and file:///data
MAGIC = re.compile(r"[*?\[\]{}\\]")  # Hadoop's: with these, a path is a pattern
BRACES = re.compile(r"\{([^{}]*)\}")
# With these Spark reads settings that wex does not know: another file system may be the default.
SETTINGS_ELSEWHERE = (
    "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_ENV_LOADED", "SPARK_REMOTE",
)  # fmt: skip


def is_local(master: str | None, conf: Iterable[str]) -> bool:
    """Tell whether plain paths of a job with this master and these settings are on this machine."""
    return (
        (master is None or master.startswith("local"))
        and not any("defaultfs" in name.lower() or "remote" in name for name in conf)
        and not any(os.environ.get(name) for name in SETTINGS_ELSEWHERE)
    )


def check_source(source: str, source_format: str | None, *, stream: bool) -> None:
    """Raise a WexError if the input of a job is a path on this machine that does not exist.

    A pattern of a `stream` may match files that come later.
    """
    path = _local_path(source)
    if path is None or (source_format or "parquet") not in FILE_FORMATS or os.path.lexists(path):
        return
    if not MAGIC.search(path):
        hint = hint_for_path(path, "give the path of a file or folder")
        raise WexError("no-file", f"{source} does not exist", hint)
    patterns = None if stream else _patterns(path)
    if patterns is not None and not any(_matches(pattern) for pattern in patterns):
        message = f"{source}: no file matches this pattern"
        raise WexError("no-file", message, "give a path, or a pattern that a file matches")


def check_target(target: str, target_format: str | None, *, new: bool) -> None:
    """Raise a WexError if a folder on this machine cannot be written, or is not `new` but has to be."""
    path = _local_path(target)
    if path is None or (target_format or "parquet") not in FILE_FORMATS:
        return
    if new and os.path.lexists(path):
        hint = "choose another --output, or say --mode overwrite or append"
        raise WexError("output-exists", f"{target} exists already", hint)
    check_folder(target)


def check_folder(folder: str) -> None:
    """Raise a WexError if a folder on this machine cannot be made or written."""
    path = _local_path(folder)
    if path is None:
        return
    existing = next(part for part in (Path(path), *Path(path).absolute().parents) if part.exists())
    if not existing.is_dir():
        raise _unwritable(folder, f"{existing} is not a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise _unwritable(folder, f"{existing} cannot be written")


def _unwritable(folder: str, reason: str) -> WexError:
    return WexError("no-file", f"{folder}: {reason}", "give the path of a folder to write")


def _local_path(given: str) -> str | None:
    """Return the path of a file on this machine; None if it is elsewhere.

    >>> [_local_path(path) for path in ("a/b", "file:/a", "file:///a", "file://host/a", "s3://b/a")]
    ['a/b', '/a', '/a', None, None]
    """
    path = URL.sub("", given, count=1) if URL.match(given) else given
    return None if not path or ":" in path.partition("/")[0] else path


def _patterns(path: str) -> Iterator[str] | None:
    r"""Return a pattern of Hadoop as patterns of Python; None if only Hadoop knows what it means.

    >>> list(_patterns("{a,b}/*.{csv,txt}"))
    ['a/*.csv', 'a/*.txt', 'b/*.csv', 'b/*.txt']
    >>> _patterns("a{") is _patterns("a[b") is _patterns(r"a\*") is None
    True
    """
    if "\\" in path or path.count("[") != path.count("]") or path.count("{") != path.count("}"):
        return None
    return _without_braces(path.replace("[^", "[!"))


def _without_braces(pattern: str) -> Iterator[str]:
    braces = BRACES.search(pattern)
    if braces is None:
        yield pattern
        return
    for choice in braces[1].split(","):
        yield from _without_braces(f"{pattern[: braces.start()]}{choice}{pattern[braces.end() :]}")


def _matches(pattern: str) -> bool:
    return next(glob.iglob(pattern, include_hidden=True), None) is not None  # noqa: PTH207
