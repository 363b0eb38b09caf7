"""The difference between two specs, when a state of the old one is to be continued with the new one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from wex.analysis.compare import Side, equivalent
from wex.analysis.describe import stream_in_words
from wex.compile.guards import deciding_parts, guarded_fields, predicates
from wex.errors import SpecError, StateError
from wex.spec import meaning as meaning_of
from wex.spec import parse, tree
from wex.spec.resolve.label_checks import uses_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.compile.plan import Plan
    from wex.spec import Meaning


def spec_of_origin(text: str, plan: Plan) -> str:
    """Return the spec that a checkpoint keeps, in the language of today.

    A job goes on with the plan of its checkpoint, so the plan decides where windows may begin.
    Texts of old checkpoints say `pad` of windows that begin at the first event, which is now the
    default, and say nothing of those that are now `unpadded`.
    """
    unpadded = {window.name for window in plan.windows if window.lookback and not window.pad}
    try:
        spec = parse(text)
    except SpecError:
        spec = parse(text.replace("\n  pad", ""))
    windows = (
        replace(window, unpadded=window.unpadded or window.name.text in unpadded)
        for window in spec.windows
    )
    return str(replace(spec, windows=tuple(windows), source=None))


@lru_cache(maxsize=8)
def check_same_windows(old: str, new: str) -> None:
    """Raise a StateError unless two specs, given as texts, have the same windows and measures.

    >>> head = "stream s (x real) window w match "
    >>> check_same_windows(head + "[x > 0] [x > 0]*", head + "[x > 0]+")
    """
    change = first_change(parse(old), parse(new))
    if change is not None:
        message = f"the checkpoint was made by another spec: {change}"
        hint = "go on with a spec that finds the same windows, or give a new checkpoint"
        raise StateError("state-spec", message, hint)


def first_change(old: tree.Spec, new: tree.Spec) -> str | None:
    """Return the first difference, or None if windows and measures are the same on every stream.

    >>> import wex
    >>> head = "stream s (x real) window w match "
    >>> first_change(wex.parse(head + "[x > 0] [x > 0]*"), wex.parse(head + "[x > 0]+")) is None
    True
    >>> first_change(wex.parse(head + "[x > 0]"), wex.parse(head + "[x > 0] measure count() as n"))
    'window `w`: the measures were none, and are count() as n'
    """
    before, now = meaning_of(old), meaning_of(new)
    for fact in _comparable_facts(before, now):
        if fact.before != fact.now:
            return str(fact)
    comparison = equivalent(_checked(old), _checked(new))
    if comparison.holds:
        return None
    if comparison.holds is None:
        return f"it is not proved that both specs find the same windows: {comparison.reason}"
    assert comparison.witness is not None
    assert comparison.window is not None
    name, start, end = comparison.window
    spec = "old" if comparison.side is Side.FIRST else "new"
    index = next(
        index
        for meaning in (before, now)
        for index, window in enumerate(meaning.expanded.windows)
        if window.name.text == name
    )
    stream = stream_in_words(before, index, comparison.witness)
    return (
        f"only the {spec} spec has the window `{name}` from event {start} to {end}"
        f" of the stream {stream}"
    )


@dataclass(frozen=True)
class _Fact:
    """A part of a spec that has to stay the same: as it was and as it is now."""

    name: str
    before: list[str]
    now: list[str]
    plural: bool = False

    def __str__(self) -> str:
        was, is_ = ("were", "are") if self.plural else ("was", "is")
        return f"{self.name} {was} {_listed(self.before)}, and {is_} {_listed(self.now)}"


def _comparable_facts(before: Meaning, now: Meaning) -> Iterator[_Fact]:
    """Yield the parts of two specs that are compared as texts."""
    both = before.expanded, now.expanded
    one, two = (spec.stream for spec in both)
    yield _Fact("the fields", _texts(one.fields), _texts(two.fields), plural=True)
    yield _Fact("`partition by`", _texts(one.partition_by), _texts(two.partition_by))
    yield _Fact("`order by`", _texts(one.order_by), _texts(two.order_by))
    skips = [["skip"] if meaning.skip_nulls else ["error"] for meaning in (before, now)]
    yield _Fact("`nulls`", skips[0], skips[1])
    names = [[window.name.text for window in spec.windows] for spec in both]
    yield _Fact("the windows", sorted(names[0]), sorted(names[1]), plural=True)
    for name in names[0]:
        measures = [
            _texts(spec.windows[order.index(name)].measures)
            for spec, order in zip(both, names, strict=True)
        ]
        yield _Fact(f"window `{name}`: the measures", measures[0], measures[1], plural=True)
        windows = [spec.windows[order.index(name)] for spec, order in zip(both, names, strict=True)]
        if any(map(uses_labels, windows)):
            # The expressions decide about labels, also where they have the same windows.
            shown = [_texts(window.pairs) for window in windows]
            yield _Fact(f"window `{name}`: the expressions", shown[0], shown[1], plural=True)
    # The state remembers how far a stream has conformed to each assumption.
    assumed = [_texts([*spec.assumes, *spec.rates]) for spec in both]
    yield _Fact("`assume`", assumed[0], assumed[1])
    # NULL is an error in a field that guards read, and arithmetic may overflow or be rounded.
    read = [sorted(guarded_fields(meaning)) for meaning in (before, now)]
    yield _Fact("the fields that guards read", read[0], read[1], plural=True)
    tested = [sorted(meaning.nullable) for meaning in (before, now)]
    yield _Fact("the fields that are tested for NULL", tested[0], tested[1], plural=True)
    yield _Fact("the comparisons with arithmetic", _computing(before), _computing(now), plural=True)


def _checked(spec: tree.Spec) -> tree.Spec:
    """Return a spec without its unchecked assumptions: streams may violate them."""
    kept = tuple(assume for assume in spec.assumes if not assume.unchecked)
    rates = tuple(rate for rate in spec.rates if not rate.unchecked)
    if (kept, rates) == (spec.assumes, spec.rates):
        return spec
    return replace(spec, assumes=kept, rates=rates, source=None)


def _computing(meaning: Meaning) -> list[str]:
    """Return the comparisons that contain arithmetic."""
    comparisons = {
        str(node)
        for window in meaning.expanded.windows
        for part in deciding_parts(window)
        for predicate in predicates(part)
        for node in tree.walk(predicate)
        if isinstance(node, tree.Compare | tree.Between | tree.In)
        and any(isinstance(below, tree.Binary | tree.Call) for below in tree.walk(node))
    }
    return sorted(comparisons)


def _texts(parts: Iterable[object]) -> list[str]:
    return list(map(str, parts))


def _listed(parts: list[str]) -> str:
    return ", ".join(parts) or "none"
