"""The windows of a stream by the definition.

Read it beside "What a window is" (docs/semantics.md): W0 … W4 are the functions below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow as pa

from wex import limits
from wex.compile.guards import asked_behind, deciding_parts, predicates
from wex.compile.measures import Measure, deciding_guard, depends_on_labels, measure_of
from wex.compile.window import ANYWHERE
from wex.engine.data_errors import arithmetic_error, does_not_fit
from wex.reference.measures import measured
from wex.reference.preference import Preference
from wex.reference.running import holds_so_far
from wex.reference.runs import runs
from wex.spec import tree
from wex.spec.types import DATE, EVENT_UNITS, microseconds
from wex.theory.evaluate import ArithmeticFault, Value, holds, truth
from wex.theory.terms import Guard, RunningTest, fields
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wex.reference.preference import Labels
    from wex.reference.streams import Stream
    from wex.spec import Meaning
    from wex.theory.evaluate import Event, Gram

Pair = tuple[int, int]
DAYS = (-(2**31), 2**31 - 1)  # a date counts days in 32 bits


@dataclass(frozen=True)
class Window:
    """A window of a stream: its first and last event, where it is reported, its measures."""

    start: int
    end: int
    reported: int
    measures: Mapping[str, Value | list[Value]]


class Grams:
    """A stream as the grams g_i that one lookback k sees, i from k on, or from 0 if `pad`."""

    def __init__(self, stream: Stream, lookback: int, *, pad: bool = False) -> None:
        self.stream = stream
        self.lookback = lookback
        self.first = 0 if pad else lookback
        self.count = len(stream.events)

    @property
    def positions(self) -> range:
        """Return the positions that have a gram."""
        return range(self.first, self.count)

    def gram(self, position: int) -> list[Event | None]:
        """Return the events position-k … position; the ones before event 0 are missing."""
        before = range(position - self.lookback, position + 1)
        return [self.stream.events[p] if p >= 0 else None for p in before]

    def holds(self, guard: Guard, position: int) -> bool:
        """Tell whether the gram at a position satisfies a guard."""
        try:
            return holds(guard, self.gram(position), first=-position)
        except ArithmeticFault as fault:
            column = next(field.name for field in fields(guard))
            raise arithmetic_error(fault.why, column, self.stream.key, position) from fault


class Definition:
    """The windows of one `window` of a spec on one stream, clause by clause."""

    def __init__(self, meaning: Meaning, index: int, stream: Stream, *, ended: bool = True) -> None:
        """If not `ended`, more events may follow, and `or end` reports no window."""
        self.ended = ended
        window = self.window = meaning.expanded.windows[index]
        self.stream = stream
        self.order_by = meaning.spec.stream.order_by
        self.grams = Grams(stream, meaning.lookbacks[index], pad=not window.unpadded)
        self.first, self.count = self.grams.first, self.grams.count
        self.runs: set[Pair] | None = None
        self.reports_behind = window.until is not None
        clause = meaning.runs[index]
        if clause is not None:  # `match` and `until` of the expanded window are not looked at
            padded = Grams(stream, meaning.lookbacks[index], pad=True)
            self.runs = runs(clause, padded, meaning.fields, self.order_by)
            window = self.window = replace(window, pairs=(), until=None)
        written = dict.fromkeys(p for part in deciding_parts(window) for p in predicates(part))
        guards = {predicate: deciding_guard(predicate, meaning.fields) for predicate in written}
        self.running = {p: test for p, test in guards.items() if isinstance(test, RunningTest)}
        self.truths = {
            predicate: [self.grams.holds(guard, position) for position in self.grams.positions]
            for predicate, guard in guards.items()
            if predicate not in self.running
        }
        self.measures = [measure_of(measure, meaning.fields) for measure in window.measures]
        self._measured: dict[Pair, dict[str, Value | list[Value]]] = {}
        self._ends: dict[tuple[int, int, int], frozenset[int]] = {}
        self._labels: dict[Pair, Labels] = {}
        self._having = guard_of(window.having, meaning.measures[index]) if window.having else None

    def windows(self) -> list[Window]:
        """Return the windows that are kept, in the order in which they are reported."""
        short = self.w2(self.w1(self.w0()))
        kept = self.w4(self.w3(short) if self._having is None else self._judged(short))
        self._measure_all(kept)
        self._check_dates(kept)
        windows = [Window(b, e, self.reported(e), self.measured((b, e))) for b, e in kept]
        return sorted(windows, key=lambda window: (window.reported, window.start))

    # --- W0: the pairs (b, e)

    def w0(self) -> set[Pair]:
        """Return every (b, e) that a pair of the window, or its formula, recognises, or every run."""
        if self.runs is not None:
            return self.runs
        if self.window.where is not None:
            return {
                (b, e)
                for e in self.grams.positions
                for b in range(self.first, e + 1)
                if Formula(self, b, e).holds(self.window.where, {})
            }
        return {
            (b, end - 1)
            for pair in self.window.pairs
            for b in self.ends(pair.after or ANYWHERE, self.first, self.first)
            for end in self.ends(pair.match, b, b)
            if b < end
        }

    def ends(self, regex: tree.Regex, start: int, begin: int) -> frozenset[int]:
        """Return every j such that the grams start … j-1 are in the language of an expression.

        `begin` is the start of the window, over whose events so far predicates may aggregate.
        """
        key = (id(regex), start, begin if self.running else self.first)
        if key not in self._ends:
            self._ends[key] = frozenset(self._compute_ends(regex, start, begin))
        return self._ends[key]

    def _compute_ends(self, regex: tree.Regex, start: int, begin: int) -> set[int] | frozenset[int]:
        match regex:
            case tree.Empty():
                return {start}
            case tree.Anything():
                return {start + 1} if start < self.count else set()
            case tree.Atom(predicate):
                here = start < self.count and self.true_at(predicate, start, begin)
                return {start + 1} if here else set()
            case tree.Concat(parts):
                reached = {start}
                for part in parts:
                    reached = {end for middle in reached for end in self.ends(part, middle, begin)}
                return reached
            case tree.Union(parts):
                return {end for part in parts for end in self.ends(part, start, begin)}
            case tree.Intersection(parts):
                return frozenset.intersection(*(self.ends(part, start, begin) for part in parts))
            case tree.Labelled(_, body):
                return self.ends(body, start, begin)
            case tree.Complement(body):
                return set(range(start, self.count + 1)) - self.ends(body, start, begin)
            case tree.Repeat(body, low, high):
                return self._repeated((body, low, high), start, begin)
        raise TypeError(regex)

    def _repeated(
        self, repeat: tuple[tree.Regex, int, int | None], start: int, begin: int
    ) -> set[int]:
        body, low, high = repeat
        reached = {start}
        for _ in range(low):
            reached = {end for middle in reached for end in self.ends(body, middle, begin)}
        ends = set(reached)
        more = 0
        while reached and (high is None or low + more < high):
            reached = {end for middle in reached for end in self.ends(body, middle, begin)} - ends
            ends |= reached
            more += 1
        return ends

    def true_at(self, predicate: tree.Expr, position: int, begin: int) -> bool:
        """Tell whether the gram at a position satisfies a predicate, in a window from `begin` on."""
        if predicate in self.running:
            return holds_so_far(self.running[predicate], self.grams, position, begin)
        return self.truths[predicate][position - self.first]

    # --- W1: until

    def w1(self, pairs: set[Pair]) -> set[Pair]:
        """Keep (b, e) if the event after it satisfies `until`, or it ends with the data."""
        until = self.window.until
        if self.runs is not None:  # the last run may go on
            return {(b, e) for b, e in pairs if e + 1 < self.count or self.ended}
        if until is None:
            return pairs
        follows = asked_behind(until)
        return {
            (b, e)
            for b, e in pairs
            if (e + 1 < self.count and self.true_at(follows, e + 1, b))
            or (until.or_end and self.ended and e + 1 == self.count)
        }

    def reported(self, e: int) -> int:
        """Return where a window that ends at e is reported: at e, or with `until` or as a run at e + 1.

        Sessions that `at most` cuts are in the order of their ends, as windows by preference.
        """
        return e + 1 if self.reports_behind else e

    # --- W2: within

    def w2(self, pairs: set[Pair]) -> set[Pair]:
        """Keep (b, e) if it is not too long."""
        within = self.window.within
        if within is None:
            return pairs
        if within.unit.text in EVENT_UNITS:
            return {(b, e) for b, e in pairs if e - b + 1 <= within.amount.value}
        length = microseconds(within.amount, within.unit.text)
        assert length is not None
        time = [self._time(event) for event in self.stream.events]
        return {(b, e) for b, e in pairs if time[e] - time[b] <= length}

    def _time(self, event: Event) -> int:
        value = event[self.order_by[0].text]
        assert isinstance(value, int)
        return value

    # --- W3: having

    def w3(self, pairs: set[Pair]) -> set[Pair]:
        """Keep (b, e) if `having` holds of its measures."""
        if self._having is None:
            return pairs
        return {pair for pair in self._in_order(pairs) if self._has(self._having, pair)}

    def _judged(self, pairs: set[Pair]) -> set[Pair]:
        """Return W3 without the windows that `having` does not have to judge, nor measure.

        Those are the ones that `keep` excludes because of a window with an earlier end.
        """
        fine: set[Pair] = set()
        keep = self.window.keep.text if self.window.keep else "all"
        for end in sorted({e for _, e in pairs}):
            taken: set[int] = set()
            for b, e in self.w4(fine) if keep in ("shortest", "disjoint") else ():
                taken |= {b} if keep == "shortest" else set(range(e + 1))
            left = {(b, e) for b, e in pairs if e == end and b not in taken}
            self._measure_all(left)
            fine |= self.w3(left)
        return fine

    def _has(self, having: Guard, pair: Pair) -> bool:
        try:
            return bool(truth(having, [self.measured(pair)]))  # type: ignore[list-item]
        except ArithmeticFault as fault:
            raise arithmetic_error(fault.why, None, self.stream.key, pair[0]) from fault

    def _in_order(self, pairs: set[Pair]) -> list[Pair]:
        return sorted(pairs, key=lambda pair: (self.reported(pair[1]), pair[0]))

    def _measure_all(self, pairs: set[Pair]) -> None:
        """Compute the measures of some (b, e), measure by measure: the first fault is reported."""
        for measure in self.measures:
            for pair in self._in_order(pairs):
                known = self._measured.setdefault(pair, {})
                if measure.name not in known:
                    known[measure.name] = self._measure(measure, pair)

    def measured(self, pair: Pair) -> dict[str, Value | list[Value]]:
        """Return the measures of (b, e), over the events b … e."""
        self._measure_all({pair})
        return self._measured.get(pair, {})

    def _check_dates(self, kept: set[Pair]) -> None:
        """Raise a DataError if a result is a date out of range."""
        for measure in self.measures:
            for pair in self._in_order(kept) if DATE in (measure.type, measure.type.item) else ():
                value = self.measured(pair)[measure.name]
                for day in value if isinstance(value, list) else [value]:
                    if isinstance(day, int) and not DAYS[0] <= day <= DAYS[1]:
                        raise does_not_fit(pa.date32(), measure.name, self.stream.key, pair[0])

    def _measure(self, measure: Measure, pair: Pair) -> Value | list[Value]:
        grams = Grams(self.stream, measure.lookback(), pad=True)
        places: list[tuple[Gram, int | None]] = [
            (grams.gram(position), -position) for position in range(pair[0], pair[1] + 1)
        ]
        labels = None
        if any(map(depends_on_labels, measure.aggregates)):
            labels = self.labels(pair)
        try:
            return measured(measure, places, labels)
        except ArithmeticFault as fault:
            raise arithmetic_error(fault.why, measure.name, self.stream.key, pair[0]) from fault

    def labels(self, pair: Pair) -> Labels:
        """Return the labels of each event of (b, e), on the preferred way to match it."""
        if pair not in self._labels:
            self._labels[pair] = Preference(self, pair[0]).labels(pair[1])
        return self._labels[pair]

    # --- W4: keep

    def w4(self, pairs: set[Pair]) -> set[Pair]:
        """Keep all, or those that the option of `keep` chooses."""
        match self.window.keep.text if self.window.keep else "all":
            case "shortest":
                first_end = dict(sorted(pairs, reverse=True))
                return {(b, e) for b, e in pairs if e == first_end[b]}
            case "longest":
                first_start = {e: b for b, e in sorted(pairs, reverse=True)}
                return {(b, e) for b, e in pairs if b == first_start[e]}
            case "disjoint":
                return self._disjoint(pairs)
            case "preferred":
                return {(b, Preference(self, b).first(pairs)) for b, _ in pairs}
            case "leftmost":
                return self._leftmost(pairs)
        return pairs

    def _leftmost(self, pairs: set[Pair]) -> set[Pair]:
        last, kept = -1, set()  # a window starts after `last`
        for b in sorted({b for b, _ in pairs}):
            if b > last:
                e = Preference(self, b).first(pairs)
                kept.add((b, e))
                last = max(self._skipped(b, e), b)
        return kept

    def _skipped(self, b: int, e: int) -> int:
        """Return the last event at which no window may start after (b, e)."""
        match self.window.next_start:
            case tree.Sharing(amount):
                return e - amount.value
            case tree.Resuming(which, label):
                own = [
                    b + at for at, labels in enumerate(self.labels((b, e))) if label.text in labels
                ]
                if own:
                    return (own[0] if which.text == "first" else own[-1]) - 1
        return e

    def _disjoint(self, pairs: set[Pair]) -> set[Pair]:
        last, kept = -1, set()
        for e, ending in groupby(sorted((e, b) for b, e in pairs), key=itemgetter(0)):
            starts = [b for _, b in ending if b > last]
            if starts:
                kept.add((min(starts), e))
                last = e
        return kept


class Formula:
    """A formula on one candidate (b, e), by trying every position and every set of them."""

    def __init__(self, definition: Definition, begin: int, end: int) -> None:
        self.definition = definition
        self.begin, self.end = begin, end
        self.domain = range(definition.first, end + 1)

    def holds(self, node: tree.Expr, bound: Mapping[str, int | frozenset[int]]) -> bool:
        """Tell whether a formula holds with its variables bound so."""
        match node:
            case tree.Bool(value):
                return value
            case tree.Not(operand):
                return not self.holds(operand, bound)
            case tree.And(parts):
                return all(self.holds(part, bound) for part in parts)
            case tree.Or(parts):
                return any(self.holds(part, bound) for part in parts)
            case tree.Implies(left, right):
                return not self.holds(left, bound) or self.holds(right, bound)
            case tree.Iff(left, right):
                return self.holds(left, bound) == self.holds(right, bound)
            case tree.Quantified(quantifier, variable, body, of_set):
                choices: Iterator[int | frozenset[int]]
                choices = self._subsets() if of_set else iter(self.domain)
                tried = (self.holds(body, {**bound, variable.text: value}) for value in choices)
                return any(tried) if quantifier == "exists" else all(tried)
            case tree.Compare((left, right), (op,)):
                return _COMPARE_POSITIONS[op](
                    self.position(left, bound), self.position(right, bound)
                )
            case tree.Member(position, name):
                chosen = bound[name.text]
                assert isinstance(chosen, frozenset)
                return self.position(position, bound) in chosen
            case tree.Holds() | tree.Call():
                predicate, position = tree.held(node)
                index = self.position(position, bound)
                return index in self.domain and self.definition.true_at(
                    predicate, index, self.begin
                )
        raise TypeError(node)

    def _subsets(self) -> Iterator[frozenset[int]]:
        limits.require("subsets", 2 ** len(self.domain), "the sets of positions to try")
        for size in range(len(self.domain) + 1):
            yield from map(frozenset, combinations(self.domain, size))

    def position(self, node: tree.Expr, bound: Mapping[str, int | frozenset[int]]) -> int:
        """Return the position that an expression names."""
        match node:
            case tree.Mark(which):
                return self.begin if which == "begin" else self.end
            case tree.Ref(name):
                chosen = bound[name]
                assert isinstance(chosen, int)
                return chosen
            case tree.Binary(op, place, tree.Int(steps)):
                return self.position(place, bound) + (steps if op == "+" else -steps)
        raise TypeError(node)


_COMPARE_POSITIONS = {
    "=": int.__eq__,
    "!=": int.__ne__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}
