"""The analysis against every short stream of random specs: python -m tests.analysis.torture COUNT SEED.

The oracles share no code with the analysis. What windows a stream has, and with them which starts are
open, says the definition in `wex.reference`; how many starts are held says a processor. No bound may
be exceeded by a short stream, every exact bound and every growth has to be shown by its witness,
and every finding has to be true of all short streams.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import wex
from tests.analysis.small import alphabet, conforming, spec_texts
from tests.analysis.test_types import comparing
from wex.analysis.answers import Kind
from wex.engine.kernels.compiled import interpreted
from wex.errors import LimitError
from wex.reference.assumptions import Assumptions
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import meaning as meaning_of
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.answers import Answer, Finding
    from wex.analysis.check import WindowReport
    from wex.spec import Meaning
    from wex.theory.evaluate import Event, Value

    Windows = frozenset[tuple[int, int]]

GROWN = 4  # what the witness of an unbounded number has to reach
MOST_WITNESSED = 12  # a larger bound is not replayed
MOST_CONTINUATIONS = 1_500  # of a witness, to find the windows of its open starts
KEY = "key"  # a field that gives every short stream a key

random_specs = st.one_of(
    spec_texts(),
    spec_texts(having=True),
    spec_texts(preference=True),
    spec_texts(running=True),
    comparing(lookback=3),
)
# Some values of unlimited domains: below, at, between and above the constants of random specs.
SOME: dict[str, list[Value]] = {
    "real": [-1.0, 0.0, 1.0, 2.0, 3.0],
    "int": [-1, 0, 1, 2, 3],
    "string": ["a", "b", "c", "d"],
}


@dataclass
class Oracle:
    """All short streams of a spec, by the definition, and what a processor holds on them."""

    spec: tree.Spec
    meaning: Meaning = field(init=False)
    events: list[Event] = field(init=False)
    words: list[tuple[int, ...]] = field(init=False)
    whole: bool = field(init=False)

    def __post_init__(self) -> None:
        self.meaning = meaning_of(self.spec)
        fields = self.meaning.fields
        self.whole = not {"n", "ok"}.isdisjoint(fields)  # the events are all that there are
        if self.whole:
            self.events = alphabet(self.meaning)
        else:
            values = [SOME[type_.name][:: len(fields)] for type_ in fields.values()]
            self.events = [dict(zip(fields, event, strict=True)) for event in product(*values)]
        longest = 5 if len(self.events) <= 3 else 4 if len(self.events) <= 5 else 3
        self.words = conforming(self.meaning, longest, self.events)

    def stream(self, word: Sequence[int]) -> list[Event]:
        return [self.events[at] for at in word]

    def windows(self, events: Sequence[Event], spec: tree.Spec | None = None) -> Windows:
        """Return start and end of the windows of a stream, by the definition."""
        meaning = self.meaning if spec is None else meaning_of(spec)
        stream = Stream((), list(events), list(range(len(events))))
        return frozenset((w.start, w.end) for w in Definition(meaning, 0, stream).windows())

    def conforms(self, events: Sequence[Event]) -> bool:
        try:
            Assumptions(self.meaning, unchecked=True).check(Stream((), list(events), []))
        except wex.DataError:
            return False
        return True

    def most_open(self, shown: dict[tuple[int, ...], Windows]) -> int:
        """Return how many starts of a short stream have windows in its short continuations."""
        opened: dict[tuple[int, ...], set[int]] = {}
        for word, windows in shown.items():
            for start, end in windows:
                for size in range(start + 1, end + 2):
                    opened.setdefault(word[:size], set()).add(start)
        return max(map(len, opened.values()), default=0)

    def open_at_end(self, events: Sequence[Event], enough: int) -> int:
        """Return how many starts have a window that reaches the end of a stream, in a continuation.

        As far as continuations are tried: the shortest first, until there are `enough`.
        """
        found: set[int] = set()
        lengths = (product(self.events, repeat=length) for length in range(7))
        for more in islice((tail for tails in lengths for tail in tails), MOST_CONTINUATIONS):
            longer = [*events, *more]
            if self.conforms(longer):
                windows = self.windows(longer)
                found |= {b for b, e in windows if b < len(events) <= e + 1}
            if len(found) >= enough:
                break
        return len(found)

    def most_held(self, spec: tree.Spec) -> int:
        """Return how many starts a processor holds at most after a short stream: each is a key."""
        keyed = tree.Field(tree.Name(KEY), tree.FieldType(tree.Name("int")))
        stream = replace(
            spec.stream, fields=(keyed, *spec.stream.fields), partition_by=(tree.Name(KEY),)
        )
        processor = wex.Processor(replace(spec, stream=stream, source=None))
        rows = [
            {KEY: key, **event}
            for key, word in enumerate(self.words)
            for event in self.stream(word)
        ]
        if rows:
            with interpreted():
                processor.feed(pa.Table.from_pylist(rows))
        return processor.most_held()

    def held_or_ended(self, events: Sequence[Event]) -> int:
        """Return the most starts that a processor holds after an event or that end with it.

        With `keep disjoint` a window that ends also ends the starts that were held, and a new one.
        """
        processor = wex.Processor(self.spec)
        (window,) = self.spec.windows
        clears = window.keep is not None and window.keep.text == "disjoint"
        most = 0
        with interpreted():
            for event in events:
                before = processor.held()
                ended = processor.feed(pa.Table.from_pylist([event], self._schema(events)))
                starts = set(ended["start_index"].to_pylist())
                most = max(most, processor.held() + len(starts))
                if clears and starts:
                    most = max(most, before + 1)
        return most

    def _schema(self, events: Sequence[Event]) -> pa.Schema:
        return pa.Table.from_pylist(list(events)).schema


def faults(text: str, tally: Counter[str] | None = None) -> list[str]:
    """Return what is wrong with the analysis of a spec with one window: nothing, if all is well."""
    oracle = Oracle(wex.parse(text))
    everything = wex.check(oracle.spec)
    (report,), findings = everything.windows, everything.findings
    shown = {word: oracle.windows(oracle.stream(word)) for word in oracle.words}
    overlaps = [_shared(windows, len(word)) for word, windows in shown.items()]
    reached = {
        "open": oracle.most_open(shown),
        "held": oracle.most_held(oracle.spec),
        "overlap": max(overlaps, default=0),
    }
    found: list[str] = []
    for name, low in reached.items():
        answer = report.answers[name]
        if tally is not None:
            tally[f"{name} {answer.verdict}{' exact' if answer.exact else ''}"] += 1
        if answer.bound is not None and low > answer.bound:
            found.append(f"{name}: {answer} is proved, a stream has {low}")
        found += _of_witness(oracle, name, answer)
    for finding in (*report.findings, *findings):
        found += _of_finding(oracle, finding, report, shown)
        if tally is not None:
            tally[f"finding {finding.kind}"] += 1
    return found


def _shared(windows: Windows, length: int) -> int:
    """Return how many windows share one position at most."""
    return max((sum(b <= at <= e for b, e in windows) for at in range(length)), default=0)


def _of_witness(oracle: Oracle, name: str, answer: Answer) -> Iterator[str]:
    """Yield what is wrong with the witness of an exact bound, or of growth."""
    if answer.exact and answer.bound is not None and answer.bound <= MOST_WITNESSED:
        n = answer.bound
    elif answer.verdict == "unbounded":
        n = GROWN
    else:
        return
    events: list[Event] = list(answer.witness(n).to_pylist())
    if not oracle.conforms(events):
        yield f"{name}: the witness of {n} does not conform"
        return
    if name == "open" and not oracle.whole:
        return  # other values than a few may be needed to go on
    if name == "open":
        seen = oracle.open_at_end(events, n)
    elif name == "held":
        seen = oracle.held_or_ended(events)
    else:
        seen = _shared(oracle.windows(events), len(events))
    if seen < n:
        yield f"{name}: the witness of {n} has {seen}: {events}"


def _of_finding(
    oracle: Oracle, finding: Finding, report: WindowReport, shown: dict[tuple[int, ...], Windows]
) -> Iterator[str]:
    """Yield what is wrong with a finding: a short stream for which it is not true."""
    windows = {window for own in shown.values() for window in own}
    wrong = False
    match finding.kind:
        case Kind.NEVER_OCCURS:
            wrong = bool(windows)
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
    if wrong:
        yield f"not true: {finding}"


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


def run(count: int, start: int, tally: Counter[str] | None = None) -> list[str]:
    """Return the faults of so many random specs."""
    bad: list[str] = []

    @seed(start)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(random_specs)
    def one(text: str) -> None:
        try:
            bad.extend(f"{text}\n   {fault}" for fault in faults(text, tally))
        except LimitError:
            pass  # the definition tries every set of positions
        except Exception:  # noqa: BLE001
            bad.append(f"{text}\n{traceback.format_exc()}")

    one()
    return bad


def main(count: int, start: int) -> int:
    tally: Counter[str] = Counter()
    bad = run(count, start, tally)
    for what, times in sorted(tally.items()):
        print(f"{times:>6}  {what}")  # noqa: T201
    for fault in bad[:10]:
        print("-----\n" + fault)  # noqa: T201
    print(f"{count} specs, {len(bad)} faults")  # noqa: T201
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
