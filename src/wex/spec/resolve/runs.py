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
        case tree.Sessions():
            _check_sessions(window.runs, stream, events)
            if window.runs.most is not None:
                _check_cut(window, events.problems)


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


def _check_cut(window: tree.Window, problems: Problems) -> None:
    """Note clauses that would change where `at most` cuts: they act before it chooses."""
    conflicts = {
        "within": (window.within, "remove `within`: `at most` already limits a session"),
        "having": (window.having, "remove `having`, and filter the sessions that come out"),
        "keep": (window.keep, "remove `keep`: sessions do not overlap"),
    }
    for clause, (place, hint) in conflicts.items():
        if place is not None:
            message = f"a window has either `at most` or `{clause}`, not both"
            problems.add("clause-conflict", place, message, hint)


def _check_sessions(sessions: tree.Sessions, stream: tree.Stream, events: EventTypes) -> None:
    limits = [("gap", sessions.gap, "sessions gap 30 minutes", "sessions gap 30")]
    if sessions.most is not None:
        limits.append(("length", sessions.most, "at most 2 hours", "at most 100"))
    types = [events.value(limit) for _, limit, *_ in limits]
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
    if measured is None:
        return
    if measured not in (TIMESTAMP, DATE, *NUMBERS):
        message = (
            f"`sessions` needs an order with distances, and `{order}` is {with_article(measured)}"
        )
        hint = "order the stream by a timestamp, a date or a number"
        events.problems.add("no-order", sessions, message, hint)
        return
    in_time = measured in (TIMESTAMP, DATE)
    expected = "a duration" if in_time else "a number"
    for (noun, limit, duration, number), type_ in zip(limits, types, strict=True):
        hint = f"write `{duration if in_time else number}`"
        if type_ is None:
            continue
        if type_ not in ((DURATION,) if in_time else NUMBERS):
            message = (
                f"a {noun} in `{order}`, {with_article(measured)}, is {expected},"
                f" got {with_article(type_)}"
            )
            events.problems.add("wrong-type", limit, message, hint)
        elif not events.is_constant(limit):
            hint += "; for another rule write `match … until …`"
            events.problems.add("wrong-sort", limit, f"the {noun} must be a constant", hint)


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
        case tree.Sessions(gap, most):
            time = tree.Ref(stream.order_by[0].text)
            pause = _compared(tree.Binary("-", time, _before(time)), ">", gap)
            if most is not None:
                return _cut(window, tree.Not(pause), _lasts(time, most))
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


def _lasts(time: tree.Expr, most: tree.Expr) -> tree.Expr:
    """Return the predicate that a window has not become longer than `most`."""
    first = tree.Call(tree.Name("first"), (time,))
    return _compared(tree.Binary("-", time, first), "<=", most)


def _cut(window: tree.Window, near: tree.Expr, lasts: tree.Expr) -> tree.Window:
    """Return a window that goes on as long as both hold; the next one begins behind it.

    `[near] & [lasts]`, not `[near and lasts]`: arithmetic that fails in the gap is an error, as
    in sessions that are not cut; beside an aggregate it would be unknown.
    """
    goes_on = tree.Intersection((tree.Atom(near), tree.Atom(lasts)))
    match = tree.Concat((tree.Anything(), tree.Repeat(goes_on, 0, None)))
    return replace(window, runs=None, pairs=(tree.Pair(None, match),), keep=tree.Name("leftmost"))
