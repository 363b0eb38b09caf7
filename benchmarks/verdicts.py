"""The analysis of many specs: verdicts, regions and time, as a table for the docs.

python -m benchmarks.verdicts
"""

from __future__ import annotations

import statistics
import sys
import time

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


def gallery() -> dict[str, str]:
    """Return all specs by name, the examples first."""
    plain = {name: examples.text(name) for name in examples.names()}
    return {**plain, **GALLERY}


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
            cells = [name, *map(str, window.answers.values()), str(window.regions)]
            out(f"| {' | '.join(cells)} | {seconds[-1]:.2f} |\n")
            sys.stdout.flush()
    out(
        f"\n{len(seconds)} specs, median {statistics.median(seconds):.2f} s, longest {max(seconds):.1f} s of CPU\n"
    )


if __name__ == "__main__":
    main()
