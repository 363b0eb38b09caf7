"""The words of the language, and the words of other languages that people write instead.

The second half feeds syntax_errors.py: hints for foreign operators and characters, and the wording
for the tokens that the parser expected.
"""

from __future__ import annotations

PREFERENCE = ("preferred", "leftmost")  # options of `keep` that choose as a matcher does
ENDS = ("first", "last")  # of the events with a label, for `resuming at`
KEEP = ("all", "shortest", "longest", "disjoint", *PREFERENCE)
RESULT_COLUMNS = ("window_name", "start_index", "end_index", "window_start", "window_end")
ROW_COLUMNS = (*RESULT_COLUMNS, "window_id", "event_index", "row_index")  # of rows of windows

RESERVED = frozenset(
    [
        "stream",
        "let",
        "assume",
        "window",
        "partition",
        "order",
        "by",
        "after",
        "match",
        "runs",
        "of",
        "sessions",
        "until",
        "where",
        "or",
        "and",
        "not",
        "keep",
        "sharing",
        "resuming",
        "within",
        "having",
        "unpadded",
        "lookback",
        "nulls",
        "measure",
        "as",
        "filter",
        "unchecked",
        "any",
        "in",
        "between",
        "like",
        "is",
        "null",
        "exists",
        "forall",
        "set",
        "implies",
        "iff",
        "begin",
        "end",
        "true",
        "false",
    ]
)
ITEMS = ("stream", "let", "assume", "window")
WINDOW_CLAUSES = [
    "after",
    "match",
    "where",
    "runs",
    "sessions",
    "until",
    "within",
    "having",
    "keep",
    "unpadded",
    "lookback",
    "measure",
    "or",
]
CLAUSES = {
    "STREAM": ("partition", "order", "by", "nulls", *ITEMS),
    "LET": ITEMS,
    "ASSUME": ("unchecked", *ITEMS),
    "WINDOW": (*WINDOW_CLAUSES, *ITEMS),
}
ALIKE = 0.75  # similarity from which a word counts as a misspelt keyword
LOOSELY_ALIKE = 0.6  # the same where hardly anything else is possible

OPENS = {"(": ")", "[": "]", "{": "}"}
CLOSES = {close: open_ for open_, close in OPENS.items()}
COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))
PREDICATE_WORDS = COMPARISONS | {
    "-", "/", "//", "%", "not", "and", "in", "between", "like", "is", "true", "false"
}  # fmt: skip
OPERATORS = (
    "and",
    "or",
    "not",
    "in",
    "between",
    "like",
    "is",
    "null",
    "implies",
    "iff",
    "exists",
    "forall",
    "filter",
)
CLAUSE_WORDS = RESERVED.difference(OPERATORS, ("any", "true", "false"))

BAD_CHARACTERS = {
    '"': "write strings in single quotes, 'like this', and names with special characters in `backticks`",
    ";": "remove it: items need no separator",
    "!": "write `not p`, or `!=` for unequal",
    "\\": "remove it: line breaks have no meaning",
    "=": "compare with `=`",
}
OTHER_OPERATORS = {
    "==": "compare with a single `=`",
    "<>": "write `!=`",
    "=<": "write `<=`",
    "=>": "write `>=`, or `implies` in a formula",
    "&&": "write `and` in a predicate, `&` between regular expressions",
    "||": "write `or` in a predicate, `|` between regular expressions",
    "->": "write `implies` in a formula, and a blank between regular expressions",
    "**": "there is no power operator: write `x * x`",
    "//": "comments begin with `#`; `//` divides whole numbers: `x // 2`",
    "--": "comments begin with `#`",
    "/*": "comments begin with `#`",
}
OPERATOR_WORDS = {
    "desc": "streams are always in ascending order: remove `desc`",
    "asc": "streams are always in ascending order: remove `asc`",
    "then": "write a sequence without an operator: `match a b`",
    "mod": "write `n % 2`",
    "pad": "remove it: windows begin at the first event by default",
}

LIMIT_WORDS = frozenset(("at", "most", "max", "maximum", "limit", "up", "upto", "atmost"))

# The tokens that the parser accepts, in words: the first group that it accepts completely.
EXPECTED = (
    ({"ANY", "TILDE"}, "a regular expression"),
    ({"TRUE", "NUMBER"}, "an expression"),
    ({"AS"}, "`as` and a name for the measure"),
    ({"EQUAL", "LESSTHAN"}, "an operator such as `+`, `<`, `and`, or the end of the expression"),
    ({"MATCH", "KEEP"}, "a clause such as `match`, `keep` or `measure`"),
    ({"MATCH"}, "`match`"),
    ({"STREAM", "LET"}, "`stream`, `let`, `assume` or `window`"),
    ({"AND", "OR"}, "`and`, `or`, or the end of the expression"),
    ({"NAME"}, "a name"),
    ({"NUMBER"}, "a number"),
    ({"STRING"}, "a string in single quotes"),
    ({"BY"}, "`by`"),
    ({"COLON"}, "`:`"),
    ({"EQUAL"}, "`=`"),
)
# The hint for an item that is incomplete after one of these keywords.
AFTER_WORD = {
    "KEEP": "expected `all`, `shortest`, `longest`, `disjoint`, `preferred` or `leftmost`",
    "SHARING": "expected a number of events: `keep leftmost sharing 1 event`",
    "RESUMING": "expected `at`, `first` or `last`, and a label: `keep leftmost resuming at last fall`",
    "NULLS": "expected `error` or `skip`",
    "WITHIN": "expected a number and a unit: `within 10 events`, `within 5 minutes`",
    "RUNS": "expected `of` and values, or `where` and a predicate: `runs of status`, `runs where temp > 90`",
    "OF": "expected the values that stay the same during a run: `runs of status, mode`",
    "SESSIONS": "expected `gap` and the longest pause: `sessions gap 30 minutes`",
    "AT_MOST": "expected the greatest length: `sessions gap 30 minutes at most 2 hours`",
    "UNTIL": "expected a predicate in brackets: `until [gap > 5 minutes]`",
    "LOOKBACK": "expected a number of events: `lookback 2`",
    "PARTITION": "expected `by` and the key columns: `partition by symbol`",
    "ORDER": "expected `by` and the columns to order by: `order by ts`",
    "MATCH": "expected a regular expression: `match up any* down`",
    "AFTER": "expected a regular expression: `after any* down`",
}
MARKS = {"RPAR": ")", "RSQB": "]", "RBRACE": "}", "COMMA": ",", "LPAR": "(", "LSQB": "["}
