"""Answers of the analysis: a verdict, a bound, a reason, and a concrete stream on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from wex.analysis.witness import table_of
from wex.errors import WexError

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.spec import Meaning
    from wex.theory.evaluate import Event


class Quantity(StrEnum):
    """What is counted, as messages name it."""

    OPEN = "open starts"
    HELD = "held starts"
    OVERLAP = "windows that share a position"
    DELAY = "events between the end of a window and its decision"

    __repr__ = str.__repr__


class Verdict(StrEnum):
    """Whether a quantity has a bound that holds for every stream."""

    BOUNDED = "bounded"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"

    __repr__ = str.__repr__


class Growth(StrEnum):
    """How an unbounded quantity grows with the length of the stream."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"

    __repr__ = str.__repr__


class Kind(StrEnum):
    """What a finding is about."""

    NEVER_HOLDS = "never-holds"  # a predicate that no event satisfies
    NEVER_HOLDS_HERE = "never-holds-here"  # a predicate that no event satisfies in its place
    NEVER_OCCURS = "never-occurs"  # a window that no stream has
    ONLY_AT_FIRST = "only-at-first"  # a window that begins only at the first event
    EVERY_BEGINNING = "every-beginning"  # a window whose every beginning is a window
    REMEDY = "remedy"  # a clause that bounds a window
    AMBIGUOUS_LABELS = "ambiguous-labels"  # a window that two ways label differently
    HOPELESS_STARTS = "hopeless-starts"  # starts that are held in vain
    NOT_REACHED = "not-reached"  # kinds of events or states that no stream has
    NO_STREAM_CONFORMS = "no-stream-conforms"  # an assumption that no stream meets
    UNUSED_LET = "unused-let"  # a let that no window and no assumption uses
    EXCLUDES_NOTHING = "excludes-nothing"  # an assumption that every stream meets

    __repr__ = str.__repr__


@dataclass(frozen=True)
class Finding:
    """Something to notice about a spec: what it is about, and a sentence."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return self.text


WitnessBuilder = Callable[[int], "list[Event] | None"]  # n → a replayed stream that reaches n


@dataclass(frozen=True)
class Answer:
    """How large a quantity can become on any stream.

    `bound` is an upper bound, attained if `exact`; `growth` is how an unbounded quantity grows with
    the length of the stream; `reason` explains the verdict in one sentence; `seconds` is the time
    that the answer took.
    """

    what: Quantity
    verdict: Verdict
    bound: int | None
    exact: bool
    growth: Growth | None
    reason: str
    seconds: float = field(compare=False)
    meaning: Meaning = field(repr=False, compare=False)
    builder: WitnessBuilder | None = field(repr=False, compare=False)

    def witness(self, n: int) -> pa.Table:
        """Return a stream that conforms to every `assume` and reaches n, verified by replaying it."""
        if n < 0:
            raise WexError("no-witness", f"there are never {n} {self.what}", "ask for 0 or more")
        if self.bound is not None and n > self.bound:
            message = f"there are never {n:,} {self.what}, but at most {self.bound:,}"
            raise WexError("no-witness", message, f"ask for {self.bound:,} or fewer")
        events = [] if n == 0 else self.builder(n) if self.builder is not None else None
        if events is None:
            message = f"no stream with {n:,} {self.what} was found"
            hint = "there may be none: the bound is not exact"
            if self.exact or self.verdict is Verdict.UNBOUNDED:
                hint = "one exists for exact numbers, but no floats and times were found that fit"
            raise WexError("no-witness", message, hint)
        return table_of(self.meaning, events)

    def __str__(self) -> str:
        match self.verdict:
            case Verdict.BOUNDED:
                return f"{self.bound:,}" if self.exact else f"at most {self.bound:,}"
            case Verdict.UNBOUNDED:
                return f"unbounded ({self.growth})"
        return "unknown"
