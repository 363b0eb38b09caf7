"""The stages from the text of a spec to the machines that run its windows: one list, `STAGES`.

`plan_of` and `compile_window` run it up to the stage that they return; `wex.explain` shows the
value after each stage. To add a stage, write its function in the folder of its subject and list it
here. The module stands beside the engine: the engine asks it for plans, and its last stage is the
engine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from wex.compile.plan import Plan
from wex.compile.planning import plan_windows
from wex.compile.reduce import reduce_window
from wex.compile.window import (
    CompiledWindow,
    PerWindow,
    WindowMeaning,
    window_automata,
    window_form,
    window_guards,
    window_letters,
    windows_of,
)
from wex.spec import as_spec
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wex.engine.machines.choose import Machine
    from wex.engine.machines.tracked import TrackedMachine
    from wex.spec import Meaning, SpecLike


@dataclass(frozen=True)
class Stage:
    """One step: `function` turns the value that stage `takes` gives into the value of this one.

    The function of a stage `per_window` takes and gives the value of one window.
    """

    name: str
    takes: str
    gives: str
    function: Callable[[Any], object]
    per_window: bool = False

    def apply(self, value: object) -> object:
        """Return the value of a whole spec after this stage."""
        if not self.per_window:
            return self.function(value)
        windows = value if isinstance(value, PerWindow) else windows_of(value)  # type: ignore[arg-type]
        return PerWindow(windows.meaning, tuple(map(self.function, windows.values)))


def machines_of(plan: Plan) -> tuple[Machine | TrackedMachine, ...]:
    """Return the machine of each window of a plan."""
    from wex.engine.machines.choose import machine_of  # noqa: PLC0415  (the kernels load numba)

    return tuple(machine_of(window, plan) for window in plan.windows)


def least_form(compiled: CompiledWindow) -> CompiledWindow:
    """Return a window whose plan drops starts that can never end on any conforming stream."""
    from wex.analysis import least_form as search  # noqa: PLC0415  (the analysis compiles windows)

    return search.least_form(compiled)


TEXT = "text"  # the input of the first stage: text, the path of a file, or a tree built in Python
STAGES: tuple[Stage, ...] = (
    Stage("tree", TEXT, "the syntax tree", as_spec),
    Stage("meaning", "tree", "names resolved, lets expanded, lookback counted", meaning_of),
    Stage("guards", "meaning", "predicates as guards over grams", window_guards, per_window=True),
    Stage("letters", "guards", "possible truth values of all guards", window_letters, per_window=True),
    Stage("automata", "letters", "expressions or formula over letters", window_automata, per_window=True),
    Stage("normal form", "automata", "one prefix and one window automaton", window_form, per_window=True),
    Stage("smaller form", "normal form", "fewer letters, guards and states", reduce_window, per_window=True),
    Stage("least form", "smaller form", "no starts that can never end", least_form, per_window=True),
    Stage("plan", "least form", "all windows and assumptions as data", plan_windows),
    Stage("machine", "plan", "a kernel and its tables for each window", machines_of),
)  # fmt: skip


_PER_WINDOW = [stage for stage in STAGES if stage.per_window]


def trace(spec: SpecLike) -> Iterator[tuple[Stage, object]]:
    """Yield each stage with the value of a spec after it."""
    value: object = spec
    for stage in STAGES:
        value = stage.apply(value)
        yield stage, value


def run(spec: SpecLike, until: str) -> object:
    """Return the value of a spec after the stage `until`; compiled windows come from a cache.

    >>> run("stream s (x real) window rise match [x > x[-1]]+", until="meaning").lookbacks
    (1,)
    """
    value: object = spec
    for per_window, group in groupby(_up_to(until), key=lambda stage: stage.per_window):
        stages = tuple(group)
        if per_window:
            windows = windows_of(value)  # type: ignore[arg-type]
            last = stages[-1].name
            value = PerWindow(
                windows.meaning, tuple(_window_value(window, last) for window in windows.values)
            )
        else:
            for stage in stages:
                value = stage.apply(value)
    return value


def plan_of(spec: SpecLike) -> Plan:
    """Return the plan of a spec.

    >>> import wex
    >>> plan = plan_of(wex.parse("stream s (x real) window rise match [x > x[-1]]+"))
    >>> Plan.from_bytes(plan.to_bytes()).fingerprint == plan.fingerprint
    True
    """
    plan = run(spec, until="plan")
    assert isinstance(plan, Plan)
    return plan


def compile_window(
    meaning: Meaning, number: int, *, as_written: bool = False, least: bool = False
) -> CompiledWindow:
    """Return one window of a spec, compiled: its smaller form.

    Or its normal form `as_written`, or the `least` form, which is the one that runs.
    """
    until = "normal form" if as_written else "least form" if least else "smaller form"
    compiled = _window_value(windows_of(meaning).values[number], until)
    assert isinstance(compiled, CompiledWindow)
    return compiled


def is_pruned(meaning: Meaning, number: int) -> bool:
    """Tell whether the least form of a window holds fewer starts than its smaller form."""
    return compile_window(meaning, number, least=True) is not compile_window(meaning, number)


@lru_cache(maxsize=128)  # a spec is compiled to be analysed, and again to be run
def _window_value(window: WindowMeaning, until: str) -> object:
    stage = _up_to(until)[-1]
    before = window if stage is _PER_WINDOW[0] else _window_value(window, stage.takes)
    return stage.function(before)


def _up_to(until: str) -> tuple[Stage, ...]:
    names = [stage.name for stage in STAGES]
    return STAGES[: names.index(until) + 1]


def listing() -> str:
    """Return the list of stages as text, a line for each: ARCHITECTURE.md prints it."""
    lines = [TEXT]
    for stage in STAGES:
        place = f"{stage.function.__module__}.{stage.function.__name__}"
        scope = "each window" if stage.per_window else "the spec"
        lines.append(f"→ {stage.name:<12}  {scope:<11}  {stage.gives:<48}{place}")
    return "\n".join(lines)
