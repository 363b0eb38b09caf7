"""Clauses that bound a window that can hold any number of starts, each tried before it is proposed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.analysis.regions.contexts import quick_regions
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
    """Return the clause with which a window holds the fewest starts, or None if none bounds it.

    The least form of a plan takes time, so only that of the best clause is made; of all only if no other
    plan has a bound.
    """
    best = _best(meaning, index, budget, least=False)
    if best is None:
        best = _best(meaning, index, budget, least=True)
        return None if best is None else best[0]
    found, window = best
    bound = _held(meaning, index, window, budget, least=True)
    return found if bound is None else Remedy(found.clause, bound)


def _best(
    meaning: Meaning, index: int, budget: Budget, *, least: bool
) -> tuple[Remedy, tree.Window] | None:
    """Return the best clause, and the window with it; plans are in their `least` form or not."""
    best: tuple[Remedy, tree.Window] | None = None
    beginnings = every_beginning(meaning, index)
    for clause, changed in _candidates(meaning.expanded.windows[index]):
        if beginnings and changed.keep and not KEEP.get(changed.keep.text, True):
            continue
        if best and changed.within:  # an arbitrary number is worse than a choice of windows
            break
        bound = _held(meaning, index, changed, budget, least=least)
        if bound is None or (best and best[0].bound <= bound):
            continue
        best = Remedy(clause, bound), changed
        if bound <= 1:
            break
    return best


def _held(
    meaning: Meaning, index: int, window: tree.Window, budget: Budget, *, least: bool
) -> int | None:
    """Return how many starts a plan for another window holds at most."""
    share = replace(budget, work=int(budget.work * SHARE), done=0, ran_out=False)
    changed = with_window(meaning, index, window)
    analysis = Analysis(changed, index, share, quick_regions, quick=True, least=least)
    return analysis.held.bound


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
