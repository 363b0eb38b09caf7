"""What is drawn of specs and automata: panels with the automata or the regions of each window."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wex.analysis.describe import fields_read, named_guards
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import SILENT, Budget
from wex.analysis.subject import Subject
from wex.analysis.witness import complete_events, table_of
from wex.automata.explore import Exploration
from wex.compile.automaton_pairs import pairs_of
from wex.compile.guards import basic_predicates
from wex.compile.ksla import TRUE
from wex.compile.to_predicate import names_of_lets, predicate_of, with_lets
from wex.draw.graph import Graph, Node, arrows_of
from wex.draw.panels import Panel
from wex.draw.timeline import value_text
from wex.errors import WexError, counted, did_you_mean
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from wex.analysis.regions.contexts import Contexts
    from wex.analysis.regions.graph import Step
    from wex.compile.automaton_pairs import AutomatonPair
    from wex.compile.ksla import KSLA
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning

    Predicates = Mapping[tree.Expr, tree.Expr]

LONG = 24  # characters of a predicate that gets a short name if it occurs on several arrows
SHORT_NAMES = "pqrstuvwxyz"
FEW_REGIONS = 8  # each of which is explained by an example
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
    return [
        group
        for index in windows_named(meaning, window)
        for group in _of_window(meaning, compile_window(meaning, index, as_written=True))
    ]


def _of_window(meaning: Meaning, compiled: CompiledWindow) -> Iterator[list[Panel]]:
    names, short = _names(meaning, compiled)
    yield from of_pairs(compiled.window.name.text, pairs_of(compiled, names), short)


def of_pairs(
    name: str, pairs: Sequence[AutomatonPair], short: Predicates | None = None
) -> Iterator[list[Panel]]:
    """Yield the panels of each pair of automata of a window."""
    for number, pair in enumerate(pairs[:MOST_PAIRS], start=1):
        which = f" {number} of {len(pairs)}" if len(pairs) > 1 else ""
        yield [
            _of_ksla(f"{name}: prefix automaton{which}", pair.prefix, OF_PREFIX, short),
            _of_ksla(f"{name}: window automaton{which}", pair.window, OF_WINDOW, short),
        ]
    if len(pairs) > MOST_PAIRS:
        more = f"… and {len(pairs) - MOST_PAIRS:,} more pairs of automata"
        yield [Panel(name, more, Graph((), ()))]
    if not pairs:
        yield [Panel(name, "no sequence of events has such a window", Graph((), ()))]


def of_ksla(automaton: KSLA) -> Groups:
    """Return an automaton by itself."""
    return [[_of_ksla("automaton", automaton, OF_AUTOMATON)]]


def _of_ksla(
    title: str, automaton: KSLA, marks: dict[str, str], short: Predicates | None = None
) -> Panel:
    guards: Mapping[tuple[int, int], tree.Expr] = automaton.delta
    if short is None:  # predicates have their whole text
        names = _short_names(basic_predicates(guards.values()), automaton.fields)
        guards = {pair: with_lets(guard, names) for pair, guard in guards.items()}
        short = {name: predicate for predicate, name in names.items()}
    nodes = tuple(
        Node(str(state), initial=state == 0, final=state in automaton.final)
        for state in range(automaton.states)
    )
    labels, explained = _labels(guards, short)
    graph = Graph(nodes, arrows_of(labels)).with_dead_marked()
    states = counted(automaton.states, "state")
    return Panel(title, f"lookback {automaton.lookback}, {states}", graph, marks, explained)


# --- Regions


def of_regions(spec: tree.Spec, window: str | None = None) -> Groups:
    """Return the region graphs of one or all windows."""
    meaning = meaning_of(spec)
    return [[_of_regions(meaning, index)] for index in windows_named(meaning, window)]


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
    count = counted(len(nodes), "region")
    exact = "" if regions.exact else ", not exact: some paths are those of no stream"
    names, short = _names(meaning, subject.window.compiled)
    labels, explained = _labels(_steps(meaning, subject, contexts, names), short)
    graph = Graph(nodes, arrows_of(labels), "region")
    explained += tuple(_examples(meaning, index, contexts)) if len(nodes) <= FEW_REGIONS else ()
    return Panel(title, f"{count}, by {regions.method}{exact}", graph, OF_REGIONS, explained)


def _examples(meaning: Meaning, index: int, contexts: Contexts) -> Iterator[tuple[str, str]]:
    """Yield for each region the values of events that lead to it, by a shortest path."""
    regions, names = contexts.regions, fields_read(meaning, index)
    numbers: Exploration[int, Step] = Exploration([0])
    for region in numbers:
        for step in regions.edges[region]:
            numbers.reach(step[1], step)
    for region in sorted(set(numbers) - {0}) if names else ():
        streams = regions.streams(numbers.path_to(numbers[region]), ())
        if streams is not None:
            stream = table_of(meaning, complete_events(contexts.query, streams[0]))
            columns = (f"{name} = {_values(stream.column(name))}" for name in names)
            yield str(region), f"for example, after {'; '.join(columns)}"


def _values(column: pa.ChunkedArray) -> str:
    return ", ".join(map(value_text, column.to_pylist()))


def _events_before(levels: Sequence[int], region: int) -> str:
    level, deepest = levels[region], max(levels)
    if level == 0 and deepest > 0:
        return "no event yet"
    more = " or more" if level == deepest else ""
    return f"{level}{more} {'event' if level == 1 and not more else 'events'} before"


def _steps(
    meaning: Meaning, subject: Subject, contexts: Contexts, names: Predicates
) -> dict[tuple[int, int], tree.Expr]:
    """Return what the events satisfy that lead from one region to another."""
    window = subject.window
    letters = window.compiled.letters
    written = named_guards(meaning, window.compiled)
    shown = [with_lets(written[guard], names) for guard in letters.guards]
    chosen: dict[tuple[int, int], int] = {}
    for region, steps in enumerate(contexts.regions.edges):
        for action, to in steps:
            mask = letters.everything if action[0] == SILENT else window.masks[action[0]]
            chosen[region, to] = chosen.get((region, to), 0) | mask
    return {pair: predicate_of(letters, shown, mask) for pair, mask in chosen.items()}


# --- Predicates


def _names(meaning: Meaning, compiled: CompiledWindow) -> tuple[Predicates, Predicates]:
    """Return names for the guards of a window, and what the short ones among them mean.

    Lets have their names; other guards that are long get a letter.
    """
    lets = names_of_lets(meaning)
    written = named_guards(meaning, compiled)
    guards = {written[guard]: with_lets(written[guard], lets) for guard in compiled.letters.guards}
    taken = [*meaning.fields, *(let.name.text for let in meaning.spec.lets)]
    letters = _short_names(guards.values(), taken)
    names = {guard: letters[shown] for guard, shown in guards.items() if shown in letters}
    return {**lets, **names}, {letter: shown for shown, letter in letters.items()}


def _short_names(
    predicates: Iterable[tree.Expr], taken: Iterable[str]
) -> dict[tree.Expr, tree.Expr]:
    """Return a letter for each predicate that is long, as far as there are letters."""
    long = dict.fromkeys(each for each in predicates if len(str(each)) > LONG)
    free = (tree.Ref(letter) for letter in SHORT_NAMES if letter not in set(taken))
    return dict(zip(long, free, strict=False))


def _labels(
    guards: Mapping[tuple[int, int], tree.Expr], short: Predicates
) -> tuple[dict[tuple[int, int], str], tuple[tuple[str, str], ...]]:
    """Return the labels of arrows, and the short names in them with what they mean.

    A predicate that occurs once is written in full.
    """
    uses = Counter(node for guard in guards.values() for node in tree.walk(guard) if node in short)
    single = {name: meant for name, meant in short.items() if uses[name] == 1}
    labels = {pair: _label(with_lets(guard, single)) for pair, guard in guards.items()}
    explained = ((str(name), str(meant)) for name, meant in short.items() if uses[name] > 1)
    return labels, tuple(explained)


def _label(guard: tree.Expr) -> str:
    return "any" if guard == TRUE else str(_plain(guard))


def _plain(guard: tree.Expr) -> tree.Expr:
    """Return a predicate without double negations."""
    match guard:
        case tree.Not(tree.Not(operand)):
            return _plain(operand)
        case tree.And(parts) | tree.Or(parts):
            return type(guard)(tuple(map(_plain, parts)))
    return guard
