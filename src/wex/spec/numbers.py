"""Numbers, counts and indices of a spec, checked while the tree is built.

The tree then holds only numbers in range. A number with a problem is replaced by a valid one, so
that reading goes on.
"""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.problems import Span

if TYPE_CHECKING:
    from wex.spec.problems import Problems

MAX_COUNT = 1_000_000  # of a repetition: the automaton has a state for each
MAX_LOOKBACK = 10_000  # the engine keeps this many events for every stream
MAX_DIGITS = 400  # more than any float64 needs
MAX_EVENTS = 1_000_000_000  # of `within`
MAX_RATE = 1_000_000  # events of `assume at most`: the engine keeps their times for every stream


def read_number(problems: Problems, text: str, span: Span) -> tree.Int | tree.Real:
    """Return a number, or note that 64 bits cannot hold it."""
    value = Decimal("Infinity")
    if len(text) <= MAX_DIGITS:
        with suppress(InvalidOperation):  # the exponent is too large for a Decimal
            value = Decimal(text)
    nearest = float(value)
    if math.isinf(nearest) or (value and not nearest):
        problems.add(
            "number-out-of-range",
            span,
            "number out of range",
            "a number has about 15 significant digits and an exponent of at most 308",
        )
        return tree.Int(0, span=span)
    return tree.Int(int(value), span=span) if text.isdigit() else tree.Real(value, span=span)


def check_count(
    problems: Problems,
    number: tree.Int | tree.Real,
    most: int,
    noun: str,
    hint: str = "to limit the length of a window write `any+ within N events`",
) -> int:
    """Return a count, or note that it is not a whole number or exceeds the maximum."""
    if not isinstance(number, tree.Int):
        message = f"{noun} must be a whole number"
        problems.add("count-not-whole", number, message, "write digits only, such as `100`")
        return 0
    if number.value > most:
        problems.add(
            "count-too-large",
            number,
            f"{noun} {number.value:,} exceeds the maximum of {most:,}",
            hint,
        )
        return most
    return number.value


def check_index(problems: Problems, name: str, index: tree.Expr) -> int:
    """Return the offset that an index stands for, or note why it is not one."""
    span = index.span or Span(0, 0)
    if not isinstance(index, tree.Int):
        problems.add(
            "lookback-not-constant",
            span,
            f"the index of `{name}` must be a constant whole number",
            f"write how many events to look back, for example `{name}[-1]`",
        )
        return 0
    if index.value > 0:
        problems.add(
            "lookback-positive",
            span,
            f"`{name}[{index.value}]` looks ahead: an index must not be positive",
            f"to look back write `{name}[-{index.value}]`",
        )
        return 0
    if index.value < -MAX_LOOKBACK:
        problems.add(
            "count-too-large",
            span,
            f"the lookback {-index.value:,} exceeds the maximum of {MAX_LOOKBACK:,}",
            "use a smaller lookback",
        )
        return 0
    return index.value
