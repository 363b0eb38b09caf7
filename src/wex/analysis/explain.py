"""`wex.explain`: every stage from the text of a window to what runs, in words and numbers."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.analysis.check import check
from wex.analysis.describe import named_guards
from wex.compile.planning import plan_of
from wex.compile.window import compile_window
from wex.engine.machines.choose import machine_of
from wex.spec import as_spec
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.analysis.check import WindowReport
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning, SpecLike, tree

ROWS = 16  # letters that are shown one by one
KINDS = {
    "registers": "no window state ever holds two starts: a register for each",
    "configs": "few combinations of window states: one automaton over them",
    "sliding": "all windows have one length: a queue of starts",
    "moving": "lists of starts that move from state to state",
}


@dataclass(frozen=True)
class Explanation:
    """The stages of each window, as lines of text."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def explain(spec: SpecLike) -> Explanation:
    """Return what becomes of a spec: guards, letters, automata, the plan, and what is known of it.

    >>> import wex
    >>> print(wex.explain(wex.parse("stream s (x real) window w match [x > 1] [x <= 1]")))
    window w
      as written    match [x > 1] [x <= 1]
      lookback      0
      guards        x > 1
                    x <= 1
      letters       2 of 2 guards
                      0  not (x > 1) and (x <= 1)
                      1  (x > 1) and not (x <= 1)
      automata      1 prefix state, 4 window states
      made smaller  guards 2 → 1
      runs as       registers: no window state ever holds two starts: a register for each
      open          1: a start ends or fails before the next one begins
      held          1: a start ends or fails before the next one begins
      overlap       1: the starts up to a position have at most 1 window that ends there or later
    """
    spec = as_spec(spec)
    meaning = meaning_of(spec)
    report = check(spec)
    lines = [
        line for at, window in enumerate(report) for line in _window(spec, meaning, at, window)
    ]
    return Explanation(tuple(lines))


def _window(spec: tree.Spec, meaning: Meaning, at: int, report: WindowReport) -> Iterator[str]:
    window = meaning.expanded.windows[at]
    yield f"window {report.name}"
    after = compile_window(meaning, at)
    before = compile_window(meaning, at, as_written=True)
    written_as = [f"where {window.where}"] if window.where else map(str, window.pairs)
    yield from _entry("as written", written_as)
    yield from _entry("lookback", [str(before.lookback)])
    written = named_guards(meaning, before)
    names = [str(written[guard]) for guard in before.letters.guards]
    yield from _entry("guards", names or ["none"])
    yield from _entry("letters", _letters(before, names))
    yield from _entry("automata", [_automata(before)])
    yield from _entry("made smaller", [_smaller(before, after)])
    kind = machine_of(plan_of(spec).windows[at]).kind
    yield from _entry("runs as", [f"{kind}: {KINDS[kind]}"])
    for name, answer in report.answers.items():
        yield from _entry(name, [f"{answer}: {answer.reason}"])


def _entry(name: str, lines: Iterable[str]) -> Iterator[str]:
    label = name
    for line in lines:
        yield f"  {label:<12}  {line}".rstrip()
        label = ""


def _letters(compiled: CompiledWindow, names: list[str]) -> Iterator[str]:
    letters = compiled.letters
    yield f"{len(letters)} of {_count(len(names), 'guard')}"
    for number, row in enumerate(letters.rows[:ROWS]):
        parts = [
            f"not ({name})" if not true else f"({name})" if " " in name else name
            for name, true in zip(names, row, strict=True)
        ]
        yield f"  {number}  {' and '.join(parts) or 'any event'}"
    if len(letters) > ROWS:
        yield f"  and {len(letters) - ROWS} more"


def _smaller(before: CompiledWindow, after: CompiledWindow) -> str:
    sizes = [
        (len(before.letters.guards), len(after.letters.guards), "guards"),
        (len(before.letters), len(after.letters), "letters"),
        (before.form.prefix.states, after.form.prefix.states, "prefix states"),
        (before.form.window.states, after.form.window.states, "window states"),
    ]
    shown = [f"{what} {one:,} → {two:,}" for one, two, what in sizes if one != two]
    return ", ".join(shown) or "it is as small as it gets"


def _automata(compiled: CompiledWindow) -> str:
    form = compiled.form
    prefix = _count(form.prefix.states, "prefix state")
    return f"{prefix}, {_count(form.window.states, 'window state')}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
