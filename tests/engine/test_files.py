"""Files as people have them: how they are read, what is said if they cannot be, and what helps."""

from __future__ import annotations

import gzip
import os
import pickle
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from wex.engine.files import reading
from wex.engine.files.guesses import candidates
from wex.engine.files.moments import EPOCHS, check_format, read_moments
from wex.engine.files.options import text_options
from wex.engine.files.reading import read_table
from wex.engine.files.writing import write_table
from wex.engine.find import Request, find_in_files
from wex.engine.input.key_filter import parse_keys
from wex.spec.types import BOOL, DATE, INT, OTHER, REAL, STRING, TIMESTAMP, Type

TRADES = wex.parse("""
stream trades (k string, t timestamp, x real)
window w match any measure first(k) as k, first(t) as t, first(x) as x
""")


def written(folder: Path, content: str | bytes, name: str = "d.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def column(path: Path, type_: Type, **options: object) -> list[object]:
    read = read_table(path, {"x": type_}, None, text_options(**options))
    found: list[object] = read["x"].to_pylist()
    return found


def refused(path: Path, **options: object) -> wex.DataError:
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file(TRADES, path, **options)  # type: ignore[arg-type]
    return caught.value


# --- What a field of CSV is


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (BOOL, "True", True), (BOOL, "0", False), (BOOL, "no", False), (BOOL, "", None),
        (INT, " 42 ", 42), (INT, "+5", 5), (INT, '""', None), (INT, "9223372036854775807", 2**63 - 1),
        (REAL, "1e3", 1000.0), (REAL, "inf", float("inf")), (REAL, "-Infinity", float("-inf")),
        (REAL, "", None), (REAL, '""', None), (REAL, "-0", -0.0),
        (STRING, "", None), (STRING, '""', ""), (STRING, " a ", " a "), (STRING, "NA", "NA"),
        (STRING, '"a\nb"', "a\nb"), (STRING, "007", "007"),
        (OTHER, "5", "5"), (OTHER, "", None),
        (DATE, "2026-01-31", date(2026, 1, 31)), (DATE, "2026-01-31 00:00:00", date(2026, 1, 31)),
        (TIMESTAMP, "2026-01-31", datetime(2026, 1, 31)),
        (TIMESTAMP, "2026-01-31T10:00:00.5", datetime(2026, 1, 31, 10, 0, 0, 500_000)),
        (TIMESTAMP, "2026-01-31 10:00:00.123456000", datetime(2026, 1, 31, 10, 0, 0, 123_456)),
        (TIMESTAMP, "2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        (TIMESTAMP, "2026-01-31T10:00:00+02:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        (TIMESTAMP, "2026-01-31 10:00-0130", datetime(2026, 1, 31, 11, 30, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_fields_of_csv(type_: Type, text: str, value: object, tmp_path: Path) -> None:
    path = written(tmp_path, f"n,x\n1,{text}\n")
    (found,) = column(path, type_)
    assert found == value
    assert str(found) == str(value)  # -0.0 is not 0.0


def test_nan_is_nan_and_not_null(tmp_path: Path) -> None:
    path = written(tmp_path, "n,x\n1,nan\n2,NaN\n3,\n")
    assert repr(column(path, REAL)) == "[nan, nan, None]"


def test_what_is_null_is_a_choice(tmp_path: Path) -> None:
    path = written(tmp_path, 'n,x\n1,NA\n2,"NA"\n3,\n4,-\n')
    assert column(path, STRING) == ["NA", "NA", None, "-"]
    assert column(path, STRING, null="NA") == [None, "NA", None, "-"]
    assert column(path, STRING, null=["NA", "-"], empty_as_text=True) == [None, "NA", "", None]
    assert column(path, REAL, null=["NA", "-"]) == [None] * 4


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffk,t,x\na,2026-01-31,1\n",
        "k,t,x\r\na,2026-01-31,1\r\n\r\n\r\n",
        "\n\nk,t,x\n\na,2026-01-31,1",
        " k ,t, x\na, 2026-01-31, 1\n",
        'z,z,"k","t","x"\n,,"a","2026-01-31","1"\n',
        'k,t,x,y\na,2026-01-31,1,5" of rain\n',
        '"a name\nof two lines",k,t,x\n,a,2026-01-31,1\n',
        # A fixed time, since gzip writes the clock's into the bytes, and so into the test's name.
        gzip.compress(b"k,t,x\na,2026-01-31,1\n", mtime=0),
    ],
)
def test_csv_as_people_have_it(content: str | bytes, tmp_path: Path) -> None:
    found = wex.find_in_file(TRADES, written(tmp_path, content))
    assert found.select(["k", "t", "x"]).to_pylist() == [
        {"k": "a", "t": datetime(2026, 1, 31), "x": 1.0}
    ]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("k\tt\tx\na\t2026-01-31\t1\n", {"delimiter": "tab"}),
        ("k|t|x\n'a'|2026-01-31|1\n", {"delimiter": "|", "quote": "'"}),
        ("a,2026-01-31,1\n", {"no_header": True}),
        ("k,t,x\na,2026-01-31,1\n".encode("utf-16"), {"encoding": "utf-16"}),
    ],
)
def test_options(content: str | bytes, options: dict[str, object], tmp_path: Path) -> None:
    found = wex.find_in_file(TRADES, written(tmp_path, content), **options)  # type: ignore[arg-type]
    assert found.select(["k", "x"]).to_pylist() == [{"k": "a", "x": 1.0}]


