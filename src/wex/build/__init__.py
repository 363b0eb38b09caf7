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
    duration,
    empty,
    end,
    events,
    every,
    exists,
    exists_set,
    first,
    forall,
    forall_set,
    is_first,
    last,
    let,
    literal,
    max,
    max_by,
    measured,
    min,
    min_by,
    prev,
    some,
    stddev,
    sum,
    var,
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
    "duration",
    "empty",
    "end",
    "enum",
    "events",
    "every",
    "exists",
    "exists_set",
    "first",
    "forall",
    "forall_set",
    "is_first",
    "last",
    "let",
    "literal",
    "max",
    "max_by",
    "measured",
    "min",
    "min_by",
    "prev",
    "some",
    "spec",
    "stddev",
    "stream",
    "sum",
    "var",
    "window",
]
