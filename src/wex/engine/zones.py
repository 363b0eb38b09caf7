"""Time zones: timestamps with and without one do not mix, constants of the spec included."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.errors import DataError
from wex.spec import tree
from wex.spec.types import read_moment

if TYPE_CHECKING:
    from wex.spec import Meaning


def check_zones(found: Meaning, table: pa.Table) -> None:
    """Raise a DataError if a constant of the spec has a zone and the data has none, or the reverse."""
    zones = {
        name: table.schema.field(name).type.tz
        for name in found.fields
        if pa.types.is_timestamp(table.schema.field(name).type)
        and table.column(name).null_count < table.num_rows  # else its zone was chosen for it
    }
    for node in tree.walk(found.expanded):
        if not isinstance(node, tree.Moment) or not zones:
            continue
        moment = read_moment(node.type.text, node.text)
        if not isinstance(moment, datetime):
            continue
        column, zone = next(iter(zones.items()))
        if (moment.tzinfo is None) != (zone is None):
            raise DataError(
                "zones-mixed",
                f"{node} has {'no' if moment.tzinfo is None else 'a'} time zone,"
                f" the data has {'one' if zone else 'none'}",
                "write the constant with a zone, as in '2026-01-31 10:00+00:00'"
                if zone
                else "write the constant without a zone",
                column=column,
            )