@pytest.mark.parametrize("content", ["k,t,x\n", "k,t,x"])
def test_a_header_without_rows(content: str, tmp_path: Path) -> None:
    assert wex.find_in_file(TRADES, written(tmp_path, content)).num_rows == 0


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ";;"}, {"delimiter": '"'}, {"quote": ""}, {"encoding": "klingon"}, {"encoding": "hex"},
        {"timestamp_format": "%d.%Q"}, {"timestamp_format": "%d"}, {"timestamp_format": "epoch"},
        {"timestamp_format": "%Y-%m-%d %I"}, {"timestamp_format": "%Y-%m %m"},
        {"timestamp_format": 5}, {"null": 5}, {"no_header": "yes"}, {"delimeter": ";"}, {"input_format": "cvs"},
    ],
)  # fmt: skip
def test_options_that_are_none(options: dict[str, object], tmp_path: Path) -> None:
    path = written(tmp_path, "k,t,x\na,2026-01-31,1\n")
    with pytest.raises(wex.WexError) as caught:
        wex.find_in_file(TRADES, path, **options)  # type: ignore[arg-type]
    assert caught.value.hint
    assert not isinstance(caught.value, wex.DataError)


# --- Errors name the place, and propose what helps


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("Jan 1 2000", "%b %d %Y"), ("2012/01/01", "%Y/%m/%d"), ("31.12.2020 10:00", "%d.%m.%Y %H:%M"),
        ("12/31/2020 5:00 PM", "%m/%d/%Y %I:%M %p"), ("20200131", "%Y%m%d"), ("January 5, 2020", "%B %d, %Y"),
        ("1577836800", "epoch-s"), ("1577836800.25", "epoch-s"), ("1577836800000", "epoch-ms"),
        ("1577836800000001", "epoch-us"), ("1577836800000001000", "epoch-ns"), ("Jan 2000", "%b %Y"),
        ("2020-01-01 00:00:00 +02:00", "%Y-%m-%d %H:%M:%S %z"), ("2020-01-01 00:00:00 UTC", "%Y-%m-%d %H:%M:%S %Z"),
        ("01/Jan/2020:10:00:00 +0100", "%d/%b/%Y:%H:%M:%S %z"), ("Wed Jan  1 10:00:00 2020", "%a %b %d %H:%M:%S %Y"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["d.csv", "d.jsonl"])
