"""Printing and parsing are inverse on every syntax tree."""

from __future__ import annotations

from hypothesis import given

import wex
from tests.strategies import trees
from wex.spec import tree
from wex.spec.parser import read
from wex.spec.problems import Problems, Source


def read_back(spec: tree.Spec) -> tree.Spec | None:
    """Parse the printed text of a spec, without resolving it."""
    problems = Problems(Source(str(spec)))
    draft = read(problems.source, problems)
    assert not problems.diagnostics, "\n".join(map(str, problems.diagnostics))
    return draft.spec


@given(trees.specs)
def test_what_is_printed_reads_back_as_the_same_tree(spec: tree.Spec) -> None:
    assert read_back(spec) == spec


@given(trees.exprs)
def test_expressions_keep_their_brackets(expr: tree.Expr) -> None:
    stream = tree.Stream(
        tree.Name("s"), (tree.Field(tree.Name("x"), tree.FieldType(tree.Name("int"))),)
    )
    spec = tree.Spec(stream, lets=(tree.Let(tree.Name("a"), expr),))
    assert read_back(spec) == spec


@given(trees.regexes)
def test_regular_expressions_keep_their_brackets(regex: tree.Regex) -> None:
    stream = tree.Stream(
        tree.Name("s"), (tree.Field(tree.Name("x"), tree.FieldType(tree.Name("int"))),)
    )
    spec = tree.Spec(stream, assumes=(tree.Assume(regex),))
    assert read_back(spec) == spec


def test_nested_brackets_print_in_linear_time() -> None:
    """Each level once took twice as long as the one inside it."""
    predicate, value = "a", "x"
    for _ in range(40):
        predicate, value = f"b and (a or ({predicate}))", f"({value} + 1) * 2"
    text = f"stream s (a bool, b bool, x real) let p = {predicate} let v = {value}"
    assert wex.parse(str(wex.parse(text))) == wex.parse(text)
