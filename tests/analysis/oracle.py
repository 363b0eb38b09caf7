"""All short streams of a spec, by the definition: what the analysis says has to be true of them.

The oracle shares no code with the analysis. What windows a stream has, and with them which starts are
open, says `wex.reference`; how many starts are held says a processor.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise, product
from itertools import cycle as repeated
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import wex
from tests.analysis.small import alphabet, conforming
from tests.strategies.specs import greedy
from wex.compile.clauses import clauses_of
from wex.compile.planning import plan_windows
from wex.engine.engine import Engine, engine_of
from wex.engine.kernels.compiled import interpreted
from wex.engine.running_streams import RunningStreams
from wex.engine.state import schema
from wex.reference.assumptions import Assumptions
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.stages import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.spec import Meaning
    from wex.theory.evaluate import Event, Value

Windows = frozenset[tuple[int, int]]
Word = tuple[int, ...]  # the numbers of the events of a short stream

LONGER = 60  # streams that are tried where short ones show nothing
MOST_CONTINUATIONS = 1_500  # of a stream, to find the windows of its open starts
MOST_REPEATED = 12  # events of a longer continuation
KEY = "key"  # a field that gives every short stream a key
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
    words: list[Word] = field(init=False)
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
        self.words = [
            word
            for word in conforming(self.meaning, longest, self.events)
            if self._in_order(self.stream(word))
        ]

    def definition(self, word: Word) -> Definition:
        """Return the definition of the windows on a short stream."""
        stream = Stream((), self.stream(word), list(range(len(word))))
        return Definition(self.meaning, 0, stream)

    def stream(self, word: Sequence[int]) -> list[Event]:
        return [self.events[at] for at in word]

    def windows(self, events: Sequence[Event], spec: tree.Spec | None = None) -> Windows:
        """Return start and end of the windows of a stream, by the definition."""
        meaning = self.meaning if spec is None else meaning_of(spec)
        stream = Stream((), list(events), list(range(len(events))))
        return frozenset((w.start, w.end) for w in Definition(meaning, 0, stream).windows())

    def _in_order(self, events: Sequence[Event]) -> bool:
        """Tell whether the events of a stream come in its order, if it has one."""
        columns = [name.text for name in self.spec.stream.order_by]
        if not columns:
            return True
        columns += [name for name in self.meaning.fields if name not in columns]
        keys: list[Any] = [tuple(event[name] for name in columns) for event in events]
        return all(one <= two for one, two in pairwise(keys))

    def conforms(self, events: Sequence[Event]) -> bool:
        if not self._in_order(events):
            return False
        try:
            Assumptions(self.meaning, unchecked=True).check(Stream((), list(events), []))
        except wex.DataError:
            return False
        return True

    def most_open(self, shown: dict[Word, Windows]) -> int:
        """Return how many starts of a short stream have windows in its short continuations."""
        opened: dict[Word, set[int]] = {}
        for word, windows in shown.items():
            for start, end in windows:
                for size in range(start + 1, end + 2):
                    opened.setdefault(word[:size], set()).add(start)
        return max(map(len, opened.values()), default=0)

    def open_at_end(
        self,
        events: Sequence[Event],
        enough: int,
        *,
        ended: bool = True,
        periodic: bool = False,
    ) -> int:
        """Return how many starts have a window that reaches the end of a stream, in a continuation.

        Or one that goes on, if those that have `ended` with it do not count. As far as continuations
        are tried: the shortest first, until there are `enough`, and then long `periodic` ones.
        """
        found: set[int] = set()
        lengths = (product(self.events, repeat=length) for length in range(7))
        short = islice((tail for tails in lengths for tail in tails), MOST_CONTINUATIONS)
        for more in chain(short, self._periodic() if periodic else ()):
            longer = [*events, *more]
            if self.conforms(longer):
                windows = self.windows(longer)
                found |= {b for b, e in windows if b < len(events) <= e + ended}
            if len(found) >= enough:
                break
        return len(found)

    def _periodic(self) -> Iterator[tuple[Event, ...]]:
        """Yield continuations that repeat one or two events, before another one or none.

        A start may have to wait until those before it, whose windows would win, have grown too long.
        """
        for length in range(4, MOST_REPEATED + 1):
            for pair in product(self.events, repeat=2):
                for tail in ((), *((event,) for event in self.events)):
                    yield (*islice(repeated(pair), length), *tail)

    def hopeless(self) -> bool:
        """Tell whether some start is held after a stream that has a window in no short continuation.

        By the plan before its least form. It holds most without `keep`, but for the order of ways.
        After all short streams, some longer ones are tried: a window may look back further.
        """
        (window,) = self.spec.windows
        by_order = window.keep is not None and window.keep.text in ("preferred", "leftmost")
        keep = tree.Name("preferred") if by_order else None
        plain = replace(window, keep=keep, next_start=None)
        spec = replace(self.spec, windows=(plain,), source=None)
        pairs = tuple(replace(pair, match=greedy(pair.match)) for pair in window.pairs)
        oracle = Oracle(replace(spec, windows=(replace(plain, keep=None, pairs=pairs),)))
        engine = Engine(plan_windows(run(spec, until="smaller form")))  # type: ignore[arg-type]
        late = window.until is not None  # the event behind a window decides about it
        for events in (*map(self.stream, self.words), *self._longer_streams()):
            streams = RunningStreams(engine)
            with interpreted():
                streams.feed(pa.Table.from_pylist(events, self._schema(self.events)))
            held = streams.held()
            if held and oracle.open_at_end(events, held, ended=late) < held:
                return True
        return False

    def _longer_streams(self) -> Iterator[list[Event]]:
        """Yield some streams that conform, each with all its beginnings."""
        choose = random.Random(LONGER)
        for _ in range(LONGER):
            events: list[Event] = []
            for _ in range(2 * len(self.words[-1]) + 1 + max(self.meaning.lookbacks)):
                events = [*events, choose.choice(self.events)]
                if not self.conforms(events):
                    break
                yield events

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
        """Return the most starts that are held after an event, or end with it, on a stream.

        What `having` denies has ended, too. Which starts end is asked without `having`, and without
        `keep`, unless that goes by preference: it hides windows. A start that ends counts only if the
        spec itself held it before.
        """
        (window,) = self.spec.windows
        clauses = clauses_of(window)
        keep = window.keep if clauses.prefers else None
        free = replace(self.spec, windows=(replace(window, having=None, keep=keep),), source=None)
        own, others = (RunningStreams(engine_of(spec)) for spec in (self.spec, free))
        most = 0
        with interpreted():
            for at, event in enumerate(events):
                table = pa.Table.from_pylist([event], self._schema(events))
                begun = _held_starts(own) | {at}
                reported, ended = (_starts_ending(each.feed(table), at) for each in (own, others))
                if clauses.cuts and reported:  # a window takes all other starts with it
                    ended = reported
                elif clauses.single:  # what goes on and is not held never wins against an older one
                    ended = ended - _held_starts(others) | reported
                most = max(most, len(_held_starts(own) | begun & ended))
        return most

    def _schema(self, events: Sequence[Event]) -> pa.Schema:
        return pa.Table.from_pylist(list(events)).schema


def _held_starts(streams: RunningStreams) -> set[int]:
    """Return the starts that are held, in the only stream."""
    rows = streams.everything().lists[schema.held(0)].to_pylist()
    # By preference, some rows only divide panes.
    return {
        row[schema.POSITION]
        for row in rows
        if schema.CANDIDATE not in row or row[schema.SLOT] != schema.BORDER
    }


def _starts_ending(windows: pa.Table, at: int) -> set[int]:
    """Return the starts of the windows that end with an event."""
    rows = windows.select(["start_index", "end_index"]).to_pylist()
    return {row["start_index"] for row in rows if row["end_index"] == at}
