"""The clocks of time zones for many moments at once.

Python's zone database answers for one moment at a time. Its answers are collected year by year: the
moments at which the offset of a zone changes, between which it is constant.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from wex.theory.evaluate import CYCLE_DAYS

if TYPE_CHECKING:
    from wex.engine.arrays import Ints

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000
DAY = 86_400 * SECOND
# Before the first year every zone has one offset; from the last one on its rules repeat with the
# calendar, every 400 years.
FIRST_YEAR, LAST_YEAR = 1700, 2500


def local(moments: Ints, zone: str) -> Ints:
    """Return what the clocks of a zone show at some moments; both count microseconds."""
    first, last = (_count(datetime(year, 1, 1, tzinfo=UTC)) for year in (FIRST_YEAR, LAST_YEAR))
    cycle = CYCLE_DAYS * DAY
    within = np.maximum(moments, first)
    within -= np.maximum(0, (within - last) // cycle + 1) * cycle
    if not within.size:
        return within
    years = np.unique(within.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64))
    tables = [_offsets_of_year(zone, int(year) + 1970) for year in years]
    begins = np.concatenate([begins for begins, _ in tables])
    offsets = np.concatenate([offsets for _, offsets in tables])
    shown: Ints = moments + offsets[np.searchsorted(begins, within, side="right") - 1]
    return shown


@lru_cache(maxsize=10_000)
def _offsets_of_year(zone: str, year: int) -> tuple[Ints, Ints]:
    """Return the moments of a year at which a zone gets a new offset, its beginning included, and these offsets."""
    begin, end = (_count(datetime(y, 1, 1, tzinfo=UTC)) for y in (year, year + 1))
    changes = [(begin, _offset(zone, begin))]
    # No zone has ever changed its offset twice within four days: one moment a day shows all changes.
    for day in range(begin + DAY, end + 1, DAY):
        if (offset := _offset(zone, day)) != changes[-1][1]:
            changes.append((_change(zone, day - DAY, day), offset))
    inside = [(moment, offset) for moment, offset in changes if moment < end]
    moments, offsets = zip(*inside, strict=True)
    return np.array(moments, dtype=np.int64), np.array(offsets, dtype=np.int64)


def _change(zone: str, before: int, after: int) -> int:
    """Return the first moment with the later of two offsets; zones change at whole seconds."""
    late = _offset(zone, after)
    while after - before > SECOND:
        middle = (before + after) // 2 // SECOND * SECOND
        if _offset(zone, middle) == late:
            after = middle
        else:
            before = middle
    return after


def _offset(zone: str, moment: int) -> int:
    offset = (EPOCH + timedelta(microseconds=moment)).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return offset // MICROSECOND


def _count(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND
