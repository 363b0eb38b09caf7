"""Regular expressions of automata, by eliminating their states one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.automata import dfa as deterministic
from wex.automata import nfa as nondeterministic
from wex.automata.expressions import EPSILON, Expression, Symbol, concat, repeat, union
from wex.automata.minimise import minimise
from wex.automata.nfa import NFA, nfa_from

if TYPE_CHECKING:
    from wex.automata.dfa import DFA


ExpressionEdges = dict[tuple[int, int], Expression]


def expression_of(automaton: DFA | NFA) -> Expression | None:
    """Return a regular expression of the same language, or None if the language is empty.

    States are removed in the order that adds least to the expressions, to keep the result readable.
    """
    nfa = automaton if isinstance(automaton, NFA) else nfa_from(automaton)
    end = nfa.states
    edges: ExpressionEdges = {edge: Symbol(mask) for edge, mask in nfa.edges.items()}
    for state in nfa.final:
        edges[state, end] = EPSILON
    remaining = set(range(1, nfa.states))
    while remaining:
        state = min(remaining, key=lambda state: (_cost(edges, state), state))
        remaining.remove(state)
        _remove(edges, state)
    return edges.get((0, end))


def _neighbours(edges: ExpressionEdges, state: int) -> tuple[list[int], list[int]]:
    sources = [a for a, b in edges if b == state and a != state]
    targets = [b for a, b in edges if a == state and b != state]
    return sources, targets


def _cost(edges: ExpressionEdges, state: int) -> int:
    """Return how many symbols removing a state adds, by copying the expressions on its edges."""
    sources, targets = _neighbours(edges, state)
    loop = edges.get((state, state))
    into = sum(edges[source, state].size for source in sources)
    out = sum(edges[state, target].size for target in targets)
    looped = loop.size if loop else 0
    return (
        into * (len(targets) - 1)
        + out * (len(sources) - 1)
        + looped * (len(sources) * len(targets) - 1)
    )


def _remove(edges: ExpressionEdges, state: int) -> None:
    sources, targets = _neighbours(edges, state)
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


MOST_SHORTENED = 60  # states: shortening larger automata takes too long


def short_expression(automaton: DFA) -> Expression | None:
    """Return a short regular expression of a language, or None if it is empty.

    >>> from wex.automata.regex import RegexFactory
    >>> factory = RegexFactory(2, [1, 2, 3])
    >>> a, b = factory.symbol(1), factory.symbol(2)
    >>> loop = factory.repeat(factory.concat([factory.repeat(b, 0, None), a]), 1, None)
    >>> short_expression(factory.automaton(loop)).size
    2
    """
    plain = expression_of(automaton)
    if plain is None or automaton.states > MOST_SHORTENED:
        return plain
    letters = automaton.letters
    anything = nondeterministic.symbol(letters, (1 << letters) - 1)
    some = nondeterministic.repeat(anything, 1, None)
    nfa = nondeterministic.nfa_from(automaton)
    rest = repeat(Symbol((1 << letters) - 1), 0, None)
    candidates: list[Expression] = []
    for before in (True, False):
        pair = (some, nfa) if before else (nfa, some)
        longer = nondeterministic.determinise(nondeterministic.concatenate(*pair))
        if not deterministic.is_empty(deterministic.difference(longer, automaton)):
            continue  # a word of the language cannot be extended on this side
        least = expression_of(minimise(deterministic.difference(automaton, longer)))
        if least is not None:
            candidates.append(concat([rest, least] if before else [least, rest]))
    # Of equally short expressions, one with `any*` is the most readable.
    return min([*candidates, plain], key=lambda expression: expression.size)
