"""Random regular expressions over letters, in a form that every oracle can be built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hypothesis import strategies as st

from wex.automata import nfa
from wex.automata.regex import RegexFactory

if TYPE_CHECKING:
    from wex.automata.dfa import DFA
    from wex.automata.nfa import NFA
    from wex.automata.regex import Regex

LETTERS = 3
NAMES = "abc"
ALL = (1 << LETTERS) - 1

Kind = Literal["symbol", "empty", "concat", "union", "and", "not", "repeat"]


@dataclass(frozen=True)
class Plain:
    """A regular expression as data: `letters` of a symbol, `parts` of the others, counts of a repeat."""

    kind: Kind
    letters: int = 0
    parts: tuple[Plain, ...] = ()
    low: int = 0
    high: int | None = None


masks = st.integers(0, ALL)
symbols = st.builds(lambda mask: Plain("symbol", mask), masks)
counts = st.tuples(st.integers(0, 3), st.none() | st.integers(0, 2)).map(
    lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
)


def _regular(inner: st.SearchStrategy[Plain]) -> st.SearchStrategy[Plain]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(lambda found: Plain("concat", parts=found), parts),
        st.builds(lambda found: Plain("union", parts=found), parts),
        st.builds(lambda body, times: Plain("repeat", 0, (body,), *times), inner, counts),
    )


def _boolean(inner: st.SearchStrategy[Plain]) -> st.SearchStrategy[Plain]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        _regular(inner),
        st.builds(lambda found: Plain("and", parts=found), parts),
        st.builds(lambda body: Plain("not", parts=(body,)), inner),
    )


_leaves = symbols | st.just(Plain("empty"))
regular = st.recursive(_leaves, _regular, max_leaves=6)  # what Python's `re` can say
extended = st.recursive(_leaves, _boolean, max_leaves=6)
words = st.lists(st.integers(0, LETTERS - 1), max_size=7).map(tuple)


def workshop() -> RegexFactory:
    return RegexFactory(LETTERS, range(ALL + 1))


def regex(plain: Plain, shop: RegexFactory) -> Regex:
    """Build it for derivatives."""
    parts = [regex(part, shop) for part in plain.parts]
    match plain.kind:
        case "symbol":
            return shop.symbol(plain.letters)
        case "empty":
            return shop.empty
        case "concat":
            return shop.concat(parts)
        case "union":
            return shop.union(parts)
        case "and":
            return shop.intersection(parts)
        case "not":
            return shop.complement(parts[0])
        case "repeat":
            return shop.repeat(parts[0], plain.low, plain.high)


def automaton(plain: Plain) -> DFA:
    shop = workshop()
    return shop.automaton(regex(plain, shop))


def pattern(plain: Plain) -> str:
    """Build it for Python's `re`."""
    parts = [pattern(part) for part in plain.parts]
    match plain.kind:
        case "symbol":
            chosen = "".join(NAMES[at] for at in range(LETTERS) if plain.letters >> at & 1)
            return f"[{chosen}]" if chosen else "(?!)"
        case "concat":
            return "".join(f"(?:{part})" for part in parts)
        case "union":
            return "|".join(f"(?:{part})" for part in parts)
        case "repeat":
            high = "" if plain.high is None else str(plain.high)
            return f"(?:{parts[0]}){{{plain.low},{high}}}"
    return ""


def paper(plain: Plain) -> NFA:
    """Build it by the paper's constructions on nondeterministic automata."""
    parts = [paper(part) for part in plain.parts]
    match plain.kind:
        case "symbol":
            return nfa.symbol(LETTERS, plain.letters)
        case "concat":
            whole = nfa.empty_word(LETTERS)
            for part in parts:
                whole = nfa.concatenate(whole, part)
            return whole
        case "union":
            whole = parts[0]
            for part in parts[1:]:
                whole = nfa.union(whole, part)
            return whole
        case "repeat":
            return nfa.repeat(parts[0], plain.low, plain.high)
    return nfa.empty_word(LETTERS)


def spelt(word: tuple[int, ...]) -> str:
    return "".join(NAMES[letter] for letter in word)
