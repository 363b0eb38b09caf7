"""The stage plan: compiled windows and assumptions as data that an engine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.compile.assumptions import assumption_automaton
from wex.compile.guards import guarded_fields, moments
from wex.compile.measures import measure_of
from wex.compile.plan import (
    Plan,
    PlannedAssumptions,
    PlannedLetters,
    PlannedRate,
    PlannedStream,
    PlannedWindow,
)
from wex.errors import WexError
from wex.spec.resolve.rates import rate_limits
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wex.compile.assumptions import AssumptionAutomaton
    from wex.compile.window import CompiledWindow, PerWindow
    from wex.spec import Meaning
    from wex.spec.types import Type
    from wex.theory.letters import Letters
    from wex.theory.terms import Guard


def plan_windows(compiled: PerWindow[CompiledWindow]) -> Plan:
    """Return the plan of a spec whose windows are compiled."""
    meaning = compiled.meaning
    if not compiled.values:
        hint = "add one, such as `window w match any`"
        raise WexError("no-windows", "the spec has no window to look for", hint)
    guards: dict[Guard, int] = {}
    windows = tuple(
        _window(window, meaning.measures[number], guards)
        for number, window in enumerate(compiled.values)
    )
    assumptions = assumption_automaton(meaning)
    return Plan(
        _stream(meaning),
        windows=windows,
        assumptions=None if assumptions is None else _assumptions(assumptions, guards),
        guards=tuple(guards),
        rates=tuple(
            PlannedRate(str(rate), limit.events, limit.length)
            for rate in meaning.spec.rates
            for limit in rate_limits([rate])
        ),
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
        nullable=tuple(sorted(meaning.nullable)),
    )


def _letters(letters: Letters, guards: dict[Guard, int]) -> PlannedLetters:
    numbers = tuple(guards.setdefault(guard, len(guards)) for guard in letters.guards)
    return PlannedLetters(numbers, letters.rows)


def _window(
    compiled: CompiledWindow, measures: Mapping[str, Type], guards: dict[Guard, int]
) -> PlannedWindow:
    window = compiled.window
    # The automaton may know the lengths that `having` asks for.
    having = window.having if compiled.clauses.having else None
    return PlannedWindow(
        name=window.name.text,
        lookback=compiled.lookback,
        # Without lookback both readings are one, and old plans say so in this way.
        pad=not window.unpadded and compiled.lookback > 0,
        letters=_letters(compiled.letters, guards),
        prefix=compiled.form.prefix,
        starts=compiled.form.starts,
        window=compiled.form.window,
        until=compiled.until,
        clauses=compiled.clauses,
        measures=tuple(
            measure_of(measure, compiled.source.meaning.fields) for measure in window.measures
        ),
        having=guard_of(having, measures) if having else None,
        preference=compiled.preference,
        labels=compiled.labels,
    )


def _assumptions(automaton: AssumptionAutomaton, guards: dict[Guard, int]) -> PlannedAssumptions:
    return PlannedAssumptions(
        tuple(map(str, automaton.assumes)),
        automaton.first,
        tuple(_letters(phase, guards) for phase in automaton.phases),
        automaton.table,
        automaton.live,
    )
