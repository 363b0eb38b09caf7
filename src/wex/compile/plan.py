"""The plan of a spec: all that an engine needs to run it, as plain data that travels as bytes.

A plan is made where the spec is (that needs the grammar and the solver) and run anywhere: reading
one loads neither.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.automata.dfa import DFA
from wex.compile import codec
from wex.compile.measures import Aggregate, Measure
from wex.framing import Frame
from wex.spec.types import Type
from wex.theory import terms
from wex.threads import cached_property

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wex.theory.terms import Guard

FRAME = Frame("plan", b"WEXPLAN", 1, "make the plan anew with this version")


@dataclass(frozen=True)
class PlannedStream:
    """What the stream line says: fields in their order, keys, order, what becomes of NULLs.

    `guarded` are the fields that predicates read: there a NULL or NaN is not let through.
    `moments` are the timestamps that the spec writes, and whether they have a zone.
    """

    fields: tuple[tuple[str, Type], ...]
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    skip_nulls: bool
    guarded: tuple[str, ...]
    moments: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class PlannedLetters:
    """Letters over guards of the plan, by number: row i says which are true of letter i."""

    guards: tuple[int, ...]
    rows: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, eq=False)
class PlannedWindow:
    """A window: its automata over letters, and its clauses.

    `starts[p]` is the state of `window` in which a start at state p of `prefix` begins, or -1;
    `until` is the set of letters that may follow a window; `within_time` is in microseconds.
    """

    name: str
    lookback: int
    pad: bool
    letters: PlannedLetters
    prefix: DFA
    starts: NDArray[np.int32]
    window: DFA
    until: int | None
    or_end: bool
    within_events: int | None
    within_time: int | None
    keep: str
    measures: tuple[Measure, ...]
    having: Guard | None


@dataclass(frozen=True, eq=False)
class PlannedPromise:
    """What is assumed of every stream and checked: see `wex.compile.assumptions.Promise`."""

    shown: tuple[str, ...]
    first: int
    phases: tuple[PlannedLetters, ...]
    table: tuple[tuple[int, ...], ...]
    live: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """A spec, ready to run. Each guard is listed once, whichever windows use it."""

    stream: PlannedStream
    guards: tuple[Guard, ...]
    windows: tuple[PlannedWindow, ...]
    promise: PlannedPromise | None

    @cached_property
    def fingerprint(self) -> str:
        """Return a short name of the plan: the same for the same plan, on any machine."""
        return hashlib.sha256(codec.canonical(self)).hexdigest()[:32]

    def to_bytes(self) -> bytes:
        """Return the plan as bytes."""
        return codec.to_bytes(self, FRAME)

    @classmethod
    def from_bytes(cls, content: bytes) -> Plan:
        """Return the plan in some bytes, or raise a StateError."""
        from wex.compile.plan_check import check_plan  # noqa: PLC0415  (which reads plans, too)

        found = codec.from_bytes(content, FRAME, CLASSES)
        with FRAME.reading():
            check_plan(found)
        assert isinstance(found, Plan)
        return found


CLASSES: tuple[type, ...] = (
    Plan, PlannedStream, PlannedLetters, PlannedWindow, PlannedPromise,
    DFA, Type, Measure, Aggregate,
    terms.Field, terms.Constant, terms.Arithmetic, terms.Negative, terms.Absolute,
    terms.Always, terms.Comparison, terms.Truth, terms.IsFirst, terms.Not, terms.And, terms.Or,
)  # fmt: skip
