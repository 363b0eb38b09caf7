"""Numbers in a spec, checked where their text is at hand: the tree holds only what makes sense."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.problems import Span

if TYPE_CHECKING:
    from wex.spec.problems import Problems

MAX_COUNT = 1_000_000  # of a repetition: an automaton has a state for each
MAX_LOOKBACK = 10_000  # events that the engine keeps for every stream
MAX_DIGITS = 400  # more than any float64 needs
MAX_EVENTS = 1_000_000_000  # of `within`


def read_number(problems: Problems, text: str, span: Span) -> tree.Int | tree.Real:
    """Return a number; note one that no 64 bits can hold."""
    value = Decimal("Infinity")
    if len(text) <= MAX_DIGITS:
        with suppress(InvalidOperation):  # an exponent that no Decimal has
            value = Decimal(text)
    nearest = float(value)
    if math.isinf(nearest) or (value and not nearest):
        problems.add(
            "number-out-of-range",
            span,
            "this number does not fit into 64 bits",
            "numbers have at most about 15 digits that count, and exponents up to 308",
        )
        return tree.Int(0, span=span)
    return tree.Int(int(value), span=span) if text.isdigit() else tree.Real(value, span=span)


def check_count(
    problems: Problems,
    number: tree.Int | tree.Real,
    most: int,
    what: str,
    hint: str = "for long windows say how long at most instead: `any+ within N events`",
) -> int:
    """Return a count; note one that is not whole, or over the most that is possible."""
    if not isinstance(number, tree.Int):
        message = f"{what} is a whole number"
        plain = "write it in digits alone, such as `100`"
        problems.add("count-not-whole", number, message, plain)
        return 0
    if number.value > most:
        problems.add(
            "count-too-large",
            number,
            f"{what} of {number.value:,} is over the most that is possible, {most:,}",
            hint,
        )
        return most
    return number.value


def check_index(problems: Problems, name: str, index: tree.Expr) -> int:
    """Return how far back an index looks; note what is wrong with one that does not."""
    span = index.span or Span(0, 0)
    if not isinstance(index, tree.Int):
        problems.add(
            "lookback-not-constant",
            span,
            f"the index of `{name}` has to be a whole number, known before the stream is read",
            f"write how many events to look back, for example `{name}[-1]`",
        )
        return 0
    if index.value > 0:
        problems.add(
            "lookback-positive",
            span,
            f"`{name}[{index.value}]` would look ahead, at an event that has not come yet",
            f"to look back write `{name}[-{index.value}]`",
        )
        return 0
    if index.value < -MAX_LOOKBACK:
        problems.add(
            "count-too-large",
            span,
            f"a lookback of {-index.value:,} is over the most that is possible, {MAX_LOOKBACK:,}",
            "look back less far",
        )
        return 0
    return index.value
