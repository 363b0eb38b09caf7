"""The least form: the same windows as by the definition, and no start held that no stream lets end."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import accumulate
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.analysis.small import spec_texts as small_specs
from tests.analysis.test_types import comparing
from tests.strategies import fewer
from wex.analysis.answers import Verdict
from wex.analysis.least_form import in_time, pruned_window
from wex.analysis.pruning import Vain
from wex.analysis.regions.graph import Budget
from wex.analysis.regions.query import RegionQuery
from wex.analysis.verdicts import Analysis
from wex.reference.find import find_by_definition
from wex.spec import meaning
from wex.stages import compile_window, is_pruned, plan_of

STREAM = "stream s (x int, y real, b bool) let up = x > x[-1] window w "
PREDICATES = [
    "b", "not b", "b[-1]", "not b[-2]", "b and b[-1]", "b[-1] and not b[-2]", "x > 1", "x[-1] > 1", "x = 2",
    "x[-1] = 2", "x < x[-1]", "x[-1] < x[-2]", "x > x[-2]", "y > 0.5", "y[-1] < 0.25", "y > x", "is_first",
    "x + 1 > x[-1]", "y is null", "y > y[-1]", "y[-1] = y[-2]", "x[-1] % 3 = 2",
]  # fmt: skip
OWN = ["count() <= 2", "x >= first(x)", "x > max(x)[-1]", "some(b)", "y = last(y)[-1]"]
CLAUSES = [
    "", "", "", "until [b]", "until [x[-1] > 1] or end", "keep shortest", "keep longest", "keep disjoint",
    "within 3 events", "within 2 events", "within 4 events until [b[-1]]", "within 4 events keep shortest",
    "unpadded", "having n < 4 measure count() as n",
    "keep leftmost", "keep leftmost sharing 1 event", "until [not b[-1]] keep leftmost", "within 3 events keep leftmost",
    "within 3 events keep preferred", "until [b[-1] and b] within 4 events keep preferred",
    "within 4 events keep disjoint", "until [b[-1]] within 5 events keep longest",
    "keep preferred", "until [b] keep preferred", "until [x[-1] > 1] or end keep preferred",
    "having n < 4 measure count() as n keep preferred", "unpadded keep preferred",
]  # fmt: skip
ASSUMED = ["", "", "[b]* [not b]*", "([b] [not b])*", "[x >= x[-1]]*", "[b]* unchecked"]


def expressions(atoms: list[str]) -> st.SearchStrategy[str]:
    predicates = st.sampled_from([f"[{text}]" for text in atoms] + ["any"])
    return st.recursive(
        predicates,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(" ".join),
            st.tuples(inner, inner).map(lambda two: f"({two[0]} | {two[1]})"),
            inner.map(lambda one: f"({one})*"),
            inner.map(lambda one: f"any* {one}"),
        ),
        max_leaves=5,
    )


@st.composite
def spec_texts(draw: st.DrawFn) -> str:
    """Draw a spec; its predicates look back, and some have aggregates."""
    assumed = draw(st.sampled_from(ASSUMED))
    text = ""
    if assumed:
        text = f"assume {assumed} "
    after = f"after {draw(expressions(PREDICATES))} " if draw(st.booleans()) else ""
    atoms = PREDICATES + (OWN if draw(st.integers(0, 3)) == 0 else [])
    window = f"{after}match {draw(expressions(atoms))} {draw(st.sampled_from(CLAUSES))}"
    return f"stream s (x int, y real, b bool) {text}window w {window}"


events = st.tuples(
    st.integers(0, 3), st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, None]), st.booleans()
)


def rows(table: object) -> list[tuple[int, int]]:
    return sorted((row["start_index"], row["end_index"]) for row in table.to_pylist())  # type: ignore[attr-defined]


@fewer(6)
@given(spec_texts(), st.lists(st.lists(events, max_size=8), min_size=8, max_size=8))
def test_no_window_is_lost(text: str, streams: list[list[tuple[int, float, bool]]]) -> None:
    try:
        spec = wex.parse(text)
    except wex.SpecError:  # such as an empty word in `match`
        assume(False)
    assume(is_pruned(meaning(spec), 0))
    for stream in streams:
        data = {name: [event[at] for event in stream] for at, name in enumerate(("x", "y", "b"))}
        results = []
        for find in (find_by_definition, wex.find):
            try:
                results.append(rows(find(spec, data)))
            except wex.DataError as error:  # an assumption is violated
                results.append(error.code)  # type: ignore[arg-type]
        assert results[0] == results[1]


@pytest.mark.parametrize(
    "window",
    [
        "match [up] any* [up] [x[-1] < x[-2]]",  # neighbouring letters contradict each other
        "match [x > 0] any* [x < 0] [x > 5 and x[-1] > 3]",
        "match b any* [not b[-1]] [b[-2]]",  # seen when the event is past
        "match b [b[-1]] any* [x[-1] > 3 and b] [x[-2] < 3]",
        "match [up] any* [up] [x[-1] < x[-2]] keep preferred",
        "match [up] any* [up] [x[-1] < x[-2]] keep leftmost",
        "match b any*? [not b[-1]] [b[-2]] until [x > 0] or end keep leftmost",
        "match [up and x > max(x)[-1]] any* [up] [x[-1] < x[-2]]",  # whatever aggregates say
        "match [count() <= 3]* any* [up] [x[-1] < x[-2] and x > first(x)] until [x > max(x)]",
        "match any* [b and count() > 2] [not b[-1]] keep leftmost",
        "match any{3} within 2 events",
        "match any{3} within 2 events keep preferred",
        "match any{2,3} having n > 3 measure count() as n",
    ],
)
def test_nothing_is_held_for_a_window_that_never_ends(window: str) -> None:
    spec = STREAM + window
    assert wex.check(spec)["w"].held.bound == 0
    processor = wex.Processor(spec)
    for n in range(12):
        processor.feed({"x": [n % 5], "y": [0.0], "b": [n % 3 > 0]})
        assert processor.held() == 0


# Events, and the starts that are held after them. Letters alone do not show what a start lacks.
SHOWN: dict[str, tuple[list[int | None], list[int]]] = {
    "match any [x[-1] > 3]": ([1, 5, 2], [0, 1, 0]),
    "match any [x[-1] > 3] keep preferred": ([1, 5, 2], [0, 1, 0]),
    "match any [x[-1] > 3 and count() = 2]": ([1, 5, 2], [0, 1, 0]),
    "match any [x[-1] % 3 = 2]": ([1, 5, 2], [0, 1, 1]),
    "match any [x[-1] > 3] | [x is null]": ([1, 5, None, 2], [0, 1, 0, 0]),
    "match any [x[-1] > x[-2]] any": ([3, 1, 2, 0], [0, 0, 1, 1]),
    "match [x[-2] != 1] [x[-2] != 1]": ([1, 0, 2, 1, 2, 2, 0], [0, 0, 0, 1, 0, 0, 1]),
    # The first alternative is preferred, but no stream has it: the second one is decided at once.
    "match [x > 3] [x[-1] < 2] | [x > 3] keep preferred": ([5, 1, 7], [0, 0, 0]),
    "match [x > 3] [x[-1] < 2] | [x > 3]": ([5, 1, 7], [0, 0, 0]),
    "match [x > 3] ([x[-1] < 2] | [x = 0]) keep leftmost": ([5, 1, 7, 0], [1, 0, 1, 0]),
    # After a 0 one event is enough, after any other two of the three are needed.
    "match [x = 1] any* [x = 2 and x[-1] = 0] within 3 events": ([1, 1, 0, 3, 1, 3], [1, 1, 1, 0, 1, 0]),
    "match [x = 1] any* [x = 2 and x[-1] = 0] within 3 events keep preferred": ([1, 1, 0, 3, 1, 3], [1, 1, 1, 0, 1, 0]),
    "match [x > 0] any* [x[-1] = 0] within 3 events": ([1, 1, 1, 0, 2], [1, 1, 1, 1, 1]),
    # The event before a window may be looked back at, too.
    "match any any* [x[-2] = 0] within 2 events": ([0, 3, 0, 3, 3], [0, 1, 0, 1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("window", SHOWN)
def test_a_start_is_held_only_while_it_can_end(window: str) -> None:
    processor = wex.Processor(f"stream s (x int) window w {window}")
    values, held = SHOWN[window]
    found = []
    for value in values:
        processor.feed({"x": [value]})
        found.append(processor.held())
    assert found == held


def test_lengths_that_having_allows_end_starts() -> None:
    text = "stream s (x int) window w match any+ measure count() as n{} having n < 4"
    assert wex.check(text.format(""))["w"].held.bound == 3
    # A sum that leaves 64 bits is an error, also in windows that `having` drops.
    failing = wex.parse(text.format(", sum(x) as total"))
    assert not is_pruned(meaning(failing), 0)
    data = {"x": [2**62] * 4 + [-(2**62)] * 4}
    for find in (find_by_definition, wex.find):
        with pytest.raises(wex.DataError):
            find(failing, data)


def test_counting_events_pays_only_if_states_do_not_multiply() -> None:
    """The engine counts the events of these starts; that takes no states."""
    spec = wex.parse("stream s (b bool) window w match [b] any* [not b] [b] within 5 events")
    assert not is_pruned(meaning(spec), 0)
    (report,) = wex.check(spec)
    assert (report.open.bound, report.held.bound) == (4, 4)


any_spec = st.one_of(
    small_specs(),
    small_specs(preference=True),
    small_specs(running=True),
    comparing(lookback=3),
    spec_texts(),
)


@fewer(3)
@given(any_spec)
def test_no_start_is_held_in_vain(text: str) -> None:
    """By the region graph of the analysis, from every place of a held start a window can be reached."""
    analysis = exact_analysis(text)
    clauses = analysis.window.clauses
    assume(not clauses.having)
    starts = analysis.held_starts
    if starts.held <= starts.alive:
        return
    pruned, vain = pruned_window(compile_window(analysis.meaning, 0), by_preference=clauses.prefers)
    _, late = in_time(pruned, by_preference=clauses.prefers)
    assert late or vain is not Vain.NEVER, "only too large a plan may hold such starts"


@fewer(3)
@given(st.one_of(small_specs(), comparing(lookback=3)))
def test_as_many_starts_are_held_as_are_open(text: str) -> None:
    """Where every start is reported that ends."""
    analysis = exact_analysis(text)
    clauses = analysis.window.clauses
    assume(clauses.keep in ("all", "shortest", "longest", "disjoint"))
    assert analysis.open.exact or analysis.open.bound is None
    assert analysis.held.bound == analysis.open.bound


def exact_analysis(text: str) -> Analysis:
    """Return the analysis of a spec whose regions are exact, and sure at run time."""
    try:
        spec = wex.parse(text)
    except wex.SpecError:
        assume(False)
    assume(not any(one.unchecked for one in spec.assumes))
    analysis = Analysis(meaning(spec), 0, Budget())
    assume(analysis.contexts.regions.exact)
    assume(not analysis.contexts.query.digits)  # a plan has no guards that name them
    return analysis


def test_starts_that_can_end_are_still_held() -> None:
    """Only those of the second alternative are in vain."""
    text = STREAM + "match [b and x > 0] any* [x = 1] | [not b] any* [not b[-1]] [b[-2]]"
    processor = wex.Processor(text)
    processor.feed({"x": [1, 1, 2, 3], "y": [0.0] * 4, "b": [True, False, False, True]})
    assert processor.held() == 2


CLOCK = "stream s (ts timestamp, n int, b bool) order by ts window w match "
MORNING, NIGHT = "2026-01-05 03:30:00", "2026-01-05 23:30:00"  # a Monday
CONTRADICTIONS = [
    "[hour(ts) < 5] [hour(ts[-1]) > 6]",
    "[hour(ts) < 5] any* [b and hour(ts) = 3 and ts[-1] > ts[-2]] [hour(ts[-1]) = 4]",
    "[weekday(ts) = 1] [weekday(ts[-1]) = 2]",
    "[hour(ts) = hour(ts[-1])] [hour(ts[-1]) > hour(ts[-2])]",
    "[floor(ts, 1 day) = floor(ts[-1], 1 day)] [floor(ts[-1], 1 day) != floor(ts[-2], 1 day)]",
    "[hour(ts) = 3] [hour(ts) = 2 and floor(ts, 1 day) = floor(ts[-1], 1 day)]",  # by the order
    "[hour(ts) < 5 and ts - ts[-1] < 1 hour] [hour(ts[-1]) > 6]",
    "[hour(ts, 'Europe/Berlin') < 5] [hour(ts[-1], 'Europe/Berlin') > 6]",
    "[month(ts) < 5] [month(ts[-1]) > 6]",
    "[hour(ts) < n] [hour(ts[-1]) > n[-1]]",
    "[n % 2 = 0 and n + 1 > n[-1]] [n[-1] % 2 = 1]",
]


@pytest.mark.parametrize("match", CONTRADICTIONS)
def test_nothing_is_held_that_the_clock_excludes(match: str) -> None:
    """Without a solver: each value of the clock is a field of its own, and any may follow any other."""
    plan = plan_of(CLOCK + match)
    (window,) = plan.windows
    assert (window.starts == -1).all(), "no start ever begins"


def test_as_many_starts_are_held_as_are_open_by_the_clock() -> None:
    """The analysis asks the solver about the time itself."""
    report = wex.check(CLOCK + CONTRADICTIONS[0])["w"]
    assert (report.open.bound, report.held.bound) == (0, 0)
    (saving,) = wex.optimise(CLOCK + CONTRADICTIONS[0])
    assert (saving.before.bound, saving.proved is not None) == (1, True)


def test_starts_are_held_only_at_times_that_can_end() -> None:
    times = [MORNING, NIGHT, MORNING.replace("05", "06", 1), NIGHT.replace("05", "06", 1)]
    for match, expected in {
        "any [hour(ts[-1]) > 6]": [0, 1, 0, 1],
        "any [weekday(ts[-1]) > 1]": [0, 0, 1, 1],
        "[hour(ts) < 5] any* [hour(ts) < 5 and hour(ts[-1]) > 6] within 2 events": [0, 0, 0, 0],
        # An hour that is added to a number is left free.
        "any [hour(ts[-1]) + n > 4 and hour(ts[-1]) > 6]": [0, 1, 0, 1],
    }.items():
        processor = wex.Processor(CLOCK + match)
        held = []
        for at in times:
            ts = pa.array([datetime.fromisoformat(at)], pa.timestamp("us"))
            processor.feed(pa.table({"ts": ts, "n": [1], "b": [True]}))
            held.append(processor.held())
        assert held == expected, match


def test_a_plan_takes_few_steps_where_many_parts_of_events_are_asked_for() -> None:
    """Each is a field of its own, and any value may follow any other: events are too many to try all."""
    parts = [
        "hour(ts)",
        "minute(ts)",
        "second(ts)",
        "weekday(ts)",
        "month(ts)",
        "day(ts)",
        "year(ts)",
    ]
    asked = [
        f"{part} in (3, 5)" for part in [*parts, *(f"n % {number}" for number in range(6, 11))]
    ]
    before = " or ".join(asked).replace("ts", "ts[-1]").replace("n %", "n[-1] %")
    with mock.patch.object(
        RegionQuery, "action", autospec=True, side_effect=RegionQuery.action
    ) as tried:
        plan_of(f"{CLOCK} [b] any* [{before}]")
    assert 0 < tried.call_count < 100_000


CLOCK_PREDICATES = [
    "hour(ts) < 5", "hour(ts[-1]) > 6", "hour(ts[-1]) < 5", "hour(ts) > hour(ts[-1])", "hour(ts[-1]) > hour(ts[-2])",
    "minute(ts) = 30", "minute(ts[-1]) != 30", "weekday(ts[-1]) > 2", "floor(ts, 1 day) = floor(ts[-1], 1 day)",
    "floor(ts[-1], 1 day) > floor(ts[-2], 1 day)", "month(ts[-1]) = 2", "ts[-1] > ts[-2]", "ts - ts[-1] < 2 hours",
    "hour(ts) < n", "hour(ts[-1]) + n > 5", "n % 3 = 1", "n[-1] % 3 = 1", "n[-1] % 2 = 0", "n is null", "b", "b[-1]",
]  # fmt: skip
hours = st.lists(
    st.tuples(
        st.sampled_from([0, 30, 60, 300, 720, 1440]),
        st.sampled_from([None, 0, 1, 2]),
        st.booleans(),
    ),
    max_size=7,
)


@fewer(12)
@given(
    expressions(CLOCK_PREDICATES), st.sampled_from(CLAUSES), st.lists(hours, min_size=5, max_size=5)
)
def test_no_window_is_lost_by_the_clock(
    match: str, clauses: str, streams: list[list[tuple[int, int | None, bool]]]
) -> None:
    try:
        spec = wex.parse(CLOCK + match + " " + clauses.replace("x[-1]", "n[-1]"))
    except wex.SpecError:
        assume(False)
    assume(is_pruned(meaning(spec), 0))
    for stream in streams:
        later = accumulate(minutes for minutes, _, _ in stream)
        times = [datetime(2026, 1, 31, 21) + timedelta(minutes=by) for by in later]
        data = pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us")),
                "n": pa.array([n for _, n, _ in stream], pa.int64()),
                "b": pa.array([b for _, _, b in stream], pa.bool_()),
            }
        )
        results: list[object] = []
        for find in (find_by_definition, wex.find):
            try:
                results.append(rows(find(spec, data)))
            except wex.DataError as error:  # an unexpected NULL
                results.append(error.code)
        assert results[0] == results[1]


ROUNDED = {
    "(y real) window w match any* [y = 0.1] [y[-1] = 0.10000000000000000001]": [0.1, 0.1],
    "(y int) window w match any+ [y = 5 and y[-1] = 0.99999999999999999999]": [1, 1, 5],
    "(y int) assume [y >= 1.00000000000000000001 and y <= 3]* window w match any+ [y > y[-1] and y[-1] = 1]": [1, 1, 2],
    "(y int) window w match [y > 0] any* [y = 5 and not y[-1] > 9007199254740991.6 and y[-1] >= 9007199254740992]":
        [2**53, 2**53, 5],
    "(y real) window w match any [is_first] | [y >= 0.10000000000000000000001] any* "
    "[y = 5 and y[-1] >= 0.10000000000000000000001 and -y[-1] >= -0.1]": [0.1, 0.1, 5.0],
    "(y real) window w match any [is_first] | [y >= 1e-300 * 1e-300] any* [y = 5 and y[-1] >= 1e-300 * 1e-300 and -y[-1] >= 1e-300 * 1e-300]":
        [0.0, 0.0, 5.0],
    "(y real) window w match any [is_first] | any* [y = 1] [y[-1] = 0.99999999999999999999]": [1.0, 1.0, 0.0],
    "(y real) window w match [y + 0.1 > 0.3] any* [y[-1] + 0.2 <= 0.4] [y[-2] + 0.1 > 0.3]": [0.2, 0.2, 0.2],
}  # fmt: skip


@pytest.mark.parametrize("text", ROUNDED)
def test_values_at_run_time_decide(text: str) -> None:
    """Where floats disagree with real numbers, no start is dropped."""
    spec = wex.parse(f"stream s {text}")
    data = {"y": ROUNDED[text]}
    assert rows(wex.find(spec, data)) == rows(find_by_definition(spec, data)) != []


def test_values_may_differ_between_the_first_positions_and_the_others() -> None:
    spec = wex.parse("""
        stream s (x int)
        assume [x between 0 and 1] [x between 0 and 100] [x between 0 and 1]*
        assume ([x[-2] < 1000] | [not x[-2] < 1000])*
        window w match any+ [x < x[-1] and x[-1] > 10]""")
    assert rows(wex.find(spec, {"x": [0, 50, 1, 1]})) == [(0, 2), (1, 2)]


def test_far_constants() -> None:
    window = "match [x > x[-1] and x > -5000000000000000000] [x < 5000000000000000000]"
    data = {"x": [1, 2, 3], "y": [0.0] * 3, "b": [True] * 3}
    assert rows(wex.find(STREAM + window, data)) == [(1, 2)]


@fewer(12)
@given(spec_texts())
def test_open_starts_do_not_change(text: str) -> None:
    """The analysis of the least form agrees with that of the form before it."""
    try:
        spec = wex.parse(text)
    except wex.SpecError:
        assume(False)
    assume(is_pruned(meaning(spec), 0))
    (saving,) = wex.optimise(spec)
    assert saving.is_smaller
    assert saving.proved is not None
    assert (
        saving.after.verdict is not Verdict.UNBOUNDED or saving.before.verdict is Verdict.UNBOUNDED
    )
    if saving.before.bound is not None:
        assert saving.after.bound is not None
        assert saving.after.bound <= saving.before.bound


def test_a_plan_does_not_depend_on_what_was_compiled_before() -> None:
    text = STREAM + "match b any* [not b[-1]] [b[-2]] | up any* b"
    fingerprint = plan_of(text).fingerprint
    compile_window(meaning(wex.parse(text)), 0)
    assert plan_of(wex.parse(text + " ")).fingerprint == fingerprint


def test_an_assumption_counts_only_if_it_is_checked() -> None:
    window = "window w match [b] any* [not b] any* [b]"
    checked = wex.parse(f"stream s (b bool) assume [b]* [not b]* {window}")
    trusted = wex.parse(f"stream s (b bool) assume [b]* [not b]* unchecked {window}")
    assert is_pruned(meaning(checked), 0)
    assert not is_pruned(meaning(trusted), 0)
    data = {"b": [True, False, True]}
    assert rows(wex.find(trusted, data)) == [(0, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "assume [n >= n[-1] - 1]* window w match [n > 0]+ [n < 0]",
        "assume [n = 0] any* assume [n = n[-1] + 2]* window w match [n < 20]+ [n = 21]",
        "window w match [n >= n[-1] + 2]{3} [n[-1] < n[-4] + 6]",
    ],
)
def test_nothing_is_held_that_gaps_of_whole_numbers_exclude(text: str) -> None:
    spec = wex.parse(f"stream s (n int) {text}")
    assert wex.check(spec)["w"].held.bound == 0
    processor = wex.Processor(spec)
    processor.feed({"n": list(range(0, 20, 2))})
    assert processor.held() == 0


def test_whole_numbers_that_leave_64_bits_are_an_error_as_before() -> None:
    spec = wex.parse("stream s (n int) window w match [n >= n[-1] + 2] [n[-1] < n[-2] + 2]")
    with pytest.raises(wex.DataError, match="64 bits"):
        wex.find(spec, {"n": [2**63 - 1, 0]})


def test_gaps_of_reals_round() -> None:
    """Floats round, so that no start is dropped because of gaps of reals."""
    spec = wex.parse(
        "stream s (x real) window w match [x >= x[-1] + 1] any* [x > 5 and x[-1] < x[-2] + 1]"
    )
    assert not is_pruned(meaning(spec), 0)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("assume [b] window w runs of b keep all measure count() as n having n > 1", 0),
        ("assume [b] any{0,4} window w match [b] any* [b] measure count() as n having n > 5", 0),
        ("assume [b] any{0,4} window w match [b] any* [b] measure count() as n having n > 3", 2),
    ],
)
def test_no_start_waits_for_a_length_that_having_denies(text: str, held: int) -> None:
    spec = wex.parse(f"stream s (b bool) {text}")
    report = wex.check(spec)["w"]
    assert report.held.bound == report.open.bound == held
    data = {"b": [True] if "[b] window" in text else [True, True, True, False, True]}
    processor = wex.Processor(spec)
    found = [*rows(processor.feed(data)), *rows(processor.close())]
    assert sorted(found) == sorted(rows(wex.find(spec, data)))
    assert rows(wex.find(spec, data)) == ([(0, 4), (1, 4)] if held else [])  # of 5 and of 4 events
