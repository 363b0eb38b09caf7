"""Nodes of the syntax tree: the items of a spec, their clauses, and the spec itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex import notebook
from wex.spec.tree.nodes import Name, Node

if TYPE_CHECKING:
    from wex.spec.problems import Source
    from wex.spec.tree.nodes import Duration, Expr, Int, Real, Regex, Text


@dataclass(frozen=True)
class FieldType(Node):
    """The type of a field by name; `values` are those of an enum."""

    name: Name
    values: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Field(Node):
    """A field of the stream: `price real`."""

    name: Name
    type: FieldType


@dataclass(frozen=True)
class Stream(Node):
    """The stream of a spec: `stream trades (…) partition by … order by … nulls …`."""

    name: Name
    fields: tuple[Field, ...]
    partition_by: tuple[Name, ...] = ()
    order_by: tuple[Name, ...] = ()
    nulls: Name | None = None


@dataclass(frozen=True)
class Let(Node):
    """A named predicate or value: `let up = price > price[-1]`."""

    name: Name
    value: Expr


@dataclass(frozen=True)
class Assume(Node):
    """An assumption about every stream: `assume R`, `assume R unchecked`."""

    regex: Regex
    unchecked: bool = False


@dataclass(frozen=True)
class Rate(Node):
    """An assumption about time: `assume at most 100 events in 1 second`."""

    events: Int | Real
    unit: Name
    duration: Duration
    unchecked: bool = False


@dataclass(frozen=True)
class Pair(Node):
    """`after R match S`; without `after`, a window may start anywhere."""

    after: Regex | None
    match: Regex


@dataclass(frozen=True)
class RunsOf(Node):
    """`runs of status, mode`: maximal ranges of events with the same values."""

    values: tuple[Expr, ...]


@dataclass(frozen=True)
class RunsWhere(Node):
    """`runs where temp > 90`: maximal ranges of events that satisfy a predicate."""

    predicate: Expr


@dataclass(frozen=True)
class Sessions(Node):
    """`sessions gap 30 minutes`: maximal ranges of events without a longer pause.

    With `at most 2 hours` a session is cut from the left where it would become longer.
    """

    gap: Expr
    most: Expr | None = None


Runs = RunsOf | RunsWhere | Sessions


@dataclass(frozen=True)
class Until(Node):
    """`until [p]`, `until [p] or end`."""

    predicate: Expr
    or_end: bool = False


@dataclass(frozen=True)
class Within(Node):
    """`within 10 events`, `within 5 minutes`."""

    amount: Int | Real
    unit: Name


@dataclass(frozen=True)
class Sharing(Node):
    """`sharing 1 event`, behind `keep leftmost`."""

    amount: Int
    unit: Name


@dataclass(frozen=True)
class Resuming(Node):
    """`resuming at last fall`, behind `keep leftmost`: the first or last event with a label."""

    which: Name
    label: Name


@dataclass(frozen=True)
class Measure(Node):
    """`avg(price) as mean`."""

    value: Expr
    name: Name


@dataclass(frozen=True)
class Window(Node):
    """A window: pairs, a formula or runs, clauses that select among the matches, and measures."""

    name: Name
    pairs: tuple[Pair, ...] = ()
    where: Expr | None = None
    runs: Runs | None = None
    until: Until | None = None
    within: Within | None = None
    keep: Name | None = None
    unpadded: bool = False
    lookback: Int | None = None
    measures: tuple[Measure, ...] = ()
    having: Expr | None = None
    next_start: Sharing | Resuming | None = None  # of `keep leftmost`


@dataclass(frozen=True, repr=False)
class Spec(Node):
    """A whole spec. `source` is the text that errors point into, if it was parsed."""

    stream: Stream
    lets: tuple[Let, ...] = ()
    assumes: tuple[Assume, ...] = ()
    windows: tuple[Window, ...] = ()
    rates: tuple[Rate, ...] = ()
    source: Source | None = field(default=None, compare=False, kw_only=True)

    def __repr__(self) -> str:
        windows = ", ".join(window.name.text for window in self.windows) or "none"
        return f"<Spec of stream {self.stream.name.text}; windows: {windows}>"

    _repr_html_ = notebook.html_of


Item = Stream | Let | Assume | Rate | Window
