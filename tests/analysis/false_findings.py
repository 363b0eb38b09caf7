"""Findings of the analysis that some short stream shows to be false.

A finding says what never happens, which no short stream may do, or that something can happen: then a
short stream has to do it, or the stream that the finding names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import wex
from tests.analysis.oracle import Oracle
from wex.analysis.answers import Kind
from wex.compile.normal_form import NONE
from wex.compile.window import ANYWHERE
from wex.reference.labels import labellings
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import tree
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.analysis.oracle import Windows, Word
    from wex.analysis.answers import Finding
    from wex.analysis.check import WindowReport
    from wex.compile.window import CompiledWindow

Bracket = tuple[int, ...]  # the way from an expression down to a bracket, by the numbers of parts


def is_false(
    oracle: Oracle, finding: Finding, report: WindowReport, shown: dict[Word, Windows]
) -> bool:
    """Tell whether a finding is not true of short streams."""
    windows = {window for own in shown.values() for window in own}
    wrong = False
    match finding.kind:
        case Kind.NEVER_OCCURS:
            wrong = bool(windows) or _occur_together(oracle, finding)
        case Kind.ONLY_AT_FIRST:
            said = re.search(r"with (\d+) event", finding.text)
            wrong = any(start != int(said[1] if said else 0) for start, _ in windows)
        case Kind.EVERY_BEGINNING:
            wrong = any(
                (start, before) not in own
                for own in shown.values()
                for start, end in own
                for before in range(start, end)
            )
        case Kind.NEVER_HOLDS:
            wrong = _holds_somewhere(oracle, finding)
        case Kind.REMEDY:
            wrong = _exceeds_remedy(oracle, finding)
        case Kind.NO_STREAM_CONFORMS:
            wrong = report.open.bound != 0 or bool(windows)
        case Kind.EXCLUDES_NOTHING:
            wrong = _excludes(oracle, finding)
        case Kind.NEVER_HOLDS_HERE:
            wrong = _holds_here(oracle, finding) or _occur_together(oracle, finding)
        case Kind.HOPELESS_STARTS:
            # It may take a value to show one that the oracle does not have.
            wrong = oracle.whole and not oracle.hopeless()
        case Kind.NOT_REACHED:
            wrong = _reached(oracle, finding)
        case Kind.UNUSED_LET:
            wrong = _is_used(oracle, finding)
        case Kind.AMBIGUOUS_LABELS:
            wrong = not _is_ambiguous(oracle, report)
        case _:
            raise TypeError(finding.kind)
    return wrong


def _is_used(oracle: Oracle, finding: Finding) -> bool:
    """Tell whether a spec needs some of the lets that are called unused."""
    unused = re.findall("`([^`]*)`", finding.text)
    lets = tuple(let for let in oracle.spec.lets if let.name.text not in unused)
    try:
        wex.parse(str(replace(oracle.spec, lets=lets)))
    except wex.SpecError:
        return True
    return False


def _quoted(finding: Finding) -> str:
    quoted = re.search("`(.*)`", finding.text, re.DOTALL)
    assert quoted is not None
    return quoted[1]


def _with_window(spec: tree.Spec, text: str) -> tree.Spec:
    """Return a spec with the window of a text."""
    return replace(spec, windows=wex.parse(f"{spec.stream} {text}").windows, source=None)


def _holds_somewhere(oracle: Oracle, finding: Finding) -> bool:
    """Tell whether the predicate of a finding holds at some event of a short stream."""
    predicate = _quoted(finding)
    if any(
        f"{name}(" in predicate
        for name in ("count", "first", "last", "max", "min", "sum", "avg", "some")
    ):
        return False  # an aggregate of the window depends on its start
    spec = _with_window(oracle.spec, f"window w match [{predicate}]")
    return any(oracle.windows(oracle.stream(word), spec) for word in oracle.words)


def _exceeds_remedy(oracle: Oracle, finding: Finding) -> bool:
    """Tell whether a processor holds more with the clause of a finding than it says."""
    clause, most = re.search(r"with `(.*)` it holds at most ([\d,]+)", finding.text).groups()  # type: ignore[union-attr]
    (window,) = oracle.spec.windows
    keep = replace(window, keep=None) if clause.startswith("keep") else window
    spec = wex.parse(f"{replace(oracle.spec, windows=(keep,), source=None)}\n{clause}")
    return oracle.most_held(spec) > int(most.replace(",", ""))


def _excludes(oracle: Oracle, finding: Finding) -> bool:
    """Tell whether some short stream does not conform to the assumption of a finding."""
    assume = wex.parse(f"{oracle.spec.stream} {_quoted(finding)} window w match any").assumes
    alone = Oracle(replace(oracle.spec, assumes=assume, source=None))
    most = sum(len(alone.events) ** length for length in range(len(alone.words[-1]) + 1))
    return bool(len(alone.words) < most)


# --- Events that contradict each other


def _occur_together(oracle: Oracle, finding: Finding) -> bool:
    """Tell whether a short stream has the events that contradict each other by a finding."""
    named: dict[int, list[str]] = defaultdict(list)
    for number, predicate in re.findall(r"event (\d+), `(.*?)`", finding.text, re.DOTALL):
        named[int(number)].append(predicate)
    if not named or any("one of several" in own for own in named.values()):
        return False
    events = [
        f"[{' and '.join(f'({predicate})' for predicate in named[number])}]"
        if number in named
        else "any"
        for number in range(1, max(named) + 1)
    ]
    spec = _with_window(oracle.spec, f"window w match {' '.join(events)}")
    (own,), (window,) = oracle.spec.windows, spec.windows
    # They are events of a window, so that there may have to be others before them.
    together = window.pairs[0].match
    pairs = tuple(replace(pair, match=together) for pair in own.pairs) or window.pairs
    spec = replace(spec, windows=(replace(window, pairs=pairs, unpadded=own.unpadded),))
    return any(oracle.windows(oracle.stream(word), spec) for word in oracle.words)


# --- Brackets in their places


def _holds_here(oracle: Oracle, finding: Finding) -> bool:
    """Tell whether an event of a short stream satisfies the bracket of a finding in its place."""
    said = re.match(
        r"(?:the (\w+) )?`(.*)` can never hold in its place in `(after|match|until)`",
        finding.text,
        re.DOTALL,
    )
    assert said is not None
    number = {"first": 1, "second": 2, "third": 3, None: 1}.get(said[1])
    number = int(str(said[1])[:-2]) if number is None else number
    (window,) = oracle.meaning.expanded.windows
    places = [
        (pair, way)
        for pair in window.pairs
        for way, predicate in _brackets(_clause(pair, said[3]))
        if str(predicate) == said[2]
    ]
    if said[3] == "until":
        return any(_until_holds(oracle.definition(word)) for word in oracle.words)
    pair, way = places[number - 1]
    return any(_holds_in(oracle.definition(word), pair, said[3], way) for word in oracle.words)


def _clause(pair: tree.Pair, name: str) -> tree.Regex:
    return (pair.after or tree.Empty()) if name == "after" else pair.match


def _parts(regex: tree.Regex) -> tuple[tree.Regex, ...]:
    match regex:
        case tree.Concat(parts) | tree.Union(parts) | tree.Intersection(parts):
            return parts
        case tree.Repeat(body) | tree.Labelled(_, body):
            return (body,)
    return ()  # what is below `~` has no place


def _brackets(regex: tree.Regex) -> Iterator[tuple[Bracket, tree.Expr]]:
    """Yield the brackets of an expression from left to right, but for repetitions that are never read."""
    if isinstance(regex, tree.Atom):
        yield (), regex.predicate
    if isinstance(regex, tree.Repeat) and regex.high == 0:
        return
    for number, part in enumerate(_parts(regex)):
        for way, predicate in _brackets(part):
            yield (number, *way), predicate


def _holds_in(definition: Definition, pair: tree.Pair, clause: str, way: Bracket) -> bool:
    first = definition.first
    if clause == "after":
        assert pair.after is not None
        return _reads(definition, pair.after, way, first, first)
    begins = definition.ends(pair.after or ANYWHERE, first, first)
    return any(_reads(definition, pair.match, way, b, b) for b in begins)


def _reads(definition: Definition, regex: tree.Regex, way: Bracket, start: int, begin: int) -> bool:
    """Tell whether an expression that is read from an event on comes to a bracket, and that holds there."""
    if isinstance(regex, tree.Atom):
        return start < definition.count and definition.true_at(regex.predicate, start, begin)
    number, *rest = way
    part = _parts(regex)[number]
    reached = {start}
    if isinstance(regex, tree.Repeat):
        for _ in range(definition.count if regex.high is None else regex.high - 1):
            reached |= {end for middle in reached for end in definition.ends(part, middle, begin)}
    elif isinstance(regex, tree.Concat):
        for before in regex.parts[:number]:
            reached = {end for middle in reached for end in definition.ends(before, middle, begin)}
    return any(_reads(definition, part, tuple(rest), at, begin) for at in reached)


def _until_holds(definition: Definition) -> bool:
    until = definition.window.until
    assert until is not None
    return any(
        e + 1 < definition.count and definition.true_at(until.predicate, e + 1, b)
        for b, e in definition.w0()
    )


# --- Kinds of events, and states


def _reached(oracle: Oracle, finding: Finding) -> bool:
    """Tell whether short streams have more kinds of events, or reach more states, than a finding says."""
    said = re.match(r"(\d+) of (\d+) (kinds of events|window states)", finding.text)
    assert said is not None
    missing, every = int(said[1]), int(said[2])
    compiled = compile_window(oracle.meaning, 0)
    runs = [_Run(compiled, oracle.definition(word)) for word in oracle.words]
    if said[3] == "window states":
        return len({state for run in runs for state in run.states()}) > every - missing
    kinds = {_kind(compiled, letter) for letter in range(len(compiled.letters))}
    seen = {_kind(compiled, letter) for run in runs for letter in run.letters}
    return len(kinds) != every or len(seen) > every - missing


def _kind(compiled: CompiledWindow, letter: int) -> tuple[int, int, bool]:
    """Return how the automata of a window read a letter."""
    form, preference, until = compiled.form, compiled.preference, compiled.until
    behind = until is not None and bool(until >> letter & 1)
    if preference is None:
        return int(form.prefix.classes[letter]), int(form.window.classes[letter]), behind
    return int(preference.prefix.classes[letter]), int(preference.ways.classes[letter]), behind


class _Run:
    """The automata of a window on a short stream."""

    def __init__(self, compiled: CompiledWindow, definition: Definition) -> None:
        self.compiled = compiled
        letters, grams = compiled.letters, definition.grams
        self.letters = [
            letters.letter([grams.holds(guard, position) for guard in letters.guards])
            for position in grams.positions
        ]

    def states(self) -> Iterator[tuple[int, int]]:
        """Yield the states of all starts after each event, with their ages if `within` counts events.

        As long as they have enough events left for a window.
        """
        compiled = self.compiled
        form = compiled.form if compiled.preference is None else compiled.preference
        prefix = 0
        for start, letter in enumerate(self.letters):
            if form.starts[prefix] != NONE:
                yield from self._from(int(form.starts[prefix]), self.letters[start:])
            prefix = form.prefix.step(prefix, letter)

    def _from(self, state: int, letters: list[int]) -> Iterator[tuple[int, int]]:
        clauses, final = self.compiled.clauses, False
        most = clauses.within_events
        for age, letter in enumerate(letters, 1):
            behind = self.compiled.until is None or bool(self.compiled.until >> letter & 1)
            if (most is not None and age > most) or (clauses.ends_after_first and final and behind):
                return
            state, lives, final = self._step(state, letter, behind=behind)
            if not lives or (most is not None and not self._ends(state, final, most - age)):
                return
            yield state, age if most is not None else 0

    def _ends(self, state: int, final: bool, left: int) -> bool:
        """Tell whether a start can get a window with so many more events, whatever they are."""
        reached = {(state, final)}
        for _ in range(left):
            if any(ends for _, ends in reached):
                break
            steps = (
                self._step(before, letter, behind=behind)
                for before, _ in reached
                for letter in range(len(self.compiled.letters))
                for behind in (False, True)
            )
            reached = {(after, ends) for after, lives, ends in steps if lives}
        return any(ends for _, ends in reached)

    def _step(self, state: int, letter: int, *, behind: bool) -> tuple[int, bool, bool]:
        """Return the state after a letter, whether it lives, and whether a window may end there."""
        preference = self.compiled.preference
        if preference is None:
            window = self.compiled.form.window
            after = window.step(state, letter)
            return after, bool(window.live[after]), bool(window.final[after])
        ways = preference.ways
        confirms = behind and not self.compiled.clauses.having
        left = ways.confirmed[state] if confirms else ways.denied[state]
        after = int(ways.table[left, ways.classes[letter]])
        return after, after != 0, bool(ways.accepts[after])


# --- Labels


def false_labels(oracle: Oracle, report: WindowReport) -> bool:
    """Tell whether labels are called unambiguous, and a short stream has a window with two ways."""
    if report.labels is None or report.labels.holds is not True:
        return False
    return any(
        len(labellings(definition, b, e)) > 1
        for definition in map(oracle.definition, oracle.words)
        for b, e in definition.w0()
    )


def _is_ambiguous(oracle: Oracle, report: WindowReport) -> bool:
    """Tell whether the stream that a report names conforms and labels its window in two ways."""
    shown = report.labels
    assert shown is not None
    assert shown.witness is not None
    assert shown.window is not None
    events = list(shown.witness.to_pylist())
    _, start, end = shown.window
    definition = Definition(oracle.meaning, 0, Stream((), events, list(range(len(events)))))
    return oracle.conforms(events) and len(labellings(definition, start, end)) > 1