def test_a_format_of_timestamps_is_proposed(
    text: str, proposed: str, name: str, tmp_path: Path
) -> None:
    line = f'a,"{text}",1\n' if name == "d.csv" else f'{{"k": "a", "t": "{text}", "x": 1}}\n'
    path = written(tmp_path, ("k,t,x\n" if name == "d.csv" else "") + line * 2, name)
    error = refused(path)
    assert (error.column, error.line) == ("t", 2 if name == "d.csv" else 1)
    assert repr(text) in error.message
    assert error.options == {"timestamp_format": (proposed,)}
    assert error.hint
    assert f"try timestamp_format={proposed!r}" in error.hint
    assert wex.find_in_file(TRADES, path, **error.options).num_rows == 2


@pytest.mark.parametrize(
    ("content", "proposed"),
    [
        ("k;t;x\na;2020-01-01;1\n", ["delimiter"]),
        ("k;t;x\na;Jan 1 2020;1,5\nb;Jan 2 2020;2\n", ["delimiter", "timestamp_format", "decimal_comma"]),
        ("a\tJan 1 2000\t1.5\nb\tJan 2 2000\t2\n", ["no_header", "delimiter", "timestamp_format"]),
        ("a,2020-01-01,1\n", ["no_header"]),
        ('k,t,x\na,2020-01-01,"1,5"\n', ["decimal_comma"]),
        ("k,t,x\na,2020-01-01,N/A\nb,?,2\n", ["null"]),
        ("k,t,x\na,2020-01-01,1\nb,Jan 2 2020,2\nc,NA,3\n", ["null", "timestamp_format"]),
        ("k,t,x\nä,2020-01-01,1\n".encode("cp1252"), ["encoding"]),
        ("k;t;x\nä;2020-01-01;1,5\n".encode("utf-16"), ["encoding", "delimiter", "decimal_comma"]),
        ("k,t,x\na,2020-01-01,1\n".encode("utf-16-le"), ["encoding"]),
    ],
)  # fmt: skip
def test_all_that_helps_is_proposed_at_once(
    content: str | bytes, proposed: list[str], tmp_path: Path
) -> None:
    path = written(tmp_path, content)
    error = refused(path)
    assert error.options
    assert sorted(error.options) == sorted(proposed)
    assert wex.find_in_file(TRADES, path, **error.options).num_rows


def test_two_columns_of_two_formats(tmp_path: Path) -> None:
    spec = wex.parse("stream s (t timestamp, u timestamp, d date) window w match any")
    path = written(tmp_path, "t,u,d\n2020-01-01,Jan 1 2020,01.02.2020\n")
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file(spec, path)
    assert caught.value.options
    assert wex.find_in_file(spec, path, **caught.value.options).num_rows == 1


def test_a_day_that_may_be_a_month(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "k,t,x\na,01/02/2020,1\n"))
    assert error.hint == "try timestamp_format='%d/%m/%Y' (the texts also fit %m/%d/%Y)"
    told = refused(written(tmp_path, "k,t,x\na,01/02/2020,1\na,01/13/2020,1\n"))
    assert told.hint == "try timestamp_format='%m/%d/%Y'"


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("k,t,x\na,2020-01-01,1\n\n\nb,2020-01-01,cheap\n", 5, "'cheap' is not a number"),
        ('k,t,x\n"a\nb",2020-01-01,1\nb,2020-01-01,cheap\n', 4, "'cheap' is not a number"),
        ("k,t,x\na,2020-02-30,1\n", 2, "'2020-02-30' is not a timestamp"),
        ("k,t,x\na,2020-01-01\n", 2, "expected 3 values, as in the header, got 2"),
        (
            "k,t,x\na,2020-01-01,1\nb,2020-01-01,1,2\n",
            3,
            "expected 3 values, as in the header, got 4",
        ),
        ("k,t,x\na,2020-01-01 00:00:00.1234567,1\n", 2, "finer than microseconds"),
        ("", None, "the file is empty"),
        (
            'k,t,x,y\na,2020-01-01,1,\nb,2020-01-01,1,"open\nc,2020-01-01,1,\n',
            3,
            "and is never closed",
        ),
        (b"\x80\x81\xfe" * 1000, 1, "not valid UTF-8"),
        (bytes(range(256)), None, "this is not a text file"),
        ("k,T,x\na,2020-01-01,1\n", None, "the data has no column `t`"),
        ("k,t,t,x\na,2020-01-01,,1\n", None, "the data has 2 columns called `t`"),
    ],
)
def test_errors_name_the_line(
    content: str | bytes, line: int | None, said: str, tmp_path: Path
) -> None:
    error = refused(written(tmp_path, content))
    assert said in str(error)
    assert error.line == line
    assert "CSV column #" not in str(error)
    assert error.file == str(tmp_path / "d.csv")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_line_of_a_value_deep_in_a_file(tmp_path: Path) -> None:
    good = "".join(f"a,2020-01-01,{n}\n" for n in range(5000))
    content = f"k,t,x\n{good}a,2020-01-01,cheap\n"
    with patch.object(reading, "TEXT_BLOCK", 1000):
        for name, stored in (
            ("d.csv", content.encode()),
            ("d.csv.gz", gzip.compress(content.encode())),
        ):
            assert refused(written(tmp_path, stored, name)).line == 5002


