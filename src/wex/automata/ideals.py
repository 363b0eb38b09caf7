"""Short expressions for languages that anything may precede, or follow.

If L = Σ* L, it is `any*` and then the words of L of which no proper suffix is in L; those often
have a far shorter expression than L itself. The same holds of the other side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.automata import dfa as deterministic
from wex.automata import nfa as nondeterministic
from wex.automata.eliminate import expression_of
from wex.automata.expressions import Symbol, concat, repeat
from wex.automata.minimise import minimise

if TYPE_CHECKING:
    from wex.automata.dfa import DFA
    from wex.automata.expressions import Expression

MOST = 60  # states: beyond that the detour is not worth its time


def short_expression(automaton: DFA) -> Expression | None:
    """Return a short regular expression of a language, or None if it is empty.

    >>> from wex.automata.regex import Workshop
    >>> shop = Workshop(2, [1, 2, 3])
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
