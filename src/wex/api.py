"""The public functions and classes of WEX: `import wex` offers these names and no others.

Every function imports its implementation when it is called, so that importing this module loads
nothing heavy. Classes come from the modules that are listed in `_CLASSES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wex import notebook

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    import altair as alt
    import pyarrow as pa

    from wex import build, limits
    from wex.analysis.check import Report
    from wex.analysis.compare import SpecComparison
    from wex.analysis.explain import Explanation
    from wex.analysis.optimise import Optimisation
    from wex.compile.automaton_pairs import SpecAutomata
    from wex.compile.ksla import KSLA
    from wex.draw.drawing import Drawing
    from wex.engine.files.sources import Given
    from wex.engine.input.columns import Data
    from wex.engine.processor import Processor
    from wex.errors import DataError, LimitError, SpecError, StateError, UnboundedError, WexError
    from wex.spec import SpecLike
    from wex.spec.aggregates import aggregate
    from wex.spec.tree import Spec
    from wex.sql.result import Translation

__all__ = [
    "KSLA",
    "DataError",
    "LimitError",
    "Processor",
    "Spec",
    "SpecError",
    "StateError",
    "UnboundedError",
    "WexError",
    "aggregate",
    "automata",
    "build",
    "check",
    "draw",
    "equivalent",
    "explain",
    "find",
    "find_in_file",
    "from_sql",
    "includes",
    "is_empty",
    "label",
    "limits",
    "load",
    "optimise",
    "parse",
    "plot",
    "report",
    "to_formula",
    "to_regex",
    "to_sql",
]

# The modules of the public classes, and of the decorator `aggregate`, which is one.
_CLASSES = {
    "KSLA": "wex.compile.ksla",
    "DataError": "wex.errors",
    "LimitError": "wex.errors",
    "Processor": "wex.engine.processor",
    "Spec": "wex.spec.tree",
    "SpecError": "wex.errors",
    "StateError": "wex.errors",
    "UnboundedError": "wex.errors",
    "WexError": "wex.errors",
    "aggregate": "wex.spec.aggregates",
}
_MODULES = ("build", "limits")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"wex.{name}")
    if name not in _CLASSES:
        raise AttributeError(f"module 'wex.api' has no attribute {name!r}")
    value: object = getattr(import_module(_CLASSES[name]), name)
    return value


def _html_of(value: object) -> str | None:
    """Return what a notebook shows of a value; classes of lower layers cannot import pictures."""
    from wex.draw.notebook import html_of  # noqa: PLC0415

    return html_of(value)


notebook.provide(_html_of)


# --- Specs


def parse(text: str, name: str = "<spec>") -> Spec:
    """Return the spec that a text describes, or raise a SpecError that lists all its mistakes.

    Parameters
    ----------
    text
        The spec.
    name
        The name of the text in error messages, such as the path of a file.

    >>> import wex
    >>> print(wex.parse("stream s (x real) window rise match [x > x[-1]]+"))
    stream s (x real)
    <BLANKLINE>
    window rise
      match [x > x[-1]]+
    <BLANKLINE>
    """
    from wex.spec import parse  # noqa: PLC0415

    return parse(text, name)


def load(path: str | PathLike[str]) -> Spec:
    """Return the spec in a file, which is UTF-8 text.

    >>> import pathlib, tempfile, wex
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rise.wex")
    >>> _ = path.write_text("stream s (x real) window rise match [x > x[-1]]+")
    >>> wex.load(path)
    <Spec of stream s; windows: rise>
    """
    from wex.spec import load  # noqa: PLC0415

    return load(path)


def from_sql(
    query: str, schema: object = None, *, dialect: str = "standard", name: str = "<sql>"
) -> Translation:
    """Return the spec of a query with one MATCH_RECOGNIZE, and what its result looks like.

    The spec has the matches of the query on every table, or there is a SpecError that points at the
    part of the query that WEX cannot say. This needs sqlglot: ``pip install 'wex-windows[sql]'``.

    Parameters
    ----------
    query
        ``SELECT … FROM table MATCH_RECOGNIZE (…)``.
    schema
        The types of the columns: a dict as ``{'price': 'real', 'ts': 'timestamp not null'}``, a schema
        of Arrow or Spark, or the data itself: an Arrow table or a DataFrame.
    dialect
        ``'standard'``, ``'flink'``, ``'trino'``, ``'oracle'``, ``'snowflake'``, ``'databricks'`` or
        ``'spark'``.
    name
        The name of the text in error messages, such as the path of a file.

    >>> import wex
    >>> query = '''
    ... SELECT * FROM ticks MATCH_RECOGNIZE (
    ...   ORDER BY ts MEASURES FIRST(x) AS low, LAST(x) AS high PATTERN (a up{2,}) DEFINE up AS x > PREV(x))'''
    >>> rises = wex.from_sql(query, {"ts": "int", "x": "int"})
    >>> print(rises)
    stream ticks (ts int, x int)
      order by ts
    <BLANKLINE>
    let up = x > x[-1]
    <BLANKLINE>
    window ticks_match
      match any up{2,}
      keep leftmost
      measure first(x) as low, last(x) as high
    <BLANKLINE>
    >>> rises.find({"ts": [1, 2, 3], "x": [5, 6, 7]}).to_pylist()
    [{'low': 5, 'high': 7}]
    """
    from wex.sql import from_sql  # noqa: PLC0415

    return from_sql(query, schema, dialect, name)


def to_sql(spec: SpecLike, window: str | None = None, *, dialect: str = "standard") -> str:
    """Return a query with MATCH_RECOGNIZE whose matches are the windows of a spec.

    What SQL cannot say is a SpecError that points at it. This needs sqlglot:
    ``pip install 'wex-windows[sql]'``.

    Parameters
    ----------
    spec
        A spec or its text.
    window
        The name of the window, if the spec has several.
    dialect
        As for `from_sql`.

    >>> import wex
    >>> spec = "stream ticks (ts int, x int) order by ts window w match any [x > x[-1]]{2,} keep leftmost"
    >>> print(wex.to_sql(spec))
    SELECT *
    FROM ticks MATCH_RECOGNIZE (
      ORDER BY ts
      ONE ROW PER MATCH
      AFTER MATCH SKIP PAST LAST ROW
      PATTERN (anything event{2,})
      DEFINE
        event AS x > PREV(x)
    )
    <BLANKLINE>
    """
    from wex.spec import as_spec  # noqa: PLC0415
    from wex.sql import to_sql  # noqa: PLC0415

    return to_sql(as_spec(spec), window, dialect)


def to_regex(spec: SpecLike) -> Spec:
    """Return a spec with the same windows, all given by regular expressions.

    >>> import wex
    >>> print(wex.to_regex("stream s (ok bool) window w where begin + 1 = end and ok(begin)").windows[0])
    window w
      match ok any
    """
    from wex.compile.to_regex import with_regexes  # noqa: PLC0415
    from wex.spec import as_spec, meaning  # noqa: PLC0415
    from wex.stages import compile_window  # noqa: PLC0415

    spec = as_spec(spec)
    resolved = meaning(spec)
    return with_regexes(spec, resolved, lambda at: compile_window(resolved, at, as_written=True))


def to_formula(spec: SpecLike) -> Spec:
    """Return a spec with the same windows, all given by formulas.

    >>> import wex
    >>> print(wex.to_formula("stream s (ok bool) window w match ok any* [not ok]").windows[0])
    window w
      where ok(begin) and [not ok](end) and begin < end
    """
    from wex.compile.to_formula import with_formulas  # noqa: PLC0415
    from wex.spec import as_spec  # noqa: PLC0415

    return with_formulas(as_spec(spec))


def automata(spec: SpecLike) -> SpecAutomata:
    """Return the prefix and window automata of each window of a spec, as the paper has them.

    They are those of `after` and `match`, or of `where`; the other clauses are not part of them.

    >>> import wex
    >>> spec = "stream s (x real) let up = x > x[-1] window rise after any* [not up] match up+ [not up]"
    >>> print(wex.automata(spec))  # doctest: +ELLIPSIS
    window rise
      prefix automaton: lookback 1, 2 states
      ...
      window automaton: lookback 1, 3 states
        0  initial  [x > x[-1]] → 1
        1           [x > x[-1]] → 1
                    [not x > x[-1]] → 2
        2  final    no transition
    >>> ((prefix, window),) = wex.automata(spec)["rise"]
    >>> print(window.to_regex())
    [x > x[-1]]+ [not x > x[-1]]
    """
    from wex.compile.automaton_pairs import SpecAutomata, pairs_of  # noqa: PLC0415
    from wex.spec import as_spec, meaning  # noqa: PLC0415
    from wex.stages import compile_window  # noqa: PLC0415

    resolved = meaning(as_spec(spec))
    names = [window.name.text for window in resolved.expanded.windows]
    compiled = (compile_window(resolved, at, as_written=True) for at in range(len(names)))
    return SpecAutomata(dict(zip(names, map(pairs_of, compiled), strict=True)))


# --- Windows


def find(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    *,
    rows: bool = False,
    threads: int | None = None,
) -> pa.Table:
    """Return the windows of a spec in some data, one row each, or a row for each of their events.

    If the number of open starts can grow without bound, the spec runs, and a warning is logged
    once in a process. So is the reason if a window that was not found can never occur.

    Parameters
    ----------
    spec
        The spec, its text, or the path of its file.
    data
        An Arrow table, a dict of arrays, or any object that exports Arrow data, such as a DataFrame
        of pandas or polars or a relation of duckdb.
    partition_by, order_by
        Columns that split the data into streams, and columns that order each stream, if the spec
        does not name them.
    rows
        Return a row for every event of every window, with all columns of the data.
    threads
        How many threads to use: for several streams, or for ranges of one long stream. All cores
        from ten million events on, else one, if it is not given. The windows are the same.

    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ keep longest")
    >>> wex.find(spec, {"x": [1, 2, 3, 1, 5]}).select(["start_index", "end_index"]).to_pylist()
    [{'start_index': 1, 'end_index': 1}, {'start_index': 1, 'end_index': 2}, {'start_index': 4, 'end_index': 4}]
    >>> wex.find(spec, {"x": [1, 2, 3]}, rows=True).select(["window_id", "event_index", "x"]).to_pylist()
    [{'window_id': 'rise/1-1', 'event_index': 1, 'x': 2}, {'window_id': 'rise/1-2', 'event_index': 1, 'x': 2}, {'window_id': 'rise/1-2', 'event_index': 2, 'x': 3}]
    """
    from wex.analysis.boundedness_guard import warn  # noqa: PLC0415
    from wex.engine.find import find  # noqa: PLC0415
    from wex.spec import as_spec  # noqa: PLC0415

    spec = as_spec(spec)
    windows = find(spec, data, partition_by, order_by, rows=rows, threads=threads)
    warn(spec, windows)  # after the windows are found, so that they do not wait for it
    return windows


def label(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> pa.Table:
    """Return the data, all its rows in their own order, with the windows that each row belongs to.

    Three columns are added: ``window_count``, the number of these windows, and two lists in the
    order of `find`, ``window_names`` and ``window_ids``. A row without a window has empty lists.

    Parameters
    ----------
    spec, data, partition_by, order_by
        As for `find`.

    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ window pair match any{2}")
    >>> wex.label(spec, {"x": [1, 2, 1]})["window_ids"].to_pylist()
    [['pair/0-1'], ['rise/1-1', 'pair/0-1', 'pair/1-2'], ['pair/1-2']]
    """
    from wex.analysis.boundedness_guard import warn  # noqa: PLC0415
    from wex.engine.membership import label  # noqa: PLC0415
    from wex.spec import as_spec  # noqa: PLC0415

    spec = as_spec(spec)
    labelled = label(spec, data, partition_by, order_by)
    warn(spec)
    return labelled


def find_in_file(
    spec: SpecLike,
    path: Given,
    *,
    input_format: str | None = None,
    where_key: Mapping[str, object] | None = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    rows: bool = False,
    **options: object,
) -> pa.Table:
    r"""Return the windows of a spec in a file, one row each, or a row for each of their events.

    Parameters
    ----------
    spec
        The spec, its text, or the path of its file.
    path
        A file (Parquet, CSV, JSON lines or Arrow), a pattern as ``'data/*.csv'``, a folder, ``'-'`` for
        standard input, or a list of these. Files whose events are in order are read batch by batch.
    input_format
        ``'parquet'``, ``'csv'``, ``'json'`` or ``'arrow'``, if the name of the file does not tell.
    where_key
        The streams to look at, by values of key columns: ``{'symbol': 'A'}``.
    partition_by, order_by
        As for `find`.
    rows
        Return a row for every event of every window, with the fields of the stream line.
    options
        How values are written in text files: ``delimiter``, ``quote``, ``no_header``,
        ``timestamp_format``, ``decimal_comma``, ``null``, ``empty_as_text``, ``encoding``, as for
        the command `wex find`. If a file cannot be read, ``options`` of the error has those that
        would help.

    >>> import pathlib, tempfile, wex
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> _ = path.write_text("day;price\nJan 1 2000;1,5\nFeb 1 2000;2,5\n")
    >>> spec = wex.parse("stream s (day date, price real) order by day window up match [price > price[-1]]")
    >>> try:
    ...     wex.find_in_file(spec, path)
    ... except wex.DataError as error:
    ...     hint, options = error.hint, error.options
    >>> hint
    "try delimiter=';', timestamp_format='%b %d %Y', decimal_comma=True"
    >>> wex.find_in_file(spec, path, **options)["window_start"].to_pylist()
    [datetime.date(2000, 2, 1)]
    """
    from wex.analysis.boundedness_guard import warn  # noqa: PLC0415
    from wex.engine.files.options import text_options  # noqa: PLC0415
    from wex.engine.find import Request, find_in_files  # noqa: PLC0415
    from wex.spec import as_spec  # noqa: PLC0415
    from wex.spec.arguments import with_arguments  # noqa: PLC0415

    filled = with_arguments(as_spec(spec), partition_by, order_by)
    request = Request(path, input_format, text_options(**options), where_key, rows)
    windows, _ = find_in_files(filled, request)
    warn(filled, windows)
    return windows


# --- Pictures


def plot(
    spec: SpecLike,
    data: Data,
    *,
    field: str | None = None,
    key: object = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    width: int = 800,
) -> alt.VConcatChart:
    """Return a chart of streams with their windows over them, and how many overlap below.

    Of much data as many rows are drawn as there are pixels, extremes and windows first; the subtitle
    says how many. This needs altair: ``pip install 'wex-windows[pictures]'``.

    Parameters
    ----------
    spec, data, partition_by, order_by
        As for `find`.
    field
        The field to draw: numbers and times as a line, texts and truth values as a strip of colours.
        Without it, the first number that predicates read.
    key
        The key of the stream to draw, a tuple or dict if it has several columns, or a list of keys.
        Without it, the streams with most windows are drawn, at most four.
    width
        The width of the chart in pixels.

    >>> import wex
    >>> spec = "stream s (x int) window rise match [x > x[-1]]+ keep longest"
    >>> chart = wex.plot(spec, {"x": [3, 1, 2, 4, 2]})
    >>> chart.to_dict()["vconcat"][0]["title"]["subtitle"]
    '5 events; 2 windows'
    >>> chart.save("rise.svg")  # doctest: +SKIP
    """
    from wex.plot.chart import plot  # noqa: PLC0415

    return plot(
        spec,
        data,
        field=field,
        key=key,
        partition_by=partition_by,
        order_by=order_by,
        width=width,
    )


def report(
    spec: SpecLike,
    data: Data,
    path: str | PathLike[str],
    *,
    windows: Data | None = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> None:
    """Write a page about a spec and its windows in some data: one file of HTML that needs no network.

    It has the streams with their windows and overlap, a table of windows, the distribution of their
    lengths, gaps and measures, the automata, what is proved of the spec, and for each window, event by
    event, why it opened and closed. It stays below 5 MB: of much data it says what was left out.

    Parameters
    ----------
    spec, data, partition_by, order_by
        As for `find`.
    path
        The file to write, which ends in ``.html``.
    windows
        The windows, if they were found before, such as the output of a job on Spark. If they do not
        fit the events there is a DataError.

    >>> import pathlib, tempfile, wex
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rise.html")
    >>> wex.report("stream s (x int) window rise match [x > x[-1]]+", {"x": [1, 2, 3, 1, 5]}, path)
    >>> path.read_text("utf-8").startswith("<!doctype html>")
    True
    """
    from wex.report.page import report  # noqa: PLC0415

    report(spec, data, path, windows=windows, partition_by=partition_by, order_by=order_by)


# --- Analysis


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


def draw(spec: SpecLike | KSLA, what: str = "automata", window: str | None = None) -> Drawing:
    """Return a drawing of the automata of a spec, of its region graphs, or of an automaton.

    A notebook shows it; ``drawing.save("trend.svg")`` writes it to a file, which can also end in
    ``.dot`` or ``.png``. This needs igraph: ``pip install 'wex-windows[pictures]'``.

    Parameters
    ----------
    spec
        A spec, its text, the path of its file, or an automaton.
    what
        ``'automata'``: the prefix and window automata; ``'regions'``: which events can follow which,
        as far as the windows can tell, from which the analysis computes its answers.
    window
        The name of the window, if not all are wanted.

    >>> import wex
    >>> drawing = wex.draw("stream s (x real) let up = x > x[-1] window rise match up+")
    >>> drawing
    Drawing(label='automata of s')
    >>> drawing.svg[:4], drawing.dot.splitlines()[0]
    ('<svg', 'digraph wex {')
    """
    from wex.draw.drawing import draw  # noqa: PLC0415

    return draw(spec, what, window)
