"""Words and signs of other languages, and what to write instead.

Each function looks for one habit of SQL, of regular expressions or of another matcher at the place
of a syntax error, and returns the token to point at and a hint, or None.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wex.errors import closest
from wex.spec.vocabulary import ALIKE

if TYPE_CHECKING:
    from lark import Token

    from wex.spec.syntax_errors import Place

Advice = tuple["Token", str]  # the token to point at, and the hint

UNION = "join expressions with `|`: `[a] | [b]`, or predicates inside the brackets: `[a or b]`"
BOTH = "write `[a and b]` for one event, `[a] & [b]` for expressions, `[a] [b]` for two events"
LABEL = (
    "label a part of `match`, as in `up:(rise+)`, and write `count(up)`, `last(up.x)`;"
    " or `last(x) filter [x > 1]` for the events that satisfy a predicate"
)
CLAUSES = ("MATCH", "AFTER", "ASSUME", "WHERE", "UNTIL", "HAVING", "MEASURE", "WITHIN", "KEEP")
REGEX_STARTS = ("NAME", "QUOTED", "LSQB", "LPAR", "TILDE", "ANY")

# Clauses of MATCH_RECOGNIZE that are no clauses here; the words are in lower case.
OTHER_CLAUSES = {
    "pattern": "write `match` and the expression",
    "define": "write `let up = x > 1` outside of the window, or the predicate in brackets",
    "subset": "label both parts: `either:(down:(fall+) up:(rise+))`, `either:a b either:c`",
    "skip": "write `keep leftmost` to skip past the last row, `keep preferred` for the next row,"
    " `keep leftmost resuming at last fall` for a label",
    "one": "remove it: a window is one row",
    "all": "remove it, and ask for rows where the spec runs: rows=True, or `wex find --rows`",
}

# Functions of other systems; the names are in lower case.
OTHER_FUNCTIONS = {
    **dict.fromkeys(("mod", "remainder"), "write `n % 2`"),
    "div": "write `n // 2`",
    **dict.fromkeys(
        ("date_trunc", "trunc", "time_bucket", "date_bin", "tumble", "time_slice"),
        "write `floor(ts, 1 hour)`",
    ),
    **dict.fromkeys(("extract", "date_part", "datepart"), "write `hour(ts)`"),
    **dict.fromkeys(("dayofweek", "day_of_week", "dow"), "write `weekday(ts)`: Monday is 1"),
    **dict.fromkeys(("isnull", "is_null", "coalesce", "ifnull", "nvl"), "write `x is null`"),
    **dict.fromkeys(("startswith", "begins_with"), "write `starts_with(name, 'A')`"),
    **dict.fromkeys(
        ("lead", "next"),
        "later events cannot be read: state the condition at the later event, with `x[-1]`",
    ),
    "classifier": "label parts of `match`, as in `up:(rise+)`, and write `collect(label())`",
    "match_number": "remove it: rows of windows (rows=True) have a `window_id`",
}


def character_hint(text: str, offset: int) -> str | None:
    """Return what to write instead of a character of regular expressions or of qualified names."""
    char, after = text[offset], text[offset + 1 : offset + 2]
    if char == "^":
        return "for windows that begin with the first event write `after () match …`"
    if char == "$":
        return "for windows that end with the last event add `until [false] or end`"
    if char != ".":
        return None
    if text[max(0, offset - 1) : offset] == "." or after == ".":
        return "write a range of counts with a comma: `any{2,3}`"
    if re.search(r"\w\(\w+$", text[:offset]) and re.match(r"[^\W\d]|\*", after):  # count(A.*)
        return LABEL
    if after and after in "*+?{":
        return f"write `any{after if after != '{' else '{2}'}`"
    if re.search(r"\w$", text[:offset]) and re.match(r"[^\W\d]", after):
        return LABEL
    return "write `any` for one event, whatever it is"


def advice_about(place: Place) -> Advice | None:
    """Return the token to point at and a hint, if a habit of another language explains an error."""
    for explain in HABITS:
        advice = explain(place)
        if advice is not None:
            return advice
    return None


def _distinct(place: Place) -> Advice | None:
    """Explain `count(distinct x)`."""
    if place.token is None or len(place.seen) < 2 or place.seen[-1].lower() != "distinct":
        return None
    shown = place.token if place.token.type == "NAME" else "x"
    return place.seen[-1], f"write `count_distinct({shown})`"


def _filter(place: Place) -> Advice | None:
    """Explain `avg(x) filter (where x > 1)`."""
    if place.token is None or not place.seen or place.seen[-1].type != "FILTER":
        return None
    return (place.token, "write the predicate in brackets: `filter [x > 1]`")


def _interval(place: Place) -> Advice | None:
    """Explain `interval '1' hour`, `interval 1 hour`, `within interval '1' hour`."""
    near = range(max(0, len(place.seen) - 2), min(len(place.item), len(place.seen) + 1))
    for index in near:
        if place.item[index].lower() == "interval":
            amount, *unit = [token.strip("'") for token in place.item[index + 1 : index + 3]] or [
                "1"
            ]
            length = f"{amount} {unit[0].lower()}" if unit and unit[0].isidentifier() else "1 hour"
            return place.item[index], f"write `{length}`"
    return None


def _either(place: Place) -> Advice | None:
    """Explain `[a] or [b]`, `(a or b)+`, `until [a] or [b]`."""
    token = place.token
    if token is None or not place.seen:
        return None
    if token.type == "OR" and _in_expression(place):
        return token, UNION
    if place.seen[-1].type != "OR" or token.type not in REGEX_STARTS:
        return None
    if token.type == "NAME" and closest(token, ("match", "after", "end"), ALIKE):
        return None
    if "MATCH" in place.expected:
        return place.seen[-1], UNION
    if place.expected == {"END"}:
        return place.seen[-1], "join the predicates inside the brackets: `until [a or b]`"
    return None


def _both(place: Place) -> Advice | None:
    """Explain `[a] and [b]`."""
    token = place.token
    if token is None or token.type != "AND" or not _in_expression(place):
        return None
    return token, BOTH


def _in_expression(place: Place) -> bool:
    """Tell whether the error is in a regular expression, outside of the brackets of predicates."""
    words = [token.type for token in place.seen if token.type in CLAUSES]
    opened: list[Token] = []
    for token in place.seen:
        if token.type in ("LSQB", "LPAR"):
            opened.append(token)
        elif token.type in ("RSQB", "RPAR") and opened:
            opened.pop()
    regex = bool(words) and words[-1] in ("MATCH", "AFTER", "ASSUME")
    return regex and all(token.type == "LPAR" for token in opened)


def _null(place: Place) -> Advice | None:
    """Explain `x = null`, `x != null`, `x is not 3`."""
    token = place.token
    if token is None or not place.seen:
        return None
    if token.type == "NULL" and place.seen[-1] in ("=", "!="):
        word = "is null" if place.seen[-1] == "=" else "is not null"
        before = place.seen[-2] if len(place.seen) > 1 and place.seen[-2].type == "NAME" else "x"
        return token, f"write `{before} {word}`"
    if "NULL" in place.expected and place.seen[-1].type in ("IS", "NOT"):
        return token, "`is` tests for NULL only: `x is null`; compare with `=` and `!=`"
    return None


def _extract(place: Place) -> Advice | None:
    """Explain `extract(hour from ts)`."""
    words = [token.lower() for token in place.seen[-3:]]
    if words[:2] != ["extract", "("] or place.token is None:
        return None
    return place.seen[-3], f"write `{words[2]}(ts)`"


def _dash(place: Place) -> Advice | None:
    """Explain `stream s (my-col int)`."""
    token = place.token
    if token is None or token.type != "MINUS" or place.item[0].type != "STREAM":
        return None
    index = len(place.seen)
    following = place.item[index + 1] if index + 1 < len(place.item) else ""
    return token, f"write such a name in backticks: `` `{place.seen[-1]}-{following}` ``"


def _stream(place: Place) -> Advice | None:
    """Explain `window w match a partition by n`."""
    token = place.token
    if token is None or place.item[0].type != "WINDOW":
        return None
    following = place.item[len(place.seen) + 1 :][:1]
    if token.type not in ("PARTITION", "ORDER") or [part.type for part in following] != ["BY"]:
        return None
    return token, f"write `{token} by` after the fields of the stream"


def _clause(place: Place) -> Advice | None:
    """Explain `pattern (a+)`, `define a as x > 1`, `after match skip past last row`."""
    token, before = place.token, place.seen[-1:]
    if place.item[0].type != "WINDOW" or not before:
        return None
    words = [word.lower() for word in place.seen]
    for index in range(2, len(words) - 1):
        if words[index : index + 2] == ["per", "match"]:  # one row per match
            return place.seen[index - 2], OTHER_CLAUSES.get(words[index - 2], OTHER_CLAUSES["one"])
    if token is None:
        return None
    if token.type == "MATCH" and before[0].type == "AFTER":
        return before[0], OTHER_CLAUSES["skip"]
    # In `match up define up as` the word was parsed as a name.
    defines = [word for word in place.seen if word.lower() == "define"]
    for word in defines if token.type == "AS" else [token]:
        if word.type == "NAME" and word not in place.declared and word.lower() in OTHER_CLAUSES:
            return word, OTHER_CLAUSES[word.lower()]
    return None


def _pattern(place: Place) -> Advice | None:
    """Explain `a{,3}`, `permute(a, b)`, `{- a -}`."""
    token, before = place.token, [word.lower() for word in place.seen[-3:]]
    if token is None or not before:
        return None
    following = place.item[len(place.seen) + 1 :][:1]
    if token.type == "COMMA" and before[-1] == "{":
        return token, f"begin with 0: `{{0,{following[0] if following else 3}}}`"
    if token.type == "COMMA" and "permute" in before:
        return token, "list the orders: `a b | b a`"
    if token.type == "LBRACE" and [part.type for part in following] == ["MINUS"]:
        return token, "a window has all its events: leave some out of measures, `filter [not a]`"
    return None


def _over(place: Place) -> Advice | None:
    """Explain `avg(x) over (…)`, `running max(x)`, `final last(x)`."""
    token = place.token
    if token is None or not place.seen:
        return None
    if token.lower() == "over" and place.seen[-1].type in ("RPAR", "RSQB"):
        return (
            token,
            "remove it: an aggregate is over the window, in a predicate over the window so far",
        )
    if place.seen[-1].lower() in ("running", "final") and token.type == "NAME":
        return place.seen[
            -1
        ], "remove it: predicates are about the window so far, measures about all of it"
    return None


HABITS = (
    _distinct, _filter, _interval, _either, _both, _null, _extract, _dash, _stream, _clause, _pattern,
    _over,
)  # fmt: skip
