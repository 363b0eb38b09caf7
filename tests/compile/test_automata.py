"""`wex.automata` and the operations of `wex.KSLA`, against the definition of windows."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.small import FINITE, regexes
from tests.strategies.formulas import closed
from wex import KSLA, examples
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import meaning
from wex.spec.types import Type

Events = list[dict[str, str | bool]]
Windows = set[tuple[int, int]]

few = settings(max_examples=max(10, settings.default.max_examples // 4))  # type: ignore[union-attr]
streams = st.lists(
    st.fixed_dictionaries({"x": st.sampled_from("ab"), "ok": st.booleans()}), max_size=6
)
clauses = st.sampled_from(["", "unpadded", "unpadded lookback 2", "lookback 2"])
FIELDS: dict[str, Type] = dict(meaning(wex.parse(FINITE)).fields)


def by_definition(spec: wex.Spec, stream: Events) -> Windows:
    return Definition(meaning(spec), 0, Stream((), list(stream), [])).w0()


def by_automata(spec: wex.Spec, stream: Events) -> Windows:
    (pairs,) = wex.automata(spec).values()
    first = 0 if not spec.windows[0].unpadded else meaning(spec).lookbacks[0]
    windows: list[tuple[int, int]] = [
        (b, e)
        for pair in pairs
        for b in range(first, len(stream))
        if pair.prefix.accepts(stream[:b])
        for e in range(b, len(stream))
        if pair.window.accepts(stream[: e + 1], begin=b)
    ]
    assert len(windows) == len(set(windows))  # each is recognised once
    return set(windows)


@few
@given(regexes(finite=True), regexes(finite=True), clauses, streams)
def test_the_automata_of_pairs_have_the_windows_of_the_definition(
    after: str, match: str, clause: str, stream: Events
) -> None:
    spec = wex.parse(f"{FINITE} window w after {after} match {match} or match {after} {clause}")
    assert by_automata(spec, stream) == by_definition(spec, stream)


@few
@given(closed(), clauses, streams)
def test_the_automata_of_a_formula_have_the_windows_of_the_definition(
    formula: str, clause: str, stream: Events
) -> None:
    spec = wex.parse(f"{FINITE} window w where {formula} {clause}")
    assert by_automata(spec, stream) == by_definition(spec, stream)


def accepted(regex: str, k: int, stream: Events, *, pad: bool) -> bool:
    """Tell whether the definition accepts a word: `after` an expression, a window can start behind it."""
    clause = f"lookback {k} {'' if pad else 'unpadded'}"
    spec = wex.parse(f"{FINITE} window w after {regex} match any {clause}")
    behind: Events = [*stream, {"x": "a", "ok": True}]
    return (len(stream), len(stream)) in by_definition(spec, behind)


@few
@given(regexes(finite=True), regexes(finite=True), st.integers(2, 3), st.booleans(), streams)
def test_every_operation_is_that_of_expressions(
    first: str, second: str, k: int, pad: bool, stream: Events
) -> None:
    one, two = (KSLA.from_regex(regex, FIELDS, k, pad=pad) for regex in (first, second))
    try:
        results = {
            f"({first})": one,
            f"(({first}) | ({second}))": one | two,
            f"(({first}) & ({second}))": one & two,
            f"(({first}) ({second}))": one >> two,
            f"(~({first}))": one.complement(),
            f"(({first})*)": one.star(),
            f"(({first})+)": one.plus(),
            f"(({first})?)": one.optional(),
            f"(({first}){{2}})": one.times(2),
            f"(({first}){{1,2}})": one.times(1, 2),
            f"(({first}){{2,}})": one.at_least(2),
            f"((({first})))": (one | one).determinise(),
            f"(((({first}))))": (one | one).minimise(),
            f"((((({first})))))": one.clean(),
        }
    except wex.LimitError:
        assume(False)
    for regex, automaton in results.items():
        expected = accepted(regex, k, stream, pad=pad)
        assert automaton.accepts(stream) == (expected and len(stream) >= (0 if pad else k))
    assert one.determinise().is_deterministic
    assert one.minimise().states <= one.determinise().states


@few
@given(regexes(finite=True), regexes(finite=True), st.booleans(), streams)
def test_emptiness_and_inclusion_agree_with_words(
    first: str, second: str, pad: bool, stream: Events
) -> None:
    one, two = (KSLA.from_regex(regex, FIELDS, 2, pad=pad) for regex in (first, second))
    if one.accepts(stream):
        assert wex.is_empty(one).holds is False
    if one.accepts(stream) != two.accepts(stream):
        assert wex.equivalent(one, two).holds is False
    empty, included = wex.is_empty(one), wex.includes(one, one & two)
    assert included.holds is not False
    assert wex.equivalent(one, one.minimise()).holds is not False
    if empty.witness is not None:
        assert one.accepts(empty.witness.to_pylist())
    different = wex.equivalent(one, two)
    if different.witness is not None:
        word = different.witness.to_pylist()
        assert one.accepts(word) != two.accepts(word)


def test_a_language_may_be_empty_though_no_guard_is() -> None:
    contradiction = KSLA.from_regex("[x > x[-1]] [x[-1] < x[-2]]", {"x": "real"})
    assert contradiction.clean() == contradiction
    assert wex.is_empty(contradiction).holds is True
    assert wex.is_empty(contradiction.star()).witness.num_rows == 2  # type: ignore[union-attr]
    with pytest.raises(wex.WexError, match="cannot be compared"):
        wex.equivalent(contradiction, "stream s (x real) window w match any")
    with pytest.raises(wex.WexError, match="different grams"):
        wex.equivalent(contradiction, KSLA.from_regex("any", {"x": "real"}))


@pytest.mark.parametrize("name", [name for name in examples.names() if name != "unpaid"])
def test_every_example_has_automata_that_are_shown(name: str) -> None:
    spec = examples.spec(name)
    automata = wex.automata(spec)
    assert len(automata) == len(spec.windows)
    shown = str(automata)
    assert shown == str(wex.automata(spec))
    for window, pairs in automata.items():
        assert f"window {window}" in shown
        assert all(automaton.is_deterministic for pair in pairs for automaton in pair)


def test_two_pairs_with_different_windows_have_two_pairs_of_automata() -> None:
    text = "stream s (x int) window w after () match [x > 0] or after any match [x < 0]"
    pairs = wex.automata(text)["w"]
    assert [str(pair.window.to_regex()) for pair in pairs] == ["[x > 0]", "[x < 0]"]
    assert "2 states" in repr(pairs[0].prefix) or "1 state" in repr(pairs[0].prefix)
    assert wex.automata("stream s (x int) window w match [x > 0 and x < 0]")["w"] == ()


def test_predicates_with_aggregates_are_shown_and_have_no_automata() -> None:
    spec = "stream s (x int) window w match any [x > max(x)[-1]]+"
    assert "[x > max(x)[-1]] → " in str(wex.explain(spec))
    for refused in (
        lambda: wex.automata(spec),
        lambda: KSLA.from_regex("[x > max(x)[-1]]", {"x": "int"}),
        lambda: KSLA.from_guards({(0, 1): "x > max(x)"}, {1}, {"x": "int"}).accepts([{"x": 1}]),
    ):
        with pytest.raises(wex.WexError) as caught:
            refused()
        assert caught.value.code == "automaton-aggregate"


def test_explain_shows_small_automata_only() -> None:
    small = str(wex.explain("stream s (x int) let up = x > x[-1] window w match up{2}"))
    assert "window automaton: lookback 1, 3 states" in small
    assert "[up] → 1" in small
    assert "automaton:" not in str(wex.explain("stream s (x int) window w match [x > 0]{40}"))


def test_words_have_times_and_texts() -> None:
    later = KSLA.from_regex(
        "[t > t[-1] and d > date '2026-01-01']", {"t": "timestamp", "d": "date"}
    )
    day = datetime(2026, 1, 31)
    word = [{"t": day.replace(hour=hour), "d": day.date()} for hour in (1, 2)]
    assert later.accepts(word)
    assert not later.accepts(word[::-1])


def test_wrong_words_and_arguments_are_explained() -> None:
    rises = KSLA.from_regex("[x + x[-1] > 0]", {"x": "int"})
    for wrong, code in (
        (lambda: rises.accepts([{"x": 1}, {"y": 1}]), "missing-column"),
        (lambda: rises.accepts([{"x": 2**63 - 1}, {"x": 1}]), "arithmetic"),
        (lambda: rises.accepts([{"x": 1}], begin=0), "wrong-argument"),
        (lambda: KSLA.from_regex("[x > x[-2]]", {"x": "int"}, 1), "wrong-argument"),
        (lambda: KSLA.from_regex("[x > 1]", "x"), "wrong-argument"),  # type: ignore[arg-type]
        (lambda: KSLA.from_regex("[x > 1]", {1: "int"}), "wrong-argument"),  # type: ignore[dict-item]
        (lambda: KSLA.from_regex(1, {"x": "int"}), "wrong-argument"),  # type: ignore[arg-type]
        (lambda: KSLA.from_regex("[y > 0]", {"x": "int"}), "unknown-name"),
    ):
        with pytest.raises(wex.WexError) as caught:
            wrong()
        assert caught.value.code == code
    assert not rises.accepts([])
    assert not rises.accepts([{"x": 1}])
