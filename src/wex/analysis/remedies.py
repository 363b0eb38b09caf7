"""Clauses that bound a window that can hold any number of starts, each tried before it is proposed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.analysis.verdicts import Analysis
from wex.analysis.window_tables import analysed_window
from wex.automata.explore import explore
from wex.spec import tree
from wex.spec.vocabulary import PREFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.regions.graph import Budget
    from wex.spec import Meaning

# The choices of `keep` to try, the ones to prefer first. Of a window whose every beginning is a
# window, those marked False keep single events, which nobody means.
KEEP = {"leftmost": True, "disjoint": False, "longest": True, "shortest": False}
EVENTS = 1000  # of `within`, where no `keep` helps
SHARE = 0.25  # of the work for an answer that one clause may take


@dataclass(frozen=True)
class Remedy:
    """A clause to add to a window, and the number of starts that it then holds at most."""

    clause: str
    bound: int

    def __str__(self) -> str:
        starts = "start" if self.bound == 1 else "starts"
        return f"with `{self.clause}` it holds at most {self.bound:,} {starts}"


def remedy(meaning: Meaning, index: int, budget: Budget) -> Remedy | None:
    """Return the clause with which a window holds the fewest starts, or None if none bounds it."""
    best: Remedy | None = None
    beginnings = every_beginning(meaning, index)
    for clause, changed in _candidates(meaning.expanded.windows[index]):
        if beginnings and changed.keep and not KEEP.get(changed.keep.text, True):
            continue
        if best and changed.within:  # an arbitrary number is worse than a choice of windows
            break
        share = replace(budget, work=int(budget.work * SHARE), done=0)
        held = Analysis(with_window(meaning, index, changed), index, share, quick=True).held
        if held.bound is None or (best and best.bound <= held.bound):
            continue
        best = Remedy(clause, held.bound)
        if held.bound <= 1:
            break
    return best


def _candidates(window: tree.Window) -> Iterator[tuple[str, tree.Window]]:
    """Yield clauses to add, the best ones first, each with the window that has it."""
    if window.keep is None or window.keep.text == "all":
        for keep in KEEP:
            if keep in PREFERENCE and window.where:
                continue  # a formula has no preference
            yield f"keep {keep}", replace(window, keep=tree.Name(keep))
    if window.within is None:
        within = tree.Within(tree.Int(EVENTS), tree.Name("events"))
        yield str(within), replace(window, within=within)


def with_window(meaning: Meaning, index: int, window: tree.Window) -> Meaning:
    """Return the meaning of a spec with another window, over the same grams, in the place of one."""

    def changed(windows: tuple[tree.Window, ...]) -> tuple[tree.Window, ...]:
        return (*windows[:index], window, *windows[index + 1 :])

    return replace(
        meaning,
        spec=replace(meaning.spec, windows=changed(meaning.spec.windows), source=None),
        expanded=replace(meaning.expanded, windows=changed(meaning.expanded.windows)),
        runs=(*meaning.runs[:index], None, *meaning.runs[index + 1 :]),
    )


def every_beginning(meaning: Meaning, index: int) -> bool:
    """Tell whether every beginning of a window is a window, too, as in `[x > 1]+`."""
    window = analysed_window(meaning, index, plain=True)
    if window.until is not None or window.clauses.running or not window.first_states:
        return False
    reached, _ = explore(window.first_states, window.successors.__getitem__)
    return all(window.final[state] for state in reached)
