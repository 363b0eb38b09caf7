"""docs/theorem.md for the order of the rationals, word for word, against the verdicts of `wex.check`.

Regions are order types here, enumerated; the analysis finds its own by refinement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from wex import KSLA
from wex.theory.evaluate import EXACT, holds
from wex.theory.translate import guard_of

Type = tuple[int, ...]  # of some values, by their ranks
Context = tuple[Type, int, int]  # the type of the last events, states of S and P
Place = tuple[Context, int]

FEW = settings(max_examples=max(10, settings.default.max_examples // 4))  # type: ignore[union-attr]
ANYTHING = KSLA.from_regex("any*", {"x": "real"})
NOTHING = KSLA.from_regex("[false]", {"x": "real"})
ATOMS = ["x > x[-1]", "x = x[-1]", "x < x[-1]", "x > x[-2]", "x <= x[-2]", "x[-1] < x[-2]", "true"]


def type_of(values: Iterable[Fraction]) -> Type:
    values = tuple(values)
    ranks = sorted(set(values))
    return tuple(map(ranks.index, values))


def extended(before: Type) -> Iterator[Type]:
    """Yield the types of some values and one more: equal to one of them, or between two."""
    for half in range(-1, 2 * max(before, default=-1) + 2):
        yield type_of([*map(Fraction, before), Fraction(half, 2)])


class Steps:
    """An automaton that reads the types of grams; missing transitions lead nowhere."""

    def __init__(self, automaton: KSLA) -> None:
        self.k, self.final = automaton.lookback, automaton.final
        self.states = range(automaton.states)
        guards = [
            (source, target, guard_of(predicate, automaton.fields))
            for (source, target), predicate in automaton.delta.items()
        ]

        def after(state: int, gram: Type) -> int | None:
            events = [{"x": Fraction(rank)} for rank in gram[-self.k - 1 :]]
            ways = [
                target
                for source, target, guard in guards
                if source == state and holds(guard, events, numbers=EXACT)
            ]
            assert len(ways) <= 1
            return ways[0] if ways else None

        self.after: Callable[[int, Type], int | None] = cache(after)

    def reads(self, gram: Type) -> bool:
        return len(gram) > self.k


class Theorem:
    """The graph of contexts of one window, and the conditions of the theorems."""

    def __init__(self, spec: wex.Spec) -> None:
        assume = spec.assumes[0].regex if spec.assumes else None
        self.s = Steps(KSLA.from_regex(assume, {"x": "real"}) if assume else ANYTHING)
        ((prefix, window),) = wex.automata(spec)["w"] or [(NOTHING, NOTHING)]
        self.p, self.w = Steps(prefix), Steps(window)
        self.k = max(self.s.k, self.p.k)
        self.dead = len(self.p.states)  # of P: no window begins any more
        self.out: dict[Context, list[tuple[Type, Context]]] = {}
        todo: list[Context] = [((), 0, 0)]
        while todo:
            context = todo.pop()
            if context not in self.out:
                self.out[context] = list(self._edges(context))
                todo += [after for _, after in self.out[context]]
        self.alive = self._leading_to({(x, q) for x in self.out for q in self.w.final})
        self.started = self._reached(
            after for x in self.out if self.begins(x) for after in self.steps((x, 0))
        )

    def _edges(self, context: Context) -> Iterator[tuple[Type, Context]]:
        before, s, p = context
        for gram in extended(before):
            s_after = self.s.after(s, gram) if self.s.reads(gram) else s
            p_after = self.p.after(p, gram) if self.p.reads(gram) else p
            if s_after is not None:
                rest = type_of(
                    map(Fraction, gram[len(gram) - self.k :] if len(gram) > self.k else gram)
                )
                yield gram, (rest, s_after, self.dead if p_after is None else p_after)

    def begins(self, context: Context) -> bool:
        return len(context[0]) >= self.p.k and context[2] in self.p.final

    def steps(self, place: Place) -> Iterator[Place]:
        context, q = place
        for gram, after in self.out[context]:
            if not self.w.reads(gram):
                continue
            state = self.w.after(q, gram)
            if state is not None:
                yield after, state

    def _reached(self, places: Iterable[Place]) -> set[Place]:
        todo, found = list(places), set()
        while todo:
            place = todo.pop()
            if place not in found:
                found.add(place)
                todo += self.steps(place)
        return found

    def _leading_to(self, wanted: set[Place]) -> set[Place]:
        every = {(x, q) for x in self.out for q in self.w.states}
        found = set(wanted)
        while True:
            more = {place for place in every - found if not found.isdisjoint(self.steps(place))}
            if not more:
                return found
            found |= more

    def accumulating(self) -> set[Place]:
        """Return the places (x, q) of Theorem 1."""
        return {
            (x, q)
            for x in self.out
            if self.begins(x)
            for q in self.w.states
            if (x, q) in self.alive and self._repeats(x, q)
        }

    def _repeats(self, x: Context, q: int) -> bool:
        """Tell whether a word leads from x to x, and W from its initial state to q and from q to q."""
        todo, found = [(x, 0, q)], set()
        while todo:
            context, one, two = todo.pop()
            for gram, after in self.out[context]:
                if not self.w.reads(gram):
                    continue
                states = self.w.after(one, gram), self.w.after(two, gram)
                if (after, *states) == (x, q, q):
                    return True
                if states[0] is not None and states[1] is not None:
                    step = (after, states[0], states[1])
                    if step not in found:
                        found.add(step)
                        todo.append(step)
        return False

    def cycles(self) -> set[Place]:
        """Return the places of Theorem 2: final, and on a cycle."""
        final = {place for place in self.started if place[1] in self.w.final}
        return {place for place in final if place in self._reached(self.steps(place))}

    def growth(self) -> str | None:
        """Return how the number of windows that share a position grows, by the corollary."""
        starts, cycles = self.accumulating(), self.cycles()
        if not starts and not cycles:
            return None
        return (
            "quadratic"
            if any(not cycles.isdisjoint(self._reached([x])) for x in starts)
            else "linear"
        )


def agrees(text: str) -> None:
    spec = wex.parse(text)
    theorem, report = Theorem(spec), wex.check(spec)["w"]
    assert report.open.verdict == ("unbounded" if theorem.accumulating() else "bounded")
    growth = theorem.growth()
    assert report.overlap.verdict == ("bounded" if growth is None else "unbounded")
    assert report.overlap.growth == growth


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.integers(0, 5)) if depth else 0
    if kind <= 1:
        parts = draw(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=2))
        return f"[{draw(st.sampled_from([' and ', ' or '])).join(parts)}]"
    one, two = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    return [f"({one} {two})", f"({one} | {two})", f"({one})+", f"({one})*"][kind - 2]


@FEW
@given(
    st.sampled_from(["", "assume [x != x[-1]]*", "assume ([x > x[-1]] [x <= x[-1]])*"]),
    st.none() | expressions(),
    expressions(),
)
def test_the_theorem_gives_the_verdicts_of_the_analysis(
    assume: str, after: str | None, match: str
) -> None:
    before = "" if after is None else f"after {after} "
    agrees(f"stream s (x real) {assume} window w {before}match {match} unpadded")


@pytest.mark.parametrize(
    ("window", "growth"),
    [
        ("match [x > x[-1]]* [x < x[-1]]", "linear"),
        ("match [x > x[-1]]+", "quadratic"),
        ("after () match any+", "linear"),
        ("match [x > x[-1]] any* [x > x[-1]] [x[-1] < x[-2]]", None),
        ("after any* [x < x[-1]] match [x > x[-1]]+ [x < x[-1]]", None),
    ],
)
def test_the_theorem_on_known_cases(window: str, growth: str | None) -> None:
    text = f"stream s (x real) window w {window} unpadded"
    assert Theorem(wex.parse(text)).growth() == growth
    agrees(text)


def test_regions_are_weak_orders() -> None:
    types: set[Type] = {()}
    for count in (1, 3, 13, 75, 541):
        types = {longer for shorter in types for longer in extended(shorter)}
        assert len(types) == count
