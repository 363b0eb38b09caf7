"""Results as tables of text: in full, or short enough for a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from wex.errors import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

DIGITS = 6  # of numbers on a terminal
UNLIMITED = 100_000  # characters of a line
# What is left out first where a table is too wide; the name of a window only if all rows have it.
LESS_USEFUL = ("window_name", "end_index", "start_index")


def console_for_tables(*, wide: bool) -> Console:
    """Return the console for results; lines are as long as they need to be, unless a terminal is narrower."""
    width = UNLIMITED if wide or not sys.stdout.isatty() else None
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False, width=width)


def print_table(result: pa.Table, rows: int, *, wide: bool) -> list[str]:
    """Print the first rows of a result, and return the columns that there was no room for.

    On a terminal, numbers and times are short and columns that do not fit are left out, unless the
    table is to be `wide`. Elsewhere it is complete: nobody should miss a column in a file.
    """
    console, shown = console_for_tables(wide=wide), result.slice(0, rows)
    if wide or not sys.stdout.isatty():
        console.print(rows_table(shown))
        return []
    table, hidden = fitting_table(shown, console)
    console.print(table)
    return hidden


def rows_table(table: pa.Table) -> Table:
    """Return the rows of a result as a table of text."""
    from wex.engine.files.writing import shown_rows  # noqa: PLC0415  (loads Arrow)

    shown = Table(*map(clean, table.column_names), box=SIMPLE_HEAD)
    for row in shown_rows(table):
        shown.add_row(*map(clean, row))
    return shown


def fitting_table(table: pa.Table, console: Console) -> tuple[Table, list[str]]:
    """Return rows as a table that is no wider than a console, and the columns that it leaves out."""
    short = shortened(table)
    shown, hidden = rows_table(short), set[str]()
    unlimited = console.options.update(max_width=UNLIMITED)
    for name in _removable(table):
        if Measurement.get(console, unlimited, shown).maximum <= console.width:
            break
        hidden.add(name)
        shown = rows_table(
            short.select([left for left in table.column_names if left not in hidden])
        )
    return shown, [name for name in table.column_names if name in hidden]


def _removable(table: pa.Table) -> Iterator[str]:
    """Yield the columns of a result that can be left out, the least useful first, but not all of them."""
    names = list(table.column_names)
    if len(set(names)) < len(names):  # a query may give two columns one name
        return
    for name in LESS_USEFUL:
        several = name == "window_name" and len(table.column(name).unique()) > 1
        if name in names and not several and len(names) > 1:
            names.remove(name)
            yield name
    yield from reversed(names[1:])


def shortened(table: pa.Table) -> pa.Table:
    """Return a table with numbers of few digits, and times without what is zero in a whole column.

    >>> import pyarrow as pa
    >>> shortened(pa.table({"x": [1 / 3, 20000.0]})).to_pydict()
    {'x': ['0.333333', '20000']}
    """
    columns = [_short_column(column) for column in table.columns]
    import pyarrow as pa  # noqa: PLC0415

    return pa.table(columns, names=table.column_names)


def _short_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_floating(column.type):
        values = column.to_pylist()
        texts = [None if value is None else f"{value:.{DIGITS}g}" for value in values]
    elif pa.types.is_timestamp(column.type):
        from wex.engine.files.writing import plain_values  # noqa: PLC0415  (loads Arrow)

        moments = plain_values(column.combine_chunks())
        texts = [None if moment is None else moment.replace("T", " ", 1) for moment in moments]
    else:
        return column
    return pa.chunked_array([pa.array(texts, pa.string())])
