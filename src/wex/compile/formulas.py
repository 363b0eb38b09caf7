"""Formulas to automata: from a formula φ(begin, end) to one automaton over letters and marks.

`wex.compile.logic` prepares the formula; this module compiles it, subformula by subformula, to
automata with a track of marks for each free variable. Words end at `end`, so `end` needs no track:
in the end, `begin` is the only one. The normal form splits that automaton where the mark is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex import limits
from wex.automata.tracks import (
    TrackAutomaton,
    Variable,
    joined,
    marked,
    negated,
    only_positions,
    projected,
    singly,
)
from wex.compile import logic
from wex.compile.logic import BEGIN, Logic, Place
from wex.compile.normal_form import MarkedAutomaton
from wex.errors import LimitError
from wex.theory.evaluate import COMPARE

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.compile.guards import Alphabet
    from wex.spec import tree

MOST_BACK = 16  # events that an atom looks back on freely: it takes two to this power states
BAD, GOOD = "bad", "good"


def formula_automaton(alphabet: Alphabet, formula: tree.Expr) -> MarkedAutomaton:
    """Return the automaton of a formula over letters, with a mark where `begin` is."""
    compiler = _Compiler(alphabet)
    compiled = compiler.compile(logic.logic_of(formula))
    letters = compiler.letters
    dfa = joined(compiled, singly(letters, BEGIN), lambda a, b: a and b).over((BEGIN,)).dfa
    unmarked, marked = np.arange(letters), np.arange(letters) + letters
    return MarkedAutomaton(
        dfa.table[:, dfa.classes[unmarked]], dfa.table[:, dfa.classes[marked]], dfa.final
    )


class _Compiler:
    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.letters = len(alphabet.letters)
        self._known: dict[object, TrackAutomaton] = {}
        self._limit_reached = False  # and the subformula is named in the error

    def compile(self, node: Logic) -> TrackAutomaton:
        """Return the automaton of a formula; formulas that differ in names only share one."""
        names: dict[Variable, int] = {}
        key = _key(node, names)
        if key not in self._known:
            try:
                automaton = self._compile(node)
            except LimitError as error:
                if self._limit_reached:
                    raise
                self._limit_reached = True
                raise LimitError(
                    error.limit, f"{error.message}, in `{_cut(logic.shown(node))}`", str(error.hint)
                ) from error
            self._known[key] = self._renamed(automaton, names)
        known = self._known[key]
        order = {number: variable for variable, number in names.items()}
        tracks = tuple(order[int(track.name)] for track in known.tracks)
        return TrackAutomaton(self.letters, tracks, known.dfa)

    @staticmethod
    def _renamed(automaton: TrackAutomaton, names: dict[Variable, int]) -> TrackAutomaton:
        tracks = tuple(Variable(str(names[track]), track.is_set) for track in automaton.tracks)
        return TrackAutomaton(automaton.letters, tracks, automaton.dfa)

    def _compile(self, node: Logic) -> TrackAutomaton:
        limits.require(
            "symbols", self.letters << len(logic.free(node)), "the letters and marks of a formula"
        )
        match node:
            case logic.Constant(value):
                return self._constant(value)
            case logic.Letter(predicate, place, holds):
                mask = self.alphabet.where(predicate)
                return self._letter(mask, place, holds=holds)
            case logic.Order(op, left, right):
                return self._order(op, left, right)
            case logic.Member(place, chosen, holds):
                return self._member(place, chosen, holds=holds)
            case logic.Both(parts):
                return self._all([self.compile(part) for part in parts], lambda a, b: a and b)
            case logic.Either(parts):
                whole = [self._widened(self.compile(part), node) for part in parts]
                return self._all(whole, lambda a, b: a or b)
            case logic.Same(left, right):
                one, two = (self._widened(self.compile(part), node) for part in (left, right))
                return only_positions(joined(one, two, lambda a, b: a == b))
            case logic.Some(variable, body):
                return projected(self.compile(body), variable)
            case logic.Every(variable, body):
                return negated(projected(negated(self.compile(body)), variable))
        raise TypeError(node)

    def _widened(self, automaton: TrackAutomaton, whole: Logic) -> TrackAutomaton:
        """Return an automaton with one mark for each position of the whole formula."""
        for track in sorted(logic.free(whole), key=lambda track: track.name):
            if track not in automaton.tracks and not track.is_set:
                automaton = joined(automaton, singly(self.letters, track), lambda a, b: a and b)
        return automaton

    @staticmethod
    def _all(parts: list[TrackAutomaton], accept: Callable[[bool, bool], bool]) -> TrackAutomaton:
        """Return the product of automata, small ones first."""
        while len(parts) > 1:
            parts.sort(key=lambda part: part.dfa.states * (1 << len(part.tracks)), reverse=True)
            parts.append(joined(parts.pop(), parts.pop(), accept))
        return parts[0]

    # --- Atoms

    def _constant(self, value: bool) -> TrackAutomaton:
        return marked(self.letters, (), None, 0, lambda *_: 0, lambda _: value)

    def _letter(self, mask: int, place: Place, *, holds: bool) -> TrackAutomaton:
        return self._at(place, (), mask, lambda letter, _: letter, holds=holds)

    def _member(self, place: Place, chosen: Variable, *, holds: bool) -> TrackAutomaton:
        return self._at(place, (chosen,), None, lambda _, bits: bool(bits & 1), holds=holds)

    def _at(
        self,
        place: Place,
        sets: tuple[Variable, ...],
        mask: int | None,
        true: Callable[[bool, int], bool],
        *,
        holds: bool,
    ) -> TrackAutomaton:
        """Return the automaton of an atom about a place; places outside the word do not satisfy it."""
        limits.require(
            "work", 1 << max(0, -place.offset - MOST_BACK), "how far a formula looks back"
        )
        if place.variable is None:
            return self._at_end(-place.offset, sets, mask, true, holds=holds)
        tracks = (*sets, place.variable)
        mark = 1 << len(sets)
        back = -place.offset

        def step(state: object, letter: bool, bits: int) -> object:
            now, here = true(letter, bits), bool(bits & mark)
            if state == BAD or (here and not isinstance(state, tuple)):
                return BAD
            if isinstance(state, int):  # events until the place comes
                return state - 1 if state > 1 else GOOD if now == holds else BAD
            if not isinstance(state, tuple):  # the place has been seen
                return state
            if not here:
                return (*state, now)[-back:] if back > 0 else ()
            if back > 0:
                return GOOD if (len(state) >= back and state[-back]) == holds else BAD
            return -back if back else GOOD if now == holds else BAD

        def is_final(state: object) -> bool:
            # A place after the last event is outside the word.
            return state == GOOD or (isinstance(state, int) and not holds)

        return marked(self.letters, tracks, mask, (), step, is_final)

    def _at_end(
        self,
        back: int,
        sets: tuple[Variable, ...],
        mask: int | None,
        true: Callable[[bool, int], bool],
        *,
        holds: bool,
    ) -> TrackAutomaton:
        if back < 0:
            return self._constant(not holds)

        def step(state: object, letter: bool, bits: int) -> object:
            assert isinstance(state, tuple)
            return (*state, true(letter, bits))[-back - 1 :]

        def is_final(state: object) -> bool:
            assert isinstance(state, tuple)
            return bool(len(state) > back and state[0]) == holds

        return marked(self.letters, sets, mask, (), step, is_final)

    def _order(self, op: str, left: Place, right: Place) -> TrackAutomaton:
        """Return the automaton of `left op right`, computed as `left variable - right variable op bound`."""
        bound = right.offset - left.offset
        one, two = left.variable, right.variable
        if one == two:
            known = self._constant(COMPARE[op](0, bound))
            return known if one is None else self._widened(known, logic.Order(op, left, right))
        if two is None:
            assert one is not None
            return self._before_end(one, lambda gap: COMPARE[op](-gap, bound), abs(bound) + 1)
        if one is None:
            return self._before_end(two, lambda gap: COMPARE[op](gap, bound), abs(bound) + 1)
        return self._apart(one, two, lambda gap: COMPARE[op](gap, bound), abs(bound) + 1)

    def _before_end(self, track: Variable, fits: Callable[[int], bool], far: int) -> TrackAutomaton:
        """Return the automaton of a distance to the end; `fits` is the same for all distances from `far` on."""

        def step(state: object, _: bool, bits: int) -> object:
            if state == BAD or (bits and state is not None):
                return BAD
            if state is None:
                return 0 if bits else None
            assert isinstance(state, int)
            return min(far, state + 1)

        return marked(
            self.letters,
            (track,),
            None,
            None,
            step,
            lambda state: isinstance(state, int) and fits(state),
        )

    def _apart(
        self, one: Variable, two: Variable, fits: Callable[[int], bool], far: int
    ) -> TrackAutomaton:
        """Return the automaton of a difference of positions; `fits` is the same for all from `far` on."""

        def step(state: object, _: bool, bits: int) -> object:
            if state == BAD:
                return BAD
            if state == GOOD:
                return BAD if bits else GOOD
            if state is None:
                if bits == 3:
                    return GOOD if fits(0) else BAD
                return (bits, 0) if bits else None
            assert isinstance(state, tuple)
            first, gap = state
            gap = min(far, gap + 1)
            if not bits:
                return (first, gap)
            if bits & first:
                return BAD
            return GOOD if fits(-gap if first == 1 else gap) else BAD

        return marked(self.letters, (one, two), None, None, step, lambda state: state == GOOD)


def _key(node: Logic, names: dict[Variable, int]) -> object:
    """Return a formula with its variables numbered in the order in which they occur."""

    def of(variable: Variable | None) -> int | None:
        return None if variable is None else names.setdefault(variable, len(names))

    match node:
        case logic.Letter(predicate, place, holds):
            return ("letter", predicate, of(place.variable), place.offset, holds)
        case logic.Order(op, left, right):
            return ("order", op, of(left.variable), left.offset, of(right.variable), right.offset)
        case logic.Member(place, chosen, holds):
            return ("member", of(place.variable), place.offset, of(chosen), holds)
        case logic.Both(parts):
            return ("both", *(_key(part, names) for part in parts))
        case logic.Either(parts):
            return ("either", *(_key(part, names) for part in parts))
        case logic.Same(left, right):
            return ("same", _key(left, names), _key(right, names))
        case logic.Some(variable, body):
            return ("some", variable.is_set, of(variable), _key(body, names))
        case logic.Every(variable, body):
            return ("every", variable.is_set, of(variable), _key(body, names))
    return node


def _cut(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
