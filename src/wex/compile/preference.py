"""The preference of a window: its pairs as one ordered automaton, and a prefix automaton for it.

The normal form of a window treats a language as a set. Under `keep preferred` and `keep leftmost`
the order of the ways counts, too, so that such a window has a second form beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex.automata import preference as ordered
from wex.automata.dfa import DFA, common_classes
from wex.automata.explore import explore
from wex.automata.minimise import merge_columns, merge_states, refine
from wex.automata.preference import DEAD, OrderedAutomaton, OrderedBuilder
from wex.compile.normal_form import NONE
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.compile.guards import Alphabet


@dataclass(frozen=True, eq=False)
class PreferenceForm:
    """`starts[p]` is the state of the ordered automaton in which a start at prefix state p begins.

    It is NONE where no window begins.
    """

    prefix: DFA
    starts: NDArray[np.int32]
    ways: OrderedAutomaton


def preference_form(
    alphabet: Alphabet,
    prefixes: Sequence[DFA],
    matches: Sequence[tree.Regex],
    *,
    conditional: bool,
) -> PreferenceForm:
    """Return the form of pairs; `conditional`: a word that is in the language may yet be denied."""
    classes, keys = common_classes(*(dfa.classes.tolist() for dfa in prefixes))

    def successors(state: tuple[int, ...]) -> list[tuple[int, ...]]:
        rows = [dfa.table[part] for dfa, part in zip(prefixes, state, strict=True)]
        return [tuple(int(row[cls]) for row, cls in zip(rows, key, strict=True)) for key in keys]

    states, table = explore([(0,) * len(prefixes)], successors)
    expressions = [ordered_of(alphabet, match) for match in matches]
    # Which pairs take part at each prefix state, in their order; combinations are numbered.
    taking_part = [
        tuple(at for at, dfa in enumerate(prefixes) if dfa.final[state[at]]) for state in states
    ]
    choices = [choice for choice in dict.fromkeys(taking_part) if choice]
    ways, begins = OrderedBuilder(alphabet.factory).automaton(
        [ordered.Choice(tuple(expressions[at] for at in choice)) for choice in choices],
        conditional=conditional,
    )
    entry = dict(zip(choices, begins, strict=True))
    labels = [_label(entry.get(choice, DEAD)) for choice in taking_part]
    rows = np.array(table, dtype=np.int32).reshape(len(states), len(keys))
    return _with_prefix(np.array(classes, dtype=np.int32), rows, labels, ways)


def _label(begin: int) -> int:
    return NONE if begin == DEAD else begin


def _with_prefix(
    classes: NDArray[np.int32],
    table: NDArray[np.int32],
    labels: Sequence[int],
    ways: OrderedAutomaton,
) -> PreferenceForm:
    """Return the form with the smallest prefix automaton that has these labels."""
    blocks = refine(table, labels)
    merged, members = merge_states(table, blocks)
    narrow, narrow_table = merge_columns(classes, merged)
    starts = np.array([labels[member] for member in members], dtype=np.int32)
    starts.flags.writeable = False
    return PreferenceForm(DFA(narrow, narrow_table, starts != NONE), starts, ways)


def restricted(form: PreferenceForm, letters: Sequence[int]) -> PreferenceForm:
    """Return the form over some of its letters, in that order, without unreachable states."""
    before = form.prefix.table[:, form.prefix.classes[list(letters)]]
    reached, table = explore([0], lambda state: before[state].tolist())
    begins = list(dict.fromkeys(int(form.starts[state]) for state in reached))
    begins = [begin for begin in begins if begin != NONE]
    ways, moved = ordered.restricted(form.ways, begins, letters)
    entry = dict(zip(begins, moved, strict=True))
    labels = [_label(entry.get(int(form.starts[state]), DEAD)) for state in reached]
    rows = np.array(table, dtype=np.int32).reshape(len(reached), len(letters))
    return _with_prefix(np.arange(len(letters), dtype=np.int32), rows, labels, ways)


def ordered_of(
    alphabet: Alphabet, regex: tree.Regex, labels: ordered.Labels | None = None
) -> ordered.Ordered:
    """Return an expression over letters with the order of its ways.

    `labels` are those around it; with None labels are left out, as they do not change the order.
    """

    def inner(part: tree.Regex) -> ordered.Ordered:
        return ordered_of(alphabet, part, labels)

    own = labels or ()
    match regex:
        case tree.Anything() | tree.Atom():
            members = alphabet.regex(regex).key[1]
            assert isinstance(members, int)
            return ordered.Symbol(members, own)
        case tree.Labelled(name, body):
            return ordered_of(alphabet, body, None if labels is None else (*labels, name.text))
        case tree.Empty():
            return ordered.Concatenation(())
        case tree.Concat(parts):
            return ordered.Concatenation(tuple(map(inner, parts)))
        case tree.Union(parts):
            return ordered.Choice(tuple(map(inner, parts)))
        case tree.Intersection((first, *others)):
            also = alphabet.factory.intersection(map(alphabet.regex, others))
            return ordered.Filtered(inner(first), also)
        case tree.Complement():
            return ordered.Longest(alphabet.regex(regex), own)
        case tree.Repeat(body, low, high, reluctant):
            return ordered.Repetition(inner(body), low, high, reluctant)
    raise TypeError(regex)