def test_what_fitted_before_fits_with_what_is_proposed(tmp_path: Path) -> None:
    path = written(tmp_path, "k,t,x\n" + "a,2020-01-01,1\n" * 5000 + "a,Jan 2 2020,1\n")
    with patch.object(reading, "TEXT_BLOCK", 1000):
        error = refused(path)
        assert error.options == {"timestamp_format": ("iso", "%b %d %Y")}
        assert wex.find_in_file(TRADES, path, **error.options).num_rows == 5001


def test_numbers_that_are_not_whole_are_real(tmp_path: Path) -> None:
    with pytest.raises(wex.DataError) as caught:
        column(written(tmp_path, "n,x\n1,5.0\n"), INT)
    assert caught.value.hint == "declare the field as real"


def test_a_time_in_a_date(tmp_path: Path) -> None:
    with pytest.raises(wex.DataError) as caught:
        column(written(tmp_path, "n,x\n1,2020-01-01 10:00\n"), DATE)
    assert caught.value.hint == "declare the field as timestamp"


# --- Zones


@pytest.mark.parametrize(
    "rows", [("2026-01-31T00:00:00+02:00", "2026-01-31"), ("2026-01-31", "2026-01-31Z")]
)
@pytest.mark.parametrize("between", [0, 3000])
def test_zones_do_not_mix(rows: tuple[str, str], between: int, tmp_path: Path) -> None:
    for name, form in (("d.csv", "a,{},1\n"), ("d.jsonl", '{{"k": "a", "t": "{}", "x": 1}}\n')):
        start = form.format(rows[0]) * (between + 1)
        head = "k,t,x\n" if name == "d.csv" else ""
        path = written(tmp_path, head + start + form.format(rows[1]), name)
        with patch.object(reading, "TEXT_BLOCK", 1000):
            error = refused(path)
        assert (error.code, error.column) == ("zones-mixed", "t")
        assert error.line == between + 2 + bool(head)


def test_json_keeps_zones(tmp_path: Path) -> None:
    lines = '{"x": "2026-01-31T00:00:00+02:00"}\n{"x": "2026-01-31T00:00:00Z"}\n'
    read = read_table(written(tmp_path, lines, "d.jsonl"), {"x": TIMESTAMP})
    assert read.schema.field("x").type == pa.timestamp("us", "UTC")
    assert read["x"].to_pylist() == [
        datetime(2026, 1, 30, 22, tzinfo=UTC),
        datetime(2026, 1, 31, tzinfo=UTC),
    ]


# --- JSON lines


def test_a_key_that_no_object_has(tmp_path: Path) -> None:
    for clause in ("nulls skip", ""):
        spec = wex.parse(f"stream s (k string, price int) {clause} window w match [price > 0]")
        path = written(tmp_path, '{"k": "a", "prise": 1}\n' * 1000, "d.jsonl")
        with patch.object(reading, "TEXT_BLOCK", 1000), pytest.raises(wex.DataError) as caught:
            wex.find_in_file(spec, path)
        assert (caught.value.code, caught.value.column) == ("missing-column", "price")
        assert caught.value.hint == "did you mean `prise`?"


