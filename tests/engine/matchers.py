"""Windows by preference beside Python's own matcher: `re.match` and `re.finditer` over letters.

    python -m tests.engine.matchers PAIRS SEED

A pair is an expression and a word. `keep preferred` has to find what `re.match` takes at each
place, `keep leftmost` what `re.finditer` goes through, empty matches aside. The first difference
ends the run.
"""

from __future__ import annotations

import logging
import re
import sys
from random import Random

import pyarrow as pa
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

import wex
from wex.reference.find import find_by_definition

LETTERS = "x enum('a', 'b', 'c')"
LETS = "let a = x = 'a' let b = x = 'b' let c = x = 'c'"
WORDS = 16  # for each expression
COUNTS = ("*", "+", "?", "{1,2}", "{0,2}", "{2}", "{1,}", "*?", "+?", "??", "{1,3}?", "{1,}?")
Spans = list[tuple[int, int]]


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {})".format, inner, inner),
        st.builds("({} | {})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(COUNTS)),
    )


expressions = st.recursive(st.sampled_from(["a", "b", "c", "any", "()"]), _compound, max_leaves=7)


def as_python(expression: str) -> str:
    """Return the expression in Python's notation."""
    return expression.replace("any", ".").replace("()", "(?:)").replace(" ", "")


def agrees_on_empty_iterations(expression: str) -> bool:
    """Tell whether no repeated part can be empty: matchers differ about such iterations."""
    for body in re.finditer(r"\)(?:[*+?{])", expression):
        depth, begin = 0, body.start()
        for begin in range(body.start(), -1, -1):
            depth += {")": 1, "(": -1}.get(expression[begin], 0)
            if not depth:
                break
        if re.fullmatch(as_python(expression[begin + 1 : body.start()]), ""):
            return False
    return True


def preferred(expression: str, word: str) -> Spans:
    """Return what Python matches at each place of a word, first and last position."""
    # Nothing is before the end of an empty match at the beginning.
    matcher = re.compile(f"(?:{as_python(expression)})(?<=.)")
    matches = ((begin, matcher.match(word[begin:])) for begin in range(len(word)))
    return [(begin, begin + match.end() - 1) for begin, match in matches if match]


def leftmost(expression: str, word: str) -> Spans:
    """Return what Python finds from left to right; after an empty match it tries a longer one."""
    matches = re.finditer(as_python(expression), word)
    return [(match.start(), match.end() - 1) for match in matches if match.group()]


def compare(expression: str, words: list[str]) -> int:
    """Check the windows of some words, and return how many there are."""
    spec = wex.parse(f"""
      stream s (word int, at int, {LETTERS}) partition by word order by at {LETS}
      window preferred match {expression} keep preferred
      window leftmost match {expression} keep leftmost""")
    rows = [(word, at, x) for word, text in enumerate(words) for at, x in enumerate(text)]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    types = (pa.int64(), pa.int64(), pa.string())
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    table = pa.table(arrays, ["word", "at", "x"])
    windows = wex.find(spec, table)
    assert windows.equals(find_by_definition(spec, table)), expression
    spans: dict[tuple[str, int], Spans] = {}
    for row in windows.to_pylist():
        span = (row["start_index"], row["end_index"])
        spans.setdefault((row["window_name"], row["word"]), []).append(span)
    for number, word in enumerate(words):
        for way in (preferred, leftmost):
            found = sorted(spans.get((way.__name__, number), []))
            assert found == way(expression, word), (expression, word, way.__name__)
    return len(windows)


def main(pairs: int, number: int) -> None:
    """Run so many pairs."""
    logging.getLogger("wex").setLevel(logging.ERROR)  # warnings about specs cost an analysis each
    tried = windows = 0

    @seed(number)
    @settings(
        max_examples=-(-pairs // WORDS),
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(expressions, st.integers(0, 2**32))
    def run(expression: str, start: int) -> None:
        nonlocal tried, windows
        assume(agrees_on_empty_iterations(expression))
        chance = Random(start)
        words = ["".join(chance.choices("abc", k=chance.randint(0, 14))) for _ in range(WORDS)]
        windows += compare(expression, words)
        tried += WORDS

    run()
    print(f"{tried:,} pairs, {windows:,} windows: as Python's matcher")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
