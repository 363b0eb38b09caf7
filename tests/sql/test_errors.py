"""Errors of queries: golden files, one pair per mistake, as for specs in tests/spec/test_errors.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import wex

GOLDEN = Path(__file__).parents[1] / "golden" / "sql"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.sql"))
SCHEMA = {
    "symbol": "string not null",
    "ts": "timestamp",
    "price": "real",
    "size": "int",
    "name": "string",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_error_is_the_golden_one(name: str, update_golden: bool) -> None:
    query = (GOLDEN / f"{name}.sql").read_text("utf-8")
    with pytest.raises(wex.SpecError) as caught:
        wex.from_sql(query, SCHEMA, name=f"{name}.sql")
    golden, shown = GOLDEN / f"{name}.txt", f"{caught.value}\n"
    if update_golden:
        golden.write_text(shown, "utf-8")
    assert shown == golden.read_text("utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(NAMES)


QUERY = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b) DEFINE b AS price > 1)"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((QUERY, SCHEMA, "sybase"), "unknown-dialect"),
        ((QUERY, {"price": "dollar"}, "standard"), "unknown-type"),
        ((QUERY, 7, "standard"), "not-a-schema"),
        ((7, SCHEMA, "standard"), "not-a-query"),
        ((QUERY, None, "standard"), "unknown-name"),
        (("SELECT 1", SCHEMA, "standard"), "syntax"),
        (("", SCHEMA, "standard"), "syntax"),
        ((QUERY, SCHEMA, "flink"), "sql"),  # it has another default for AFTER MATCH SKIP
    ],
)
def test_wrong_arguments(arguments: tuple[object, object, str], code: str) -> None:
    query, schema, dialect = arguments
    with pytest.raises(wex.WexError) as caught:
        wex.from_sql(query, schema, dialect=dialect)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_without_sqlglot_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wex.sql.find_spec", lambda _name: None)
    with pytest.raises(wex.WexError, match=r"wex-windows\[sql\]") as caught:
        wex.from_sql(QUERY, SCHEMA)
    assert caught.value.code == "no-sqlglot"


# --- Hostile queries: an error with a place, in bounded time, and never a RecursionError


def _query(pattern: str = "a b", define: str = "b AS price > 1", rest: str = "") -> str:
    return (
        f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN ({pattern}) DEFINE {define}){rest}"
    )


HOSTILE = {
    "deep parentheses": _query(define="b AS " + "(" * 5000 + "price > 1" + ")" * 5000),
    "deep pattern": _query(pattern="(" * 5000 + "a" + ")+" * 5000),
    "many signs": _query(define="b AS price > " + "- " * 5000 + "1"),
    "many NOTs": _query(define="b AS " + "NOT " * 5000 + "price > 1"),
    "nested CASE": _query(define="b AS " + "CASE WHEN price > 1 THEN " * 300 + "1" + " END" * 300 + " > 1"),
    "long sum": _query(define="b AS price > " + "+".join(["1"] * 10_000)),
    "chain of comparisons": _query(define="b AS " + " = ".join(["price"] * 5000)),
    "many variables": _query(pattern=" ".join(f"v{n}" for n in range(10_000))),
    "many alternatives": _query(pattern="|".join(f"v{n}" for n in range(10_000))),
    "nested permutations": _query(pattern="PERMUTE(a, a, " * 20 + "b" + ")" * 20),
    "large count": _query(pattern="a{99999999999999999999}"),
    "far offset": _query(define="b AS price > PREV(price, 999999999)"),
    "huge offset": _query(define="b AS price > PREV(price, 99999999999999999999)"),
    "broken quote": _query(define="b AS price > 'x"),
    "broken name": _query(define='b AS "price > 1'),
    "open comment": _query(rest=" /* never closed"),
    "open bracket": "SELECT * FROM t MATCH_RECOGNIZE (" * 2000,
    "closing brackets": _query(rest=")" * 2000),
    "binary": "\x00\x01\x02 MATCH_RECOGNIZE (\x00)",
    "many tokens": _query(define="b AS " + " OR ".join(["price > 1"] * 20_000)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_queries_end_in_an_error_with_a_place(name: str) -> None:
    depth = sys.getrecursionlimit()
    with pytest.raises(wex.SpecError) as caught:
        wex.from_sql(HOSTILE[name], SCHEMA)
    assert caught.value.line >= 1
    assert caught.value.column >= 1
    assert sys.getrecursionlimit() == depth


def test_quoted_names_cannot_break_out_of_the_spec() -> None:
    name = "x` int) window evil match any # ` ''"
    quoted = name.replace('"', '""')
    query = f'SELECT * FROM "t; -- " MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST("{quoted}") AS "m` \' #" PATTERN ("a b`" c) DEFINE "a b`" AS "{quoted}" > 1)'
    translation = wex.from_sql(query, {"ts": "int", name: "int"})
    assert [window.name.text for window in translation.spec.windows] == ["t; -- _match"]
    assert [field.name.text for field in translation.spec.stream.fields] == ["ts", name]
    assert translation.columns == ("m` ' #",)
    found = translation.find({"ts": [1, 2, 3], name: [5, 6, 0]})
    assert found.to_pylist() == [{"m` ' #": 6}]


def test_comments_and_case_do_not_matter() -> None:
    query = """
        select * /* all */ from T match_recognize ( -- the pattern
          order by TS pattern (A /* one */ b) -- and the rest
          define B as PRICE > 1 /* ( */ and prev(Price) < 'x' is null)"""
    with pytest.raises(wex.SpecError):
        wex.from_sql(query, SCHEMA)
    good = query.replace("< 'x' is null", "< 7")
    assert "let b = price > 1 and price[-1] < 7" in str(wex.from_sql(good, SCHEMA))


def test_classifier_keeps_the_names_of_variables() -> None:
    query = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES CLASSIFIER() AS c PATTERN (price b))"
    )
    with pytest.raises(wex.SpecError) as caught:
        wex.from_sql(query, {"ts": "int", "PRICE": "int"})
    assert caught.value.code == "sql"


def test_names_that_differ_in_case_only() -> None:
    query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts AFTER MATCH SKIP PAST LAST ROW PATTERN (a A) DEFINE a AS X > 1)"
    columns = {"ts": "int", "X": "int", "x": "int"}
    for dialect, code in (("trino", "unknown-name"), ("flink", "sql")):
        with pytest.raises(wex.SpecError) as caught:
            wex.from_sql(query, columns, dialect=dialect)
        assert caught.value.code == code
    exact = query.replace("(a A)", "(a b)")
    assert "let a = X > 1" in str(wex.from_sql(exact, columns, dialect="flink"))
    assert "let a = X > 1" in str(wex.from_sql(exact.replace("X", '"X"'), columns))