@pytest.mark.parametrize("late", ['{"k": "b", "price": 1}', '{"k": "b", "price": null}'])
def test_a_key_that_only_a_late_object_has(late: str, tmp_path: Path) -> None:
    spec = wex.parse("stream s (k string, price int) nulls skip window w match [price > 0]")
    path = written(tmp_path, '{"k": "a"}\n' * 1000 + late, "d.jsonl")
    with patch.object(reading, "TEXT_BLOCK", 1000):
        found, events = find_in_files(spec, Request(path))
    assert (found.num_rows, events) == (int("1" in late), 1001)


def test_numbers_and_texts_in_one_column_of_json(tmp_path: Path) -> None:
    lines = '{"x": "NaN"}\n{"x": 1}\n{"x": "2.5"}\n{}\n{"x": "-Infinity"}\n{"x": 1e400}\n'
    found = column(written(tmp_path, lines, "d.jsonl"), REAL)
    assert repr(found) == "[nan, 1.0, 2.5, None, -inf, inf]"


def test_counts_since_1970_in_json(tmp_path: Path) -> None:
    lines = '{"x": 1577836800}\n{"x": 1577836800.25}\n{"x": "1577836801"}\n'
    found = column(written(tmp_path, lines, "d.jsonl"), TIMESTAMP, timestamp_format="epoch-s")
    assert found == [
        datetime(2020, 1, 1, 0, 0, second, micro, tzinfo=UTC)
        for second, micro in ((0, 0), (0, 250_000), (1, 0))
    ]


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ('{"k": "a", "t": "2020-01-01", "x": 1}\n\n{"k": ', 3, "expected a JSON object"),
        ('[{"k": "a", "t": "2020-01-01", "x": 1}]', 1, "jq -c"),
        ('{"k": 5, "t": "2020-01-01", "x": 1}\n', 1, "5 is not a value of type string"),
        ('{"k": "a", "t": true, "x": 1}\n', 1, "true is not a value of type timestamp"),
        ('{"k": "a", "t": "2020-01-01", "x": {"y": 1}}\n', 1, "is not a value of type real"),
        ('{"k": "a", "t": "2020-01-01", "x": "cheap"}\n', 1, "'cheap' is not a number"),
        ('{"k": "a", "k": "b"}\n', 1, "occurs twice"),
        ("5\n", 1, "got a number"),
        ("null\n", 1, "got null"),
        ('{"k": "a", "t": "2020-01-01", "x": 1}\n null\n', 2, "got null"),
        ('{"k": "a", "t": 1e999999999, "x": 1}\n', 1, "'1E+999999999' is not a timestamp"),
        ('{"k": "ä", "t": "2020-01-01", "x": 1}\n'.encode("latin-1"), 1, "try encoding='cp1252'"),
    ],
)
def test_errors_in_json(content: str | bytes, line: int, said: str, tmp_path: Path) -> None:
    error = refused(written(tmp_path, content, "d.jsonl"))
    assert said in str(error)
    assert error.line == line


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_json_without_a_row(content: str, tmp_path: Path) -> None:
    assert wex.find_in_file(TRADES, written(tmp_path, content, "d.jsonl")).num_rows == 0


def test_other_values_of_json_that_change(tmp_path: Path) -> None:
    spec = wex.parse("stream s (v other) window w match any measure first(v) as v")
    lines = '{"v": {"a": 1}}\n{"v": {"b": "x"}}\n{}\n'
    with patch.object(reading, "TEXT_BLOCK", 10):
        found = wex.find_in_file(spec, written(tmp_path, lines, "d.jsonl"))
    assert found["v"].to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}, None]


def test_a_line_longer_than_a_block(tmp_path: Path) -> None:
    lines = f'{{"x": "{"a" * 9_000_000}"}}\n{{"x": "b"}}\n'
    found = column(written(tmp_path, lines, "d.jsonl"), STRING)
    assert [len(str(each)) for each in found] == [9_000_000, 1]


# --- Moments

patterns = st.sampled_from([each for each in candidates() if "%y" not in each and "%Z" not in each])


