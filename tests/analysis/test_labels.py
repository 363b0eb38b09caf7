"""Whether labels are unambiguous: streams that show two ways, and what equal specs may differ in."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

import wex
from tests.engine.test_labels import HEAD, Word, expressions, table, words
from wex.analysis.answers import Kind
from wex.analysis.boundedness_guard import refuse_unbounded
from wex.analysis.changes import first_change
from wex.analysis.labels import ambiguity
from wex.analysis.regions.graph import Budget
from wex.analysis.witness import conforming_stream
from wex.errors import UnboundedError
from wex.reference.labels import labellings
from wex.reference.windows import Definition
from wex.spec import Meaning, meaning

STREAM = "stream s (x int, y int) let fall = x < x[-1] let rise = x > x[-1] window w "
ATOMS = ["a", "b", "c", "any", "[later]", "[n < n[-1]]", "[n >= 0]", "~(a b)"]


def two_ways(resolved: Meaning, data: pa.Table) -> list[tuple[int, int]]:
    """Return the windows of a stream that have two labellings, by the definition."""
    stream = conforming_stream(resolved, data.to_pylist())
    assert stream is not None
    definition = Definition(resolved, 0, stream)
    return [(b, e) for b, e in definition.w0() if len(labellings(definition, b, e)) > 1]


@pytest.mark.parametrize(
    ("match", "unambiguous"),
    [
        ("any down:(fall+) up:(rise+)", True),
        ("p:(any+) q:(any+)", False),
        ("p:[x > 0]* q:[x <= 0]*", True),
        ("p:[x > 0]* q:[x >= 0]*", False),
        ("p:[x > 0] | q:[x > 5]", False),
        ("p:[x > 0] | q:[x < 0]", True),
        ("p:(any* a:any) any*", False),
        ("p:(any*)", True),
        ("(p:fall | q:any rise) any", True),
        ("p:(fall*) [not fall] q:any*", True),
        ("p:fall | q:(fall & rise)", True),  # no event satisfies both
        ("any p:fall q:[x < x[-2]]? | any p:(fall any)", False),
        ("any p:[x > x[-1]]? q:[x[-1] < x]?", False),
        ("p:any* [sum(x) <= 0] q:any*", False),
        ("p:[x = first(x)]* q:[x != first(x)]*", None),  # predicates with aggregates are free
    ],
)
def test_check_tells_whether_labels_are_unambiguous(match: str, unambiguous: bool | None) -> None:
    spec = wex.parse(f"{STREAM} match {match}")
    report = wex.check(spec)["w"]
    assert report.labels is not None
    assert report.labels.holds is unambiguous
    notes = [note for note in report.findings if note.kind is Kind.AMBIGUOUS_LABELS]
    assert len(notes) == (unambiguous is False)
    if unambiguous is False:
        assert report.labels.window is not None
        _, start, end = report.labels.window
        assert (start, end) in two_ways(meaning(spec), report.labels.witness)
        assert str(notes[0]).endswith(report.labels.reason)


def test_a_window_without_labels_has_no_answer() -> None:
    assert wex.check(f"{STREAM} match any").windows[0].labels is None


def test_the_note_shows_both_ways_the_preferred_first() -> None:
    report = wex.check("stream s (x int) window w match p:([x > 0]+?) q:any+")
    (note,) = (str(note) for note in report["w"].findings if note.kind is Kind.AMBIGUOUS_LABELS)
    assert note == (
        "the labels of `w` are ambiguous, and the preferred way decides:"
        " events 0 to 2 of the stream x = 1, 1, 0 are `p q q` or `p p q`"
    )


@given(expressions(ATOMS), expressions(ATOMS), words)
def test_windows_said_to_be_unambiguous_are(one: str, two: str, word: Word) -> None:
    spec = wex.parse(f"{HEAD} window w match p:({one}) {two}")
    resolved = meaning(spec)
    answer = ambiguity(resolved, 0, Budget())
    assert answer is not None
    if answer.holds is False:
        assert answer.window is not None
        assert answer.window[1:] in two_ways(resolved, answer.witness)
    if answer.holds and word:
        assert not two_ways(resolved, table(word))


def test_equal_windows_may_have_other_labels() -> None:
    one, two = (
        f"{STREAM} match {match} measure count(p) as n"
        for match in ("p:(any+) q:(any+)", "p:(any+?) q:(any+)")
    )
    assert wex.equivalent(one, two).holds  # measures do not count
    judged = [f"{spec} having n > 1" for spec in (one, two)]
    assert wex.equivalent(*judged).holds is None
    assert wex.equivalent(judged[0], judged[0]).holds
    change = first_change(wex.parse(one), wex.parse(two))
    assert change is not None
    assert "the expressions were match p:(any+) q:(any+)" in change
    assert first_change(wex.parse(one), wex.parse(one)) is None


def test_endless_streams_with_labels_need_a_bound() -> None:
    spec = f"{STREAM} match any down:(fall+) up:(rise+) keep leftmost measure count(up) as n"
    with pytest.raises(UnboundedError) as caught:
        refuse_unbounded(wex.parse(f"{spec} until [not rise]"))
    assert "labels" in caught.value.message
    assert "filter" in str(caught.value.hint)
    refuse_unbounded(wex.parse(f"{spec} within 9 events"))
    plain = spec.replace("count(up)", "count_if(rise)")
    refuse_unbounded(wex.parse(f"{plain} within 9 events"))


def test_the_report_says_what_labels_keep() -> None:
    window = (
        "match any down:(fall+) up:(rise+) measure count(up) as n, last(down.x) as x, sum(x) as y"
    )
    kept = (("count(up)", None), ("last(down.x)", None))
    assert wex.check(f"{STREAM} {window}")["w"].keeps == kept
    bounded = wex.check(f"{STREAM} {window} within 5 events")["w"].keeps
    assert [most for _, most in bounded] == [5, 5]


def test_a_witness_conforms_to_the_assumptions() -> None:
    spec = wex.parse(f"assume [x > x[-1]]* {STREAM} match p:(any+) q:(any+)")
    answer = wex.check(spec)["w"].labels
    assert answer is not None
    assert answer.witness is not None
    values = answer.witness["x"].to_pylist()
    assert values == sorted(set(values))
    assert answer.window is not None
    assert answer.window[1:] in two_ways(meaning(spec), answer.witness)
