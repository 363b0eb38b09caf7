"""Random specs that are right: every name declared, every type fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from hypothesis import strategies as st

from tests.strategies import trees
from wex.spec import parse, tree
from wex.spec.types import BOOL, DATE, INT, REAL, STRING, TIMESTAMP, Type

ENUM = Type("enum", ("a", "b", "c"))
FIELDS: dict[str, Type] = {
    "key": STRING, "ts": TIMESTAMP, "day": DATE, "x": REAL, "y": REAL, "n": INT, "m": INT,
    "name": STRING, "side": ENUM, "ok": BOOL, "end": INT,
}  # fmt: skip
LETS: dict[str, tree.Expr] = {
    "gap": tree.Binary("-", tree.Ref("ts"), tree.Ref("ts", -1)),
    "up": tree.Compare((tree.Ref("x"), tree.Ref("x", -1)), (">",)),
    "up2": tree.And((tree.Ref("up"), tree.Ref("up", -1))),
    "twice": tree.Binary("*", tree.Int(2), tree.Ref("n")),
}
PREDICATE_LETS = ("up", "up2")

offsets = st.integers(-2, 0)
_ops = trees.ops
_equality: st.SearchStrategy[tree.CompareOp] = st.sampled_from(["=", "!="])


def name(text: str) -> tree.Name:
    return tree.Name(text)


def _fields(*wanted: str) -> st.SearchStrategy[tree.Expr]:
    return st.builds(tree.Ref, st.sampled_from(wanted), offsets)


def _reads(node: tree.Expr) -> bool:
    """Tell whether an expression reads an event: nothing else can be looked back at."""
    return any(isinstance(each, tree.Ref | tree.IsFirst) for each in tree.walk(node))


def _arithmetic(leaf: st.SearchStrategy[tree.Expr], ops: list[str]) -> st.SearchStrategy[tree.Expr]:
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(tree.Binary, st.sampled_from(ops), inner, inner),
            st.builds(tree.Neg, inner),
            st.builds(lambda value: tree.Call(name("abs"), (value,)), inner),
            st.builds(lambda value: tree.Call(name("prev"), (value,)), inner.filter(_reads)),
        ),
        max_leaves=3,
    )


integers = _arithmetic(
    st.one_of(_fields("n", "m", "end", "twice"), st.builds(tree.Int, st.integers(-9, 9))),
    ["+", "-", "*"],
)
_divisors = st.sampled_from([-3, -1, 1, 2, 7]).map(tree.Int)
integers = st.one_of(
    integers,
    integers,
    st.builds(tree.Binary, st.sampled_from(["//", "%"]), integers, _divisors),
    st.builds(
        lambda value, step: tree.Call(name("floor"), (value, *step)),
        integers,
        st.sampled_from([(tree.Int(2),), (tree.Int(3), tree.Int(-4))]),
    ),
    st.builds(
        lambda part, field: tree.Call(name(part), (field,)),
        st.sampled_from(["year", "month", "day", "weekday"]),
        _fields("ts", "day"),
    ),
    st.builds(
        lambda part, field: tree.Call(name(part), (field,)),
        st.sampled_from(["hour", "minute", "second"]),
        _fields("ts"),
    ),
)
_decimals = st.integers(-99, 99).map(lambda digits: tree.Real(Decimal(digits).scaleb(-1)))
# Constants that fold, to one float or beyond the largest, and whole numbers among reals.
_folded = st.sampled_from(
    [
        tree.Binary("+", tree.Int(1), tree.Int(1)),
        tree.Binary("*", tree.Real(Decimal("1e300")), tree.Real(Decimal("1e300"))),
        tree.Binary("+", tree.Ref("n"), tree.Real(Decimal("1.0"))),
        tree.Binary("/", tree.Ref("n"), tree.Ref("m")),
    ]
)
reals = _arithmetic(st.one_of(_fields("x", "y"), _decimals, _folded), ["+", "-", "*"])
durations = _arithmetic(
    st.one_of(
        _fields("gap"),
        st.builds(
            tree.Duration,
            st.builds(tree.Int, st.integers(0, 90)),
            st.sampled_from(["seconds", "minute", "hours"]).map(name),
        ),
    ),
    ["+", "-"],
)
_minutes = tree.Duration(tree.Int(20), name("minutes"))
durations = st.one_of(
    durations,
    durations,
    st.builds(lambda value: tree.Binary("%", value, _minutes), durations),
)
integers = integers | st.builds(lambda value: tree.Binary("//", value, _minutes), durations)
timestamps = st.one_of(
    _fields("ts"),
    st.builds(
        lambda field, step: tree.Call(name("floor"), (field, *step)),
        _fields("ts"),
        st.sampled_from(
            [
                (tree.Duration(tree.Int(1), name("hour")),),
                (
                    tree.Duration(tree.Int(1), name("day")),
                    tree.Duration(tree.Int(5), name("hours")),
                ),
            ]
        ),
    ),
    st.just(tree.Moment(name("timestamp"), "2026-01-31 10:00:00.250")),
    st.builds(lambda time, length: tree.Binary("+", time, length), _fields("ts"), durations),
)
dates = st.one_of(
    _fields("day"),
    st.just(tree.Moment(name("date"), "2026-01-31")),
    st.just(tree.Binary("-", tree.Ref("day"), tree.Duration(tree.Int(7), name("days")))),
    st.builds(
        lambda field: tree.Call(name("floor"), (field, tree.Duration(tree.Int(1), name("week")))),
        _fields("day"),
    ),
)
strings = st.one_of(_fields("name", "key"), st.builds(tree.Text, st.sampled_from(["a", "it's"])))
_patterns = st.sampled_from(["a%", "%", "_t'%", "", "_", r"\%"]).map(tree.Text)
_texts = st.one_of(_fields("name", "key", "side"), st.just(tree.Text("it's")))
_null_tests = st.builds(
    tree.IsNull, _fields("x", "n", "name", "side", "ok", "day", "key"), st.booleans()
)
enum_values = st.builds(tree.Text, st.sampled_from(ENUM.values))

_ordered = (integers | reals, durations, timestamps, dates)


@st.composite
def _comparisons(draw: st.DrawFn) -> tree.Expr:
    values = draw(st.sampled_from(_ordered))
    first, second, third = draw(values), draw(values), draw(values)
    form = draw(st.integers(0, 3))
    if form == 0:
        return tree.Compare((first, second, third), (draw(_ops), draw(_ops)))
    if form == 1:
        return tree.Between(first, second, third, draw(st.booleans()))
    if form == 2:
        return tree.In(first, (second, third), draw(st.booleans()))
    return tree.Compare((first, second), (draw(_ops),))


def _atoms() -> st.SearchStrategy[tree.Expr]:
    return st.one_of(
        _comparisons(),
        st.builds(lambda a, b, op: tree.Compare((a, b), (op,)), strings, strings, _equality),
        st.builds(
            lambda a, b, op: tree.Compare((a, b), (op,)), _fields("side"), enum_values, _equality
        ),
        st.builds(lambda a, b: tree.In(a, (b,)), _fields("side"), enum_values),
        st.builds(tree.Like, _texts, _patterns, st.booleans()),
        st.builds(
            lambda a, b: tree.Call(name("starts_with"), (a, tree.Text(b))),
            _texts,
            st.sampled_from(["", "a", "%"]),
        ),
        _null_tests,
        _fields("ok", *PREDICATE_LETS),
        st.builds(tree.IsFirst, offsets),
        st.builds(tree.Bool, st.booleans()),
    )


def _logic(inner: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    parts = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        st.builds(tree.Not, inner),
        st.builds(lambda found: tree.flat(tree.And, found), parts),
        st.builds(lambda found: tree.flat(tree.Or, found), parts),
        st.builds(
            lambda value: tree.Call(name("prev"), (value, tree.Int(1))), inner.filter(_reads)
        ),
    )


predicates = st.recursive(_atoms(), _logic, max_leaves=4)


def _regex_logic(inner: st.SearchStrategy[tree.Regex]) -> st.SearchStrategy[tree.Regex]:
    parts = st.lists(inner, min_size=2, max_size=3)
    counts = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 3), (2, None)])
    return st.one_of(
        st.builds(lambda found: tree.flat(tree.Concat, found), parts),
        st.builds(lambda found: tree.flat(tree.Union, found), parts),
        st.builds(lambda found: tree.flat(tree.Intersection, found), parts),
        st.builds(tree.Complement, inner),
        st.builds(lambda body, count: tree.Repeat(body, *count), inner, counts),
    )


def regexes_of(atoms: st.SearchStrategy[tree.Regex]) -> st.SearchStrategy[tree.Regex]:
    """Return expressions of every form over some atoms."""
    leaf = st.one_of(atoms, st.just(tree.Anything()), st.just(tree.Empty()))
    return st.recursive(leaf, _regex_logic, max_leaves=5)


regexes = regexes_of(st.builds(tree.Atom, predicates))


@st.composite
def formulas(
    draw: st.DrawFn, positions: tuple[str, ...] = (), sets: tuple[str, ...] = (), depth: int = 3
) -> tree.Expr:
    """Formulas whose variables are bound, up to a depth of quantifiers and connectives."""
    form = draw(st.integers(0, 8 if depth else 3))
    place = _positions(positions)
    below = formulas(positions, sets, depth - 1) if depth else st.nothing()
    if form == 0:
        operands = tuple(draw(st.lists(place, min_size=2, max_size=3)))
        return tree.Compare(operands, tuple(draw(_ops) for _ in operands[1:]))
    if form == 1:
        return tree.Call(name(draw(st.sampled_from(("ok", *PREDICATE_LETS)))), (draw(place),))
    if form == 2 and sets:
        return tree.Member(draw(place), name(draw(st.sampled_from(sets))), draw(st.booleans()))
    if form <= 3:
        return tree.Holds(tree.Not(draw(predicates)), draw(place))
    if form == 4:
        return tree.Not(draw(below))
    if form == 5:
        parts = [draw(below), draw(below)]
        return tree.flat(tree.And, parts) if draw(st.booleans()) else tree.flat(tree.Or, parts)
    if form == 6:
        return draw(st.sampled_from([tree.Implies, tree.Iff]))(draw(below), draw(below))
    quantifier: Literal["exists", "forall"] = "exists" if draw(st.booleans()) else "forall"
    if form == 7:
        variable = f"p{depth}"
        body = draw(formulas((*positions, variable), sets, depth - 1))
        return tree.Quantified(quantifier, name(variable), body)
    variable = f"S{depth}"
    body = draw(formulas(positions, (*sets, variable), depth - 1))
    return tree.Quantified(quantifier, name(variable), body, of_set=True)


def _positions(bound: tuple[str, ...]) -> st.SearchStrategy[tree.Expr]:
    marks = [tree.Mark("begin"), tree.Mark("end"), *map(tree.Ref, bound)]
    places: st.SearchStrategy[tree.Expr] = st.sampled_from(marks)
    shifted = st.builds(
        tree.Binary, st.sampled_from(["+", "-"]), places, st.builds(tree.Int, st.integers(0, 3))
    )
    return places | shifted


def _call(aggregate: str, *args: tree.Expr) -> tree.Expr:
    return tree.Call(name(aggregate), args)


aggregates = st.one_of(
    st.builds(
        _call, st.sampled_from(["sum", "avg", "min", "max", "var", "stddev"]), integers | reals
    ),
    st.builds(
        _call,
        st.sampled_from(["sum", "avg", "min", "max", "first", "last"]),
        durations,
    ),
    st.builds(
        _call, st.sampled_from(["min", "max", "first", "last"]), strings | timestamps | dates
    ),
    st.builds(
        _call,
        st.sampled_from(["first", "last", "count"]),
        integers | reals | dates | _fields("ok", "side"),
    ),
    st.builds(
        _call,
        st.sampled_from(["count_distinct", "collect"]),
        strings | timestamps | reals | integers,
    ),
    st.builds(_call, st.sampled_from(["count_if", "some", "every"]), predicates),
    st.builds(
        _call,
        st.just("nth"),
        strings | reals | dates,
        st.sampled_from([1, 2, 3, -1, -2]).map(tree.Int),
    ),
    st.builds(_call, st.just("median"), integers | reals | durations),
    st.builds(
        _call,
        st.just("percentile"),
        reals | durations,
        st.sampled_from(["0.0", "0.25", "0.9", "1.0"]).map(lambda part: tree.Real(Decimal(part))),
    ),
    st.builds(_call, st.just("mode"), strings | reals | timestamps | _fields("ok", "side")),
    st.builds(_call, st.sampled_from(["min_by", "max_by"]), strings, reals | timestamps),
    st.just(_call("count")),
)
filtered = st.builds(
    lambda call, condition: tree.Call(call.name, call.args, condition), aggregates, predicates
)
spread = tree.Binary("-", _call("max", tree.Ref("x")), _call("min", tree.Ref("x")))


_run_values = st.one_of(
    integers, reals, durations, timestamps, dates, strings, _fields("ok", "side")
)
_lengths = st.builds(
    lambda amount, unit: tree.Duration(tree.Int(amount), name(unit)),
    st.integers(0, 90),
    st.sampled_from(["seconds", "minutes"]),
)
runs = st.one_of(
    st.builds(tree.RunsOf, st.lists(_run_values.filter(_reads), min_size=1, max_size=2).map(tuple)),
    st.builds(tree.RunsWhere, predicates.filter(_reads)),
    st.builds(tree.Sessions, _lengths),
)
cut_sessions = st.builds(tree.Sessions, _lengths, _lengths)  # they have aggregates and few clauses


# --- Predicates with aggregates over the window so far, and preference


@st.composite
def preferences(draw: st.DrawFn, regex: tree.Regex) -> tree.Regex:
    """Return an expression with some quantifiers reluctant, where preference gives them a meaning."""
    match regex:
        case tree.Concat(parts):
            return replace(regex, parts=tuple(draw(preferences(part)) for part in parts))
        case tree.Union(parts):
            return replace(regex, parts=tuple(draw(preferences(part)) for part in parts))
        case tree.Intersection((first, *others)):
            return replace(regex, parts=(draw(preferences(first)), *others))
        case tree.Repeat(body, low, high):
            reluctant = low != high and draw(st.booleans())
            return replace(regex, body=draw(preferences(body)), reluctant=reluctant)
        case tree.Labelled(_, body):
            return replace(regex, body=draw(preferences(body)))
    return regex


def greedy(regex: tree.Regex) -> tree.Regex:
    """Return an expression without reluctance, which is an error if neither labels nor `keep` use it."""
    match regex:
        case tree.Concat(parts) | tree.Union(parts) | tree.Intersection(parts):
            return replace(regex, parts=tuple(map(greedy, parts)))
        case tree.Repeat(body):
            return replace(regex, body=greedy(body), reluctant=False)
        case tree.Labelled(_, body):
            return replace(regex, body=greedy(body))
    return regex


# --- Labels

LABELS = ("la", "lb")


@st.composite
def labelled(draw: st.DrawFn, regex: tree.Regex) -> tree.Regex:
    """Return an expression with labels, where they may stand."""
    match regex:
        case tree.Concat(parts):
            regex = replace(regex, parts=tuple(draw(labelled(part)) for part in parts))
        case tree.Union(parts):
            regex = replace(regex, parts=tuple(draw(labelled(part)) for part in parts))
        case tree.Intersection((first, *others)):
            regex = replace(regex, parts=(draw(labelled(first)), *others))
        case tree.Repeat(body):
            regex = replace(regex, body=draw(labelled(body)))
    if draw(st.integers(0, 2)) > 0:
        return regex
    return tree.Labelled(name(draw(st.sampled_from(LABELS))), regex)


_label_call = tree.Call(name("label"))
_of_labels = st.one_of(
    st.builds(_call, st.sampled_from(["collect", "first", "last", "mode"]), st.just(_label_call)),
    st.builds(
        _call, st.just("nth"), st.just(_label_call), st.sampled_from([1, 2, -1]).map(tree.Int)
    ),
)


@st.composite
def labelled_pairs(draw: st.DrawFn, pairs: tuple[tree.Pair, ...]) -> tuple[tree.Pair, ...]:
    """Return pairs with labels, at least one."""
    first, *others = (replace(pair, match=draw(labelled(pair.match))) for pair in pairs)
    if not any(map(tree.labels_in, (first, *others))):
        first = replace(first, match=tree.Labelled(name("la"), first.match))
    return first, *others


def labels_of(pairs: Iterable[tree.Pair]) -> list[str]:
    return [label for pair in pairs for label in tree.labels_in(pair)]


@st.composite
def with_labels(draw: st.DrawFn, window: tree.Window) -> tree.Window:
    """Return a window of pairs with labels, and with measures that depend on them."""
    pairs = draw(labelled_pairs(window.pairs))
    known = labels_of(pairs)
    measures = []
    for measure in window.measures:
        value = measure.value
        if isinstance(value, tree.Call) and any(map(_reads, value.args)) and draw(st.booleans()):
            label = draw(st.sampled_from(known))
            value = replace(value, args=tuple(tree.at_label(arg, label) for arg in value.args))
        measures.append(replace(measure, value=value))
    own = draw(
        _of_labels | st.builds(_call, st.just("count"), st.sampled_from(known).map(tree.Ref))
    )
    measures.append(tree.Measure(own, name(f"{window.name.text}_own")))
    return replace(window, pairs=pairs, measures=tuple(measures))


@st.composite
def with_preference(draw: st.DrawFn, window: tree.Window) -> tree.Window:
    """Return a window of pairs that keeps windows by preference."""
    pairs = tuple(replace(pair, match=draw(preferences(pair.match))) for pair in window.pairs)
    keep = draw(st.sampled_from(["preferred", "leftmost"]))
    by_events = window.within is not None and window.within.unit.text == "events"
    most = int(window.within.amount.value) - 1 if window.within and by_events else 3
    count = draw(st.integers(0, min(most, 3))) if keep == "leftmost" else 0
    onward: tree.Sharing | tree.Resuming | None = None
    if count:
        onward = tree.Sharing(tree.Int(count), name("event" if count == 1 else "events"))
    if pairs and keep == "leftmost" and draw(st.integers(0, 2)) == 0:
        if not any(map(tree.labels_in, pairs)):
            pairs = draw(labelled_pairs(pairs))
        label = draw(st.sampled_from(labels_of(pairs)))
        onward = tree.Resuming(name(draw(st.sampled_from(["first", "last"]))), name(label))
    return replace(window, pairs=pairs, keep=name(keep), next_start=onward)


@st.composite
def _so_far(draw: st.DrawFn, names: list[str], *args: st.SearchStrategy[tree.Expr]) -> tree.Expr:
    call = _call(draw(st.sampled_from(names)), *map(draw, args))
    assert isinstance(call, tree.Call)
    condition = draw(st.none() | st.none() | predicates)
    return replace(call, filter=condition, offset=draw(st.sampled_from([0, 0, 0, -1, -2])))


_extremes = ["min", "max", "first", "last"]
_sums = ["sum", "avg"]
_counts = (
    _so_far(["count"]) | _so_far(["count"], integers | reals) | _so_far(["count_if"], predicates)
)
_running_values = (
    _arithmetic(integers | _so_far([*_extremes, "sum"], integers) | _counts, ["+", "-", "*", "/"])
    | _arithmetic(
        reals | _so_far([*_extremes, *_sums], reals) | _so_far(["avg"], integers) | _counts,
        ["+", "-", "*", "/"],
    ),
    _arithmetic(durations | _so_far([*_extremes, *_sums], durations), ["+", "-"]),
    timestamps | _so_far(_extremes, timestamps),
    dates | _so_far(_extremes, dates),
)


# Predicates that are often true of some starts and false of others.
_telling = st.sampled_from(
    [
        tree.Compare((tree.Ref("n"), _call("first", tree.Ref("n"))), ("<=",)),
        tree.Compare((tree.Ref("n"), _call("max", tree.Ref("n"))), ("<",)),
        tree.Compare((_call("sum", tree.Ref("n")), tree.Int(2)), ("<=",)),
        tree.Compare((_call("count"), tree.Int(3)), ("<",)),
        tree.Compare((_call("avg", tree.Ref("x")), tree.Ref("x")), (">=",)),
        tree.Compare((_call("min", tree.Ref("name")), tree.Ref("name")), ("=",)),
    ]
)


@st.composite
def _running_atoms(draw: st.DrawFn) -> tree.Expr:
    form = draw(st.integers(0, 8))
    if form > 5:
        return draw(_telling)
    if form == 0:
        return draw(_so_far(["some", "every"], predicates))
    if form == 1:
        by = _so_far(["min_by", "max_by"], strings, reals | timestamps | strings)
        texts = strings | _so_far(_extremes, strings) | by
        return tree.Compare((draw(texts), draw(texts)), (draw(_equality),))
    values = draw(st.sampled_from(_running_values))
    return tree.Compare((draw(values), draw(values)), (draw(_ops),))


running_predicates = st.recursive(_running_atoms() | _atoms(), _logic, max_leaves=3)
_running_atom = st.builds(tree.Atom, _telling | running_predicates | predicates)
_running_loop = st.builds(lambda body: tree.Repeat(body, 0, None), _running_atom)
running_regexes = regexes_of(_running_atom) | st.builds(
    lambda first, loop, last: tree.Concat((first, loop, last)),
    _running_atom | st.just(tree.Anything()),
    _running_loop,
    _running_atom,
)


def _unlabelled(measure: tree.Measure) -> tree.Measure:
    own = measure.name.text.endswith("_own")  # a measure of labels themselves
    value = tree.Call(name("count")) if own else tree.at_label(measure.value, "")
    return replace(measure, value=value)


def with_runs(window: tree.Window, run: tree.Runs) -> tree.Window:
    """Return a window of runs, with the clauses that it may have."""
    measures = tuple(map(_unlabelled, window.measures))  # runs have no labels
    window = replace(window, pairs=(), where=None, until=None, runs=run, unpadded=False)
    window = replace(window, measures=measures)
    if isinstance(window.next_start, tree.Resuming):
        window = replace(window, next_start=None)
    if isinstance(run, tree.Sessions) and run.most is not None:
        window = replace(window, keep=None, next_start=None, within=None, having=None)
    return window


@st.composite
def windows(
    draw: st.DrawFn, called: str = "w0", *, formulas_too: bool = True, running: bool = True
) -> tree.Window:
    """Windows of every form, with every clause."""
    all_runs = runs | cut_sessions if running else runs
    running = running and draw(st.sampled_from([False, False, True]))
    pair = st.builds(tree.Pair, st.none() | regexes, running_regexes if running else regexes)
    follow = running_predicates if running else predicates
    run = draw(all_runs) if draw(st.integers(0, 5)) == 0 else None
    by_pairs = not run and (not formulas_too or draw(st.booleans()))
    values = draw(st.lists(aggregates | filtered | st.just(spread), max_size=2))
    # Names carry the window: two windows may measure different types.
    measures = [tree.Measure(value, name(f"{called}_{at}")) for at, value in enumerate(values)]
    measures.append(tree.Measure(_call("count"), name("size")))
    limits = [("events", 5), ("minutes", 3)]
    unit, amount = draw(st.sampled_from(limits))
    window = tree.Window(
        name(called),
        tuple(draw(st.lists(pair, min_size=1, max_size=2))) if by_pairs else (),
        where=None if by_pairs or run else draw(formulas()),
        until=draw(st.none() | st.builds(tree.Until, follow, st.booleans())),
        within=draw(st.sampled_from([None, tree.Within(tree.Int(amount), name(unit))])),
        keep=draw(
            st.none() | st.sampled_from(["all", "shortest", "longest", "disjoint"]).map(name)
        ),
        unpadded=draw(st.booleans()),
        lookback=draw(st.none() | st.builds(tree.Int, st.integers(0, 4))),
        measures=tuple(measures),
        having=draw(
            st.sampled_from([None, tree.Compare((tree.Ref("size"), tree.Int(2)), (">=",))])
        ),
    )
    if run:
        return with_runs(window, run)
    if by_pairs and draw(st.integers(0, 2)) == 0:
        window = draw(with_labels(window))
    return draw(with_preference(window)) if by_pairs and draw(st.booleans()) else window


def declared_field(field: str) -> tree.Field:
    type_ = FIELDS[field]
    written = tree.FieldType(name(type_.name), tuple(map(tree.Text, type_.values)))
    return tree.Field(name(field), written)


def rate(events: int, length: int, *, unchecked: bool) -> tree.Rate:
    """Return `assume at most N events in so many seconds`."""
    duration = tree.Duration(tree.Int(length), name("seconds"))
    unit = name("event" if events == 1 else "events")
    return tree.Rate(tree.Int(events), unit, duration, unchecked)


rates = st.builds(
    rate, st.integers(1, 5), st.sampled_from([1, 2, 60, 3600]), unchecked=st.booleans()
)


@st.composite
def specs(
    draw: st.DrawFn, *, formulas_too: bool = True, most: int = 2, running: bool = True
) -> tree.Spec:
    """Return specs over one stream with a field of every type."""
    stream = tree.Stream(
        name("events"),
        tuple(map(declared_field, FIELDS)),
        (name("key"),),
        (name("ts"),),
        draw(st.none() | st.sampled_from(["error", "skip"]).map(name)),
    )
    count = draw(st.integers(1, most))
    limited = draw(st.integers(0, 4)) == 0
    return tree.Spec(
        stream,
        tuple(tree.Let(name(each), value) for each, value in LETS.items()),
        tuple(draw(st.lists(st.builds(tree.Assume, regexes, st.booleans()), max_size=1))),
        tuple(
            draw(windows(f"w{at}", formulas_too=formulas_too, running=running))
            for at in range(count)
        ),
        (draw(rates),) if limited else (),
    )


# --- Specs whose windows two engines are compared on

ROUNDED = ("sum", "avg", "var", "stddev")  # the aggregates whose results may round


def with_scales(spec: tree.Spec) -> tree.Spec:
    """Return the spec with measures of the least and largest value that each of ROUNDED reads.

    Beside `sum(x) as m` these are `m_sum_min` and `m_sum_max`.
    """
    return replace(spec, windows=tuple(map(_scaled, spec.windows)), source=None)


def _scaled(window: tree.Window) -> tree.Window:
    scales = []
    for measure in window.measures:
        value = measure.value
        if isinstance(value, tree.Call) and value.name.text in ROUNDED:
            for extreme in ("min", "max"):
                text = f"{measure.name.text}_{value.name.text}_{extreme}"
                call = tree.Call(name(extreme), value.args, value.filter)
                scales.append(tree.Measure(call, name(text)))
    return replace(window, measures=(*window.measures, *scales))


def parsed(spec: tree.Spec) -> tree.Spec:
    """Return the spec as it is read from its text, so that it is not printed and parsed each time."""
    return parse(str(spec))


pair_specs = specs(formulas_too=False, most=3).map(with_scales).map(parsed)
