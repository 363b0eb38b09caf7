"""The plan of a spec: all that an engine needs to run it, as plain data that travels as bytes.

Making a plan needs the grammar and the solver; reading and running one loads neither.
"""

from __future__ import annotations

import hashlib
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from wex.automata.dfa import DFA
from wex.automata.preference import OrderedAutomaton
from wex.compile import codec
from wex.compile.clauses import Clauses
from wex.compile.codec import Serializable
from wex.compile.labels import LabelForm
from wex.compile.measures import Measure
from wex.compile.preference import PreferenceForm
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
class PlannedStream(Serializable):
    """The declaration of the stream: fields in their order, keys, order, `nulls skip`.

    `guarded` are the fields that predicates read: events with a NULL or NaN there are skipped or
    an error. `moments` are the timestamp literals of the spec, each with whether it has a zone.
    In the `nullable` fields NULL is allowed.
    """

    SAVED_AS: ClassVar[str] = "PlannedStream"

    fields: tuple[tuple[str, Type], ...]
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    skip_nulls: bool
    guarded: tuple[str, ...]
    moments: tuple[tuple[str, bool], ...]
    nullable: tuple[str, ...] = ()

    def to_parts(self) -> dict[str, object]:
        """Return the parts by name; plans without nullable fields keep their bytes."""
        parts = super().to_parts()
        return parts if self.nullable else {k: v for k, v in parts.items() if k != "nullable"}


@dataclass(frozen=True)
class PlannedLetters:
    """Letters over guards, which are given by their numbers: `rows[i]` are the truths of letter i."""

    guards: tuple[int, ...]
    rows: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, eq=False)
class PlannedWindow(Serializable):
    """A window: its automata over letters, its clauses and its measures.

    `starts[p]` is the state of `window` in which a start at state p of `prefix` begins, or -1;
    `until` is the set of letters that may follow a window. `preference` is the form that runs if
    `keep` chooses by preference, and `labels` the one in which found windows are parsed.
    """

    SAVED_AS: ClassVar[str] = "PlannedWindow"

    name: str
    lookback: int
    pad: bool
    letters: PlannedLetters
    prefix: DFA
    starts: NDArray[np.int32]
    window: DFA
    until: int | None
    clauses: Clauses
    measures: tuple[Measure, ...]
    having: Guard | None
    preference: PreferenceForm | None = None
    labels: LabelForm | None = None

    # Plans of version 1 have the clauses among the other parts, and no flags for `until` and
    # `having`, which are parts of their own. A clause that is added gets a default and is written
    # only if it differs, so that plans without it keep their bytes.

    def to_parts(self) -> dict[str, object]:
        """Return the parts by their written names."""
        clauses = {
            field.name: value
            for field in fields(Clauses)
            if (value := getattr(self.clauses, field.name)) != field.default
        }
        parts = clauses | super().to_parts()
        del parts["clauses"]
        for name in ("preference", "labels"):
            if parts[name] is None:
                del parts[name]
        return parts

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the window of written parts."""
        named: dict[str, Any] = {name: parts[name] is not None for name in ("until", "having")}
        for field in fields(Clauses):
            if field.name not in named and (field.name in parts or field.default is MISSING):
                named[field.name] = parts.pop(field.name)
        return cls(clauses=Clauses(**named), **parts)


@dataclass(frozen=True, eq=False)
class PlannedAssumptions(Serializable):
    """The assumptions that are checked: see `wex.compile.assumptions.AssumptionAutomaton`.

    `shown` are their texts.
    """

    SAVED_AS: ClassVar[str] = "PlannedPromise"

    shown: tuple[str, ...]
    first: int
    phases: tuple[PlannedLetters, ...]
    table: tuple[tuple[int, ...], ...]
    live: tuple[bool, ...]


@dataclass(frozen=True)
class PlannedRate(Serializable):
    """`assume at most N events in DURATION`, if it is checked; the length is in microseconds."""

    SAVED_AS: ClassVar[str] = "PlannedRate"

    shown: str
    events: int
    length: int


@dataclass(frozen=True, eq=False)
class Plan(Serializable):
    """A spec, ready to run. Each guard is listed once, whichever windows use it."""

    SAVED_AS: ClassVar[str] = "Plan"

    stream: PlannedStream
    guards: tuple[Guard, ...]
    windows: tuple[PlannedWindow, ...]
    assumptions: PlannedAssumptions | None
    rates: tuple[PlannedRate, ...] = ()

    def to_parts(self) -> dict[str, object]:
        """Return the parts by name; plans without rates keep their bytes."""
        parts = super().to_parts()
        if not self.rates:
            del parts["rates"]
        return parts | {"promise": parts.pop("assumptions")}

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the plan of written parts."""
        return cls(assumptions=parts.pop("promise"), **parts)

    @cached_property
    def fingerprint(self) -> str:
        """Return a short name of the plan: equal for equal plans, on any machine."""
        return hashlib.sha256(codec.canonical(self)).hexdigest()[:32]

    def to_bytes(self) -> bytes:
        """Return the plan as bytes."""
        return codec.to_bytes(self, FRAME)

    @classmethod
    def from_bytes(cls, content: bytes) -> Plan:
        """Return the plan in some bytes, or raise a StateError."""
        from wex.compile.plan_check import check_plan  # noqa: PLC0415  (it imports this module)

        plan = codec.from_bytes(content, FRAME, CLASSES)
        with FRAME.reading():
            check_plan(plan)
        assert isinstance(plan, Plan)
        return plan


CLASSES: tuple[type, ...] = (
    Plan, PlannedStream, PlannedLetters, PlannedWindow, PlannedAssumptions, PlannedRate,
    DFA, PreferenceForm, OrderedAutomaton, LabelForm, Type, Measure, terms.Aggregate,
    terms.Field, terms.Constant, terms.Arithmetic, terms.Negative, terms.Absolute,
    terms.Local, terms.Calendar,
    terms.Always, terms.Comparison, terms.Truth, terms.Like, terms.IsNull, terms.IsFirst, terms.Not, terms.And, terms.Or,
    terms.RunningTest,
)  # fmt: skip
