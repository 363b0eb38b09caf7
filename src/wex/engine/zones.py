"""Time zones: timestamps with and without one do not mix, constants of the spec included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_zones(moments: Iterable[tuple[str, bool]], table: pa.Table) -> None:
    """Raise a DataError if a constant of the spec has a zone and the data has none, or the reverse."""
    zones = {
        name: table.schema.field(name).type.tz
        for name in table.column_names
        if pa.types.is_timestamp(table.schema.field(name).type)
        and table.column(name).null_count < table.num_rows  # else its zone was chosen for it
    }
    if not zones:
        return
    column, zone = next(iter(zones.items()))
    for shown, zoned in moments:
        if zoned != (zone is not None):
            raise DataError(
                "zones-mixed",
                f"{shown} has {'a' if zoned else 'no'} time zone,"
                f" the data has {'one' if zone else 'none'}",
                "write the constant with a zone, as in '2026-01-31 10:00+00:00'"
                if zone
                else "write the constant without a zone",
                column=column,
            )
