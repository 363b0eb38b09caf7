"""The words of the language, and what people write instead of them."""

from __future__ import annotations

KEEP = ("all", "shortest", "longest", "disjoint")
RESULT_COLUMNS = ("window_name", "start_index", "end_index", "window_start", "window_end")

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
        "until",
        "where",
        "or",
        "and",
        "not",
        "keep",
        "within",
        "having",
        "pad",
        "lookback",
        "nulls",
        "measure",
        "as",
        "filter",
        "unchecked",
        "any",
        "in",
        "between",
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
    "until",
    "within",
    "having",
    "keep",
    "pad",
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
ALIKE = 0.75  # how much a word must look like a keyword to be taken for it
LOOSELY_ALIKE = 0.6  # where hardly anything else can be meant

OPENS = {"(": ")", "[": "]", "{": "}"}
CLOSES = {close: open_ for open_, close in OPENS.items()}
COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))
PREDICATE_WORDS = COMPARISONS | {"-", "/", "not", "and", "in", "between", "true", "false"}
OPERATORS = ("and", "or", "not", "in", "between", "implies", "iff", "exists", "forall", "filter")
CLAUSE_WORDS = RESERVED.difference(OPERATORS, ("any", "true", "false"))

BAD_CHARACTERS = {
    '"': "strings stand in single quotes, 'like this'; names with odd characters in `backticks`",
    ";": "no separator is needed: every item begins with its own word",
    "!": "write `not p`, or `!=` for unequal",
    "%": "there is no remainder; use `/` and comparisons",
    "\\": "lines need no continuation: layout is free",
    "=": "compare with `=`",
}
OTHER_OPERATORS = {
    "==": "compare with a single `=`",
    "<>": "write `!=`",
    "=<": "write `<=`",
    "=>": "write `>=`, or `implies` in a formula",
    "&&": "write `and` in predicates, `&` between regular expressions",
    "||": "write `or` in predicates, `|` between regular expressions",
    "->": "write `implies` in a formula, a blank between regular expressions",
    "**": "write `x * x`",
    "//": "comments begin with `#`; division is `/`",
    "--": "comments begin with `#`",
    "/*": "comments begin with `#`",
}
OPERATOR_WORDS = {
    "is": "a field that may be NULL is declared in the stream line: `nulls skip`",
    "null": "a field that may be NULL is declared in the stream line: `nulls skip`",
    "like": "strings have equality only: `=`, `!=`, `in ('a', 'b')`",
    "desc": "streams are ordered ascending",
    "asc": "streams are ordered ascending: leave `asc` out",
    "then": "write one after the other: `match a b`",
    "mod": "there is no remainder; use `/` and comparisons",
}

# What the parser could have taken, in the words of a person: the first group that it knows whole.
EXPECTED = (
    ({"ANY", "TILDE"}, "a regular expression"),
    ({"TRUE", "NUMBER"}, "an expression"),
    ({"AS"}, "`as` and a name for the measure"),
    ({"EQUAL", "LESSTHAN"}, "an operator such as `+`, `<`, `and`, or what closes the expression"),
    ({"MATCH", "KEEP"}, "a clause such as `match`, `keep` or `measure`"),
    ({"MATCH"}, "`match`"),
    ({"STREAM", "LET"}, "`stream`, `let`, `assume` or `window`"),
    ({"AND", "OR"}, "`and`, `or`, or what closes the expression"),
    ({"NAME"}, "a name"),
    ({"NUMBER"}, "a number"),
    ({"STRING"}, "a string in single quotes"),
    ({"BY"}, "`by`"),
    ({"COLON"}, "`:`"),
    ({"EQUAL"}, "`=`"),
)
# What is missing behind a word, where the word itself tells.
AFTER_WORD = {
    "KEEP": "say which windows to keep: `all`, `shortest`, `longest` or `disjoint`",
    "NULLS": "say what to do with NULLs: `error` or `skip`",
    "WITHIN": "say how long a window may be: `within 10 events`, `within 5 minutes`",
    "UNTIL": "say what ends it, in brackets: `until [gap > 5 minutes]`",
    "LOOKBACK": "say how many events: `lookback 2`",
    "PARTITION": "write `partition by` and the key columns",
    "ORDER": "write `order by` and the columns that order the stream",
    "MATCH": "say what a window looks like: `match up any* down`",
    "AFTER": "say what comes before a window: `after any* down`",
}
MARKS = {"RPAR": ")", "RSQB": "]", "RBRACE": "}", "COMMA": ",", "LPAR": "(", "LSQB": "["}
