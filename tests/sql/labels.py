"""Whether the language has labels, which measures of variables need."""

from __future__ import annotations

import pytest

import wex


def _has_labels() -> bool:
    try:
        wex.parse("stream s (x int) window w match A:any measure last(A.x) as m")
    except wex.SpecError:
        return False
    return True


LABELS = _has_labels()
needs_labels = pytest.mark.skipif(not LABELS, reason="the language has no labels yet")
