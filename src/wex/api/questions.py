"""Questions about a spec on all streams.

Every function imports its implementation when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wex.analysis.check import Report
    from wex.analysis.compare import SpecComparison
    from wex.analysis.explain import Explanation
    from wex.analysis.optimise import Optimisation
    from wex.compile.ksla import KSLA
    from wex.spec import SpecLike


def check(spec: SpecLike, effort: int | None = None) -> Report:
    """Return how many starts can be open and held, and how many windows can overlap, on any stream.

    An answer is bounded, unbounded or unknown. `effort` is how many steps each answer may take: an
    answer that is unknown after 200,000, as is usual, may be found with more. Steps are counted, not
    timed: answers are the same on every machine. `wex.limits` has the same limit for all calls.

    >>> import wex
    >>> report = wex.check("stream s (x real) window w after (any any)* match any{5}")
    >>> report["w"].open.bound, report["w"].open.exact, report["w"].open.witness(3).num_rows
    (3, True, 5)
    """
    from wex.analysis.check import check  # noqa: PLC0415

    return check(spec, effort)


def equivalent(a: SpecLike | KSLA, b: SpecLike | KSLA) -> SpecComparison:
    """Tell whether two specs have the same windows on every stream, or two automata the same language.

    >>> import wex
    >>> wex.equivalent("stream s (x int) window w match any any*", "stream s (x int) window w match any+").holds
    True
    """
    from wex.analysis.languages import equivalent  # noqa: PLC0415

    return equivalent(a, b)


def includes(a: SpecLike | KSLA, b: SpecLike | KSLA) -> SpecComparison:
    """Tell whether every window of b is a window of a, on every stream; of automata, every word.

    >>> import wex
    >>> stream = "stream s (x real) window w "
    >>> comparison = wex.includes(stream + "match [x > 0]{3}", stream + "match [x > 0]+")
    >>> comparison.holds, comparison.window
    (False, ('w', 0, 0))
    """
    from wex.analysis.languages import includes  # noqa: PLC0415

    return includes(a, b)


def is_empty(spec: SpecLike | KSLA) -> SpecComparison:
    """Tell whether a spec has no window on any stream, or an automaton accepts no word.

    >>> import wex
    >>> wex.is_empty(wex.parse("stream s (x real) window w match [x > 1 and x < 0]")).holds
    True
    >>> contradiction = wex.KSLA.from_regex("[x > x[-1]] [x[-1] < x[-2]]", {"x": "real"})
    >>> wex.is_empty(contradiction).holds, wex.is_empty(contradiction.star()).holds
    (True, False)
    """
    from wex.analysis.languages import is_empty  # noqa: PLC0415

    return is_empty(spec)


def optimise(spec: SpecLike) -> Optimisation:
    """Return what each window of a spec saves, since starts that no stream lets end are not held.

    >>> import wex
    >>> print(wex.optimise("stream s (b bool) window w match b any* [not b[-1]] [b[-2]]"))
    window w
      held    unbounded (linear) → 0
      proof   the same windows on every stream: 6 situations compared
    """
    from wex.analysis.optimise import optimise  # noqa: PLC0415

    return optimise(spec)


def explain(spec: SpecLike) -> Explanation:
    """Return each window of a spec after every stage from text to machine, and the verdicts on it.

    >>> import wex
    >>> print(wex.explain("stream s (x real) window w match [x > 1] [x <= 1]"))  # doctest: +ELLIPSIS
    window w
      tree          match [x > 1] [x <= 1]
      meaning       lookback 0
      ...
      smaller form  guards 2 → 1
      least form    the same: nothing to remove
      plan          1 guard and 0 measures to evaluate
      machine       registers: no window state ever holds two starts: a register for each
      open          1: ...
    """
    from wex.analysis.explain import explain  # noqa: PLC0415

    return explain(spec)
