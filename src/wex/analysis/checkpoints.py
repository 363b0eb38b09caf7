"""The comparison of a spec with the one that a checkpoint was made by."""

from __future__ import annotations

from functools import lru_cache

from wex.analysis.changes import changed
from wex.errors import StateError
from wex.spec import parse


@lru_cache(maxsize=8)
def check_same_windows(old: str, new: str) -> None:
    """Raise a StateError unless two specs, given as texts, find and measure the same everywhere.

    >>> head = "stream s (x real) window w match "
    >>> check_same_windows(head + "[x > 0] [x > 0]*", head + "[x > 0]+")
    """
    change = changed(parse(old), parse(new))
    if change is not None:
        message = f"the checkpoint was made by another spec: {change}"
        hint = "go on with a spec that finds the same windows, or give a new checkpoint"
        raise StateError("state-spec", message, hint)
