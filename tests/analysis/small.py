"""Small random specs, and the oracle that tries every short stream."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

from hypothesis import strategies as st

import wex
from tests.strategies.alternations import alternations
from tests.strategies.specs import labels_of, with_preference
from wex.analysis.witness import held_starts
from wex.errors import DataError
from wex.reference.assumptions import Assumptions
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import Meaning, tree
from wex.stages import compile_window
from wex.theory.evaluate import Event, Value

FINITE = "stream s (x enum('a', 'b'), ok bool)"
WHOLE = "stream s (n int)"
DOMAIN = "assume [0 <= n and n <= 2]*"
_finite_atoms = st.sampled_from(
    [
        "x = 'a'",
        "ok",
        "x = x[-1]",
        "x[-1] = 'b'",
        "ok[-1]",
        "ok and not ok[-1]",
        "x != x[-2]",
        "x like 'a%'",
        "true",
    ]
)
_whole_atoms = st.sampled_from(
    [
        "n > n[-1]",
        "n = n[-1] + 1",
        "n = 0",
        "n[-1] = 2",
        "n > n[-2]",
        "n + n[-1] = 2",
        "n < 2",
        "n % 2 = 0",
        "n % 3 = n[-1] % 3",
        "n[-1] // 2 = 0",
        "floor(n, 2, 1) = 1",
        "true",
    ]
)


_finite_running = st.sampled_from(
    ["count() <= 2", "first(x) = x", "last(x)[-1] = x", "count() filter [ok] < 2", "some(ok)"]
)
_whole_running = st.sampled_from(
    ["count() <= 2", "n >= first(n)", "n > max(n)[-1]", "sum(n) <= 2", "n < avg(n)", "min(n) = 0"]
)


def regexes(*, finite: bool, running: bool = False) -> st.SearchStrategy[str]:
    """Return regular expressions over the fields of one of the streams."""
    atoms = _finite_atoms if finite else _whole_atoms
    if running:
        atoms = atoms | (_finite_running if finite else _whole_running)
    leaf = st.one_of(
        atoms.map("[{}]".format), atoms.map("[not ({})]".format), st.just("any"), st.just("()")
    )

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map(" ".join),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]} | {pair[1]})"),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]} & {pair[1]})"),
            inner.map("({})*".format),
            inner.map("({})+".format),
            inner.map("({}){{1,2}}".format),
            inner.map("~({})".format),
        )

    return st.recursive(leaf, grown, max_leaves=5)


def _runs(*, whole: bool) -> st.SearchStrategy[str]:
    """Return runs over the fields of one of the streams."""
    values = ["n", "n - n[-1]"] if whole else ["x", "x, ok"]
    atoms = (_whole_atoms if whole else _finite_atoms).filter(lambda atom: atom != "true")
    return st.one_of(
        st.sampled_from(values).map("runs of {}".format), atoms.map("runs where {}".format)
    )


@st.composite
def spec_texts(
    draw: st.DrawFn,
    *,
    windows: int = 1,
    having: bool = False,
    preference: bool = False,
    running: bool = False,
    alternating: bool = False,
) -> str:
    """Draw the text of a spec over few values; with `having`, by preference, with aggregates if asked for.

    With `alternating` a later start may lose to several earlier ones.
    """
    whole = draw(st.booleans())
    atoms = _whole_atoms if whole else _finite_atoms
    expressions = regexes(finite=not whole)
    matches = regexes(finite=not whole, running=running)
    if alternating:
        matches = alternations(atoms, atoms)
    lines = [WHOLE, DOMAIN] if whole else [FINITE]
    if draw(st.integers(0, 3)) == 0:
        lines.append(f"assume {draw(expressions)}")
    for at in range(windows):
        pairs = draw(
            st.lists(
                st.tuples(st.one_of(st.none(), expressions), matches),
                min_size=1,
                max_size=1 if alternating else 2,
            )
        )
        shown = [
            (f"after {after} " if after is not None else "") + f"match {match}"
            for after, match in pairs
        ]
        if draw(st.integers(0, 7)) == 0:
            lines.append(f"window w{at} {draw(_runs(whole=whole))}")
        else:
            lines.append(f"window w{at} {' or '.join(shown)}")
            lines.append(draw(st.sampled_from(["", "", "unpadded"])))
            until = draw(st.sampled_from(["", "", "", "until [{}]", "until [{}] or end"]))
            asked = (_whole_running if whole else _finite_running) if running else atoms
            lines.append(until.format(draw(st.one_of(atoms, asked))))
        within = draw(st.sampled_from([0, 0, 0, 0, 2, 3, 4]))
        lines.append(f"within {within} events" if within else "")
        keeps = ["all", "all", "shortest", "longest", "disjoint"][3 * alternating :]
        lines.append(f"keep {draw(st.sampled_from(keeps))}")
        if having:
            conditions = ["size > 1", "size != 2", "size <= 2", "hits = 1", "hits < 2 and size > 1"]
            lines.append(f"measure count() as size, count_if({draw(atoms)}) as hits")
            lines.append(f"having {draw(st.sampled_from(conditions))}")
    text = "\n".join(line for line in lines if line)
    if not preference:
        return text
    spec = wex.parse(text)
    keep, onward = (None, None)
    preferring = []
    for window in spec.windows:
        chosen = draw(with_preference(window))
        if keep is None or draw(st.booleans()):
            keep, onward = chosen.keep, chosen.next_start
        there = not isinstance(onward, tree.Resuming) or onward.label.text in labels_of(
            chosen.pairs
        )
        if chosen.within is None and there:
            chosen = replace(chosen, keep=keep, next_start=onward)
        preferring.append(chosen)
    return str(replace(spec, windows=tuple(preferring), source=None))


_divided_atoms = st.sampled_from(
    [
        "t % 2 = 0",
        "t[-1] % 2 = 1",
        "t[-1] % 3 = 2",
        "t % 3 > t[-1] % 3",
        "t // 2 = t[-1] // 2",
        "t[-1] // 2 != t[-2] // 2",
        "floor(t, 2) = floor(t[-1], 2)",
        "t > t[-1]",
        "t < t[-1] + 2",
        "(t - t[-1]) % 2 = 0",
    ]
)


@st.composite
def dividing(draw: st.DrawFn) -> str:
    """Draw the text of a spec that divides a number, as the clock does, by which the stream may be sorted."""
    leaf = st.one_of(_divided_atoms.map("[{}]".format), st.just("any"))
    matches = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(" ".join),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]} | {pair[1]})"),
            inner.map("({})*".format),
        ),
        max_leaves=4,
    ).filter(lambda text: not text.endswith("*"))
    order = draw(st.sampled_from(["", " order by t"]))
    clauses = ["", "", "keep shortest", "within 2 events", "within 3 events", "unpadded"]
    return (
        f"stream s (t int){order} window w match {draw(matches)} {draw(st.sampled_from(clauses))}"
    )


def alphabet(meaning: Meaning) -> list[Event]:
    """Return every event."""
    choices: dict[str, list[Value]] = {"n": [0, 1, 2], "x": ["a", "b"], "ok": [False, True]}
    values = [
        [*choices[name], *([None] if name in meaning.nullable else [])] for name in meaning.fields
    ]
    return [dict(zip(meaning.fields, event, strict=True)) for event in product(*values)]


@dataclass
class Tried:
    """What short streams show: no more than there is."""

    open: int = 0
    held: int = 0
    overlap: int = 0
    windows: dict[tuple[int, ...], frozenset[tuple[int, int]]] = field(default_factory=dict)


def conforming(
    meaning: Meaning, longest: int, events: list[Event] | None = None
) -> list[tuple[int, ...]]:
    """Return every stream up to a length that conforms, as numbers of events."""
    events, assumptions = events or alphabet(meaning), Assumptions(meaning, unchecked=True)
    found = []
    for length in range(longest + 1):
        for word in product(range(len(events)), repeat=length):
            try:
                assumptions.check(Stream((), [events[at] for at in word], []))
            except DataError:
                continue
            found.append(word)
    return found


def tried(meaning: Meaning, at: int, longest: int) -> Tried:
    """Return what all short streams show."""
    events = alphabet(meaning)
    result = Tried()
    opened: dict[tuple[int, ...], set[int]] = {}
    for word in conforming(meaning, longest):
        stream = Stream((), [events[each] for each in word], list(range(len(word))))
        windows = {(each.start, each.end) for each in Definition(meaning, at, stream).windows()}
        result.windows[word] = frozenset(windows)
        for b, e in windows:
            for size in range(b + 1, e + 2):
                opened.setdefault(word[:size], set()).add(b)
        shared = [sum(b <= p <= e for b, e in windows) for p in range(len(word))]
        result.overlap = max([result.overlap, *shared])
        # What `keep leftmost` skips is not replayed: the engine itself is asked elsewhere.
        if len(word) == longest and compile_window(meaning, at).clauses.keep != "leftmost":
            result.held = max(result.held, len(held_starts(meaning, at, stream.events)))
    result.open = max([0, *map(len, opened.values())])
    return result
