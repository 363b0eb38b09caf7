"""The paper's automata: k-symbolic lookback automata, with guards as predicates.

A reader of the paper's section 2 finds its operations here under their names. They are computed
on the *letter form*, where a guard is a set of letters and a k-SLA an ordinary automaton, of the
kind that windows are compiled to: seen as a sequence of grams, k-concatenation is concatenation, and
a word of length k the empty sequence. Where the paper's constructions need repair (docs/paper.md),
these are the repaired ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from wex import notebook
from wex.automata import dfa as deterministic
from wex.automata import nfa as nondeterministic
from wex.automata.eliminate import expression_of
from wex.automata.minimise import minimise
from wex.automata.nfa import NFA
from wex.compile.guards import Alphabet, as_written, basic_predicates, guards_of
from wex.compile.ksla_input import holds_at, lookback_of, numbered, refuse_aggregates, stream_line
from wex.compile.to_predicate import predicate_of, regex_of
from wex.errors import WexError, counted
from wex.spec import meaning, parse, tree
from wex.theory.evaluate import FLOATING, Numbers
from wex.theory.letters import Letters, letters_of
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wex.automata.dfa import DFA
    from wex.compile.ksla_input import Fields, Word
    from wex.spec.types import Type
    from wex.theory.terms import Guard

TRUE, FALSE = tree.Bool(True), tree.Bool(False)


@dataclass(frozen=True, repr=False)
class KSLA:
    """A k-symbolic lookback automaton, the automaton of the paper.

    It reads the grams of a word, each an event with the k events before it, and goes from state to
    state along transitions whose guards hold of the gram. The initial state is 0. `from_regex` and
    `from_guards` make one; `wex.automata` returns those of a spec. Operations return new automata:
    ``a | b``, ``a & b`` and ``a >> b`` are union, intersection and k-concatenation.

    Whether a language is empty depends on which grams can follow one another. That is a question
    for the analysis: `wex.is_empty`, `wex.includes` and `wex.equivalent` take automata, too.

    Attributes
    ----------
    fields
        The fields of an event and their types.
    lookback
        The number k.
    states
        The number of states, which are 0 … states-1.
    final
        The final states.
    delta
        The guard from a state to a state; a missing one is false.
    pad
        Whether the first k events are read, too, with missing events before them, as windows do
        unless they are ``unpadded``. In the paper they are not.

    Examples
    --------
    >>> import wex
    >>> rises = wex.KSLA.from_regex("[x > x[-1]]+", {"x": "real"})
    >>> print(rises)
    lookback 1, 2 states
      0  initial  [x > x[-1]] → 1
      1  final    [x > x[-1]] → 1
    >>> rises.accepts([{"x": 1}, {"x": 2}, {"x": 5}]), rises.accepts([{"x": 1}, {"x": 2}, {"x": 2}])
    (True, False)
    """

    fields: Mapping[str, Type]
    lookback: int
    states: int
    final: frozenset[int]
    delta: Mapping[tuple[int, int], tree.Expr]
    pad: bool = False

    # --- Making automata

    @classmethod
    def from_regex(
        cls,
        regex: str | tree.Regex,
        fields: Fields,
        lookback: int | None = None,
        *,
        pad: bool = False,
    ) -> KSLA:
        """Return the smallest automaton of a regular expression.

        Parameters
        ----------
        regex
            The expression, as in ``match``.
        fields
            The fields that it may read, with their types as in the ``stream`` line.
        lookback
            The number k; without it the deepest lookback of the expression.
        pad
            Whether the first k events are read, too.

        Examples
        --------
        >>> import wex
        >>> print(wex.KSLA.from_regex("any* [x > 0]", {"x": "int"}))
        lookback 0, 2 states
          0  initial  [not x > 0] → 0
                      [x > 0] → 1
          1  final    [not x > 0] → 0
                      [x > 0] → 1
        """
        if isinstance(regex, str):
            resolved = meaning(parse(f"{stream_line(fields)} window w match ({regex})"))
            (least,), (pair,) = resolved.lookbacks, resolved.expanded.windows[0].pairs
            return _of_regex(pair.match, resolved.fields, lookback_of(lookback, least), pad=pad)
        if not isinstance(regex, tree.Regex):
            message = f"a regular expression is a text, not {regex!r}"
            raise WexError("wrong-argument", message, "write it as after `match`: 'any* [x > 0]'")
        window = tree.Window(tree.Name("w"), (tree.Pair(None, regex),))
        resolved = meaning(parse(f"{stream_line(fields)} {window}"))
        return _of_regex(
            regex, resolved.fields, lookback_of(lookback, resolved.lookbacks[0]), pad=pad
        )

    @classmethod
    def from_guards(
        cls,
        delta: Mapping[tuple[int, int], str | tree.Expr],
        final: Iterable[int],
        fields: Fields,
        lookback: int | None = None,
        *,
        pad: bool = False,
    ) -> KSLA:
        """Return the automaton with these guards; its states are the numbers that occur.

        Parameters
        ----------
        delta
            The guard from a state to a state, as it is written between brackets.
        final
            The final states.
        fields, lookback, pad
            As for `from_regex`.

        Examples
        --------
        >>> import wex
        >>> swing = wex.KSLA.from_guards({(0, 1): "x > 0", (1, 0): "x < 0"}, {1}, {"x": "int"})
        >>> swing.accepts([{"x": 1}, {"x": -1}, {"x": 1}])
        True
        """
        atoms = " ".join(f"[{guard}]" for guard in delta.values()) or "any"
        resolved = meaning(parse(f"{stream_line(fields)} window w match {atoms}"))
        match = resolved.expanded.windows[0].pairs[0].match
        parts = match.parts if isinstance(match, tree.Concat) else (match,)
        guards = [TRUE if isinstance(part, tree.Anything) else _of_atom(part) for part in parts]
        ends = frozenset(final)
        states = 1 + max([0, *ends, *(state for edge in delta for state in edge)])
        written = dict(zip(delta, guards, strict=False))
        k = lookback_of(lookback, resolved.lookbacks[0])
        return KSLA(resolved.fields, k, states, ends, written, pad)

    # --- Words

    def guard(self, source: int, target: int) -> tree.Expr:
        """Return the guard from a state to a state."""
        return self.delta.get((source, target), FALSE)

    def runs(
        self, word: Word, begin: int | None = None, *, numbers: Numbers = FLOATING
    ) -> list[frozenset[int]]:
        """Return the states that runs can be in before the first gram and after each.

        Parameters
        ----------
        word
            Events, each with the values of its fields.
        begin
            The position of the first event that is read; those before it are looked back at. Without
            it, reading begins at position k, or at 0 if the automaton has `pad`.
        numbers
            The arithmetic: that of floats, unless exact numbers are asked for.

        Examples
        --------
        >>> import wex
        >>> rises = wex.KSLA.from_regex("[x > x[-1]]+", {"x": "real"})
        >>> [sorted(states) for states in rises.runs([{"x": 1}, {"x": 2}, {"x": 2}])]
        [[0], [1], []]
        """
        k, first = self.lookback, 0 if self.pad else self.lookback
        begin = first if begin is None else begin
        if begin < first:
            message = f"begin must be {first} or more, got {begin}"
            raise WexError("wrong-argument", message, "give the position of an event with a gram")
        guards = {edge: self._guard(predicate) for edge, predicate in self.delta.items()}
        events = list(map(numbered, word))
        reached = [frozenset((0,))]
        for position in range(begin, len(events)):
            before = range(position - k, position + 1)
            gram = [events[at] if at >= 0 else None for at in before]
            after = {
                target
                for (source, target), guard in guards.items()
                if source in reached[-1] and holds_at(guard, gram, position, numbers)
            }
            reached.append(frozenset(after))
        return reached

    def accepts(self, word: Word, begin: int | None = None, *, numbers: Numbers = FLOATING) -> bool:
        """Tell whether a word is in the language; the arguments are those of `runs`.

        A word that has no event before `begin` to read is the empty sequence of grams if it has
        just the events that are looked back at, and is rejected if it has fewer.

        >>> import wex
        >>> prefix, window = wex.automata("stream s (x int) window w match [x > x[-1]]+")["w"][0]
        >>> stream = [{"x": 3}, {"x": 1}, {"x": 2}, {"x": 4}]
        >>> prefix.accepts(stream[:2]) and window.accepts(stream, begin=2)  # is (2, 3) a window?
        True
        """
        needed = begin if begin is not None else 0 if self.pad else self.lookback
        if len(word) < needed:
            return False
        return not self.final.isdisjoint(self.runs(word, begin, numbers=numbers)[-1])

    # --- The operations of section 2

    def clean(self) -> KSLA:
        """Return the automaton without transitions whose guards can never hold.

        >>> import wex
        >>> print(wex.KSLA.from_guards({(0, 0): "x > 0", (0, 1): "x > 1 and x < 0"}, {0}, {"x": "int"}).clean())
        lookback 0, 2 states
          0  initial, final  [x > 0] → 0
          1                  no transition
        """
        kept = {edge: guard for edge, guard in self.delta.items() if self._possible(guard)}
        return replace(self, delta=kept)

    @property
    def is_deterministic(self) -> bool:
        """Whether no gram satisfies the guards of two transitions out of one state."""
        out: dict[int, int] = defaultdict(int)
        form = letter_form(self)
        for (source, _), predicate in self.delta.items():
            mask = form.where(predicate)
            if out[source] & mask:
                return False
            out[source] |= mask
        return True

    def determinise(self) -> KSLA:
        """Return a deterministic, complete automaton of the same language.

        >>> import wex
        >>> choice = wex.KSLA.from_guards({(0, 1): "x > 0", (0, 2): "x > 1", (1, 3): "true"}, {2, 3}, {"x": "int"})
        >>> choice.is_deterministic, choice.determinise().is_deterministic
        (False, True)
        """
        form = letter_form(self)
        return form.complete(form.dfa(self))

    def minimise(self) -> KSLA:
        """Return the smallest deterministic, complete automaton of the same language."""
        form = letter_form(self)
        return form.complete(minimise(form.dfa(self)))

    def complement(self) -> KSLA:
        """Return an automaton of every sequence of grams that is not accepted, the empty one too.

        >>> import wex
        >>> rises = wex.KSLA.from_regex("[x > x[-1]]+", {"x": "real"})
        >>> rises.complement().accepts([{"x": 2}, {"x": 1}]), rises.complement().accepts([{"x": 2}])
        (True, True)
        """
        form = letter_form(self)
        return form.complete(deterministic.complement(form.dfa(self)))

    def intersection(self, other: KSLA) -> KSLA:
        """Return an automaton of what both accept; also ``self & other``."""
        form = letter_form(self, other)
        return form.ksla(deterministic.intersection(form.dfa(self), form.dfa(other)))

    def union(self, other: KSLA) -> KSLA:
        """Return an automaton of what either accepts; also ``self | other``."""
        form = letter_form(self, other)
        return form.ksla(nondeterministic.union(form.nfa(self), form.nfa(other)))

    def concatenation(self, other: KSLA) -> KSLA:
        """Return an automaton of the k-concatenation; also ``self >> other``.

        >>> import wex
        >>> up, down = (wex.KSLA.from_regex(f"[x {op} x[-1]]+", {"x": "real"}) for op in "><")
        >>> print((up >> down).minimise().to_regex())
        [x > x[-1]]+ [x < x[-1]]+
        """
        form = letter_form(self, other)
        return form.ksla(nondeterministic.concatenate(form.nfa(self), form.nfa(other)))

    def star(self) -> KSLA:
        """Return an automaton of zero or more k-concatenations."""
        return self.at_least(0)

    def plus(self) -> KSLA:
        """Return an automaton of one or more k-concatenations."""
        return self.at_least(1)

    def optional(self) -> KSLA:
        """Return an automaton of what this one accepts, and of the empty sequence."""
        return self.times(0, 1)

    def times(self, low: int, high: int | None = None) -> KSLA:
        """Return an automaton of `low` k-concatenations, or of `low` to `high`."""
        form = letter_form(self)
        most = low if high is None else high
        return form.ksla(nondeterministic.repeat(form.nfa(self), low, most))

    def at_least(self, low: int) -> KSLA:
        """Return an automaton of at least `low` k-concatenations."""
        form = letter_form(self)
        return form.ksla(nondeterministic.repeat(form.nfa(self), low, None))

    def to_regex(self) -> tree.Regex:
        """Return a regular expression of the same language; its text is ``str(regex)``.

        >>> import wex
        >>> print(wex.KSLA.from_guards({(0, 1): "x > 0", (1, 0): "x < 0"}, {1}, {"x": "int"}).to_regex())
        [x > 0] ([x < 0] [x > 0])*
        """
        form = letter_form(self)
        return regex_of(expression_of(form.nfa(self)), form.letters, form.predicates)

    __and__ = intersection
    __or__ = union
    __rshift__ = concatenation

    # --- Text

    _repr_html_ = notebook.html_of

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<KSLA with lookback {self.lookback}, {counted(self.states, 'state')}>"

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text: each state with its transitions, in the order of numbers."""
        yield f"lookback {self.lookback}, {counted(self.states, 'state')}"
        kinds = [
            ", ".join(["initial"] * (state == 0) + ["final"] * (state in self.final))
            for state in range(self.states)
        ]
        wide, indent = max(map(len, kinds)), len(str(self.states - 1))
        for state, kind in enumerate(kinds):
            label = f"{state:>{indent}}  {kind:<{wide}}"
            out = [
                (target, guard) for (source, target), guard in self.delta.items() if source == state
            ]
            for target, guard in sorted(out, key=lambda each: each[0]):
                yield f"  {label}  {'any' if guard == TRUE else f'[{guard}]'} → {target}"
                label = " " * len(label)
            if not out:
                yield f"  {label}  no transition"

    # --- Inside

    def _guard(self, predicate: tree.Expr) -> Guard:
        refuse_aggregates([predicate])
        return guard_of(predicate, self.fields)

    def _possible(self, predicate: tree.Expr) -> bool:
        from wex.theory.solver import satisfiable  # noqa: PLC0415  (loads z3)

        guard = self._guard(predicate)
        if self.pad:  # the letters know of missing events
            return bool(letters_of([guard], self.lookback, pad=True).where(guard))
        return satisfiable(guard, self.lookback)


