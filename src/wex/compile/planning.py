"""From a spec to its plan, stage by stage: meaning → compiled windows and promise → plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.compile.assumptions import assumption_automaton
from wex.compile.clauses import clauses_of
from wex.compile.guards import guarded_fields, moments
from wex.compile.measures import measure_of
from wex.compile.plan import Plan, PlannedLetters, PlannedPromise, PlannedStream, PlannedWindow
from wex.compile.window import compile_window
from wex.errors import WexError
from wex.spec import meaning as meaning_of
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.spec import Meaning, tree
    from wex.theory.letters import Letters
    from wex.theory.terms import Guard


def plan_of(spec: tree.Spec) -> Plan:
    """Return the plan of a spec.

    >>> import wex
    >>> plan = plan_of(wex.parse("stream s (x real) window rise match [x > x[-1]]+"))
    >>> Plan.from_bytes(plan.to_bytes()).fingerprint == plan.fingerprint
    True
    """
    meaning = meaning_of(spec)
    if not meaning.expanded.windows:
        hint = "add one, such as `window w match any`"
        raise WexError("no-windows", "the spec has no window to look for", hint)
    guards: dict[Guard, int] = {}
    windows = tuple(_window(meaning, at, guards) for at in range(len(meaning.expanded.windows)))
    promise = assumption_automaton(meaning)
    return Plan(
        _stream(meaning),
        windows=windows,
        promise=None if promise is None else _promise(promise, guards),
        guards=tuple(guards),
    )


def _stream(meaning: Meaning) -> PlannedStream:
    stream = meaning.spec.stream
    return PlannedStream(
        tuple(meaning.fields.items()),
        tuple(name.text for name in stream.partition_by),
        tuple(name.text for name in stream.order_by),
        skip_nulls=meaning.skip_nulls,
        guarded=tuple(sorted(guarded_fields(meaning))),
        moments=moments(meaning),
    )


def _letters(letters: Letters, guards: dict[Guard, int]) -> PlannedLetters:
    numbers = tuple(guards.setdefault(guard, len(guards)) for guard in letters.guards)
    return PlannedLetters(numbers, letters.rows)


def _window(meaning: Meaning, at: int, guards: dict[Guard, int]) -> PlannedWindow:
    window = meaning.expanded.windows[at]
    compiled = compile_window(meaning, at)
    clauses = clauses_of(window)
    return PlannedWindow(
        name=window.name.text,
        lookback=compiled.lookback,
        pad=window.pad,
        letters=_letters(compiled.letters, guards),
        prefix=compiled.form.prefix,
        starts=compiled.form.starts,
        window=compiled.form.window,
        until=compiled.until,
        or_end=clauses.or_end,
        within_events=clauses.within_events,
        within_time=clauses.within_time,
        keep=clauses.keep,
        measures=tuple(measure_of(each, meaning.fields) for each in window.measures),
        having=guard_of(window.having, meaning.measures[at]) if window.having else None,
    )


def _promise(promise: AssumptionAutomaton, guards: dict[Guard, int]) -> PlannedPromise:
    return PlannedPromise(
        tuple(map(str, promise.assumes)),
        promise.first,
        tuple(_letters(phase, guards) for phase in promise.phases),
        promise.table,
        promise.live,
    )
