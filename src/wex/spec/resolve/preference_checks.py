"""Checks of preference: reluctant quantifiers, `keep preferred`, `keep leftmost` and its next start.

A reluctant quantifier says which of several windows is preferred. Where nothing is chosen by
preference it would silently do nothing, so it is an error there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.errors import did_you_mean
from wex.spec import tree
from wex.spec.types import EVENT_UNITS
from wex.spec.vocabulary import ENDS, PREFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.spec.problems import Problems


REMOVE = "remove the `?`"
CHOOSE = "write `keep preferred` or `keep leftmost` to choose by preference"


def check_preference(window: tree.Window, labels: Sequence[str], problems: Problems) -> None:
    """Check the parts of a window that speak of preference; `labels` are those of the window."""
    option = window.keep.text if window.keep else "all"
    for pair in window.pairs:
        if pair.after:
            check_no_reluctance(pair.after, "`after` chooses no window", problems)
        # Labels follow the preferred way through a window, whatever `keep` says.
        if option in PREFERENCE or any(map(tree.labels_in, window.pairs)):
            _check_match(pair.match, problems)
        else:
            why = f"`keep {option}` does not choose by preference"
            check_no_reluctance(pair.match, why, problems, instead=CHOOSE)
    if window.keep and window.where and option in PREFERENCE:
        problems.add(
            "clause-conflict",
            window.keep,
            f"a formula has no order of preference, which `keep {option}` needs",
            "write the window with `match`, or use another option of `keep`",
        )
    match window.next_start:
        case tree.Sharing() as sharing:
            _check_sharing(sharing, option, window.within, problems)
        case tree.Resuming() as resuming:
            _check_resuming(resuming, option, labels, problems)


def check_no_reluctance(
    regex: tree.Regex, why: str, problems: Problems, instead: str = REMOVE
) -> None:
    """Note every reluctant quantifier of an expression in which nothing is chosen by preference."""
    for node in tree.walk(regex):
        if isinstance(node, tree.Repeat) and node.reluctant:
            _note(node, why, problems, instead)


def _check_match(regex: tree.Regex, problems: Problems) -> None:
    """Check an expression whose ways are in an order of preference."""
    match regex:
        case tree.Complement(body):
            check_no_reluctance(body, "`~` has no order of preference inside", problems)
        case tree.Intersection((first, *others)):
            _check_match(first, problems)
            for other in others:
                why = "with `&` the left operand alone decides about preference"
                check_no_reluctance(other, why, problems)
        case _:
            if isinstance(regex, tree.Repeat) and regex.reluctant and regex.low == regex.high:
                _note(regex, "an exact count leaves no choice between fewer and more", problems)
            for child in regex.children():
                if isinstance(child, tree.Regex):
                    _check_match(child, problems)


def _note(node: tree.Repeat, why: str, problems: Problems, instead: str = REMOVE) -> None:
    greedy = str(tree.Repeat(node.body, node.low, node.high))
    hint = f"{instead}, or write `({greedy})?` if the part is optional"
    problems.add("reluctant-here", node, f"a reluctant quantifier has no effect here: {why}", hint)


def _check_sharing(
    sharing: tree.Sharing, option: str, within: tree.Within | None, problems: Problems
) -> None:
    if sharing.unit.text not in EVENT_UNITS:
        message = f"`sharing` counts events, got `{sharing.unit.text}`"
        problems.add("unknown-option", sharing.unit, message, "write `sharing 1 event`")
    if option != "leftmost":
        problems.add(
            "sharing-here",
            sharing,
            f"`keep {option}` has no use for `sharing`",
            "write `keep leftmost sharing …`, or remove `sharing`",
        )
    elif sharing.amount.value < 1:
        message = "the number of shared events must be at least 1"
        problems.add("count-not-whole", sharing.amount, message, "remove `sharing`")
    elif within and within.unit.text in EVENT_UNITS and sharing.amount.value >= within.amount.value:
        most = int(within.amount.value)
        problems.add(
            "sharing-here",
            sharing,
            f"windows of at most {most} event{'s' if most > 1 else ''} cannot share"
            f" {sharing.amount.value}",
            f"write at most `sharing {most - 1} events`" if most > 1 else "remove `sharing`",
        )


def _check_resuming(
    resuming: tree.Resuming, option: str, labels: Sequence[str], problems: Problems
) -> None:
    which, label = resuming.which.text, resuming.label.text
    if which not in ENDS:
        message = f"`resuming at` goes on at the first or last event with a label, got `{which}`"
        hint = did_you_mean(which, ENDS, "the options are")
        problems.add("unknown-option", resuming.which, message, hint)
    if option != "leftmost":
        problems.add(
            "resuming-here",
            resuming,
            f"`keep {option}` has no use for `resuming`",
            "write `keep leftmost resuming at …`, or remove `resuming`",
        )
    elif label not in labels:
        message = f"there is no label called `{label}` in this window"
        hint = f"label a part of `match`: `{label}:(…)`"
        if labels:
            hint = did_you_mean(label, labels, "the labels are")
        problems.add("unknown-name", resuming.label, message, hint)
