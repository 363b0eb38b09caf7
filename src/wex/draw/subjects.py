"""What is drawn of specs and automata: panels with the automata or the regions of each window."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wex.analysis.describe import named_guards
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import SILENT, Budget
from wex.analysis.subject import Subject
from wex.compile.automaton_pairs import pairs_of
from wex.compile.ksla import TRUE
from wex.compile.to_predicate import names_of_lets, predicate_of, with_lets
from wex.draw.graph import Graph, Node, arrows_of
from wex.draw.panels import Panel
from wex.errors import WexError, did_you_mean
from wex.spec import meaning as meaning_of
from wex.spec.tree import Not, Or, Ref, walk
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wex.analysis.regions.contexts import Contexts
    from wex.compile.automaton_pairs import AutomatonPair
    from wex.compile.ksla import KSLA
    from wex.spec import Meaning, tree

LONG = 24  # characters of a predicate that gets a name of its own if it occurs again
NAMES = "pqrstuvw"
MOST_PAIRS = 4  # of prefix and window automata of one window
OF_PREFIX = {
    "start": "before the first event of the stream",
    "final": "final: a window may begin with the next event",
    "dead": "dead: no window begins any more",
}
OF_WINDOW = {
    "start": "before the first event of the window",
    "final": "final: a window may end with this event",
    "dead": "dead: no window of this start any more",
}
OF_AUTOMATON = {
    "start": "initial state",
    "final": "final state",
    "dead": "dead: no way leads to a final state",
}
OF_REGIONS = {"start": "before the first event of the stream"}

Groups = list[list[Panel]]  # those of a group are beside each other, if there is room


def windows_named(meaning: Meaning, name: str | None) -> list[int]:
    """Return the numbers of the windows of this name, or of all windows."""
    names = [window.name.text for window in meaning.expanded.windows]
    if name is None:
        return list(range(len(names)))
    if name not in names:
        hint = did_you_mean(name, names, "the windows are") if names else "the spec has none"
        raise WexError("unknown-window", f"there is no window called `{name}`", hint)
    return [names.index(name)]


# --- Automata


def of_automata(spec: tree.Spec, window: str | None = None) -> Groups:
    """Return the prefix and window automata of one or all windows, with the names of lets."""
    meaning = meaning_of(spec)
    names = names_of_lets(meaning)
    return [
        group
        for at in windows_named(meaning, window)
        for group in of_pairs(
            meaning.expanded.windows[at].name.text,
            pairs_of(compile_window(meaning, at, as_written=True), names),
        )
    ]


def of_pairs(name: str, pairs: Sequence[AutomatonPair]) -> Iterator[list[Panel]]:
    """Yield the panels of each pair of automata of a window."""
    for number, pair in enumerate(pairs[:MOST_PAIRS], start=1):
        which = f" {number} of {len(pairs)}" if len(pairs) > 1 else ""
        yield [
            _of_ksla(f"{name}: prefix automaton{which}", pair.prefix, OF_PREFIX),
            _of_ksla(f"{name}: window automaton{which}", pair.window, OF_WINDOW),
        ]
    if len(pairs) > MOST_PAIRS:
        more = f"… and {len(pairs) - MOST_PAIRS:,} more pairs of automata"
        yield [Panel(name, more, Graph((), ()))]
    if not pairs:
        yield [Panel(name, "no sequence of events has such a window", Graph((), ()))]


def of_ksla(automaton: KSLA) -> Groups:
    """Return an automaton by itself."""
    return [[_of_ksla("automaton", automaton, OF_AUTOMATON)]]


def _of_ksla(title: str, automaton: KSLA, meaning: dict[str, str]) -> Panel:
    nodes = tuple(
        Node(str(state), initial=state == 0, final=state in automaton.final)
        for state in range(automaton.states)
    )
    labels, names = _labels(automaton.delta, automaton.fields)
    graph = Graph(nodes, arrows_of(labels)).with_dead_marked()
    states = "1 state" if automaton.states == 1 else f"{automaton.states:,} states"
    return Panel(title, f"lookback {automaton.lookback}, {states}", graph, meaning, names)


def _labels(
    guards: Mapping[tuple[int, int], tree.Expr], taken: Iterable[str]
) -> tuple[dict[tuple[int, int], str], tuple[tuple[str, str], ...]]:
    """Return the labels of arrows, and names in them for long predicates that occur again."""
    occurrences = Counter(part for guard in guards.values() for part in _parts(guard))
    again = [part for part, count in occurrences.items() if count > 1]
    long = [part for part in again if len(str(part)) > LONG]
    used = {node.name for guard in guards.values() for node in walk(guard) if isinstance(node, Ref)}
    free = (name for name in NAMES if name not in used.union(taken))
    names: dict[tree.Expr, tree.Expr] = {
        part: Ref(name) for part, name in zip(long, free, strict=False)
    }
    labels = {pair: _written(with_lets(guard, names)) for pair, guard in guards.items()}
    return labels, tuple((str(name), str(part)) for part, name in names.items())


def _parts(guard: tree.Expr) -> Iterator[tree.Expr]:
    """Yield a guard without its negation; of one that is joined by `or`, its parts."""
    match guard:
        case Not(operand):
            yield from _parts(operand)
        case Or(parts):
            for part in parts:
                yield from _parts(part)
        case _:
            yield guard


def _written(guard: tree.Expr) -> str:
    return "any" if guard == TRUE else str(guard)


# --- Regions


def of_regions(spec: tree.Spec, window: str | None = None) -> Groups:
    """Return the region graphs of one or all windows."""
    meaning = meaning_of(spec)
    return [[_of_regions(meaning, at)] for at in windows_named(meaning, window)]


def _of_regions(meaning: Meaning, index: int) -> Panel:
    subject = Subject(meaning, index, Budget.of_window(len(meaning.expanded.windows)))
    title = f"{subject.window.name}: regions"
    try:
        contexts = subject.contexts
    except TooManyError:
        return Panel(title, "too many to explore with this effort", Graph((), ()))
    regions = contexts.regions
    nodes = tuple(
        Node(str(region), _events_before(regions.level, region), initial=region == 0)
        for region in range(len(regions.edges))
    )
    count = "1 region" if len(nodes) == 1 else f"{len(nodes):,} regions"
    exact = "" if regions.exact else "; it has more paths than there are streams"
    subtitle = f"{count}, by {regions.method}{exact}"
    labels, names = _labels(_steps(meaning, subject, contexts), meaning.fields)
    return Panel(title, subtitle, Graph(nodes, arrows_of(labels)), OF_REGIONS, names)


def _events_before(levels: Sequence[int], region: int) -> str:
    level, deepest = levels[region], max(levels)
    if level == 0 and deepest > 0:
        return "no event yet"
    more = " or more" if level == deepest else ""
    return f"{level}{more} {'event' if level == 1 and not more else 'events'} before"


def _steps(
    meaning: Meaning, subject: Subject, contexts: Contexts
) -> dict[tuple[int, int], tree.Expr]:
    """Return what the events satisfy that lead from one region to another."""
    window = subject.window
    letters = window.compiled.letters
    names = names_of_lets(meaning)
    written = named_guards(meaning, window.compiled)
    shown = [with_lets(written[guard], names) for guard in letters.guards]
    chosen: dict[tuple[int, int], int] = {}
    for region, steps in enumerate(contexts.regions.edges):
        for action, to in steps:
            mask = letters.everything if action[0] == SILENT else window.masks[action[0]]
            chosen[region, to] = chosen.get((region, to), 0) | mask
    return {pair: predicate_of(letters, shown, mask) for pair, mask in chosen.items()}
