"""Patterns of LIKE: their escape characters differ between dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from wex.sql.values import Values

BACKSLASH = ("databricks", "spark", "snowflake")  # where it escapes by default


def like_pattern(values: Values, node: exp.Expr, escape: exp.Expr | None) -> str:
    r"""Return the pattern of LIKE as a text of WEX, where `\` makes `%` and `_` plain."""
    if not isinstance(node, exp.Literal) or not node.is_string:
        values.refuse(node, "LIKE needs a constant pattern", "write it as a text")
    sign = "\\" if values.reader.dialect in BACKSLASH else None
    if escape is not None:
        if not isinstance(escape, exp.Literal) or not escape.is_string or len(escape.this) != 1:
            values.refuse(escape, "ESCAPE takes one character", "write ESCAPE '!'")
        sign = escape.this
    text, characters = "", iter(node.this)
    for character in characters:
        if character == sign:
            following = next(characters, "")
            if following not in {"%", "_", sign}:
                values.refuse(
                    node, "an escape character has to precede %, _ or itself", "correct the pattern"
                )
            text += "\\" + following if following in "%_\\" else following
        else:
            text += "\\\\" if character == "\\" else character
    return "'" + text.replace("'", "''") + "'"
