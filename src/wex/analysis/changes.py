"""What changed between two specs, for whoever goes on with what was remembered under the first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.analysis.compare import equivalent
from wex.analysis.describe import stream_in_words
from wex.compile.guards import deciding_parts, guarded_fields, predicates
from wex.spec import meaning as meaning_of
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.spec import Meaning


def changed(old: tree.Spec, new: tree.Spec) -> str | None:
    """Return the first thing that changed, or None if both find and measure the same everywhere.

    >>> import wex
    >>> head = "stream s (x real) window w match "
    >>> changed(wex.parse(head + "[x > 0] [x > 0]*"), wex.parse(head + "[x > 0]+")) is None
    True
    >>> changed(wex.parse(head + "[x > 0]"), wex.parse(head + "[x > 0] measure count() as n"))
    'window `w`: the measures were none, and are count() as n'
    """
    before, now = meaning_of(old), meaning_of(new)
    for what, was, is_ in _comparable_facts(before, now):
        if was != is_:
            return f"{what} {_listed(was)}, and {'are' if what.endswith('were') else 'is'} {_listed(is_)}"
    found = equivalent(_checked(old), _checked(new))
    if found.holds:
        return None
    if found.holds is None:
        return f"that both find the same windows is not proved: {found.reason}"
    assert found.witness is not None
    assert found.window is not None
    name, start, end = found.window
    whose = "only the old" if found.reason.startswith("only the first") else "only the new"
    at = next(
        at
        for meaning in (before, now)
        for at, window in enumerate(meaning.expanded.windows)
        if window.name.text == name
    )
    shown = stream_in_words(before, at, found.witness)
    return f"{whose} spec has the window `{name}` from event {start} to {end} of the stream {shown}"


def _comparable_facts(before: Meaning, now: Meaning) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield what has to be the same, in the old and in the new spec."""
    both = before.expanded, now.expanded
    one, two = (each.stream for each in both)
    yield "the fields were", list(map(str, one.fields)), list(map(str, two.fields))
    yield (
        "`partition by` was",
        [n.text for n in one.partition_by],
        [n.text for n in two.partition_by],
    )
    yield "`order by` was", [n.text for n in one.order_by], [n.text for n in two.order_by]
    skips = [["skip"] if meaning.skip_nulls else ["error"] for meaning in (before, now)]
    yield "`nulls` was", skips[0], skips[1]
    names = [[window.name.text for window in each.windows] for each in both]
    yield "the windows were", sorted(names[0]), sorted(names[1])
    for name in names[0]:
        measured = [
            [str(each) for each in spec.windows[order.index(name)].measures]
            for spec, order in zip(both, names, strict=True)
        ]
        yield f"window `{name}`: the measures were", measured[0], measured[1]
    # What a stream is promised to be is remembered, too, and compared as it is written.
    yield "`assume` was", list(map(str, both[0].assumes)), list(map(str, both[1].assumes))
    # NULL is an error in a field that guards read, and arithmetic may overflow or be rounded.
    read = [sorted(guarded_fields(each)) for each in (before, now)]
    yield "the fields that guards read were", read[0], read[1]
    yield "the comparisons with arithmetic were", _computing(before), _computing(now)


def _checked(spec: tree.Spec) -> tree.Spec:
    """Return a spec without what is assumed and not checked: streams may not keep to it."""
    kept = tuple(each for each in spec.assumes if not each.unchecked)
    return spec if kept == spec.assumes else replace(spec, assumes=kept, source=None)


def _computing(meaning: Meaning) -> list[str]:
    """Return the comparisons that compute something."""
    found = {
        str(node)
        for window in meaning.expanded.windows
        for part in deciding_parts(window)
        for each in predicates(part)
        for node in tree.walk(each)
        if isinstance(node, tree.Compare | tree.Between | tree.In)
        and any(isinstance(below, tree.Binary | tree.Call) for below in tree.walk(node))
    }
    return sorted(found)


def _listed(parts: list[str]) -> str:
    return ", ".join(parts) or "none"
