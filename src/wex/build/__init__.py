"""Specs built in Python: the same syntax tree that the parser builds from text.

>>> from wex import build as w
>>> t = w.stream("trades", symbol="string", ts="timestamp", price="real",
...              partition_by="symbol", order_by="ts")
>>> up = w.let("up", t.price > t.price[-1])
>>> spec = w.spec(t, up, w.window("rise", match=up.at_least(3), measures={"top": w.max(t.price)}))
>>> print(spec)
stream trades (symbol string, ts timestamp, price real)
  partition by symbol
  order by ts
<BLANKLINE>
let up = price > price[-1]
<BLANKLINE>
window rise
  match up{3,}
  measure max(price) as top
<BLANKLINE>
"""

from wex.build.declarations import Stream, assume, enum, spec, stream, window
from wex.build.operators import Expr, Let, Regex, SetVariable, compare
from wex.build.words import (
    abs,
    any,
    avg,
    begin,
    call,
    collect,
    count,
    count_distinct,
    count_if,
    day,
    duration,
    empty,
    end,
    events,
    every,
    exists,
    exists_set,
    first,
    floor,
    forall,
    forall_set,
    hour,
    is_first,
    label,
    lag,
    last,
    let,
    literal,
    max,
    max_by,
    measured,
    median,
    min,
    min_by,
    minute,
    mode,
    month,
    nth,
    percentile,
    prev,
    second,
    some,
    starts_with,
    stddev,
    sum,
    var,
    weekday,
    year,
)

__all__ = [
    "Expr",
    "Let",
    "Regex",
    "SetVariable",
    "Stream",
    "abs",
    "any",
    "assume",
    "avg",
    "begin",
    "call",
    "collect",
    "compare",
    "count",
    "count_distinct",
    "count_if",
    "day",
    "duration",
    "empty",
    "end",
    "enum",
    "events",
    "every",
    "exists",
    "exists_set",
    "first",
    "floor",
    "forall",
    "forall_set",
    "hour",
    "is_first",
    "label",
    "lag",
    "last",
    "let",
    "literal",
    "max",
    "max_by",
    "measured",
    "median",
    "min",
    "min_by",
    "minute",
    "mode",
    "month",
    "nth",
    "percentile",
    "prev",
    "second",
    "some",
    "spec",
    "starts_with",
    "stddev",
    "stream",
    "sum",
    "var",
    "weekday",
    "window",
    "year",
]
