"""Random texts through the parser: a Spec that prints as it was read, or a WexError.

    python -m tests.fuzz.parser 120000 SEED

Texts are soups of the grammar's words, the golden specs and examples with parts deleted, doubled,
swapped and inserted, deep nesting, long numbers, and things that never close. Anything else than
these two results is a finding, and so is a text that takes more than ten seconds of CPU.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import wex
from wex.spec.aggregates import AGGREGATES
from wex.spec.types import FUNCTION_NAMES
from wex.spec.vocabulary import RESERVED

SECONDS = 10.0  # of CPU, for one text
ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "errors"
BLOCK = re.compile(r"^```wex\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _seeds() -> list[str]:
    """Return specs: those of the golden errors, the examples, and the docs."""
    golden = [path.read_text("utf-8", "replace") for path in sorted(GOLDEN.glob("*.wex"))]
    right = [path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.wex"))]
    for page in sorted((ROOT / "docs").glob("*.md")):
        stream = ""
        for block in BLOCK.findall(page.read_text("utf-8")):
            if block.lstrip().startswith(("stream", "#")) and "stream" in block:
                stream = block
            right.append(block if block is stream else stream + block)
    return golden + right * (1 + len(golden) // len(right))  # as many right ones as wrong ones


SEEDS = _seeds()
TOKEN = re.compile(r"\s+|\w+|'[^']*'|`[^`]*`|#[^\n]*|<=|>=|!=|.", re.DOTALL)
WORDS = [
    *sorted(RESERVED), *AGGREGATES, *FUNCTION_NAMES, "is_first", "stream", "window", "match", "let",
    "x", "y", "price", "ts", "ok", "up", "w", "X", "größe", "`end`", "`a``b`", "int", "real", "bool",
    "string", "timestamp", "date", "other", "enum('a', 'b')", "longest", "shortest", "disjoint",
    "events", "seconds", "days", "error", "skip", "all",
]  # fmt: skip
SIGNS = [
    *"()[]{},:|&~*+?-/.<>=",
    "<=",
    ">=",
    "!=",
    "[-1]",
    "{2}",
    "{0,3}",
    "{2,}",
    "==",
    "&&",
    "//",
    "%",
    "(*)",
]
VALUES = [
    "0", "1", "-1", "2.5", "1e9", "1e-400", "1e400", "9223372036854775807", "9223372036854775808",
    "'a'", "''", "'it''s'", "timestamp '2026-01-31'", "date '2026-02-30'", "5 minutes", "1.5 days",
    "true", "false", "00", "1_000", "0x1f", ".5", "5.", "1e", "١٢", "½",
]  # fmt: skip
ODD = [
    "\0", "\ufeff", "\u200b", "\u2028", "\x0b", "\x1b[31m", "\ud800", "\U0001f600", "é", "e\u0301",
    "“", "\u2013", "\xd7", "≤", "∧", "\\", '"', '"a"', "'", "`", "$", "@", "%", ";", "!", "^", "#", "--", "/*",
    "\r", "\t", "\n", "\x7f", "\u202e",
]  # fmt: skip
PIECES = [*WORDS, *SIGNS, *VALUES]
STREAM = "stream s (x int, y real, ok bool, ts timestamp) order by ts\n"


def soup(rng: random.Random) -> str:
    """Return words of the language in any order, perhaps behind a stream line."""
    pieces = rng.choices(PIECES, k=rng.randrange(1, 40))
    start = rng.choice(["", "", STREAM, f"{STREAM}let v = ", f"{STREAM}window w match "])
    return start + rng.choice([" ", " ", "\n", ""]).join(pieces)


def mutated(rng: random.Random) -> str:
    """Return a spec with some tokens and characters changed."""
    tokens = TOKEN.findall(rng.choice(SEEDS))
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 8, 30])):
        at = rng.randrange(len(tokens) + 1)
        to = min(len(tokens), at + rng.choice([1, 1, 2, 5, 20]))
        match rng.randrange(7):
            case 0:
                del tokens[at:to]
            case 1:
                tokens[at:at] = tokens[at:to] * rng.choice([1, 1, 3])
            case 2:
                tokens[at:to] = reversed(tokens[at:to])
            case 3:
                tokens.insert(at, rng.choice(PIECES))
            case 4:
                tokens.insert(at, rng.choice(ODD))
            case 5:
                tokens[at:to] = TOKEN.findall(rng.choice(SEEDS))[at:to]
            case _:
                text = "".join(tokens)
                cut = rng.randrange(len(text) + 1)
                tokens = TOKEN.findall(text[:cut] + text[cut + 1 :])
    return "".join(tokens)


def nested(rng: random.Random) -> str:
    """Return something nested, long or never closed; now and then something large."""
    size = rng.choice([3, 30, 90, 101, 300, 1000] + [20_000] * (rng.random() < 0.02))
    opening, middle, closing = rng.choice([
        ("(", "ok", ")"), ("[", "ok", "]"), ("~", "ok", ""), ("~(", "ok", ")"), ("(", "", ")"),
        ("[not ", "ok", "]"), ("[abs(", "x", ") > 1]"), ("[-", "x", " > 1]"), ("(ok ", "any", "){2}"),
        ("ok | ", "any", ""), ("ok & (", "any", " | ok)"), ("ok ", "", ""), ("[prev(", "x", ", 1) > 1]"),
        ("[x > 1] ", "", ""), ("{", "3", "}"), ("ok{2}", "", "?"), ("[x + ", "1", " > 1]"),
    ])  # fmt: skip
    left = rng.choice([size, size, rng.randrange(size + 1)])
    right = rng.choice([left, left, rng.randrange(size + 1)])
    body = opening * left + middle + closing * right
    where = rng.choice(["window w match {}", "assume {}", "let v = {}", "window w where {}", "{}"])
    return STREAM + where.format(body)


def long(rng: random.Random) -> str:
    """Return a spec with something very long in it."""
    size = rng.choice([50, 500, 5_000] + [200_000] * (rng.random() < 0.05))
    digits = rng.choice(["9", "1", "0", "12"]) * size
    return STREAM + rng.choice([
        f"window w match ok{{{digits}}}", f"window w match [x > {digits}]",
        f"window w match [y > 0.{digits}]", f"window w match [y > 1e{digits}]",
        f"window w match [x[-{digits}] > 1]", f"let {'a' * size} = 1", f"let v = '{'a' * size}",
        f"window w match ok within {digits} seconds", f"let v = `{'b' * size}`", "# " + "c" * size,
        f"window w match [x in ({', '.join(['1'] * min(size, 2000))})]",
        "".join(f"let v{at} = v{at - 1} + v{at - 1}\n" for at in range(1, min(size, 60))),
        f"window w match [x > timestamp '{digits}']", f"let v = {digits} days",
        f"window w match [{'x + ' * min(size, 3000)}1 > 1]",
    ])  # fmt: skip


MAKERS: list[tuple[Callable[[random.Random], str], int]] = [
    (mutated, 60), (soup, 30), (nested, 6), (long, 4),
]  # fmt: skip


def text_of(rng: random.Random) -> str:
    """Return a random text."""
    makers, weights = zip(*MAKERS, strict=True)
    made: str = rng.choices(makers, weights)[0](rng)
    return made


def result(text: str) -> str:
    """Return the code of the error, or that it is a spec; anything else is raised."""
    try:
        spec = wex.parse(text)
    except wex.WexError as error:
        assert str(error).startswith("error[")
        return error.code
    printed = str(spec)
    again = wex.parse(printed)
    assert again == spec, f"it prints as another spec: {printed}"
    assert str(again) == printed, f"it prints in two ways: {printed}"
    return "spec"


def finding(text: str, tally: Counter[str]) -> str | None:
    """Return what is wrong with what is said of a text, or None."""
    began = time.process_time()
    try:
        tally[result(text)] += 1
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    took = time.process_time() - began
    return f"{took:.1f} seconds" if took > SECONDS else None


def main(count: int, seed: int) -> None:
    """Try so many texts, and print what is wrong."""
    tally: Counter[str] = Counter()
    found = 0
    for number in range(count):
        text = text_of(random.Random(f"{seed} {number}"))
        wrong = finding(text, tally)
        if wrong is not None:
            found += 1
            shown = text if len(text) < 2_000 else f"{text[:1_000]} … ({len(text):,} characters)"
            print(f"----- {seed} {number}: {wrong[:500]}\n{shown!r}", flush=True)  # noqa: T201
    print(dict(tally.most_common()))  # noqa: T201
    print(f"{count:,} texts, {found:,} findings")  # noqa: T201
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
