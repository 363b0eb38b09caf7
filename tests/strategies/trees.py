"""Random syntax trees that cover the whole grammar: well formed, seldom well typed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from wex.spec import tree
from wex.spec.vocabulary import RESERVED

_odd_names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
_plain_names = st.sampled_from(
    ["x", "y", "price", "up", "X", "größe", "_1", "is_first", "count", "prev", "floor", "hour"]
)
words = st.one_of(_plain_names, st.sampled_from(sorted(RESERVED)), _odd_names)
names = st.builds(tree.Name, words)
strings = st.text(st.characters(codec="utf-8"), max_size=6)

naturals = st.builds(tree.Int, st.integers(0, 10**20))
_decimals = st.builds(
    lambda digits, places: Decimal(digits).scaleb(-places),
    st.integers(0, 10**12),
    st.integers(-40, 40),
)
positive_reals = st.builds(tree.Real, _decimals)
amounts = st.one_of(naturals, positive_reals)
numbers = st.one_of(
    amounts,
    st.builds(lambda n: tree.Int(-n.value), naturals),
    st.builds(lambda n: tree.Real(n.value.copy_negate()), positive_reals),
)
offsets = st.integers(-5, 0)

constants = st.one_of(
    numbers,
    st.builds(tree.Text, strings),
    st.builds(tree.Bool, st.booleans()),
    st.builds(tree.Duration, numbers, names),
    st.builds(tree.Moment, names, strings),
)
labels = st.just("") | words
refs = st.builds(tree.Ref, words, offsets, labels)
leaves = st.one_of(
    constants,
    refs,
    st.builds(tree.IsFirst, offsets, labels),
    st.builds(tree.Mark, st.sampled_from(["begin", "end"])),
)
_all_ops: list[tree.CompareOp] = ["=", "!=", "<", "<=", ">", ">="]
ops = st.sampled_from(_all_ops)


def _some(
    inner: st.SearchStrategy[tree.Expr], least: int = 1
) -> st.SearchStrategy[tuple[tree.Expr, ...]]:
    return st.lists(inner, min_size=least, max_size=3).map(tuple)


@st.composite
def _comparisons(draw: st.DrawFn, inner: st.SearchStrategy[tree.Expr]) -> tree.Expr:
    operands = draw(_some(inner, 2))
    return tree.Compare(operands, tuple(draw(ops) for _ in operands[1:]))


def _compound(inner: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    return st.one_of(
        st.builds(tree.Neg, inner),
        st.builds(tree.Binary, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner),
        st.builds(tree.Call, names, _some(inner, 0), st.none() | inner, st.integers(-2, 0)),
        _comparisons(inner),
        st.builds(tree.Between, inner, inner, inner, st.booleans()),
        st.builds(tree.In, inner, _some(inner), st.booleans()),
        st.builds(tree.Like, inner, inner, st.booleans()),
        st.builds(tree.IsNull, inner, st.booleans()),
        st.builds(tree.Member, inner, names, st.booleans()),
        st.builds(tree.Not, inner),
        st.builds(lambda parts: tree.flat(tree.And, parts), _some(inner)),
        st.builds(lambda parts: tree.flat(tree.Or, parts), _some(inner)),
        st.builds(tree.Implies, inner, inner),
        st.builds(tree.Iff, inner, inner),
        st.builds(
            tree.Quantified,
            st.sampled_from(["exists", "forall"]),
            names.filter(lambda name: name.text not in ("begin", "end")),
            inner,
            st.booleans(),
        ),
        st.builds(tree.holds_at, inner, inner),
    )


exprs = st.recursive(leaves, _compound, max_leaves=12)


@st.composite
def _repeats(draw: st.DrawFn, inner: st.SearchStrategy[tree.Regex]) -> tree.Regex:
    low = draw(st.integers(0, 5))
    high = draw(st.none() | st.integers(low, 9))
    return tree.Repeat(draw(inner), low, high, draw(st.booleans()))


def _regex_compound(inner: st.SearchStrategy[tree.Regex]) -> st.SearchStrategy[tree.Regex]:
    parts = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.builds(lambda found: tree.flat(tree.Concat, found), parts),
        st.builds(lambda found: tree.flat(tree.Union, found), parts),
        st.builds(lambda found: tree.flat(tree.Intersection, found), parts),
        st.builds(tree.Complement, inner),
        st.builds(tree.Labelled, names, inner),
        _repeats(inner),
    )


_small_exprs = st.recursive(leaves, _compound, max_leaves=4)
_atoms = st.one_of(
    st.builds(tree.Atom, _small_exprs), st.just(tree.Anything()), st.just(tree.Empty())
)
regexes = st.recursive(_atoms, _regex_compound, max_leaves=8)


def _with_keep(clauses: dict[str, Any]) -> dict[str, Any]:
    """Return clauses without a next start that has no `keep` before it: there is no such text."""
    return clauses if clauses["keep"] else {**clauses, "next_start": None}


_name_lists = st.lists(names, max_size=3).map(tuple)
types = st.builds(
    tree.FieldType, names, st.lists(st.builds(tree.Text, strings), max_size=3).map(tuple)
)
# Unquoted, `is_first` declares nothing; quoted it does, and that is how it prints.
fields = st.builds(tree.Field, names, types)
streams = st.builds(
    tree.Stream,
    names,
    st.lists(fields, min_size=1, max_size=4).map(tuple),
    _name_lists,
    _name_lists,
    st.none() | names,
)
lets = st.builds(tree.Let, names, exprs)
assumes = st.builds(tree.Assume, regexes, st.booleans())
rates = st.builds(
    tree.Rate, amounts, names, st.builds(tree.Duration, amounts, names), st.booleans()
)
pairs = st.builds(tree.Pair, st.none() | regexes, regexes)
runs = st.one_of(
    st.builds(tree.RunsOf, _some(_small_exprs)),
    st.builds(tree.RunsWhere, _small_exprs),
    st.builds(tree.Sessions, _small_exprs),
)
_next_starts = st.builds(tree.Sharing, st.builds(tree.Int, st.integers(0, 9)), names) | st.builds(
    tree.Resuming, names, names
)
windows = st.builds(
    lambda *args, **clauses: tree.Window(*args, **_with_keep(clauses)),
    names,
    st.lists(pairs, max_size=2).map(tuple),
    where=st.none() | exprs,
    runs=st.none() | runs,
    until=st.none() | st.builds(tree.Until, _small_exprs, st.booleans()),
    within=st.none() | st.builds(tree.Within, amounts, names),
    keep=st.none() | names,
    unpadded=st.booleans(),
    lookback=st.none() | st.builds(tree.Int, st.integers(0, 100)),
    measures=st.lists(st.builds(tree.Measure, _small_exprs, names), max_size=2).map(tuple),
    having=st.none() | _small_exprs,
    next_start=st.none() | _next_starts,
)
specs = st.builds(
    tree.Spec,
    streams,
    st.lists(lets, max_size=2).map(tuple),
    st.lists(assumes, max_size=1).map(tuple),
    st.lists(windows, max_size=2).map(tuple),
    st.lists(rates, max_size=1).map(tuple),
)
