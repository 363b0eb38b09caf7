"""`wex.optimise`: what the least form of each window saves, and the proof that no window is lost."""

from __future__ import annotations

import html
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.analysis.counting.single import Starts
from wex.analysis.graphs import TooManyError
from wex.analysis.least_form import sure_contexts, sure_lengths
from wex.analysis.lifetimes import DEAD
from wex.analysis.region_letters import with_free_predicates
from wex.analysis.regions.contexts import free_contexts
from wex.analysis.regions.graph import Budget
from wex.analysis.verdicts import Analysis
from wex.analysis.window_tables import reading_of, without_clauses
from wex.automata.explore import explore
from wex.spec import as_spec
from wex.spec import meaning as meaning_of
from wex.stages import compile_window, is_pruned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.answers import Answer
    from wex.analysis.regions.contexts import Edge
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning, SpecLike

# A context, the states of a start in both automata, and how many events it has, as far as that counts.
State = tuple[int, int, int, int]


@dataclass(frozen=True)
class Saving:
    """What a window holds before and after starts are dropped that no stream lets end.

    `proved` is the number of combinations of a context and the states of a start, before and after,
    that streams reach: in all of them both end in the same windows. None if there are too many.
    """

    name: str
    is_smaller: bool
    before: Answer
    after: Answer
    proved: int | None = None

    def lines(self) -> Iterator[str]:
        """Yield the lines that show it."""
        yield f"window {self.name}"
        if not self.is_smaller:
            yield f"  held    {self.after}"
            yield "  saved   nothing: no start is known to be held in vain"
            return
        yield f"  held    {self.before} → {self.after}"
        if self.proved is None:
            yield "  proof   not repeated: there are too many situations to compare"
        else:
            yield f"  proof   the same windows on every stream: {self.proved:,} situations compared"


@dataclass(frozen=True)
class Optimisation:
    """The savings of all windows of a spec, by name."""

    savings: tuple[Saving, ...]

    def __getitem__(self, name: str) -> Saving:
        for saving in self.savings:
            if saving.name == name:
                return saving
        raise KeyError(name)

    def __iter__(self) -> Iterator[Saving]:
        return iter(self.savings)

    def __len__(self) -> int:
        return len(self.savings)

    def __str__(self) -> str:
        return "\n".join(line for saving in self.savings for line in saving.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def optimise(spec: SpecLike) -> Optimisation:
    """Return what the least form of each window of a spec saves."""
    meaning = meaning_of(as_spec(spec))
    return Optimisation(
        tuple(_saving(meaning, number) for number in range(len(meaning.expanded.windows)))
    )


def _saving(meaning: Meaning, number: int) -> Saving:
    name = meaning.expanded.windows[number].name.text
    after = Analysis(meaning, number, Budget.current()).held
    if not is_pruned(meaning, number):
        return Saving(name, is_smaller=False, before=after, after=after)
    before = Analysis(meaning, number, Budget.current(), least=False).held
    forms = compile_window(meaning, number), compile_window(meaning, number, least=True)
    proved = None
    with suppress(TooManyError):
        proved = _situations(*forms, Budget.current())
    return Saving(name, True, before, after, proved)


def _situations(before: CompiledWindow, after: CompiledWindow, budget: Budget) -> int:
    """Return in how many situations two forms of a window were compared.

    Both read the same stream, by one region graph. A start that begins in both goes on in both; it may
    only be dropped where the other form never gets to a window, or to none of an allowed length.
    """
    windows = [without_clauses(with_free_predicates(form)) for form in (before, after)]
    sure = sure_contexts(windows, budget, trivial=True)
    # Where regions are not sure, only lengths are used: then any letter may follow any other.
    contexts = sure or free_contexts(windows, budget, _common_actions(before, after))
    first, second = (Starts(contexts, window, which) for which, window in enumerate(windows))
    lengths = sure_lengths(before)
    enough = 1 if lengths is None else lengths.enough

    def step(state: int, starts: Starts, edge: Edge) -> int:
        return DEAD if state == DEAD else starts.moved(state, edge)

    def successors(situation: State) -> Iterator[State]:
        context, old, new, count = situation
        if lengths is None or count != lengths.most:
            for edge in contexts.edges[context]:
                moved = step(old, first, edge), step(new, second, edge)
                yield edge.to, *moved, min(count + 1, enough)

    begun = [
        (edge.to, first.born(edge), second.born(edge), 1) for row in contexts.edges for edge in row
    ]
    situations, _ = explore(
        dict.fromkeys(one for one in begun if one[1:3] != (DEAD, DEAD)),
        lambda situation: list(dict.fromkeys(successors(situation))),
        contexts.budget.check,
    )
    for context, old, new, count in situations:
        ends_before = old != DEAD and first.ends_here((context, old))
        ends_after = new != DEAD and second.ends_here((context, new))
        if ends_before != ends_after and (lengths is None or lengths.allowed(count)):
            if sure is None or sure.query.loose:
                raise TooManyError  # no stream may have this path
            raise AssertionError("the least form of a window has other windows")
    return len(situations)


def _common_actions(before: CompiledWindow, after: CompiledWindow) -> set[tuple[int, int]]:
    """Return the classes that two forms of a window read at an event, by the letters of the first."""
    if not set(after.letters.guards) <= set(before.letters.guards):
        raise TooManyError
    places = [before.letters.guards.index(guard) for guard in after.letters.guards]
    numbers = {row: letter for letter, row in enumerate(after.letters.rows)}
    first, second = (reading_of(form).of_letter for form in (before, after))
    return {
        (first[letter], second[numbers[kept]])
        for letter, row in enumerate(before.letters.rows)
        if (kept := tuple(row[place] for place in places)) in numbers
    }
