"""A synthetic market, reproducible by seed: trades of many symbols with prices that move by ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

START = 1_767_261_600_000_000  # 2026-01-01 10:00 UTC, in microseconds
FILES = 4


def trades(count: int, symbols: int, seed: int = 1) -> pa.Table:
    """Return trades in order of time.

    >>> trades(1000, 3).column_names
    ['symbol', 'ts', 'price']
    """
    random = np.random.default_rng(seed)
    symbol_of = random.integers(0, symbols, count)
    steps = random.integers(-1, 2, count)
    price = np.empty(count)
    for symbol in range(symbols):
        rows = symbol_of == symbol
        price[rows] = np.round(100 + symbol + 0.01 * np.cumsum(steps[rows]), 2)
    names = pa.array([f"S{symbol:03d}" for symbol in range(symbols)])
    times = START + np.cumsum(random.integers(1, 20_000, count))
    return pa.table({
        "symbol": names.take(pa.array(symbol_of)),
        "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
        "price": price,
    })  # fmt: skip


def write(table: pa.Table, folder: Path) -> None:
    """Write a table as a folder of Parquet files."""
    from pyarrow import parquet  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    size = -(-table.num_rows // FILES)
    for part in range(FILES):
        parquet.write_table(table.slice(part * size, size), folder / f"part-{part}.parquet")
