"""Where MATCH_RECOGNIZE stands in a statement, and what it reads."""

from __future__ import annotations

import pytest

import wex
from wex.sql.reader import Reader
from wex.sql.statement import Statement, statement_of

A = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (a))"


def divided(text: str) -> Statement:
    return statement_of(Reader(text, "spark", "<sql>"))


def rows(text: str) -> list[str]:
    return [match.rows for match in divided(text).matches]


def test_what_surrounds_a_match_stays() -> None:
    statement = divided(f"SELECT m.x FROM db.t {A} AS m JOIN u USING (x) -- all\nWHERE x = '{{'")
    assert statement.text == "SELECT m.x FROM {match0} AS m JOIN u USING (x) -- all\nWHERE x = '{{'"
    assert [(match.table.text, match.rows) for match in statement.matches] == [
        ("t", "SELECT * FROM db.t")
    ]


def test_tables_with_other_names_subqueries_and_commas() -> None:
    assert rows(f"SELECT * FROM t AS old {A}") == ["SELECT * FROM t AS old"]
    assert rows(f"SELECT * FROM (SELECT * FROM t WHERE x > 1) {A}") == [
        "SELECT * FROM (SELECT * FROM t WHERE x > 1)"
    ]
    assert rows(f"SELECT * FROM u, t {A}, v {A}") == ["SELECT * FROM t", "SELECT * FROM v"]
    assert rows(f"SELECT * FROM u CROSS JOIN t {A}") == ["SELECT * FROM t"]


def test_a_match_in_what_another_one_reads_comes_first() -> None:
    text = f"SELECT * FROM (SELECT * FROM t {A}) {A} m WHERE x IN (SELECT x FROM u {A})"
    statement = divided(text)
    assert statement.text == "SELECT * FROM {match1} m WHERE x IN (SELECT x FROM {match2} )"
    assert [match.rows for match in statement.matches] == [
        "SELECT * FROM t",
        "SELECT * FROM (SELECT * FROM {match0} )",
        "SELECT * FROM u",
    ]


def test_tables_of_with_go_along() -> None:
    text = f"WITH a AS (SELECT 1), b (x) AS (SELECT * FROM a {A}) SELECT * FROM b {A}"
    assert rows(text) == [
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "WITH a AS (SELECT 1), b (x) AS (SELECT * FROM {match0} ) SELECT * FROM b",
    ]
    inner = f"SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a {A}) x, a {A}"
    assert rows(inner) == ["WITH a AS (SELECT 1) SELECT * FROM a", "SELECT * FROM a"]


def test_no_match() -> None:
    assert divided("SELECT match_recognize FROM t").matches == []


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (f"SELECT * FROM t {A}; DROP TABLE t", "syntax", ";"),
        (f"SELECT * FROM {A}", "sql", "MATCH_RECOGNIZE"),
        (f"WITH RECURSIVE r AS (SELECT * FROM r {A}) SELECT * FROM r", "sql", "MATCH_RECOGNIZE"),
        (f"SELECT * FROM {', '.join(f't{n} {A}' for n in range(200))}", "too-large", "MATCH"),
        (f"SELECT * FROM t {A} WHERE (x", "bracket", "(x"),
        ("SELECT '", "quote", "'"),
    ],
)
def test_mistakes_point_into_the_statement(text: str, code: str, place: str) -> None:
    with pytest.raises(wex.SpecError) as caught:
        divided(text)
    error = caught.value
    assert error.code == code
    assert text.splitlines()[error.line - 1][error.column - 1 :].startswith(place)