@given(patterns, st.lists(st.datetimes(datetime(1000, 1, 1)), min_size=1))
def test_patterns_read_what_they_write(pattern: str, moments: list[datetime]) -> None:
    """A moment that is written by Python's strftime is read back, as far as the pattern tells it."""
    check_format(pattern)
    zoned = [each.replace(tzinfo=UTC) for each in moments]
    texts = [each.strftime(pattern) for each in zoned]
    told = [datetime.strptime(text, pattern).replace(tzinfo=UTC) for text in texts]
    read = read_moments(pa.array(texts), [pattern])
    assert read.valid.all()
    assert read.zoned.all() == ("%z" in pattern)
    first = datetime(1970, 1, 1, tzinfo=UTC)
    counts = [(each - first) // (each.resolution) for each in told]
    assert read.counts.tolist() == counts


@given(st.lists(st.text("0123456789:-/. TZ+", max_size=20) | st.text(max_size=5), min_size=1))
def test_no_text_is_read_as_a_moment_that_it_is_not(texts: list[str]) -> None:
    read = read_moments(pa.array(texts), ["iso"])
    for text, right in zip(texts, read.valid, strict=True):
        if right:
            assert datetime.fromisoformat(text).year


@given(st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from(sorted(EPOCHS)))
def test_counts_since_1970(count: int, name: str) -> None:
    read = read_moments(pa.array([str(count)]), [name])
    micros, rest = divmod(count * 1_000_000, EPOCHS[name])
    assume(abs(abs(micros) - 2**63) > 10**6)  # where it is decided to the second, not exactly
    assert read.matched.all()
    assert bool(read.valid.all()) == (not rest and abs(micros) < 2**63)
    if read.valid.all():
        assert read.counts.tolist() == [micros]


# --- Files that a user names


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for at, day in enumerate(("2020-01-01", "2020-01-02", "2020-01-03")):
        written(tmp_path, f"k,t,x\na,{day},{at}\n", f"{at}.csv")
    written(tmp_path, "rubbish", "_SUCCESS")
    written(tmp_path, "rubbish", ".hidden.csv")
    return iter([tmp_path])


def test_files_patterns_and_folders(folder: Iterator[Path]) -> None:
    path = next(folder)
    files = [path / f"{at}.csv" for at in range(3)]
    for given_ in (path, str(path), path / "*.csv", f"{path}/[0-2].csv", files, map(str, files)):
        found = wex.find_in_file(TRADES, given_)
        assert found["x"].to_pylist() == [0.0, 1.0, 2.0]
    with pytest.raises(wex.WexError, match="no file matches"):
        wex.find_in_file(TRADES, path / "*.parquet")
    written(path, '{"k": "a"}', "x.json")
    with pytest.raises(wex.WexError, match="several formats"):
        wex.find_in_file(TRADES, path)
    assert wex.find_in_file(TRADES, path, input_format="csv").num_rows == 3
    (path / "empty").mkdir()
    with pytest.raises(wex.WexError, match="this folder has no file with a known extension"):
        wex.find_in_file(TRADES, path / "empty")


def test_files_out_of_order_are_sorted_together(tmp_path: Path) -> None:
    spec = wex.parse(
        "stream s (t int) order by t window w match [t = t[-1] + 1] measure last(t) as t"
    )
    for at, row in enumerate((3, 1, 2)):
        written(tmp_path, f"t\n{row}\n", f"{at}.csv")
    assert wex.find_in_file(spec, tmp_path)["t"].to_pylist() == [2, 3]


def test_folders_that_name_a_column(tmp_path: Path) -> None:
    spec = wex.parse(
        "stream s (k string, n int, x int) partition by k window w match any measure sum(x + n) as s"
    )
    for at, name in enumerate(("k=a%20b", "k=__HIVE_DEFAULT_PARTITION__", "k=c")):
        (tmp_path / name / "n=5").mkdir(parents=True)
        written(tmp_path / name / "n=5", f"x\n{at}\n", "part.csv")
    found = wex.find_in_file(spec, tmp_path)
    assert found.select(["k", "s"]).to_pylist() == [
        {"k": None, "s": 6}, {"k": "a b", "s": 5}, {"k": "c", "s": 7},
    ]  # fmt: skip
    assert wex.find_in_file(spec, tmp_path, where_key={"k": "a b"})["s"].to_pylist() == [5]
    (tmp_path / "k=d" / "n=x").mkdir(parents=True)
    written(tmp_path / "k=d" / "n=x", "x\n1\n", "part.csv")
    with pytest.raises(wex.DataError, match="'x' is not a whole number"):
        wex.find_in_file(spec, tmp_path)


def test_a_column_that_one_of_several_files_lacks(tmp_path: Path) -> None:
    spec = wex.parse("stream s (t int, x int) order by t window w match [x > 0]")
    from pyarrow import parquet  # noqa: PLC0415

    parquet.write_table(pa.table({"t": [2], "x": [1]}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"t": [1]}), tmp_path / "1.parquet")
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file(spec, tmp_path)
    assert (caught.value.code, caught.value.file) == ("missing-column", str(tmp_path / "1.parquet"))


