"""From an automaton back to a regular expression, by eliminating its states one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.automata import dfa as deterministic
from wex.automata import nfa as nondeterministic
from wex.automata.expressions import EPSILON, Expression, Symbol, concat, repeat, union
from wex.automata.minimise import minimise
from wex.automata.nfa import NFA, nfa_from

if TYPE_CHECKING:
    from wex.automata.dfa import DFA


Edges = dict[tuple[int, int], Expression]


def expression_of(automaton: DFA | NFA) -> Expression | None:
    """Return a regular expression of the same language, or None if that is empty.

    The state whose removal makes the smallest expressions goes first, so that the result stays
    readable.
    """
    nfa = automaton if isinstance(automaton, NFA) else nfa_from(automaton)
    end = nfa.states
    edges: Edges = {edge: Symbol(mask) for edge, mask in nfa.edges.items()}
    for state in nfa.final:
        edges[state, end] = EPSILON
    left = set(range(1, nfa.states))
    while left:
        state = min(left, key=lambda each: (_cost(edges, each), each))
        left.remove(state)
        _remove(edges, state)
    return edges.get((0, end))


def _around(edges: Edges, state: int) -> tuple[list[int], list[int]]:
    sources = [a for a, b in edges if b == state and a != state]
    targets = [b for a, b in edges if a == state and b != state]
    return sources, targets


def _cost(edges: Edges, state: int) -> int:
    """Return how much longer expressions get when a state goes: what it copies, and how often."""
    sources, targets = _around(edges, state)
    loop = edges.get((state, state))
    into = sum(edges[source, state].size for source in sources)
    out = sum(edges[state, target].size for target in targets)
    looped = loop.size if loop else 0
    return (
        into * (len(targets) - 1)
        + out * (len(sources) - 1)
        + looped * (len(sources) * len(targets) - 1)
    )


def _remove(edges: Edges, state: int) -> None:
    sources, targets = _around(edges, state)
    loop = edges.pop((state, state), None)
    middle = repeat(loop, 0, None) if loop else EPSILON
    for source in sources:
        for target in targets:
            path = concat([edges[source, state], middle, edges[state, target]])
            known = edges.get((source, target))
            joined = union([known, path] if known else [path])
            assert joined is not None
            edges[source, target] = joined
    for source in sources:
        del edges[source, state]
    for target in targets:
        del edges[state, target]


MOST = 60  # states: beyond that the detour is not worth its time


def short_expression(automaton: DFA) -> Expression | None:
    """Return a short regular expression of a language, or None if it is empty.

    >>> from wex.automata.regex import RegexFactory
    >>> shop = RegexFactory(2, [1, 2, 3])
    >>> a, b = shop.symbol(1), shop.symbol(2)
    >>> loop = shop.repeat(shop.concat([shop.repeat(b, 0, None), a]), 1, None)
    >>> short_expression(shop.automaton(loop)).size
    2
    """
    plain = expression_of(automaton)
    if plain is None or automaton.states > MOST:
        return plain
    letters = automaton.letters
    anything = nondeterministic.symbol(letters, (1 << letters) - 1)
    some = nondeterministic.repeat(anything, 1, None)
    own = nondeterministic.nfa_from(automaton)
    rest = repeat(Symbol((1 << letters) - 1), 0, None)
    found: list[Expression] = []
    for before in (True, False):
        pair = (some, own) if before else (own, some)
        longer = nondeterministic.determinise(nondeterministic.concatenate(*pair))
        if not deterministic.is_empty(deterministic.difference(longer, automaton)):
            continue  # something more may not come there
        least = expression_of(minimise(deterministic.difference(automaton, longer)))
        if least is not None:
            found.append(concat([rest, least] if before else [least, rest]))
    # Of equally short ones, the one that says `any*` reads best.
    return min([*found, plain], key=lambda each: each.size)
