"""What is said but hardly meant: each finding is true of every short stream, and each remedy helps."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings

import wex
from tests.analysis.small import alphabet, conforming, spec_texts, tried
from wex.analysis.answers import Kind, Verdict
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import Budget
from wex.analysis.remedies import every_beginning, remedy, with_window
from wex.analysis.unsaid import DeadPlace, dead_places
from wex.analysis.verdicts import Analysis
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import Meaning, tree
from wex.spec import meaning as meaning_of

few = settings(max_examples=max(10, settings.default.max_examples // 5))  # type: ignore[union-attr]
X = "stream s (x real) "
NOTHING = tree.Atom(tree.Bool(False))


def kinds(text: str) -> list[Kind]:
    (window,) = wex.check(text)
    return [finding.kind for finding in window.findings]


def says(text: str, kind: Kind) -> str:
    (window,) = wex.check(text)
    return "; ".join(str(finding) for finding in window.findings if finding.kind is kind)


def without(regex: tree.Regex, bracket: tree.Atom) -> tree.Regex:
    """Return an expression with one of its brackets, and no equal one, replaced by `[false]`."""
    if regex is bracket:
        return NOTHING
    match regex:
        case tree.Concat(parts) | tree.Union(parts) | tree.Intersection(parts):
            return replace(regex, parts=tuple(without(part, bracket) for part in parts))
        case tree.Complement(body) | tree.Repeat(body):
            return replace(regex, body=without(body, bracket))
    return regex


# --- Laws


@few
@given(spec_texts())
def test_a_bracket_that_never_holds_in_its_place_changes_nothing(text: str) -> None:
    meaning = meaning_of(wex.parse(text))
    window = meaning.expanded.windows[0]
    places: list[DeadPlace] = []
    with suppress(TooManyError):  # the time is up
        places.extend(dead_places(Analysis(meaning, 0, Budget()), frozenset()))
    for place in places:
        pairs = tuple(
            replace(
                pair,
                after=pair.after and without(pair.after, place.bracket),
                match=without(pair.match, place.bracket),
            )
            for pair in window.pairs
        )
        until = window.until
        if place.clause == "until":
            until = until and replace(until, predicate=tree.Bool(False))
        changed = with_window(meaning, 0, replace(window, pairs=pairs, until=until))
        assert tried(changed, 0, 4).windows == tried(meaning, 0, 4).windows


@few
@given(spec_texts())
def test_findings_are_true_of_every_short_stream(text: str) -> None:
    meaning = meaning_of(wex.parse(text))
    (report,) = wex.check(text)
    found = [finding.kind for finding in report.findings]
    first = meaning.lookbacks[0] if meaning.expanded.windows[0].unpadded else 0
    for windows in tried(meaning, 0, 4).windows.values():
        if Kind.NEVER_OCCURS in found:
            assert not windows
        if Kind.ONLY_AT_FIRST in found:
            assert {b for b, _ in windows} <= {first}
        if Kind.EVERY_BEGINNING in found:
            assert all((b, end) in windows for b, e in windows for end in range(b, e))


@few
@given(spec_texts())
def test_a_remedy_bounds_the_window_as_it_says(text: str) -> None:
    meaning = meaning_of(wex.parse(text))
    best = remedy(meaning, 0, Budget())
    if best is None:
        return
    window = meaning.expanded.windows[0]
    plain = text.replace("keep all", "") if window.keep and window.keep.text == "all" else text
    (report,) = wex.check(f"{plain} {best.clause}")
    assert report.held.bound is not None
    assert report.held.bound <= best.bound


@few
@given(spec_texts())
def test_every_beginning_is_a_window_if_it_says_so(text: str) -> None:
    meaning = meaning_of(wex.parse(text))
    if every_beginning(meaning, 0):
        for word in conforming(meaning, 4):
            windows = by_expressions(meaning, word)
            assert all((b, end) in windows for b, e in windows for end in range(b, e))


def by_expressions(meaning: Meaning, word: tuple[int, ...]) -> set[tuple[int, int]]:
    """Return the windows of a stream before any clause."""
    events = alphabet(meaning)
    stream = Stream((), [events[number] for number in word], list(range(len(word))))
    return Definition(meaning, 0, stream).w0()


# --- Examples


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            X + "window w match [x > 0] ([x[-1] < 0] | [x > 5])",
            "`x[-1] < 0` can never hold in its place in `match`: on the way there event 1, `x > 0`,"
            " contradicts event 2, `x[-1] < 0`",
        ),
        (
            X + "window w match [x[-1] < 0] [x > 0] ([x[-1] < 0] | [x > 5])",
            "the second `x[-1] < 0` can never hold in its place in `match`: on the way there event 2,"
            " `x > 0`, contradicts event 3, `x[-1] < 0`",
        ),
        (
            X + "window w match [x > 3]+ until [x[-1] < 2] or end",
            "`x[-1] < 2` can never hold in its place in `until`",
        ),
        (
            X + "window w after any* ([x > 1] [x[-1] < 1])? match [x > 3]",
            "`x[-1] < 1` can never hold in its place in `after`",
        ),
        (
            "stream s (x enum('a', 'b')) assume ([x = 'a'] [x = 'b'])*"
            " window w match [x = 'a'] ([x = 'a'] | any) [x = 'a']",
            "the second `x = 'a'` can never hold in its place in `match`",
        ),
        (X + "window w match [x > 0] ([x < 0] | [x > 5])", ""),
        (X + "window w match [x > x[-1]] any* [x[-1] > x]", ""),
        (X + "window w match [x > 0] ~([x[-1] < 0])", ""),  # below `~` a bracket has no place
    ],
)
def test_brackets_that_never_hold_in_their_place(text: str, said: str) -> None:
    found = says(text, Kind.NEVER_HOLDS_HERE)
    assert found.startswith(said) if said else not found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("after ([x > 1] & [x < 1])* match any{2}", True),
        ("after [x > 1 and x[-1] > x and x > x[-1]]* match [x > 3]", True),
        ("after () match any+", False),  # it is written in so many words
        ("match [is_first] any", False),
        ("match [is_first and x > 1] any", False),
        ("match [is_first or x > 1] any", False),
        ("after any? match any", False),
    ],
)
def test_windows_that_begin_only_at_the_first_event(text: str, said: bool) -> None:
    assert (Kind.ONLY_AT_FIRST in kinds(f"{X} window w {text}")) is said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("match [x > x[-1]]+", "`runs where x > x[-1]`"),
        ("match any+", "n(n+1)/2 windows"),
        ("match [x > 1] [x > 2]*", "n(n+1)/2 windows"),
        ("match [x > x[-1]]+ keep longest", ""),
        ("match [x > x[-1]]+ within 3 events", ""),
        ("match [x > x[-1]]+ until [x < 0]", ""),
        ("match [x > 1]{3,}", ""),
        ("after () match any+", ""),
        ("runs where x > 1", ""),
    ],
)
def test_expressions_whose_every_beginning_is_a_window(text: str, said: str) -> None:
    found = says(f"{X} window w {text}", Kind.EVERY_BEGINNING)
    assert said in found if said else not found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("match [x > 0]* [x < 0]", "with `keep disjoint` it holds at most 1 start"),
        ("match [x > 1]{3,}", "with `keep disjoint` it holds at most 1 start"),
        ("match [x > x[-1]]+", "with `keep leftmost` it holds at most 1 start"),
        (
            "match [x > 0]* [x < 0] measure count() as n, sum(x) as s having s > 2",
            "with `within 1000 events` it holds at most 1,000 starts",
        ),
        ("match [x > 0]{3}", ""),
    ],
)
def test_unbounded_windows_come_with_a_remedy(text: str, said: str) -> None:
    assert says(f"{X} window w {text}", Kind.REMEDY) == said


def test_a_predicate_that_holds_only_at_the_first_event_can_hold() -> None:
    assert Kind.NEVER_HOLDS not in kinds(X + "window w match [is_first] any")
    assert Kind.NEVER_HOLDS not in kinds(X + "window w match [is_first and not x > x[-1]] any")
    assert wex.check(X + "window w match [is_first] any")["w"].held.verdict is Verdict.BOUNDED
