"""Runs and sessions: the checks of these clauses, and the expressions that they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.resolve.aggregate_checks import Place
from wex.spec.resolve.type_checker import with_article
from wex.spec.types import DATE, DURATION, NUMBERS, OTHER, PREDICATE, TIMESTAMP

if TYPE_CHECKING:
    from wex.spec.problems import Problems
    from wex.spec.resolve.scope import EventTypes

# --- Checks


def check_runs(window: tree.Window, stream: tree.Stream, events: EventTypes) -> None:
    """Check the clause `runs` or `sessions` of a window, and that it is alone in saying what a window is."""
    events = events.at(Place.RUNS)
    _check_alone(window, events.problems)
    match window.runs:
        case tree.RunsOf(values):
            for value in values:
                _check_value(value, events)
        case tree.RunsWhere(predicate):
            events.predicate(predicate)
            _check_changes(predicate, "runs where temp > 90", events)
        case tree.Sessions(gap):
            _check_gap(gap, window.runs, stream, events)


def _check_alone(window: tree.Window, problems: Problems) -> None:
    assert window.runs is not None
    word = "sessions" if isinstance(window.runs, tree.Sessions) else "runs"
    one = word.removesuffix("s")
    for pair in window.pairs:
        clause, place = ("after", pair.after) if pair.after else ("match", pair.match)
        message = f"a window has either `{clause}` or `{word}`, not both"
        hint = f"remove one of the two: a {one} begins where the one before it has ended"
        problems.add("clause-conflict", place, message, hint)
    if window.where:
        hint = "use one of the two, or write two windows"
        message = f"a window has either `where` or `{word}`, not both"
        problems.add("clause-conflict", window.where, message, hint)
    if window.until:
        message = f"a window has either `until` or `{word}`, not both"
        hint = f"remove `until`: a {one} ends before the next one begins, or with the data"
        problems.add("clause-conflict", window.until, message, hint)
    if window.unpadded:
        message = f"a window has either `unpadded` or `{word}`, not both"
        hint = f"remove `unpadded`: the first event of a stream is in a {one}, too"
        problems.add("clause-conflict", window.name, message, hint)


def _check_value(value: tree.Expr, events: EventTypes) -> None:
    type_ = events.infer(value)
    if type_ == PREDICATE:
        message = "`runs of` expects a value, got a predicate"
        hint = f"for the runs of events that satisfy it write `runs where {value}`"
        events.problems.add("wrong-sort", value, message, hint)
    elif type_ == OTHER:
        hint = "use a value of another type: a run is made of events with equal values"
        message = "values of type other cannot be compared"
        events.problems.add("wrong-type", value, message, hint)
    elif type_ is not None:
        _check_changes(value, "runs of status", events)


def _check_changes(node: tree.Expr, example: str, events: EventTypes) -> None:
    if events.is_constant(node):
        message = f"`{node}` is the same at every event"
        events.problems.add("wrong-sort", node, message, f"use a field: `{example}`")


def _check_gap(
    gap: tree.Expr, sessions: tree.Sessions, stream: tree.Stream, events: EventTypes
) -> None:
    type_ = events.value(gap)
    if len(stream.order_by) != 1:
        times = [name for name, field in events.scope.fields.items() if field == TIMESTAMP]
        hint = f"add `order by {times[0] if times else 'ts'}` to the stream"
        message = "`sessions` needs a stream that is ordered by one column"
        if stream.order_by:
            hint = (
                "order the stream by one timestamp only, or write the session as `match … until …`"
            )
        events.problems.add("no-order", sessions, message, hint)
        return
    order = stream.order_by[0].text
    measured = events.scope.fields.get(order)
    if measured is None or type_ is None:
        return
    if measured not in (TIMESTAMP, DATE, *NUMBERS):
        message = (
            f"`sessions` needs an order with distances, and `{order}` is {with_article(measured)}"
        )
        hint = "order the stream by a timestamp, a date or a number"
        events.problems.add("no-order", sessions, message, hint)
    elif (type_ == DURATION) != (measured in (TIMESTAMP, DATE)) or type_ not in (
        DURATION,
        *NUMBERS,
    ):
        expected = "a duration" if measured in (TIMESTAMP, DATE) else "a number"
        message = f"a gap in `{order}`, {with_article(measured)}, is {expected}, got {with_article(type_)}"
        hint = (
            "write `sessions gap 30 minutes`"
            if expected == "a duration"
            else "write `sessions gap 30`"
        )
        events.problems.add("wrong-type", gap, message, hint)
    elif not events.is_constant(gap):
        message = "the gap must be a constant"
        hint = "write `sessions gap 30 minutes`; for another rule write `match … until …`"
        events.problems.add("wrong-sort", gap, message, hint)


# --- Expansion


def spelled_out(window: tree.Window, stream: tree.Stream) -> tree.Window:
    """Return a window with `match` and `until` instead of `runs` or `sessions`; others as they are.

    >>> window = tree.Window(tree.Name("w"), runs=tree.RunsOf((tree.Ref("x"),)))
    >>> plain = spelled_out(window, tree.Stream(tree.Name("s"), ()))
    >>> print(plain.pairs[0], plain.until)
    match [not x = x[-1]] [x = x[-1]]* until [not x = x[-1]] or end
    """
    match window.runs:
        case None:
            return window
        case tree.RunsOf(values):
            # `not v = v[-1]`, not `v != v[-1]`: where v itself looks back, both of these are false
            # at the first events, which would then be in no run.
            same = tree.flat(tree.And, [_compared(value, "=", _before(value)) for value in values])
            return _repeated(window, _not(same), same, _not(same))
        case tree.RunsWhere(predicate):
            # At the first event `not p[-1]` alone does not do: a negation in p may make p[-1] true.
            fresh = tree.flat(tree.Or, [tree.IsFirst(), _not(_before(predicate))])
            begins = tree.flat(tree.And, [predicate, fresh])
            return _repeated(window, begins, predicate, _not(predicate))
        case tree.Sessions(gap):
            time = tree.Ref(stream.order_by[0].text)
            pause = _compared(tree.Binary("-", time, _before(time)), ">", gap)
            begins = tree.Or((tree.IsFirst(), pause))
            return _repeated(window, begins, tree.Not(pause), pause)


def _not(predicate: tree.Expr) -> tree.Expr:
    return predicate.operand if isinstance(predicate, tree.Not) else tree.Not(predicate)


def _compared(left: tree.Expr, op: tree.CompareOp, right: tree.Expr) -> tree.Expr:
    return tree.Compare((left, right), (op,))


def _before(node: tree.Expr) -> tree.Expr:
    """Return a value or a predicate one event earlier."""
    if isinstance(node, tree.Ref):
        return replace(node, offset=node.offset - 1)
    if isinstance(node, tree.Not):
        return replace(node, operand=_before(node.operand))
    return tree.Call(tree.Name("prev"), (node,))


def _repeated(
    window: tree.Window, begins: tree.Expr, goes_on: tree.Expr, over: tree.Expr
) -> tree.Window:
    """Return a window of one event that begins a run, those that continue it, up to the one behind it."""
    body = tree.Repeat(tree.Atom(goes_on), 0, None)
    match = tree.Concat((tree.Atom(begins), body))
    return replace(
        window,
        runs=None,
        pairs=(tree.Pair(None, match),),
        until=tree.Until(over, or_end=True),
    )
