"""What the analysis answers: a verdict, a bound, a reason, and a concrete stream on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from wex.analysis.witness import table_of
from wex.errors import WexError

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.spec import Meaning
    from wex.theory.evaluate import Event

Verdict = Literal["bounded", "unbounded", "unknown"]
Growth = Literal["linear", "quadratic"]
WitnessBuilder = Callable[[int], "list[Event] | None"]  # a stream that reaches n, replayed, or none


@dataclass(frozen=True)
class Answer:
    """How many of something there can be.

    `bound` is a maximum, attained if `exact`; `growth` says how it grows with the length of the
    stream if it is unbounded; `reason` says why in one sentence; `seconds` is the time it took.
    """

    what: str
    verdict: Verdict
    bound: int | None
    exact: bool
    growth: Growth | None
    reason: str
    seconds: float = field(compare=False)
    meaning: Meaning = field(repr=False, compare=False)
    way: WitnessBuilder | None = field(repr=False, compare=False)

    def witness(self, n: int) -> pa.Table:
        """Return a stream that conforms to every `assume` and reaches n, replayed before."""
        if n < 0:
            raise WexError("no-witness", f"there are never {n} {self.what}", "ask for 0 or more")
        if self.bound is not None and n > self.bound:
            message = f"there are never {n:,} {self.what}, but at most {self.bound:,}"
            raise WexError("no-witness", message, f"ask for {self.bound:,} or fewer")
        events = [] if n == 0 else self.way(n) if self.way is not None else None
        if events is None:
            message = f"no stream with {n:,} {self.what} was found"
            hint = "there may be none: the bound is not exact"
            if self.exact or self.verdict == "unbounded":
                hint = "it is so for exact numbers; floats and times that fit were not found"
            raise WexError("no-witness", message, hint)
        return table_of(self.meaning, events)

    def __str__(self) -> str:
        if self.verdict == "bounded":
            return f"{self.bound:,}" if self.exact else f"at most {self.bound:,}"
        return f"unbounded ({self.growth})" if self.verdict == "unbounded" else "unknown"