# --- One stream of many


KEYED = wex.parse("""
stream s (k string, n int, t timestamp, x real) partition by k, n, t, x
window w match any measure first(k) as key
""")
KEYS = 'k,n,t,x\na,1,2020-01-01,0.5\nb,1,2020-01-01,nan\n,2,2020-01-02,\n"",2,2020-01-01,0.5\n'


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ({"k": "a"}, ["a"]), ({"k": None}, [None]), ({"k": ""}, [""]), ({"n": 1}, ["a", "b"]), ({"n": "1"}, ["a", "b"]),
        ({"n": 1, "k": "b"}, ["b"]), ({"x": float("nan")}, ["b"]), ({"x": "nan"}, ["b"]), ({"x": 0.5}, ["", "a"]),
        ({"x": None}, [None]), ({"t": datetime(2020, 1, 2)}, [None]), ({"t": "2020-01-02"}, [None]),
    ],
)  # fmt: skip
def test_one_stream_of_many(where: dict[str, object], keys: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, KEYS)
    found = wex.find_in_file(KEYED, path, where_key=where)
    assert sorted(found["key"].to_pylist(), key=str) == sorted(keys, key=str)


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ({"k": "aa"}, "unknown-key", "no event has k = 'aa'"),
        ({"k": "zzz"}, "unknown-key", "the keys are a; b; NULL; "),
        ({"n": "one"}, "not-a-key", "declared as int"),
        ({"n": 1.5}, "not-a-key", "declared as int"),
        ({"k": "a\udcff"}, "not-a-key", "declared as string"),  # bytes of a terminal, no UTF-8
        ({"key": "a"}, "not-a-key", "`key` is not a key of the stream"),
        ({"t": datetime(2020, 1, 1, tzinfo=UTC)}, "zones-mixed", "has a time zone"),
        ("k=a", "not-a-key", "a dict of key columns"),
    ],
)
def test_keys_that_are_none(where: object, code: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, KEYS)
    with pytest.raises(wex.WexError) as caught:
        wex.find_in_file(KEYED, path, where_key=where)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert said in str(caught.value)


@pytest.mark.parametrize("number", ["+-5", "++5", "0x10", "-0X1", "1_000", "5.0", "1e3"])
def test_whole_numbers_are_digits(number: str, tmp_path: Path) -> None:
    spec = wex.parse("stream s (n int) window w match [n > 0]")
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file(spec, written(tmp_path, f"n\n+7\n{number}\n"))
    assert caught.value.column == "n"
    assert number in str(caught.value)


def test_output_follows_links_and_feeds_pipes(tmp_path: Path) -> None:
    table = pa.table({"x": [1]})
    target, link, pipe = tmp_path / "target.csv", tmp_path / "link.csv", tmp_path / "pipe.csv"
    link.symlink_to(target)
    write_table(table, link)
    assert link.is_symlink()
    assert target.read_text() == "x\n1\n"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_table(table, pipe)
    assert os.read(reader, 100) == b"x\n1\n"
    os.close(reader)
    assert pipe.is_fifo()


