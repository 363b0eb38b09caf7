"""Tables on terminals: no wider than the terminal, and what is left out is said."""

import io
from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from wex.cli.tables import fitting_table, shortened

WINDOWS = pa.table({
    "symbol": ["A", "B"],
    "window_name": ["trend", "trend"],
    "start_index": [3, 4],
    "end_index": [9, 12],
    "window_start": [datetime(2026, 1, 31, 10, 3), datetime(2026, 1, 31, 10, 4)],
    "window_end": [datetime(2026, 1, 31, 10, 9), datetime(2026, 1, 31, 10, 12)],
    "mean": [1 / 3, 12345.678],
    "top": [None, 2.0],
})  # fmt: skip


def console(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, soft_wrap=True)


def printed(table: pa.Table, width: int) -> tuple[str, list[str]]:
    screen = console(width)
    shown, hidden = fitting_table(table, screen)
    screen.print(shown)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue(), hidden


def test_a_table_that_fits_has_all_columns() -> None:
    text, hidden = printed(WINDOWS, 200)
    assert not hidden
    assert "0.333333" in text
    assert "12345.7" in text
    assert "2026-01-31 10:03:00" in text
    assert "NULL" in text


def test_names_and_indices_are_left_out_first() -> None:
    assert printed(WINDOWS, 80)[1] == ["window_name", "start_index", "end_index"]
    two = WINDOWS.set_column(1, "window_name", pa.array(["trend", "fall"]))
    assert "window_name" not in printed(two, 80)[1]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_lines_are_no_longer_than_the_terminal(width: int) -> None:
    text, hidden = printed(WINDOWS, width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert set(hidden) <= set(WINDOWS.column_names[1:])


@given(st.lists(st.floats(allow_nan=True), max_size=5))
def test_short_numbers_are_near_the_exact_ones(values: list[float]) -> None:
    short = shortened(pa.table({"x": pa.array(values, pa.float64())})).column("x").to_pylist()
    for value, text in zip(values, short, strict=True):
        assert float(text) == pytest.approx(value, rel=1e-5, nan_ok=True)


def test_columns_of_one_name_are_all_shown() -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    assert printed(table, 10)[1] == []
