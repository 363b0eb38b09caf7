"""The paper's prefix and window automata, read off the normal form of a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from wex import notebook
from wex.compile.guards import as_written, deciding_parts, guards_of
from wex.compile.ksla import KSLA, LetterForm
from wex.compile.ksla_input import refuse_aggregates
from wex.compile.to_predicate import with_lets

if TYPE_CHECKING:
    from wex.compile.window import CompiledWindow
    from wex.spec import tree


class AutomatonPair(NamedTuple):
    """A prefix automaton and a window automaton: (b, e) is a window if both accept their part.

    `prefix` reads the events before b, `window` those from b to e.
    """

    prefix: KSLA
    window: KSLA

    def _repr_html_(self) -> str | None:
        return notebook.html_of(self)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text: both automata, with their states and transitions."""
        for what, automaton in (("prefix", self.prefix), ("window", self.window)):
            first, *rest = automaton.lines()
            yield f"{what} automaton: {first}"
            yield from rest


@dataclass(frozen=True)
class SpecAutomata(Mapping[str, tuple[AutomatonPair, ...]]):
    """The automata of each window, by its name; the text shows all of them.

    A window has a pair for each state of its window automaton in which windows begin. Most have one;
    a window that no sequence of letters can have has none. At each event at most one of the prefixes
    accepts the events before it, so each window is recognised once.
    """

    windows: Mapping[str, tuple[AutomatonPair, ...]]

    _repr_html_ = notebook.html_of

    def __getitem__(self, name: str) -> tuple[AutomatonPair, ...]:
        return self.windows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.windows)

    def __len__(self) -> int:
        return len(self.windows)

    def __str__(self) -> str:
        return "\n".join(
            line
            for name, pairs in self.windows.items()
            for line in (
                f"window {name}",
                *(f"  {line}" for pair in pairs for line in pair.lines()),
            )
        )


def pairs_of(
    compiled: CompiledWindow, names: Mapping[tree.Expr, tree.Expr] | None = None
) -> tuple[AutomatonPair, ...]:
    """Return the prefix and window automata of a window in its normal form as written.

    There is a pair for each state of the window automaton in which windows begin; a stream before
    an event is accepted by one prefix at most. With `names`, lets stand for their predicates: such
    automata are to be read, not run.
    """
    source = compiled.source
    parts = deciding_parts(compiled.window)
    written = as_written(guards_of(parts, source.meaning.fields))
    shown = [written[guard] for guard in compiled.letters.guards]
    if names is None:
        refuse_aggregates(shown)
    else:
        shown = [with_lets(predicate, names) for predicate in shown]
    pad = not compiled.window.unpadded
    form = LetterForm(source.meaning.fields, compiled.lookback, tuple(shown), compiled.letters, pad)
    return tuple(
        AutomatonPair(form.ksla(prefix), form.ksla(window))
        for prefix, window in compiled.form.pairs()
    )
