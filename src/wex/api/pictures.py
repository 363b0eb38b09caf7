"""Pictures: automata, streams with their windows, and a page about both.

Every function imports its implementation when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    import altair as alt

    from wex.compile.ksla import KSLA
    from wex.draw.drawing import Drawing
    from wex.engine.input.columns import Data
    from wex.spec import SpecLike


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

    Examples
    --------
    >>> import wex
    >>> drawing = wex.draw("stream s (x real) let up = x > x[-1] window rise match up+")
    >>> drawing
    Drawing(label='automata of s')
    >>> drawing.svg[:4], drawing.dot.splitlines()[0]
    ('<svg', 'digraph wex {')
    """
    from wex.draw.drawing import draw  # noqa: PLC0415

    return draw(spec, what, window)


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

    Examples
    --------
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

    Examples
    --------
    >>> import pathlib, tempfile, wex
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rise.html")
    >>> wex.report("stream s (x int) window rise match [x > x[-1]]+", {"x": [1, 2, 3, 1, 5]}, path)
    >>> path.read_text("utf-8").startswith("<!doctype html>")
    True
    """
    from wex.report.page import report  # noqa: PLC0415

    report(spec, data, path, windows=windows, partition_by=partition_by, order_by=order_by)
