"""Where the paper needs repair: one test for each of its points in docs/paper.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest

import wex
from tests.compile import letter_words
from wex.automata.dfa import DFA
from wex.compile.ksla import KSLA
from wex.compile.window import CompiledWindow
from wex.spec import meaning, tree
from wex.spec.types import INT, REAL, Type
from wex.stages import compile_window
from wex.theory.evaluate import Event, Gram, holds
from wex.theory.solver import model
from wex.theory.terms import And, Comparison, Constant, Field, Guard
from wex.theory.translate import guard_of

Pair = tuple[int, int]
Windows = set[Pair]

PAGE = Path(__file__).parents[1] / "docs" / "paper.md"
PRICES = [3, 2.5, 2, 3, 3.5, 3.2, 4, 4.5, 4.2, 3.9, 4.2]
NUMBERS = "stream s (x real) let D2 = x[-2] > x[-1] and x[-1] > x let U1 = x > x[-1] "
LETTERS = """
stream s (word int, at int, x enum('a', 'b', 'c')) partition by word order by at
let a = x = 'a'  let b = x = 'b'  let c = x = 'c'
"""


def numbers(window: str, values: Sequence[float]) -> Windows:
    """Return the windows of a stream of numbers."""
    found = wex.find(
        wex.parse(f"{NUMBERS} window w unpadded {window}"), {"x": [*map(float, values)]}
    )
    return set(zip(found["start_index"].to_pylist(), found["end_index"].to_pylist(), strict=True))


def letters(window: str, words: Sequence[str]) -> dict[str, Windows]:
    """Return the windows of streams of letters, all found in one table."""
    rows = [(at, place, x) for at, word in enumerate(words) for place, x in enumerate(word)]
    data = {name: [row[i] for row in rows] for i, name in enumerate(("word", "at", "x"))}
    windows: dict[str, Windows] = {word: set() for word in words}
    for row in wex.find(wex.parse(f"{LETTERS} window w unpadded {window}"), data).to_pylist():
        windows[words[row["word"]]].add((row["start_index"], row["end_index"]))
    return windows


def all_words(alphabet: str, longest: int) -> list[str]:
    """Return every word of 1 … longest letters."""
    return ["".join(each) for n in range(1, longest + 1) for each in product(alphabet, repeat=n)]


def most_sharing(windows: Windows) -> int:
    """Return how many windows share a position, at most: that many overlap, each with each."""
    ends = {position for pair in windows for position in pair}
    return max((sum(b <= at <= e for b, e in windows) for at in ends), default=0)


def compiled(stream: str, window: str) -> CompiledWindow:
    """Return a window over letters: its prefix automaton and its window automaton."""
    return compile_window(meaning(wex.parse(f"{stream} window w {window}")), 0)


def automaton(stream: str, regex: str, lookback: int = 0) -> KSLA:
    """Return the k-SLA of a regular expression."""
    found = meaning(wex.parse(f"{stream} window w match {regex}"))
    return KSLA.from_regex(found.expanded.windows[0].pairs[0].match, found.fields, lookback)


def predicate(stream: str, text: str) -> tree.Expr:
    """Return a predicate, its lets expanded."""
    found = meaning(wex.parse(f"{stream} window w match any until [{text}]"))
    until = found.expanded.windows[0].until
    assert until is not None
    return until.predicate


def events(values: Sequence[float | str]) -> list[Event]:
    return [{"x": value} for value in values]


# --- Section 2: automata


def test_a_run_has_one_step_per_gram() -> None:
    true = tree.Bool(True)
    two_grams = KSLA({"x": REAL}, 2, 3, frozenset({2}), {(0, 1): true, (1, 2): true})
    word = events([1, 2, 3, 4])
    n, k = len(word), two_grams.lookback
    assert two_grams.runs(word) == [{0}, {1}, {2}]  # q_0 … q_{n-k}
    assert two_grams.accepts(word)
    printed_end = two_grams.runs(word)[n - k - 1]
    assert two_grams.final.isdisjoint(printed_end)


def test_the_suffix_that_a_window_looks_back_on_has_length_k() -> None:
    k = 2
    window = automaton(NUMBERS, "[U1] [not D2]* [D2]", k)
    before, inside = events(PRICES[:3]), events(PRICES[3:10])
    assert len(window.runs(before[-k:] + inside)) == len(inside) + 1  # a step per event
    assert window.accepts(before[-k:] + inside)
    # One event more, and the window would begin an event too early, with a fall.
    assert len(window.runs(before[-k - 1 :] + inside)) == len(inside) + 2
    assert not window.accepts(before[-k - 1 :] + inside)


def test_star_is_zero_or_more() -> None:
    assert letters("after any* match [a]* [b]", ["aaab"])["aaab"] == {
        (0, 3),
        (1, 3),
        (2, 3),
        (3, 3),
    }
    assert letters("after any+ match [a]+ [b]", ["aaab"])["aaab"] == {(1, 3), (2, 3)}
    for k in range(3):
        rises = automaton(NUMBERS, "[x > 0]", k)
        nothing = rises.times(0, 0)
        assert rises.star().accepts(events([-1] * k))  # Σ^k, the empty sequence
        assert nothing.accepts(events([-1] * k))
        assert letter_words.difference(nothing.concatenation(rises), rises) is None
        assert letter_words.difference(rises.concatenation(nothing), rises) is None


def test_windows_begin_at_the_first_event() -> None:
    session = f"{NUMBERS} window w match [is_first or x - x[-1] > 30] [x - x[-1] <= 30]* until [x - x[-1] > 30]"
    data = {"x": [0.0, 10.0, 60.0, 70.0, 101.0]}
    assert wex.find(session, data)["start_index"].to_pylist() == [0, 2]
    assert wex.find(f"{session} unpadded", data)["start_index"].to_pylist() == [2]


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_window_may_start_at_position_k(k: int) -> None:
    values = [1, 2, 3, 4]
    every = {(at, at) for at in range(k, len(values))}
    assert numbers(f"after any* match any lookback {k}", values) == every
    assert numbers(f"where begin = end lookback {k}", values) == every
    # As printed, `after` reads k+1 events at least, and that is one gram.
    assert numbers(f"after any+ match any lookback {k}", values) == every - {(k, k)}


def test_determinisation_joins_guards_that_lead_to_the_same_states() -> None:
    true = tree.Bool(True)
    positive, small = predicate(NUMBERS, "x > 0"), predicate(NUMBERS, "x < 5")
    delta = {(0, 1): true, (0, 2): true, (1, 3): positive, (2, 3): small}
    forked = KSLA({"x": REAL}, 0, 4, frozenset({3}), delta)
    # From {1, 2}, three sets of transitions have the target {3}, with guards that exclude each other.
    printed = [
        tree.And((positive, tree.Not(small))),
        tree.And((tree.Not(positive), small)),
        tree.And((positive, small)),
    ]
    whole = forked.determinise()
    for value in (7, -1, 3):
        assert forked.accepts(events([0, value]))
        assert whole.accepts(events([0, value]))
        kept = [holds(guard_of(each, forked.fields), events([value])) for each in printed]
        assert sum(kept) == 1  # whichever of the three is kept, two of the values are lost


def test_union_concatenation_and_star_respect_the_initial_state_and_empty_parts() -> None:
    fields = meaning(wex.parse(LETTERS)).fields
    a, b = predicate(LETTERS, "a"), predicate(LETTERS, "b")
    many_a = KSLA(fields, 0, 1, frozenset({0}), {(0, 0): a})  # a*
    many_b = KSLA(fields, 0, 1, frozenset({0}), {(0, 0): b})
    one_a = KSLA(fields, 0, 2, frozenset({1}), {(0, 1): a})
    one_b = KSLA(fields, 0, 2, frozenset({1}), {(0, 1): b})
    swing = KSLA(fields, 0, 2, frozenset({1}), {(0, 1): a, (1, 0): b})  # a (b a)*
    # Union: with one initial state for both, a* leads back into it, and on to b.
    shared = KSLA(fields, 0, 2, frozenset({0, 1}), {(0, 0): a, (0, 1): b})
    assert shared.accepts(events("ab"))
    assert not many_a.union(one_b).accepts(events("ab"))
    # Concatenation: with the final states of the second part alone, `a b*` loses `a`.
    printed = KSLA(fields, 0, 3, frozenset({2}), {(0, 1): a, (1, 2): b, (2, 2): b})
    assert not printed.accepts(events("a"))
    assert one_a.concatenation(many_b).accepts(events("a"))
    # Star: an initial state that is made final, and is led back into, accepts too much.
    final_too = KSLA(fields, 0, 2, frozenset({0, 1}), {(0, 1): a, (1, 0): b, (1, 1): a})
    assert final_too.accepts(events("ab"))
    assert not swing.star().accepts(events("ab"))
    assert swing.star().accepts(events("aaba"))


def printed_concatenation(first: KSLA, second: KSLA) -> KSLA:
    """Return the automaton that the paper builds, state by state."""
    shift = first.states
    delta = {
        **first.delta,
        **{(a + shift, b + shift): guard for (a, b), guard in second.delta.items()},
        **{
            (a, b + shift): guard
            for (s, b), guard in second.delta.items()
            if s == 0
            for a in first.final
        },
    }
    final = frozenset(state + shift for state in second.final)
    return KSLA(first.fields, first.lookback, first.states + second.states, final, delta)


def test_the_printed_concatenation_fails_if_the_first_initial_state_is_final() -> None:
    fields = meaning(wex.parse(LETTERS)).fields
    a, b = predicate(LETTERS, "a"), predicate(LETTERS, "b")
    loop = KSLA(fields, 0, 1, frozenset({0}), {(0, 0): a})
    unfolded = KSLA(
        fields, 0, 2, frozenset({1}), {(0, 1): a, (1, 1): a}
    )  # without the empty sequence
    one_b = KSLA(fields, 0, 2, frozenset({1}), {(0, 1): b})
    words = all_words("abc", 4)
    # In the paper a word has one gram at least: of these, both accept a, aa, aaa and so on.
    assert all(loop.accepts(events(word)) == unfolded.accepts(events(word)) for word in words)
    accepted = {
        name: {word for word in words if printed_concatenation(first, one_b).accepts(events(word))}
        for name, first in (("loop", loop), ("unfolded", unfolded))
    }
    assert accepted["unfolded"] == {"ab", "aab", "aaab"}
    assert accepted["loop"] == {"b", "ab", "aab", "aaab"}  # `b` is no word of the two languages
    # Where an automaton with a final initial state accepts the empty sequence, `b` is right.
    assert loop.accepts([])
    assert {word for word in words if (loop >> one_b).accepts(events(word))} == accepted["loop"]


def test_complement_is_relative_to_all_sequences_of_grams() -> None:
    for k in range(3):
        nothing_before = numbers(f"after ~~() match any lookback {k}", [1, 2, 3, 4])
        assert nothing_before == {(k, k)}
        some = automaton(NUMBERS, "[x > 0]", k).star()
        twice = some.complement().complement()
        assert letter_words.difference(some, twice) is None
        assert twice.accepts(events([-1] * k))
        assert not some.complement().accepts(events([-1] * k))
        # Relative to the words of k+1 events or more, as in the paper: right for those words.
        positive = automaton(NUMBERS, "any+", k)
        printed = positive & (positive & some.complement()).complement()
        for word in product((-1, 1), repeat=k + 2):
            assert printed.accepts(events(word)) == some.accepts(events(word))
            assert printed.accepts(events(word[:-1])) == some.accepts(events(word[:-1]))
        assert not printed.accepts(
            events([-1] * k)
        )  # what a language with the empty one would lose


# --- Section 3: window expressions


def test_sets_and_positions_range_over_the_same() -> None:
    by_set = "where begin = end and (exists set X: begin - 1 in X) lookback 1"
    by_position = "where begin = end and (exists y: y = begin - 1) lookback 1"
    values = [1, 2, 3, 4]
    # Position 0 is before k: no position ranges over it, and no set contains it.
    assert numbers(by_set, values) == numbers(by_position, values) == {(2, 2), (3, 3)}


MARKED = "stream s (x enum('a', 'b', 'c'), B bool, E bool)"
MARKS = (False, True)
Steps = dict[tuple[int, str, bool, bool], int]  # state, event, is x_b here, is x_e here → state


@cache
def marked_automaton() -> tuple[Steps, frozenset[int]]:
    """Return a deterministic automaton over marked events: not c at x_b, b at x_e, x_b ≤ x_e.

    It is complete, as the paper's determinisation makes it: one of its states is dead.
    """
    plain = "[not B and not E]"
    apart = f"[B and not E and x != 'c'] {plain}* [E and not B and x = 'b']"
    s = automaton(MARKED, f"{plain}* ({apart} | [B and E and x = 'b'])").minimise()
    steps: Steps = {}
    for (source, target), guard in s.delta.items():
        for x, begin, end in product("abc", MARKS, MARKS):
            if holds(guard_of(guard, s.fields), [{"x": x, "B": begin, "E": end}]):
                assert (source, x, begin, end) not in steps
                steps[source, x, begin, end] = target
    return steps, s.final


def split(
    word: str,
    *,
    prefix_reads_begin: bool = False,
    misses_one_event: bool = False,
    any_target: bool = False,
) -> Windows:
    """Return the windows of the automaton split at x_b, with the mistakes of the printed split.

    PA reads the events before x_b without marks, up to some state q; WA goes on from q with the
    transition that has the mark x_b, and ends with one that has the mark x_e.
    """
    steps, final = marked_automaton()

    def unmarked(state: int, part: str) -> int:
        for x in part:
            state = steps[state, x, False, False]
        return state

    found = set()
    for b, e in combinations_with_replacement(range(len(word)), 2):
        cut = b - 1 if prefix_reads_begin else b
        if cut < 0 or (cut == e and misses_one_event):
            continue
        q = unmarked(0, word[:cut])
        p = steps[q, word[cut], True, cut == e]
        if cut < e:
            p = steps[unmarked(p, word[cut + 1 : e]), word[e], False, True]
        if any_target or p in final:
            found.add((b, e))
    return found


def test_a_formula_is_split_at_the_source_of_begin() -> None:
    words = all_words("abc", 5)
    formula = letters("where [x != 'c'](begin) and b(end)", words)
    assert letters("after any* match [x != 'c'] any* b | b", words) == formula
    assert {word: split(word) for word in words} == formula
    # If PA reads the event at x_b, windows start one event late, and never at position k.
    assert formula["acb"] == {(0, 2), (2, 2)}
    assert split("acb", prefix_reads_begin=True) == {(1, 2)}
    # If t_b and t_e are always two transitions, the case x_b = x_e is missed.
    assert formula["b"] == {(0, 0)}
    assert split("b", misses_one_event=True) == set()
    # If t_e ends a window wherever it leads, it does so on the way to the dead state, too.
    assert formula["cc"] == set()
    assert split("cc", any_target=True) == {(0, 0), (0, 1), (1, 1)}


# --- Section 3.1: examples


def test_the_examples_of_the_paper() -> None:
    # Trend: it starts at 3, the first rise, and not at 2, as the figure has it.
    trend = "after any* [D2] match [U1] [not D2]* [D2]"
    assert numbers(trend, PRICES) == {(3, 9)}
    # Concatenated by ·_3, words of three events are laid on top of each other: U1 and D2 at once.
    fields = meaning(wex.parse(NUMBERS)).fields
    assert model(guard_of(predicate(NUMBERS, "U1 and D2"), fields), fields, 2) is None
    # Sliding windows of five events end at x_s + 4, and "even" is said by a set.
    slide = {(0, 4), (2, 6), (4, 8), (6, 10)}
    even = "exists set X: begin in X and forall y: y in X iff y - 1 not in X"
    assert numbers("after (any any)* match any{5}", range(12)) == slide
    assert numbers(f"where end = begin + 4 and {even}", range(12)) == slide
    assert all(e - b + 1 == 6 for b, e in numbers(f"where end = begin + 5 and {even}", range(12)))
    # Arrhythmia: windows of one event, one after the peak; `>` is not the `>=` of the words.
    peak = "after any* match [x[-1] > x[-2] and x[-1] > x and x[-1] > 4]"
    in_words = peak.replace(">", ">=")
    assert numbers(peak, [1, 5, 2, 6, 3]) == {(2, 2), (4, 4)}
    assert numbers(peak, [1, 5, 5]) == set()
    assert numbers(in_words, [1, 5, 5]) == {(2, 2)}


# --- Section 4: overlap


def test_one_start_can_have_endlessly_many_windows() -> None:
    for n in range(1, 10):
        windows = numbers("after () match any+", [1] * n)
        assert {b for b, _ in windows} == {0}  # one start
        assert most_sharing(windows) == n


def test_a_path_of_satisfiable_guards_may_contradict_itself() -> None:
    window = "match [U1] any* [U1] [x[-1] < x[-2]]"
    form = compiled(NUMBERS, window).form
    assert form.window.live[form.starts[0]]  # no guard on the path to a final state is ⊥
    # Yet what comes last looks back on the rise, and takes it for a fall.
    fields = meaning(wex.parse(NUMBERS)).fields
    for guard, possible in (
        ("U1", True),
        ("x[-1] < x[-2]", True),
        ("U1[-1] and x[-1] < x[-2]", False),
    ):
        found = model(guard_of(predicate(NUMBERS, guard), fields), fields, 2)
        assert (found is not None) == possible
    assert all(numbers(window, values) == set() for values in product(range(3), repeat=5))
    # A path may also leave the input specifier.
    falling, rise = automaton(NUMBERS, "[not U1]*", 1), automaton(NUMBERS, "any* [U1]", 1)
    assert letter_words.shortest(rise) is not None
    assert letter_words.shortest(falling.intersection(rise)) is None


def test_repeated_transitions_do_not_repeat_over_a_finite_alphabet() -> None:
    g = "let g = (x[-1] = 'a' and x = 'b') or (x[-1] = 'b' and x = 'c')"
    stream = f"{LETTERS} {g}"
    # The five conditions hold for w1 = aa, w2 = b, w3 = c: PA and S are `any*`, one state each.
    wa = automaton(stream, "[g]+", 1)
    (q,) = wa.final
    assert wa.runs(events("ab")) == [{0}, {q}]  # w1[:k] w2 leads from the initial state to q,
    looped = KSLA(wa.fields, 1, 1, frozenset({0}), {(0, 0): wa.guard(q, q)})
    assert looped.runs(events("ab")) == [{0}, {0}]  # from q to q,
    assert looped.runs(events("bc")) == [{0}, {0}]  # and w3 too, by the same transition.
    # Yet b is followed by c and c by nothing: no stream has more than two. By 0-delay, the windows
    # of shorter streams are among those of the longer ones.
    words = ["".join(each) for each in product("abc", repeat=7)]
    overlaps = [most_sharing(each) for each in letters(f"match [g]+ {g}", words).values()]
    assert max(overlaps) == 2


def test_repeated_transitions_do_not_repeat_over_a_dense_order() -> None:
    moves = "let level = x = x[-1] let down = x < x[-1]"
    g1 = "[(U1[-1] and U1) or (level[-1] and down)]"
    g2 = "[(U1[-1] and level) or (down[-1] and down)]"
    window = f"match ({g1} {g2})+ unpadded {moves}"
    wa = automaton(f"{NUMBERS} {moves}", f"({g1} {g2})+", 2)
    w1, w2, w3 = [0, 0, 1], [2, 2], [1, 0]

    def windows_of(values: Sequence[float]) -> Windows:
        found = wex.find(f"{NUMBERS} window w {window}", {"x": [*map(float, values)]})
        return set(
            zip(found["start_index"].to_pylist(), found["end_index"].to_pylist(), strict=True)
        )

    (q,) = wa.final
    # PA and S are `any*`. w1[:k] w2 leads from the initial state to q, and w3 from q to q.
    assert wa.runs(events(w1[-2:] + w2 + w3)) == [{0}, {1}, {q}, {1}, {q}]
    # w1[:k] w2 leads from q to q, too, along the transitions that w3 takes.
    looped = {(0, 1): wa.guard(q, 1), (1, 0): wa.guard(1, q)}
    from_q = KSLA(wa.fields, 2, 2, frozenset({0}), looped)
    assert from_q.runs(events(w1[-2:] + w2)) == from_q.runs(events(w2 + w3)) == [{0}, {1}, {0}]
    # Yet g1 g2 leads from a rise to a level, from there to a fall, and from there nowhere.
    assert all(most_sharing(windows_of(values)) <= 2 for values in product(range(3), repeat=6))
    assert most_sharing(windows_of([*w1, *w2, *w3])) == 2
    overlap = wex.check(f"{NUMBERS} window w {window}")["w"].overlap
    assert (overlap.bound, overlap.exact) == (2, True)


def test_completion_needs_complete_types() -> None:
    def less(one: str, two: str, type_: Type) -> Guard:
        return Comparison("<", Field(one, 0, type_), Field(two, 0, type_))

    def extended(guards: Sequence[Guard], type_: Type, **values: int) -> Gram | None:
        fixed = [
            Comparison("=", Field(name, 0, type_), Constant(value))
            for name, value in values.items()
        ]
        return model(And((*guards, *fixed)), dict.fromkeys("xyz", type_), 0)

    between = [less("x", "z", REAL), less("z", "y", REAL)]
    assert extended(between, REAL) is not None  # Φ is satisfiable,
    # x = 2, y = 1 satisfies all formulas of Φ about x and y, as there are none,
    assert extended([], REAL, x=2, y=1) is not None
    assert extended(between, REAL, x=2, y=1) is None  # and it cannot be extended.
    # A complete type says x < y, too. What satisfies that much can be extended in a dense order,
    complete = [less("x", "y", REAL), *between]
    assert extended(complete[:1], REAL, x=2, y=1) is None
    assert extended(complete, REAL, x=1, y=2) is not None
    # and among the integers it cannot.
    whole = [less("x", "y", INT), less("x", "z", INT), less("z", "y", INT)]
    assert extended(whole[:1], INT, x=1, y=2) is not None
    assert extended(whole, INT, x=1, y=2) is None


# --- Section 5: the processor


@dataclass(frozen=True)
class Iteration:
    """What Algorithm 1 knows at the end of an iteration, and what it wrote during it."""

    output: Windows
    starts: dict[int, frozenset[int]]  # WindowStartIndices
    x_min: int | None
    panes: int


def algorithm_1(window: CompiledWindow, word: str) -> Iterator[Iteration]:
    """Run Algorithm 1 as printed, for lookback 0 and one pair."""
    prefix, wa = window.form.prefix, window.form.window
    state, x = 0, -1
    starts: dict[int, set[int]] = {}
    panes: list[list[int | None]] = [[0, -1]]  # first and last event; the last pane is still open
    for letter in letters_of(window, word):
        output, new_pane = set(), False
        if prefix.final[state]:
            starts.setdefault(int(window.form.starts[state]), set()).add(x + 1)
            new_pane = True
        for q in [q for q, found in starts.items() if wa.final[q] and found]:
            output |= {(start, x) for start in starts[q]}
            new_pane = True
        starts = {q: found for q, found in starts.items() if wa.live[q]}
        if new_pane:
            panes[-1][1] = x
            panes.append([x + 1, None])
        x_min = min((start for found in starts.values() for start in found), default=None)
        panes = [pane for pane in panes if x_min is None or pane[1] is None or pane[1] >= x_min]
        state = prefix.step(state, letter)
        starts = moved(wa, starts, letter)
        x += 1
        now = {q: frozenset(found) for q, found in starts.items()}
        yield Iteration(output, now, x_min, len(panes))


def moved(wa: DFA, starts: dict[int, set[int]], letter: int) -> dict[int, set[int]]:
    after: dict[int, set[int]] = {}
    for q, found in starts.items():
        after.setdefault(wa.step(q, letter), set()).update(found)
    return after


def letters_of(window: CompiledWindow, word: str) -> list[int]:
    guards = window.letters.guards
    return [
        window.letters.letter([holds(each, [event]) for each in guards]) for event in events(word)
    ]


def open_starts(window: CompiledWindow, word: str) -> list[set[int]]:
    """Return for each position the starts whose run can still end in a window, or does so there."""
    read = letters_of(window, word)
    prefix, wa = window.form.prefix, window.form.window
    found: list[set[int]] = [set() for _ in word]
    for start in range(len(word)):
        before = prefix.run(read[:start])
        if prefix.final[before]:
            for at in range(start, len(word)):
                after = wa.run(read[start : at + 1], int(window.form.starts[before]))
                if wa.live[after]:
                    found[at].add(start)
    return found


def test_few_open_starts_can_have_many_panes() -> None:
    window = compiled(LETTERS, "match b a* b | a")
    most = max(len(each) for word in all_words("abc", 6) for each in open_starts(window, word))
    assert most == 2
    for n in (5, 50):
        word = "b" + "a" * n
        *_, last = algorithm_1(window, word)
        assert last.panes == n + 1  # all are kept, as the first start is still open
        # Only an open start needs a pane that begins with it: the others are merged.
        assert open_starts(window, word)[-1] == {0, n}


def test_algorithm_1_reports_late_and_misses_corners() -> None:
    # It reports on the next event, and so never the windows that end with the last one.
    window = "after any* match [a]* [b]"
    run = list(algorithm_1(compiled(LETTERS, window), "aaabc"))
    found = letters(window, ["aaab"])["aaab"]
    assert found == {(0, 3), (1, 3), (2, 3), (3, 3)}
    assert all(each.output == set() for each in run[:4])
    assert run[4].output == found
    # A final initial state reports windows that end before they begin.
    nullable = "after any* match [a]*"
    run = list(algorithm_1(compiled(LETTERS, nullable), "ab"))
    assert (0, -1) in run[0].output
    assert letters(nullable, ["ab"])["ab"] == {(0, 0)}
    # There may be no start to take the minimum of.
    run = list(algorithm_1(compiled(LETTERS, "after any* [a] match [b]"), "cab"))
    assert [each.x_min for each in run] == [None, None, 2]
    # A start that died is held until the next event comes.
    dying = compiled(LETTERS, "after () match [a] [a]")
    run = list(algorithm_1(dying, "bb"))
    held = [{q for q, found in each.starts.items() if found} for each in run]
    assert held[0]
    assert not any(dying.form.window.live[q] for q in held[0])
    assert open_starts(dying, "bb") == [set(), set()]
    assert held[1] == set()


def test_the_corollary_needs_the_lookback() -> None:
    k, n = 2, len(PRICES)
    before = automaton(NUMBERS, "any* [D2]", k)
    window = automaton(NUMBERS, "[U1] [not D2]* [D2]", k)
    w = events(PRICES)

    def recognised(lookback: int) -> Windows:
        return {
            (x + 1, y)
            for x in range(k - 1, n)
            for y in range(x + 1, n)
            if before.accepts(w[: x + 1]) and window.accepts(w[x + 1 - lookback : y + 1])
        }

    assert recognised(k) == {(3, 9)} == numbers("after any* [D2] match [U1] [not D2]* [D2]", PRICES)
    assert recognised(0) == set()  # without its lookback the first rise is not seen


# --- The page


def test_the_page_names_every_test_once() -> None:
    named = re.findall(r"`(test_[a-z]\w+)`", PAGE.read_text("utf-8"))
    here = {name for name in globals() if name.startswith("test_")}
    assert sorted(named) == sorted(here - {"test_the_page_names_every_test_once"})
