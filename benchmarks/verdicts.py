"""The analysis of many specs: verdicts, regions and time, as a table for the docs.

python -m benchmarks.verdicts [lookback]
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from contextlib import ExitStack
from unittest import mock

import wex
from wex import examples

X = "stream s (x real) "
N = "stream s (n int) "
AB = "stream s (x enum('a', 'b')) "
T = "stream s (ts timestamp, x real) order by ts "
INSIDE = "assume [0 < x and x < 10]* "

# By what predicates are about; every example of the package comes on top.
GALLERY: dict[str, str] = {
    "tumbling 5": X + "window w after (any{5})* match any{5}",
    "sliding 100": X + "window w match any{100}",
    "everything": X + "window w match any+",
    "from the first on": X + "window w after () match any+",
    "last 1,000 events": X + "window w match any+ within 1000 events",
    "a* b": AB + "window w match [x = 'a']* [x = 'b']",
    "a* b, no aaa": AB + "assume ~(any* [x = 'a']{3} any*) window w match [x = 'a']* [x = 'b']",
    "a* b, longest": AB + "window w match [x = 'a']* [x = 'b'] keep longest",
    "a* b, disjoint": AB + "window w match [x = 'a']* [x = 'b'] keep disjoint",
    "change of side": AB + "window w match [x != x[-1]] [x = x[-1]]* until [x != x[-1]]",
    "runs of three": AB + "window w match [x = x[-1]]{3}",
    "the lemma": "stream s (x enum('a', 'b', 'c')) let g = (x[-1] = 'a' and x = 'b') or (x[-1] = 'b' and x = 'c') "
    "window w match [g]+",
    "alternating flags": "stream s (ok bool) window w match [ok and not ok[-1]] [not ok and ok[-1]] [ok]",
    "three failures": "stream s (ok bool) window w match [not ok]{3,} [ok]",
    "same user again": "stream s (u string) window w match [u = u[-1]]+",
    "another user": "stream s (u string) window w match [u != u[-1] and u != u[-2]]{2}",
    "one user's streak": "stream s (u string) window w match [u = 'root'] [u = 'root' and u[-1] = 'root']* [u != 'root']",
    "peak": X + "window w match [x[-1] > x[-2] and x[-1] > x]",
    "rising": X + "window w match [x > x[-1]]+",
    "rising, longest": X + "window w match [x > x[-1]]+ keep longest",
    "rising inside (0, 10)": X + INSIDE + "window w match [x > x[-1]]+",
    "rising integers inside": "stream s (x int) " + INSIDE + "window w match [x > x[-1]]+",
    "V shape": X + "window w match [x < x[-1]]+ [x > x[-1]]+ keep longest",
    "head and shoulders": X + "let up = x > x[-1] let down = x < x[-1] "
    "window w match up+ down+ up+ down+ up+ down+ keep shortest",
    "crossing two fields": "stream s (fast real, slow real) "
    "window w match [fast > slow and not fast[-1] > slow[-1]] [fast > slow]* [fast <= slow]",
    "higher than two before": X + "window w match [x > x[-1] and x > x[-2]]{2}",
    "threshold and hysteresis": X + "window w match [x > 90] [x > 80]* [x <= 80]",
    "never: up contradicts": X + "let up = x > x[-1] window w match up any* up [x[-1] < x[-2]]",
    "never: key changes": "stream s (k string) partition by k window w match [k != k[-1]]",
    "counting up by one": N + "window w match [n = n[-1] + 1]+",
    "counting inside (0, 10)": X + INSIDE + "window w match [x = x[-1] + 1]+",
    "jumps of 5 per cent": X + "assume [x > 0]* window w match [x > 1.05 * x[-1]]+ [x < x[-1]]",
    "sum of two": N + "assume [0 <= n and n <= 5]* window w match [n + n[-1] = 5]+",
    "gap of 30 minutes": T + "let gap = ts - ts[-1] window w match [is_first or gap > 30 minutes] "
    "[gap <= 30 minutes]* until [gap > 30 minutes] or end",
    "three within a minute": T + "window w match any{3} within 1 minute",
    "dense burst": T + "window w match [ts - ts[-1] < 1 second]{5,} [ts - ts[-1] >= 1 second]",
    "last 5 minutes, paced": T + "assume [ts - ts[-1] >= 1 second]* window w match any+ within 5 minutes",
    "product": "stream s (price real, size real) window w match [price * size > 1000]+",
    "product of two events": X + "window w match [x * x[-1] < 0]+",
    "area rising": "stream s (a real, b real) window w match [a * b > a[-1] * b[-1]]+",
    "count to zero": N + "window w match [n = n[-1] - 1 and n >= 0]+",
    "mixed divisors": N + "window w match [n % 6 = 0] [n % 4 = n[-1] % 4] [n // 12 = n[-1] // 12]",
    "drawdown": X + "window w match [x >= 0.95 * max(x)]* [x < 0.95 * max(x)]",
    "drop and recovery": X + "window w match any [x < first(x)]+ [x >= first(x)]",
    "an hour at most, paced": T + "assume [ts - ts[-1] >= 1 minute]* window w match [ts - first(ts) <= 1 hour]+",
    "with having": X + "window w match any+ measure count() as n having n > 10",
}  # fmt: skip

XY = "stream s (x real, y real) "
XYZ = "stream s (x real, y real, z real) "
U = "stream s (u string) "
LINEAR, QUADRATIC = "unbounded (linear)", "unbounded (quadratic)"
RISING = (
    LINEAR,
    LINEAR,
    QUADRATIC,
)  # every start in a run lives on, and every later event ends a window
NEVER = ("0", "?", "0")  # the last event contradicts those before it; a plan may wait for it

# Specs that only compare, with the answers that their construction gives: open, held, overlap.
KNOWN: dict[str, tuple[str, tuple[str, str, str]]] = {
    **{
        f"above {k} before": (X + f"window w match [x > x[-{k}]]+", RISING)
        for k in range(2, 7)
    },
    **{
        f"above {k} before, thrice": (N + f"window w match [n > n[-{k}]]{{3}}", ("3", "3", "3"))
        for k in (2, 4, 6)
    },
    **{
        f"above {k} before, then below": (X + f"window w match [x > x[-{k}]]+ [x < x[-{k - 1}]]", RISING)
        for k in range(2, 6)
    },
    **{
        f"one of {k} texts again": (U + "window w match [" + " or ".join(f"u = u[-{age}]" for age in range(1, k + 1)) + "]+", RISING)
        for k in (2, 4)
    },
    "a new text of 4": (U + "window w match [u != u[-1] and u != u[-2] and u != u[-3]]{4}", ("4", "4", "4")),
    "equal and not": (U + "window w match [u = u[-1]] [u = u[-1]] [u = u[-1] and u != u[-3]]", NEVER),
    "one of two letters": (AB + "window w match [x != x[-1]] [x != x[-1]] [x != x[-1] and x = x[-3]]", NEVER),
    "above 4 before, longest": (X + "window w match [x > x[-4]]+ keep longest", ("1", "1", LINEAR)),
    "above 5 before, 5 events": (X + "window w match [x > x[-5]]+ within 5 events", ("5", "5", "15")),
    "never: two steps of 3": (X + "window w match [x > x[-3]] any any [x > x[-3] and x <= x[-6]]", NEVER),
    "never: forgotten rise": (X + "window w match [x > x[-1]] any{4} [x[-5] <= x[-6]]", NEVER),
    "never: over two fields": (XY + "window w match [x > y[-1]] [y > x[-1] and y <= y[-2]]", NEVER),
    "never: over three fields": (XYZ + "window w match [x >= y[-1]] [z >= x[-1]] [y >= z[-1] and y < y[-3]]", NEVER),
    "never: between 0 and 3": (N + "let inside = n > 0 and n < 3 and n[-1] > 0 and n[-1] < 3 "
                               "window w match [inside and n > n[-1]]{2}", NEVER),
    "reals between 0 and 3": (X + "let inside = x > 0 and x < 3 and x[-1] > 0 and x[-1] < 3 "
                              "window w match [inside and x > x[-1]]{2}", ("2", "2", "2")),
    "two fields, 2 before": (XY + "window w match [x > x[-2] and y < y[-2]]+", RISING),
    "two fields, 3 before": (XY + "window w match [x > y[-3] and y > x[-3]]{2}", ("2", "2", "2")),
    "two fields, changing sides": (XY + "window w match [x > y and x[-2] < y[-2]]{3}", NEVER),
    "three fields, 2 before": (XYZ + "window w match [x > y[-2] and y > z[-2] and z > x[-2]]+", RISING),
    "three fields, 3 before": (XYZ + "window w match [x > x[-3] and y > y[-3]]+ [z < z[-2]]", RISING),
    "never: back in time": (T + "window w match any [ts[-1] > ts]", NEVER),
    "same time": (T + "window w match [ts = ts[-1]]+", RISING),
    "later, then same time": (T + "window w match [ts > ts[-1]] [ts = ts[-1]] [ts[-2] = ts]", ("1", "1", "1")),
    "rank of two times": ("stream s (sent timestamp, seen timestamp) window w match [sent < seen[-1]]{2}", ("2", "2", "2")),
    "5 seconds, 100 a second": (
        T + "assume at most 100 events in 1 second window w match [x > 0] any* [x < 0] within 5 seconds",
        ("at most 600", "600", "at most 180,300"),
    ),
    "an event a minute": (T + "assume at most 1 event in 1 minute window w match [x > 0] any* [x < 0]", RISING),
    "pauses, 2 a second": (
        T + "assume at most 2 events in 1 second window w match [ts - ts[-1] < 1 second]{3} [x < 0]",
        ("4", "4", "4"),
    ),
}  # fmt: skip

DOWN = N + "assume [n >= 0]* assume [n = n[-1] - 1]* "
# Specs about gaps: numbers rise or fall for ever, so that no memory recurs, or constants end them.
KNOWN |= {
    "rising by 1, then above 2": (X + "window w match [x >= x[-1] + 1]+ [x > 2]", RISING),
    "rising by 3 in two events": (N + "window w match [n >= n[-2] + 3]+ [n > 20]", RISING),
    "rising over two fields": ("stream s (x int, y int) window w match [x >= y + 3 and y >= x[-1]]+ [x > 50]", RISING),
    "falling by 2.5": (X + "window w match [x <= x[-1] - 2.5]+ [x > 10]", (LINEAR, LINEAR, QUADRATIC)),
    "falling at most by 1": (N + "assume [n >= n[-1] - 1]* window w match [n > 0]+ [n < 0]", ("0", "0", "0")),
    "countdown": (DOWN + "window w match any* [n = 0]", (LINEAR, LINEAR, LINEAR)),
    "countdown from 30": (DOWN + "window w match [n = 30] any* [n = 0]", ("1", "1", "1")),
    "steps of 3 below 20": (N + "assume [n >= n[-1] + 3]* window w match [0 <= n and n < 20]+", ("7", "7", "16")),
    "never: even counter at 21": (N + "assume [n = 0] any* assume [n = n[-1] + 2]* window w match [n < 20]+ [n = 21]", ("0", "0", "0")),
    "never: gaps over three events": (N + "window w match [n >= n[-1] + 2]{3} [n[-1] < n[-4] + 6]", NEVER),
}  # fmt: skip

OK = "stream s (ok bool) "
ABC = "stream s (x enum('a', 'b', 'c')) "
ENDS = (LINEAR, LINEAR, LINEAR)  # the event that ends a run ends a window of each of its starts


def _same(n: int) -> tuple[str, str, str]:
    """Return the answers for windows of n events that can follow each other at once."""
    return (str(n), str(n), str(n))


# Specs that compare, with their answers and why: every value meets every other, all types, clauses, `assume`.
REASONED: dict[str, tuple[str, tuple[str, str, str], str]] = {
    **{
        f"entangled, two fields, {k} before": (
            XY + f"window w match [x > x[-{k}] and y < x[-1]]+ [x < y[-{k}]]", RISING,
            "of the values that lie k apart some rise below others: x < y[-k] can end windows again and again",
        )
        for k in (2, 3)
    },
    **{
        f"entangled, three fields, {k} before": (
            XYZ + f"window w match [x > x[-{k}] and y > x[-1]]+ [z > y[-{k}]] [y < z[-1]]", RISING,
            "x, y and z rise together, with z far above",
        )
        for k in (2, 3)
    },
    **{
        f"{k} before and a constant": (
            X + f"window w match [x > x[-{k}]]+ [x < x[-{k - 1}] and x > 0]", RISING,
            "as without the constant, above it",
        )
        for k in (4, 5, 6)
    },
    "6 before, then below": (X + "window w match [x > x[-6]]+ [x < x[-5]]", RISING, "some of six values that rise, below the others"),
    "entangled, 2 events": (
        XY + "window w match [x > x[-3] and y < x[-1]] [x < y[-3]]", _same(2), "an event can play both parts",
    ),
    "entangled, 3 events": (
        XY + "window w match [x > x[-3] and y < x[-1]]{2} [x < y[-3]]", ("3", "3", "at most 3"),
        "3, but that many windows share a position only with more than four values at a time",
    ),
    "never: entangled, two fields": (
        XY + "window w match [y < x[-1]] any [x < y[-2] and x >= x[-3]]", NEVER, "x < y[-2] < x[-3]",
    ),
    "never: entangled, three fields": (
        XYZ + "window w match [y >= x[-1]] [z >= y[-1]] [x > z[-1] and x <= x[-3]]", NEVER, "x > z[-1] >= y[-2] >= x[-3]",
    ),
    "record of 6": (
        X + "window w match [" + " and ".join(f"x > x[-{age}]" for age in range(1, 7)) + "]+", RISING, "a rise that does not end",
    ),
    "record of 3 in two fields": (
        XY + "window w match [x > x[-1] and x > x[-2] and x > x[-3] and y < y[-1]]{4}", _same(4), "x rises and y falls",
    ),
    "round of three fields": (XYZ + "window w match [x > y[-1] and y > z[-1] and z > x[-1]]+", RISING, "all three rise"),
    "dates, 2 before": ("stream s (d date) window w match [d > d[-2]]+", RISING, "dates have an order like numbers"),
    "two times, 3 before": (
        "stream s (sent timestamp, seen timestamp) window w match [sent > seen[-3]]+", RISING, "both rise",
    ),
    "later than 3 before": (T + "window w match [ts > ts[-3]]+", RISING, "time that does not stand still"),
    "never: later and the same": (T + "window w match [ts > ts[-2]] [ts = ts[-3]]", NEVER, "time does not go back"),
    "texts, 5 before": (U + "window w match [u = u[-5]]+", RISING, "five texts in turn"),
    "new, then the one before last": (
        U + "window w match [u != u[-1] and u != u[-2]]+ [u = u[-2]]", ENDS, "the last event cannot belong to the run",
    ),
    "three letters in turn": (ABC + "window w match [x != x[-1] and x != x[-2]]{3}", _same(3), "abcabc"),
    "never: four of three letters": (
        ABC + "window w match [x != x[-1]] [x != x[-1] and x != x[-2]] [x != x[-1] and x != x[-2] and x != x[-3]]",
        NEVER, "four different letters",
    ),
    "flags, 3 before": (OK + "window w match [ok != ok[-3]]{3}", _same(3), "three of each"),
    "never: a third flag": (OK + "window w match [ok != ok[-1]] [ok != ok[-1] and ok != ok[-2]]", NEVER, "three different flags"),
    "integers, 4 before": (N + "window w match [n > n[-4]]+ [n < n[-3]]", RISING, "as reals: there is no constant"),
    "four integers, 2 before": (
        N + "assume [0 <= n and n <= 3]* window w match [n > n[-2]]+", ("6", "6", "12"),
        "two of four numbers in turn rise three times each: 6 events, of which the third lies in 3 * 4 windows",
    ),
    "NULL twice": (X + "window w match [x is null]{2}", _same(2), "every event is the first or the second"),
    "from the first, rising": (X + "window w match [is_first] [x > x[-1]]*", ("1", "1", LINEAR), "one start, a window at every rise"),
    "below 2 before, shortest": (
        X + "window w match [x > x[-3]]+ [x < x[-2]] keep shortest", ENDS, "a start ends with its first window, all at one event",
    ),
    "above 3 before, disjoint": (X + "window w match [x > x[-3]]+ keep disjoint", _same(1), "every window clears the starts"),
    "above 6 before, 4 events": (X + "window w match [x > x[-6]]+ within 4 events", ("4", "4", "10"), "1 + 2 + 3 + 4 windows"),
    "a fall after a rise": (
        X + "window w after any* [x > x[-2]] match [x < x[-2]]{2}", _same(1), "a start needs a rise just before its two falls",
    ),
    "two rises or two falls": (X + "window w match [x > x[-2]]{2} or match [x < x[-2]]{2}", _same(2), "two starts of one kind"),
    "never: assumed order": (X + "assume [x >= x[-1]]* window w match [x < x[-2]]", NEVER, "what does not fall in one step does not in two"),
    "one fall at a time": (
        X + "assume [x > x[-2]]* window w match [x < x[-1]]+", _same(1), "after two falls x were below x[-2]",
    ),
    "steps above x": (
        XY + "assume [x > y]* window w match [y > x[-1]]+ [x < x[-1]]", ENDS, "x > y > x[-1] in the run, so its end is not in it",
    ),
}  # fmt: skip


def gallery() -> dict[str, str]:
    """Return all specs by name, the examples first."""
    plain = {name: examples.text(name) for name in examples.names()}
    known = {name: text for name, (text, _) in KNOWN.items()}
    reasoned = {name: text for name, (text, _, _) in REASONED.items()}
    return {**plain, **GALLERY, **known, **reasoned}


def main() -> None:
    """Print the table."""
    seconds = []
    out = sys.stdout.write
    out("| spec | open | held | overlap | regions | CPU s |\n|---|---|---|---|---|---|\n")
    for name, text in gallery().items():
        began = time.process_time()
        report = wex.check(wex.parse(text))
        seconds.append(time.process_time() - began)
        for window in report:
            counts = (window.open, window.held, window.overlap)
            cells = [name, *map(str, counts), str(window.regions)]
            out(f"| {' | '.join(cells)} | {seconds[-1]:.2f} |\n")
            sys.stdout.flush()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # megabytes, on Linux
    within = statistics.quantiles(seconds, n=20)[-1]
    out(
        f"\n{len(seconds)} specs: median {statistics.median(seconds):.2f} s, 95 % within {within:.1f} s,"
        f" longest {max(seconds):.1f} s of CPU; {most:,.0f} MB of memory\n"
    )


# Each takes the lookback.
OVER_K: dict[str, str] = {
    "one field": X + "window w match [x > x[-{k}]]+ [x < x[-{less}]]",
    "one field, constant": X + "window w match [x > x[-{k}]]+ [x < x[-{less}] and x > 0]",
    "two fields": XY + "window w match [x > x[-{k}] and y < y[-{k}]]+ [x < y]",
    "two fields, entangled": XY + "window w match [x > x[-{k}] and y < x[-1]]+ [x < y[-{k}]]",
    "three fields": XYZ + "window w match [x > y and y > z]+ [x > x[-{k}]] [y < z[-{k}]]",
    "three fields, entangled": XYZ + "window w match [x > x[-{k}] and y > x[-1]]+ [z > y[-{k}]] [y < z[-1]]",
}  # fmt: skip


# What decides such specs beside the refinement of regions.
LATER = (
    *(f"regions.contexts.{name}_regions" for name in ("order", "loose", "gap")),
    "verdicts.growth",
)


def over_k() -> None:
    """Print verdict and time by lookback, with order types and, for comparison, by refinement alone."""
    sys.stdout.write("| spec | k | by refinement | by order types |\n|---|---|---|---|\n")
    for name, text in OVER_K.items():
        for k in range(1, 7 if name.startswith("one") else 4):
            spec = wex.parse(text.format(k=k, less=max(1, k - 1)))
            with ExitStack() as patched:
                for method in LATER:
                    place = f"wex.analysis.{method}"
                    patched.enter_context(mock.patch(place, return_value=None))
                before = _timed(spec)
            sys.stdout.write(f"| {name} | {k} | {before} | {_timed(spec)} |\n")
            sys.stdout.flush()


def _timed(spec: wex.Spec) -> str:
    began = time.process_time()
    (window,) = wex.check(spec)
    took = time.process_time() - began
    return f"{window.open.verdict}, {window.regions:,} regions, {took:.2f} s"


if __name__ == "__main__":
    over_k() if "lookback" in sys.argv else main()
