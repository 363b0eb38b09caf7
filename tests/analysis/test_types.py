"""Order types: their paths are the words of streams, and verdicts are those of short streams and of refinement."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.fuzz import compare
from tests.analysis.small import spec_texts
from tests.analysis.test_regions import assert_same_words, read, words
from wex.analysis.graphs import TooManyError
from wex.analysis.regions import typed
from wex.analysis.regions.graph import Budget
from wex.analysis.regions.typed import loose_regions, order_regions
from wex.analysis.verdicts import Analysis
from wex.reference.assumptions import Assumptions
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from tests.analysis.test_regions import Word
    from wex.analysis.regions.graph import RegionGraph, Step
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.evaluate import Event, Value

few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]
CONTEXTS = "wex.analysis.regions.contexts."
LENGTH = 4

# A field and, for its values in every short stream, enough of each kind: below, at, between and above constants.
NUMBERS: dict[str, list[Value]] = {
    "real": [Fraction(n, 2) for n in (-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7)],
    "int": [-3, -2, -1, 0, 1, 2, 3, 4, 5],
    "string": ["a", "b", "c", "d", "e"],
}


@st.composite
def comparing(
    draw: st.DrawFn, *, most_fields: int = 2, lookback: int = 2, mixed: bool = False
) -> str:
    """Draw the text of a spec whose predicates compare fields with each other and with constants."""
    type_ = draw(st.sampled_from([*NUMBERS]))
    names = ["x", "y", "z"][: draw(st.integers(1, most_fields))]
    references = [
        f"{name}[{-age}]" if age else name for name in names for age in range(lookback + 1)
    ]
    constants = ["'a'"] if type_ == "string" else ["0", "2"]
    operators = ["=", "!="] if type_ == "string" else ["=", "!=", "<", "<=", ">", ">="]
    # Some specs have no constant: then whole numbers have no range to list.
    others = references + (constants[: draw(st.integers(0, 2))] if len(names) < 3 else [])
    atoms: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        left = draw(st.sampled_from(references))
        right = draw(st.sampled_from([other for other in others if other != left]))
        atoms.append(f"[{left} {draw(st.sampled_from(operators))} {right}]")
    fields = [f"{name} {type_}" for name in names]
    more = draw(st.sampled_from(["", "", "flag", "null", "time"])) if mixed else ""
    if more == "flag":
        fields.append("ok bool")
        atoms.append(
            draw(st.sampled_from(["[ok]", "[ok and not ok[-1]]", "[ok[-2] or x = x[-1]]"]))
        )
    elif more == "null":
        atoms.append(draw(st.sampled_from(["[x is null]", "[x[-1] is null or x = x[-2]]"])))
    elif more == "time":
        fields.append("ts timestamp")
        atoms.append(draw(st.sampled_from(["[ts = ts[-1]]", "[ts > ts[-2]]", "[ts[-1] > ts[-2]]"])))
    leaf = st.sampled_from([*atoms, "any"])

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map(" ".join),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]} | {pair[1]})"),
            inner.map("({})+".format),
            inner.map("({})*".format),
        )

    regexes = st.recursive(leaf, grown, max_leaves=4)
    lines = [f"stream s ({', '.join(fields)})" + (" order by ts" if more == "time" else "")]
    if draw(st.integers(0, 4)) == 0:
        lines.append(f"assume ({draw(leaf)})*")
    lines.append(
        f"window w {draw(st.sampled_from(['', f'after {draw(regexes)} ']))}match {draw(regexes)}"
    )
    lines.append(
        draw(
            st.sampled_from(["", "", "unpadded", "keep shortest", "keep disjoint", "keep longest"])
        )
    )
    lines.append(draw(st.sampled_from(["", "", "", "within 2 events", "within 4 events"])))
    return "\n".join(line for line in lines if line)


def analysed(text: str) -> Analysis:
    return Analysis(meaning_of(wex.parse(text)), 0, Budget())


def events_of(meaning: wex.spec.Meaning, *, plain: bool) -> list[Event]:
    """Return events with enough values for every short stream; few if there are several fields."""
    values = []
    for type_ in meaning.fields.values():
        own = NUMBERS[type_.name]
        values.append(own if plain else own[::4])
    return [dict(zip(meaning.fields, event, strict=True)) for event in product(*values)]


# --- Words


@few
@given(comparing(most_fields=1))
def test_paths_are_the_words_of_streams(text: str) -> None:
    contexts = analysed(text).contexts
    events = events_of(meaning_of(wex.parse(text)), plain=True)
    assert contexts.regions.method in ("order types", "kinds of events")
    assert contexts.regions.exact
    readings = (read(contexts.query, chosen) for chosen in product(events, repeat=3))
    assert words(contexts.regions, 3) == {word for word in readings if word is not None}


@few
@given(
    st.lists(
        st.sampled_from(["x > 0", "x < 2", "x < 3", "x[-1] > 0", "x[-1] < 2", "x > x[-2]"]),
        min_size=2,
        max_size=4,
        unique=True,
    ),
    st.sampled_from(["x > x[-1]", "x < x[-1]", "x != x[-1]"]),
)
def test_between_constants_there_are_few_whole_numbers(inside: list[str], step: str) -> None:
    text = f"stream s (x int) window w match [{' and '.join(inside)}] [{step}]"
    contexts = analysed(text).contexts
    assert contexts.regions.method == "order types"
    readings = (
        read(contexts.query, [{"x": value} for value in chosen])
        for chosen in product(range(-3, 6), repeat=3)
    )
    assert words(contexts.regions, 3) == {word for word in readings if word is not None}


@few
@given(comparing(most_fields=3, lookback=3))
def test_every_stream_is_a_path(text: str) -> None:
    contexts = analysed(text).contexts
    events = events_of(meaning_of(wex.parse(text)), plain=False)[:7]
    regions = contexts.regions
    reached: dict[Word, set[int]] = {(): {0}}  # the regions after each word that was read

    def after(word: Word) -> set[int]:
        if word not in reached:
            steps = (step for region in after(word[:-1]) for step in regions.edges[region])
            reached[word] = {to for action, to in steps if action == word[-1]}
        return reached[word]

    for chosen in product(events, repeat=LENGTH):
        word = read(contexts.query, chosen)
        assert word is None or after(word)


@few
@given(comparing(most_fields=3, lookback=3), st.randoms(use_true_random=False))
def test_every_path_is_a_stream(text: str, chance: random.Random) -> None:
    contexts = analysed(text).contexts
    regions = contexts.regions

    def walk(region: int, length: int) -> list[Step]:
        path: list[Step] = []
        while len(path) < length and regions.edges[region]:
            path.append(chance.choice(regions.edges[region]))
            region = path[-1][1]
        return path

    main = walk(0, 12)
    branches = [walk(main[-1][1] if main else 0, 6) for _ in range(3)]
    found = regions.streams(main, branches)
    if not regions.exact:  # too many types: refined
        return
    assert found is not None
    for branch, tail in zip(branches, found[1], strict=True):
        events = [*found[0], *tail]
        assert read(contexts.query, events) == tuple(action for action, _ in [*main, *branch])
        for event in events:
            assert all(
                right_type(value, contexts.query.fields[name].name) for name, value in event.items()
            )


def right_type(value: Value, name: str) -> bool:
    return isinstance(value, {"real": Fraction, "int": int, "string": str}[name])


@few
@given(spec_texts())
def test_types_of_few_values(text: str) -> None:
    with mock.patch(CONTEXTS + "finite_regions", return_value=None):
        assert_same_words(text)


# --- Graphs of more and of fewer streams


@few
@given(comparing(lookback=3))
def test_streams_without_ties_have_all_words(text: str) -> None:
    with mock.patch("wex.analysis.regions.order_types.ties_matter", return_value=True):
        query = analysed(text).contexts.query
        tied = exact_regions(query)
    assert words(exact_regions(query), 3) == words(tied, 3)


@few
@given(comparing(lookback=3))
def test_graphs_enclose_the_words_of_streams(text: str) -> None:
    query = analysed(text).contexts.query
    exact = words(exact_regions(query), 3)
    for most in (1, 2, 3):
        some = order_regions(query, Budget(), most)
        assert some is not None
        assert words(some, 3) <= exact
    more = loose_regions(query, Budget())
    assert more is None or words(more, 3) >= exact


@few
@given(comparing())
def test_enclosed_verdicts_are_right(text: str) -> None:
    analysis = analysed(text)
    exact = {name: getattr(analysis, name) for name in ("open", "held", "overlap")}
    with (
        mock.patch(CONTEXTS + "order_regions", given_up),
        mock.patch("wex.analysis.verdicts.thorough_regions", side_effect=TooManyError),
    ):
        enclosed = analysed(text)
        for name, one in exact.items():
            two = getattr(enclosed, name)
            if two.verdict == "unbounded":
                assert one.verdict == "unbounded", name
                two.witness(5)
            elif two.verdict == "bounded":
                assert one.bound is not None, name
                assert one.bound == two.bound if two.exact else one.bound <= two.bound, name


@few
@given(comparing())
def test_enclosed_comparisons_are_right(text: str) -> None:
    exact = wex.is_empty(text)
    assert exact.holds is not None
    with (
        mock.patch(CONTEXTS + "order_regions", given_up),
        mock.patch("wex.analysis.compare.thorough_regions", side_effect=TooManyError),
    ):
        assert wex.is_empty(text).holds in (exact.holds, None)


def given_up(query: RegionQuery, budget: Budget, most: int | None = None) -> RegionGraph | None:
    """Return the graph of types with few values, and none of all types."""
    return None if most is None else order_regions(query, budget, most)


def exact_regions(query: RegionQuery) -> RegionGraph:
    """Return the graph of all types, built anew."""
    typed._TYPES.results = typed._GRAPHS.results = ()
    regions = order_regions(query, Budget())
    assert regions is not None
    return regions


# --- Verdicts


@few
@given(spec_texts())
def test_verdicts_with_few_values_agree_with_every_short_stream(text: str) -> None:
    with mock.patch(CONTEXTS + "finite_regions", return_value=None):
        compare(text, longest=4, decided=False)


@few
@given(comparing())
def test_verdicts_agree_with_short_streams(text: str) -> None:
    analysis = analysed(text)
    meaning = analysis.meaning
    most = most_open(meaning, events_of(meaning, plain=len(meaning.fields) == 1), 3)
    for answer in (analysis.open, analysis.held, analysis.overlap):
        assert answer.verdict != "unknown", answer.reason
        if answer.verdict == "unbounded":
            answer.witness(7)
        elif answer.exact:
            answer.witness(answer.bound or 0)
    if analysis.open.bound is not None:
        assert most <= analysis.open.bound


def most_open(meaning: wex.spec.Meaning, events: list[Event], longest: int) -> int:
    """Return how many starts are open at most in the streams of a length, by the definition."""
    opened: dict[tuple[int, ...], set[int]] = {}
    for word in product(range(len(events)), repeat=longest):
        stream = Stream((), [events[at] for at in word], list(word))
        if not conforms(meaning, stream):
            continue
        for window in Definition(meaning, 0, stream).windows():
            for size in range(window.start + 1, window.end + 2):
                opened.setdefault(word[:size], set()).add(window.start)
    return max(map(len, opened.values()), default=0)


def conforms(meaning: wex.spec.Meaning, stream: Stream) -> bool:
    try:
        Assumptions(meaning, unchecked=True).check(stream)
    except wex.DataError:
        return False
    return True


@few
@given(comparing(mixed=True))
def test_verdicts_agree_with_refinement(text: str) -> None:
    typed = analysed(text)
    with mock.patch(CONTEXTS + "order_regions", return_value=None):
        refined = analysed(text)
    for name in ("open", "held", "overlap"):
        one, two = getattr(typed, name), getattr(refined, name)
        assert one.verdict != "unknown", one.reason
        if two.verdict == "unknown" or not refined.contexts.regions.exact:
            continue
        assert str(one) == str(two), name
        if one.verdict == "unbounded":
            one.witness(5)
        elif one.exact:
            one.witness(one.bound or 0)


def test_columns_of_order_by_are_never_null() -> None:
    falls = "stream s (x bool, y int) order by x window w match any [y < y[-1]]"
    assert wex.is_empty(falls + "{2}").holds
    assert str(wex.check(falls + "+")["w"].overlap) == "1"
    assert wex.check(falls)["w"].open.witness(1)["x"].null_count == 0


def test_numbers_beyond_64_bits_are_no_witness() -> None:
    spec = "stream s (x int) window w match [x > 9223372036854775805] [x > x[-1]] [x > x[-1]]"
    assert wex.is_empty(spec).holds is None
    with pytest.raises(wex.WexError, match="no stream with 3 open starts was found"):
        wex.check(spec)["w"].open.witness(3)


def test_each_test_of_an_event_is_asked_once() -> None:
    """Classes are many, and name the same tests again and again: most of the time would go there."""
    text = "[is_first or y > 3] [x > x[-2] or y < 3] [y = y[-1]]+ [x > x[-1] and y[-1] < 3]"
    meaning = meaning_of(wex.parse(f"stream s (x int, y int) order by x window w match {text}"))
    query = Analysis(meaning, 0, Budget.current()).contexts.query
    for level, default in product(range(query.levels), [False, True]):
        tried = mock.Mock(return_value=default)
        query.action(level, tried)
        asked = [call.args for call in tried.call_args_list]
        assert asked
        assert len(asked) == len(set(asked))
