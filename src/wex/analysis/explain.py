"""`wex.explain`: the value of each window after every stage, as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wex import notebook
from wex.analysis.check import check
from wex.compile.automaton_pairs import pairs_of
from wex.compile.guards import as_written
from wex.compile.normal_form import PairAutomata
from wex.compile.to_predicate import names_of_lets
from wex.engine.engine import engine_of
from wex.engine.ranges.distribution import obstacle_to_tasks
from wex.errors import counted
from wex.spec import as_spec
from wex.stages import STAGES, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wex.compile.window import CompiledWindow
    from wex.spec import SpecLike, tree

    Values = Mapping[str, Any]  # the value of the spec after each stage, by the name of the stage

MOST_LETTERS = 16  # letters that are shown one by one
MOST_STATES = 12  # states of an automaton that is shown with its transitions
REASONS = {
    "registers": "no window state ever holds two starts: a register for each",
    "configs": "few combinations of window states: one automaton over them",
    "sliding": "all windows have one length: a queue of starts",
    "moving": "lists of starts that move from state to state",
    "tracked": "predicates with aggregates: each start by itself, with registers for them",
    "preferred": "each start follows its ways in their order until its window is decided",
}


@dataclass(frozen=True)
class Explanation:
    """The stages of each window of a spec, as lines of text; a notebook draws the automata, too."""

    lines: tuple[str, ...]
    spec: tree.Spec = field(repr=False)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    _repr_html_ = notebook.html_of


def explain(spec: SpecLike) -> Explanation:
    """Return the stages of each window of a spec, and the verdicts about it."""
    spec = as_spec(spec)
    if not spec.windows:
        return Explanation((), spec)
    report = check(spec)
    values = {stage.name: value for stage, value in trace(spec)}
    lines: list[str] = []
    for number, window in enumerate(report):
        lines.append(f"window {window.name}")
        for stage in STAGES:
            lines += _entry(stage.name, SHOWN[stage.name](values, number))
        for name, answer in window.answers.items():
            lines += _entry(name, [f"{answer}: {answer.reason}"])
    reason = obstacle_to_tasks(engine_of(spec))
    whole = "can be divided among tasks" if reason is None else f"runs in one task: {reason}"
    lines += [f"stream {spec.stream.name}", *_entry("ranges", [f"one long stream {whole}"])]
    return Explanation(tuple(lines), spec)


def _entry(name: str, lines: Iterable[str]) -> Iterator[str]:
    label = name
    for line in lines:
        yield f"  {label:<12}  {line}".rstrip()
        label = ""


# --- One function for each stage: the lines that show its value for a window


def _tree(values: Values, number: int) -> Iterator[str]:
    yield from _clauses(values["tree"].windows[number])


def _meaning(values: Values, number: int) -> Iterator[str]:
    before, after = values["tree"].windows[number], values["meaning"].expanded.windows[number]
    if _clauses(before) != _clauses(after):
        yield from _clauses(after)
    yield f"lookback {values['meaning'].lookbacks[number]}"


def _clauses(window: tree.Window) -> list[str]:
    """Return the lines of a window below its name."""
    return [line.strip() for line in str(window).strip().splitlines()[1:]]


def _guards(values: Values, number: int) -> list[str]:
    written = as_written(values["guards"].values[number].guards)
    return list(map(str, written.values())) or ["none"]


def _letters(values: Values, number: int) -> Iterator[str]:
    written = as_written(values["guards"].values[number].guards)
    letters = values["letters"].values[number].alphabet.letters
    names = [str(written[guard]) for guard in letters.guards]
    yield f"{counted(len(names), 'guard')} → {counted(len(letters), 'letter')}"
    for letter, row in enumerate(letters.rows[:MOST_LETTERS]):
        parts = [
            f"not ({name})" if not true else f"({name})" if " " in name else name
            for name, true in zip(names, row, strict=True)
        ]
        yield f"  {letter}  {' and '.join(parts) or 'any event'}"
    if len(letters) > MOST_LETTERS:
        yield f"  and {len(letters) - MOST_LETTERS} more"


def _automata(values: Values, number: int) -> Iterator[str]:
    automata = values["automata"].values[number].automata
    if isinstance(automata, PairAutomata):
        for prefix in automata.prefixes:
            yield f"{counted(prefix.states, 'state')} for `after`, an expression for `match`"
    else:
        yield f"{counted(len(automata.final), 'state')} for the formula"


def _normal_form(values: Values, number: int) -> Iterator[str]:
    form = values["normal form"].values[number].form
    prefix = counted(form.prefix.states, "prefix state")
    yield f"{prefix}, {counted(form.window.states, 'window state')}"
    yield from _transitions(values, number)
    preference = values["normal form"].values[number].preference
    if preference is not None:
        yield f"{counted(preference.ways.states, 'state')} of ordered ways"


def _transitions(values: Values, number: int) -> Iterator[str]:
    """Yield the automata with their transitions, if they are small enough to be read."""
    compiled = values["normal form"].values[number]
    small = max(compiled.form.prefix.states, compiled.form.window.states) <= MOST_STATES
    if not small or len(compiled.letters) > MOST_LETTERS:
        return
    for pair in pairs_of(compiled, names_of_lets(values["meaning"])):
        yield from (f"  {line}" for line in pair.lines())


def _smaller_form(values: Values, number: int) -> Iterator[str]:
    yield _change(values, number, "normal form", "smaller form")


def _least_form(values: Values, number: int) -> Iterator[str]:
    yield _change(values, number, "smaller form", "least form")


def _change(values: Values, number: int, before: str, after: str) -> str:
    """Return how the sizes of a window have changed from one form to another."""
    old, new = (_sizes(values[name].values[number]) for name in (before, after))
    changes = [f"{what} {old[what]:,} → {new[what]:,}" for what in old if old[what] != new[what]]
    return ", ".join(changes) or "the same: nothing to remove"


def _sizes(compiled: CompiledWindow) -> dict[str, int]:
    return {
        "guards": len(compiled.letters.guards),
        "letters": len(compiled.letters),
        "prefix states": compiled.form.prefix.states,
        "window states": compiled.form.window.states,
    }


def _plan(values: Values, number: int) -> Iterator[str]:
    window = values["plan"].windows[number]
    guards, measures = len(window.letters.guards), len(window.measures)
    yield f"{counted(guards, 'guard')} and {counted(measures, 'measure')} to evaluate"


def _machine(values: Values, number: int) -> Iterator[str]:
    kind = values["machine"][number].kind
    yield f"{kind}: {REASONS[kind]}"


SHOWN: dict[str, Callable[[Values, int], Iterable[str]]] = {
    "tree": _tree,
    "meaning": _meaning,
    "guards": _guards,
    "letters": _letters,
    "automata": _automata,
    "normal form": _normal_form,
    "smaller form": _smaller_form,
    "least form": _least_form,
    "plan": _plan,
    "machine": _machine,
}
