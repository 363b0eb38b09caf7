"""One window on its way from its meaning to its normal form: the values after each stage.

The functions here are the stages guards, letters, automata and normal form of `wex.stages`, which
lists all of them in their order; `wex.compile.reduce` is the one that follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from wex.compile.clauses import Clauses, clauses_of
from wex.compile.formulas import formula_automaton
from wex.compile.guards import Alphabet, asked_behind, deciding_parts, guards_of
from wex.compile.labels import label_form
from wex.compile.normal_form import PairAutomata, pair_automata
from wex.compile.preference import preference_form
from wex.spec import tree

if TYPE_CHECKING:
    from wex.compile.labels import LabelForm
    from wex.compile.normal_form import MarkedAutomaton, NormalForm
    from wex.compile.preference import PreferenceForm
    from wex.spec import Meaning
    from wex.theory.letters import Letters
    from wex.theory.terms import Guard

ANYWHERE = tree.Repeat(tree.Anything(), 0, None)  # the meaning of a missing `after`
Value = TypeVar("Value")


@dataclass(frozen=True)
class WindowMeaning:
    """The meaning of one window, and a key for caches: the rest of the spec changes nothing."""

    stream: tree.Stream
    assumes: tuple[tree.Assume, ...]
    window: tree.Window
    lookback: int
    meaning: Meaning = field(compare=False)


@dataclass(frozen=True, eq=False)
class PerWindow(Generic[Value]):
    """The meaning of a spec, and a value for each of its windows."""

    meaning: Meaning
    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class WindowGuards:
    """A window and the guard of each predicate that decides about it."""

    source: WindowMeaning
    guards: dict[tree.Expr, Guard]


@dataclass(frozen=True, eq=False)
class WindowLetters:
    """A window and its letters, with the expressions that can be built from them."""

    source: WindowMeaning
    alphabet: Alphabet


@dataclass(frozen=True, eq=False)
class WindowAutomata:
    """A window and the automata over letters of its pairs or of its formula."""

    source: WindowMeaning
    alphabet: Alphabet
    automata: PairAutomata | MarkedAutomaton


@dataclass(frozen=True, eq=False)
class CompiledWindow:
    """A window in normal form; `until` is the set of letters that may follow it.

    `preference` is the form that knows the order of ways, if `keep` chooses by it, and `labels` the
    one in which found windows are parsed, if their expressions have labels.
    """

    source: WindowMeaning
    clauses: Clauses
    letters: Letters
    form: NormalForm
    until: int | None
    preference: PreferenceForm | None = None
    labels: LabelForm | None = None

    @property
    def window(self) -> tree.Window:
        """The window, expanded."""
        return self.source.window

    @property
    def lookback(self) -> int:
        """The lookback k of the window."""
        return self.source.lookback


def windows_of(meaning: Meaning) -> PerWindow[WindowMeaning]:
    """Return the windows of a spec, each with its meaning."""
    spec = meaning.expanded
    return PerWindow(
        meaning,
        tuple(
            WindowMeaning(spec.stream, spec.assumes, window, lookback, meaning)
            for window, lookback in zip(spec.windows, meaning.lookbacks, strict=True)
        ),
    )


def window_guards(source: WindowMeaning) -> WindowGuards:
    """Return the guards of the predicates that decide about a window."""
    return WindowGuards(source, guards_of(deciding_parts(source.window), source.meaning.fields))


def window_letters(guarded: WindowGuards) -> WindowLetters:
    """Return the combinations of truth values that the guards of a window can have together."""
    source = guarded.source
    alphabet = Alphabet(guarded.guards, source.lookback, pad=not source.window.unpadded)
    return WindowLetters(source, alphabet)


def window_automata(lettered: WindowLetters) -> WindowAutomata:
    """Return the automata over letters of the pairs of a window, or of its formula."""
    window, alphabet = lettered.source.window, lettered.alphabet
    if window.where is not None:
        return WindowAutomata(lettered.source, alphabet, formula_automaton(alphabet, window.where))
    pairs = (
        (alphabet.regex(pair.after or ANYWHERE), alphabet.regex(pair.match))
        for pair in window.pairs
    )
    return WindowAutomata(lettered.source, alphabet, pair_automata(alphabet.factory, pairs))


def window_form(built: WindowAutomata) -> CompiledWindow:
    """Return the normal form of a window, over its letters as written."""
    window, alphabet = built.source.window, built.alphabet
    until = alphabet.where(asked_behind(window.until)) if window.until else None
    form, clauses = built.automata.normal_form(), clauses_of(window)
    preference = labels = None
    matches = [pair.match for pair in window.pairs]
    if isinstance(built.automata, PairAutomata):
        labels = label_form(alphabet, built.automata.prefixes, matches)
    if clauses.prefers:
        assert isinstance(built.automata, PairAutomata)
        preference = preference_form(
            alphabet, built.automata.prefixes, matches, conditional=clauses.conditional
        )
    return CompiledWindow(built.source, clauses, alphabet.letters, form, until, preference, labels)