def test_other_streams_may_be_wrong(tmp_path: Path) -> None:
    spec = wex.parse(
        "stream s (k string, t int, x int) partition by k order by t window w match [x > 0]"
    )
    path = written(tmp_path, "k,t,x\na,2,1\na,1,1\nb,1,\n")
    assert wex.find_in_file(spec, path, where_key={"k": "a"})["end_index"].to_pylist() == [0, 1]


# --- Anything

pieces = st.sampled_from([
    "k", "t", "x", ",", ";", "\t", "\n", "\r\n", '"', "'", " ", "a", "1", "1,5", "NaN", "2020-01-01", "Z",
    "Jan 1 2000", "{", "}", "[", "]", '"k": "a"', '"t": "2020-01-01"', '"x": 1', "null", ":", "\0", "\ufeff", "é",
    "k,t,x\n", "a,2020-01-01,1\n", '{"k": "a", "t": "2020-01-01", "x": 1}\n', '{"x": {"y": 1}}\n', "1577836800",
])  # fmt: skip
contents = st.one_of(
    st.lists(pieces, max_size=30).map("".join).map(str.encode),
    st.lists(pieces, max_size=30).map(lambda parts: "k,t,x\n" + "".join(parts)).map(str.encode),
    st.binary(max_size=60),
)


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.parquet", "d.arrow"])
@given(content=contents)
def test_any_bytes_are_read_or_explained(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), content, name)
        try:
            wex.find_in_file(TRADES, path)
        except wex.WexError as error:
            assert error.hint
            options = getattr(error, "options", None)
            if options and "; then " not in error.hint:  # what is proposed helps
                wex.find_in_file(TRADES, path, **options)


# --- What a review has found wrong once


@pytest.mark.parametrize("minutes", [1, 600])
def test_days_and_months_are_told_apart_by_all_rows(tmp_path: Path, minutes: int) -> None:
    start = datetime(2012, 1, 2)
    times = [start + timedelta(minutes=at * minutes) for at in range(20_000)]
    path = tmp_path / "us.csv"
    path.write_text("t\n" + "".join(f"{time:%m/%d/%Y %H:%M}\n" for time in times))
    spec = wex.parse("stream s (t timestamp) order by t window w after () match any")
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file(spec, path)
    assert caught.value.options == {"timestamp_format": ("%m/%d/%Y %H:%M",)}
    found = wex.find_in_file(spec, path, **caught.value.options)
    assert found["window_start"].to_pylist() == [start]


def test_dates_in_both_orders_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text("t\n01/13/2012\n13/02/2012\n")
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file("stream s (t timestamp) window w match any", path)
    assert caught.value.options is None
    assert "day before the month" in str(caught.value.hint)


def test_half_a_character_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    path.write_text('{"k": "a"}\n{"k": "\\ud83d"}\n')
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file("stream s (k string) window w match any", path)
    assert (caught.value.line, caught.value.column) == (2, "k")


@pytest.mark.parametrize("wrong", ["ascii", "utf-16"])
def test_utf8_is_guessed_first(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "utf8.csv"
    path.write_bytes("k\nä\nb\n".encode())
    spec = wex.parse("stream s (k string) window w match any measure first(k) as k")
    with pytest.raises(wex.DataError) as caught:
        wex.find_in_file(spec, path, encoding=wrong)
    assert caught.value.options == {"encoding": "utf-8"}
    assert wex.find_in_file(spec, path, **caught.value.options)["k"].to_pylist() == ["ä", "b"]


@pytest.mark.parametrize(
    ("path", "options"),
    [("", {}), ("\0", {}), ("x.csv", {"encoding": "\0"}), ("x.csv", {"quote": ","})],
)
def test_arguments_that_mean_nothing(path: str, options: dict[str, Any]) -> None:
    with pytest.raises(wex.WexError):
        wex.find_in_file("stream s (k string) window w match any", path, **options)


def test_a_key_is_named_once() -> None:
    with pytest.raises(wex.WexError) as caught:
        parse_keys([("k", "a"), ("k", "b")])
    assert caught.value.code == "not-a-key"
