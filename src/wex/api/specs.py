"""Specs: read, written in another notation, as automata.

Every function imports its implementation when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from wex.compile.automaton_pairs import SpecAutomata
    from wex.spec import SpecLike
    from wex.spec.tree import Spec
    from wex.sql.result import Translation


def parse(text: str, name: str = "<spec>") -> Spec:
    """Return the spec that a text describes, or raise a SpecError that lists all its mistakes.

    Parameters
    ----------
    text
        The spec.
    name
        The name of the text in error messages, such as the path of a file.

    Examples
    --------
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

    Examples
    --------
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

    Examples
    --------
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