# --- The letter form


@dataclass(frozen=True)
class LetterForm:
    """Automata over shared letters; `predicates` are the guards of the letters as written."""

    fields: Mapping[str, Type]
    lookback: int
    predicates: tuple[tree.Expr, ...]
    letters: Letters
    pad: bool = False

    def where(self, predicate: tree.Expr) -> int:
        """Return the letters of which a guard is true."""
        if predicate not in self.predicates:
            match predicate:
                case tree.Not(operand):
                    return self.letters.everything & ~self.where(operand)
                case tree.And(parts):
                    return reduce(and_, map(self.where, parts))
                case tree.Or(parts):
                    return reduce(or_, map(self.where, parts))
        return self.letters.where(guard_of(predicate, self.fields))

    def nfa(self, automaton: KSLA) -> NFA:
        """Return an automaton with sets of letters instead of guards."""
        edges = {edge: self.where(predicate) for edge, predicate in automaton.delta.items()}
        return nondeterministic.nfa_of(len(self.letters), automaton.states, automaton.final, edges)

    def dfa(self, automaton: KSLA) -> DFA:
        """Return a deterministic automaton over letters."""
        return nondeterministic.determinise(self.nfa(automaton))

    def ksla(self, automaton: NFA | DFA) -> KSLA:
        """Return an automaton with guards instead of sets of letters, without dead states."""
        if isinstance(automaton, NFA):
            return self._named(automaton.states, automaton.final, automaton.edges)
        kept = [0, *(state for state in range(1, automaton.states) if automaton.live[state])]
        return self._of_states(automaton, kept)

    def complete(self, dfa: DFA) -> KSLA:
        """Return a deterministic automaton with its dead states, so that it stays complete."""
        return self._of_states(dfa, range(dfa.states))

    def _of_states(self, dfa: DFA, kept: Sequence[int]) -> KSLA:
        number = {state: index for index, state in enumerate(kept)}
        masks: dict[tuple[int, int], int] = defaultdict(int)
        for state in kept:
            row = dfa.table[state].tolist()
            for letter, cls in enumerate(dfa.classes.tolist()):
                if row[cls] in number:
                    masks[number[state], number[row[cls]]] |= 1 << letter
        final = frozenset(number[state] for state in kept if dfa.final[state])
        return self._named(len(kept), final, masks)

    def _named(
        self, states: int, final: frozenset[int], masks: Mapping[tuple[int, int], int]
    ) -> KSLA:
        delta = {
            edge: predicate_of(self.letters, self.predicates, mask) for edge, mask in masks.items()
        }
        return KSLA(self.fields, self.lookback, states, final, delta, self.pad)


