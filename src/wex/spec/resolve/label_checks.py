"""Checks of labels: where `down:(fall+)` may stand, and what measures may say of such events.

Which events have a label is known when a window is complete: it depends on the preferred way to match
all of it. So labels belong to `match`, and only measures can use them, and `keep leftmost` to go on there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.errors import did_you_mean
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.spec.problems import Problems
    from wex.spec.resolve.scope import EventTypes, Scope

LABEL_CALL = "label"  # `label()`: the innermost label of an event
AGGREGATES_OF_LABELS = ("collect", "first", "last", "nth", "mode")  # that take `label()`
ONLY_MATCH = "label parts of `match`, which measures are about"


def is_label_call(node: tree.Node) -> bool:
    """Tell whether a node is `label()`."""
    return isinstance(node, tree.Call) and node.name.text == LABEL_CALL and not node.args


def uses_labels(node: tree.Node) -> bool:
    """Tell whether a part of an expanded spec depends on labels of events."""
    return any(
        is_label_call(part)
        or isinstance(part, tree.Resuming)
        or (isinstance(part, tree.Ref | tree.IsFirst) and bool(part.label))
        for part in tree.walk(node)
    )


# --- Labels in regular expressions


def check_labels(window: tree.Window, scope: Scope, problems: Problems) -> list[str]:
    """Check the labels of a window, and return their names."""
    for pair in window.pairs:
        if pair.after:
            check_no_labels(pair.after, "events before a window are in no measure", problems)
        _check_places(pair.match, problems)
    noted: set[str] = set()
    for node in (node for pair in window.pairs for node in tree.walk(pair.match)):
        if not isinstance(node, tree.Labelled) or node.name.text in noted:
            continue
        name = node.name.text
        for kind, names in (("field", scope.fields), ("let", scope.lets)):
            if name in names:
                noted.add(name)
                message = f"`{name}` is already a {kind}"
                hint = "choose another name for the label"
                problems.add("duplicate-name", node.name, message, hint)
                break
    return list(dict.fromkeys(name for pair in window.pairs for name in tree.labels_in(pair.match)))


def check_no_labels(
    regex: tree.Regex, why: str, problems: Problems, hint: str = ONLY_MATCH
) -> None:
    """Note every label of an expression in which labels mean nothing."""
    for node in tree.walk(regex):
        if isinstance(node, tree.Labelled):
            message = f"the label `{node.name.text}` is not allowed here: {why}"
            problems.add("label-here", node.name, message, hint)


def _check_places(regex: tree.Regex, problems: Problems) -> None:
    match regex:
        case tree.Complement(body):
            why = "what `~` matches does not follow its expression"
            check_no_labels(body, why, problems, "write the label before the `~`: `rest:(~(a b))`")
        case tree.Intersection((first, *others)):
            _check_places(first, problems)
            for other in others:
                why = "with `&` the events go the way of the left operand"
                check_no_labels(other, why, problems, "write the part with labels on the left")
        case _:
            for child in regex.children():
                if isinstance(child, tree.Regex):
                    _check_places(child, problems)


# --- Labels in measures


def check_label(events: EventTypes, node: tree.Ref | tree.IsFirst) -> bool:
    """Check the label of `down.price`, and whether it may stand here."""
    problems, labels = events.problems, events.labels
    name = node.name if isinstance(node, tree.Ref) else "is_first"
    if labels is None:
        message = (
            f"`{node}` is not allowed here: which events have a label is known only at the end"
        )
        hint = (
            f"write `{name}[-1]` for the event before, or `last({name}) filter [{name} > 1]`;"
            " measures can use labels"
        )
        problems.add("label-here", node, message, hint)
        return False
    if node.label not in labels:
        _note_unknown(events, node)
        return False
    if name in events.scope.constants:
        message = f"`{name}` is the same at every event, with a label or without"
        problems.add("label-here", node, message, f"write `{name}`")
        return False
    return True


def _note_unknown(events: EventTypes, node: tree.Ref | tree.IsFirst) -> None:
    name, labels = node.label, events.labels or ()
    message = f"there is no label called `{name}` in this window"
    hint = f"label a part of `match`: `{name}:(…)`"
    if labels:
        hint = did_you_mean(name, labels, "the labels are")
    elif name in events.scope:
        hint = f"a label is written before a part of `match`: `label:{name}`"
    events.problems.add("unknown-name", node, message, hint)


def note_label_as_value(events: EventTypes, node: tree.Ref) -> None:
    """Note a label that is used as if it were a field."""
    field = next(iter(events.scope.fields), "x")
    message = f"`{node.name}` is a label, not a value"
    hint = f"write `count({node.name})`, or a field at its events: `{node.name}.{field}`"
    events.problems.add("label-here", node, message, hint)


def counts_label(events: EventTypes, node: tree.Call) -> bool:
    """Tell whether an aggregate is `count(down)`, the number of events with a label."""
    match node:
        case tree.Call(tree.Name("count"), (tree.Ref(name, 0, ""),)):
            return name in (events.labels or ()) and name not in events.scope
    return False


def check_label_call(events: EventTypes, node: tree.Call) -> bool:
    """Check an aggregate of `label()`; tell whether it is right."""
    labels, name = events.labels, node.name.text
    if labels and name in AGGREGATES_OF_LABELS:
        return True
    message = "`label()` is known only at the end of a window"
    hint = "use it in `measure`: `collect(label())`"
    if labels is not None and not labels:
        message, hint = "this window has no labels", "label a part of `match`: `part:(…)`"
    elif labels:
        message = f"`{name}` does not take `label()`"
        hint = f"aggregates of `label()`: {', '.join(AGGREGATES_OF_LABELS)}"
    events.problems.add("label-here", node, message, hint)
    return False


def note_label_call(problems: Problems, node: tree.Call) -> None:
    """Note `label()` where it is not the argument of an aggregate in a measure."""
    message = "`label()` can only be the argument of an aggregate in `measure`"
    problems.add("label-here", node, message, "write `collect(label())` or `last(label())`")


def check_one_label(events: EventTypes, node: tree.Call) -> bool:
    """Check that all fields in the arguments of an aggregate have the same label, or none."""
    first: tree.Ref | tree.IsFirst | None = None
    for part in _reads(node.args):
        if isinstance(part, tree.Ref) and part.name in events.scope.constants:
            continue
        first = first or part
        if part.label == first.label:
            continue
        if first.label and part.label:
            message = f"`{first}` and `{part}` are read at different events"
            hint = f"aggregate each: `last({first}) - last({part})`"
        else:
            bare, other = (part, first) if first.label else (first, part)
            message = f"`{bare}` is read at all events, `{other}` at those with a label"
            hint = f"write `{replace(bare, label=other.label)}`"
        events.problems.add("labels-mixed", part, message, hint)
        return False
    return True


def check_filter(events: EventTypes, condition: tree.Expr) -> bool:
    """Check that a `filter` has no labels: it is asked of the events that the arguments name."""
    for part in _reads((condition,)):
        if part.label:
            message = f"`{part}`: a `filter` is about each event that the arguments are about"
            hint = f"write `{replace(part, label='')}`, and the label in the argument"
            events.problems.add("label-here", part, message, hint)
            return False
    return True


def _reads(nodes: Sequence[tree.Expr]) -> Iterator[tree.Ref | tree.IsFirst]:
    """Yield what expressions read of events, in the order of the text."""
    for node in nodes:
        if isinstance(node, tree.Ref | tree.IsFirst):
            yield node
        else:
            children = [child for child in node.children() if isinstance(child, tree.Expr)]
            yield from _reads(children)
