"""The picture of how cost grows is the one of the table beside it."""

from __future__ import annotations

from benchmarks.scaling import PICTURE, drawn, lines_of_page


def test_the_picture_is_that_of_the_table() -> None:
    assert len(lines_of_page()) == 6
    assert PICTURE.read_text(encoding="utf-8") == drawn()
