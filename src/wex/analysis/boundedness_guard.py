"""`wex.find`: it runs any spec, and says if what it holds can grow without bound."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from wex.analysis.counting.single import Starts
from wex.analysis.describe import stream_in_words
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.contexts import free_contexts
from wex.analysis.regions.graph import Budget
from wex.analysis.verdicts import Analysis
from wex.analysis.window_tables import analysed_window
from wex.engine import find as finding
from wex.engine.files.options import text_options
from wex.engine.find import Request
from wex.errors import UnboundedError, WexError
from wex.spec import as_spec
from wex.spec import meaning as meaning_of
from wex.spec.arguments import with_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from wex.analysis.answers import Answer
    from wex.engine.files.sources import Given
    from wex.engine.input.columns import Data
    from wex.spec import Meaning, SpecLike, tree

LOGGER = logging.getLogger("wex")
_looked_at: dict[int, object] = {}  # hashes of specs of which a warning was given, if need be
SHOWN = 3  # starts held in the stream that a refusal shows


def find(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> pa.Table:
    """Return the windows of a spec in some data, one row each.

    The spec may be given as text, or as the path of a file. One whose held starts can grow without
    bound is run, with a warning: once in a process.

    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ keep longest")
    >>> wex.find(spec, {"x": [1, 2, 3, 1, 5]}).select(["start_index", "end_index"]).to_pylist()
    [{'start_index': 1, 'end_index': 1}, {'start_index': 1, 'end_index': 2}, {'start_index': 4, 'end_index': 4}]
    """
    spec = as_spec(spec)
    found = finding.find(spec, data, partition_by, order_by)
    warn(spec)  # after the work, which does not wait for it
    return found


def find_in_file(
    spec: SpecLike,
    path: Given,
    *,
    input_format: str | None = None,
    where_key: Mapping[str, object] | None = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    **options: object,
) -> pa.Table:
    r"""Return the windows of a spec in a file, one row each.

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
    options
        How texts are written: ``delimiter``, ``quote``, ``no_header``, ``timestamp_format``,
        ``decimal_comma``, ``null``, ``empty_as_text``, ``encoding``, as `wex find` has them. Those
        that would help are in ``options`` of the error, if a file cannot be read.

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
    filled = with_arguments(as_spec(spec), partition_by, order_by)
    chosen = text_options(**options)
    found, _ = finding.find_in_files(filled, Request(path, input_format, chosen, where_key))
    warn(filled)
    return found


def warn(spec: tree.Spec) -> None:
    """Log a warning if a running plan may hold any number of starts, once for each spec."""
    if not LOGGER.isEnabledFor(logging.WARNING) or hash(spec) in _looked_at:
        return
    lines = unbounded(spec)
    own = object()
    if _looked_at.setdefault(hash(spec), own) is own:  # no other thread was quicker
        for line in lines:
            LOGGER.warning(line)


def unbounded(spec: tree.Spec) -> tuple[str, ...]:
    """Return a line for each window of which a plan may hold any number of starts."""
    found = _piling(spec, 50, 0.2)  # a warning may not take long
    return tuple(_line(name, held) for _, name, held in found if held.verdict == "unbounded")


def refuse_unbounded(spec: tree.Spec) -> None:
    """Raise an UnboundedError unless what windows hold is proved to be bounded: a stream may not end."""
    for at, name, held in _piling(spec, Budget.regions, Budget.seconds):
        line, stream = _line(name, held), None
        if held.verdict == "unbounded":
            with suppress(WexError):  # no stream may have been found
                stream = held.witness(SHOWN)
                shown = stream_in_words(held.meaning, at, stream)
                line += f"; the stream {shown} holds {SHOWN} at its end, and so on"
        hint = "bound it (see `wex check`), or say allow_unbounded=True and watch the state"
        raise UnboundedError("unbounded", line, hint, stream)


def _line(name: str, held: Answer) -> str:
    if held.verdict == "unknown":
        return (
            f"it is not proved that window `{name}` holds a bounded number of open starts:"
            f" {held.reason}"
        )
    return f"window `{name}` can hold an unbounded number of open starts: {held.reason}"


@lru_cache(maxsize=64)
def _piling(spec: tree.Spec, regions: int, seconds: float) -> tuple[tuple[int, str, Answer], ...]:
    """Return place, name and answer of each window that is not shown to hold few starts."""
    found = []
    meaning = meaning_of(spec)
    for at, window in enumerate(meaning.expanded.windows):
        budget = Budget(regions, seconds)
        if not _piles_up(meaning, at, budget):
            continue
        held = Analysis(meaning, at, budget).held
        if held.verdict != "bounded":
            found.append((at, window.name.text, held))
    return tuple(found)


def _piles_up(meaning: Meaning, at: int, budget: Budget) -> bool:
    """Tell whether starts pile up if any event can follow any other: a quick first look."""
    subject = analysed_window(meaning, at, planned=True)
    if subject.clauses.single or subject.longest_life is not None:
        return False
    try:
        starts = Starts(free_contexts([subject], budget), subject)
        return any(True for _ in starts.pumps(starts.held))
    except TooManyError:
        return True