def letter_form(*automata: KSLA) -> LetterForm:
    """Return the letters in which several automata of one theory can be read together."""
    first = automata[0]
    shape = (first.lookback, first.pad, first.fields)
    if any((other.lookback, other.pad, other.fields) != shape for other in automata):
        message = "the two automata read different grams"
        raise WexError("streams-differ", message, "give both the same fields, lookback and pad")
    predicates = [predicate for automaton in automata for predicate in automaton.delta.values()]
    refuse_aggregates(predicates)
    guards = {
        predicate: guard_of(predicate, first.fields) for predicate in basic_predicates(predicates)
    }
    written = as_written(guards)
    letters = letters_of(written, first.lookback, pad=first.pad)
    return LetterForm(first.fields, first.lookback, tuple(written.values()), letters, first.pad)


def _of_regex(regex: tree.Regex, fields: Mapping[str, Type], lookback: int, *, pad: bool) -> KSLA:
    refuse_aggregates([regex])
    alphabet = Alphabet(guards_of([regex], fields), lookback, pad=pad)
    written = as_written(alphabet.guards)
    predicates = tuple(written[guard] for guard in alphabet.letters.guards)
    form = LetterForm(fields, lookback, predicates, alphabet.letters, pad)
    return form.ksla(alphabet.factory.automaton(alphabet.regex(regex)))


def _of_atom(part: tree.Regex) -> tree.Expr:
    assert isinstance(part, tree.Atom)
    return part.predicate
