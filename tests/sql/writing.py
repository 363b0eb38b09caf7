"""The queries of the oracle as SQL text."""

from __future__ import annotations

from typing import Any

from tests.sql import oracle as o


def query_text(query: o.Query, table: str = "t") -> str:
    """Return a query as SQL."""
    lines = [f"SELECT * FROM {table} MATCH_RECOGNIZE (", "  PARTITION BY k ORDER BY t"]
    if query.measures:
        measures = ", ".join(f"{value(one)} AS {name}" for name, one in query.measures.items())
        lines.append(f"  MEASURES {measures}")
    to, variable = query.skip
    skips = {
        "past": "PAST LAST ROW",
        "next": "TO NEXT ROW",
        "first": f"TO FIRST {variable}",
        "last": f"TO LAST {variable}",
    }
    lines.append(f"  AFTER MATCH SKIP {skips[to]}")
    lines.append(f"  PATTERN ({pattern(query.pattern)})")
    if query.subsets:
        subsets = (f"{name} = ({', '.join(members)})" for name, members in query.subsets.items())
        lines.append(f"  SUBSET {', '.join(subsets)}")
    if query.define:
        defines = ", ".join(f"{name} AS {condition(one)}" for name, one in query.define.items())
        lines.append(f"  DEFINE {defines}")
    return "\n".join(lines) + ")"


def pattern(part: Any) -> str:
    match part:
        case o.Var(name):
            return name
        case o.Seq(parts):
            return (
                " ".join(
                    f"({pattern(one)})" if isinstance(one, o.Alt) else pattern(one) for one in parts
                )
                or "()"
            )
        case o.Alt(parts):
            return " | ".join(map(pattern, parts))
        case o.Permute(parts):
            return f"PERMUTE({', '.join(map(pattern, parts))})"
        case o.Exclude(inner):
            return f"{{- {pattern(inner)} -}}"
        case o.Anchor(sign):
            return sign
        case o.Rep(inner, least, most, reluctant):
            body = inner.name if isinstance(inner, o.Var) else f"({pattern(inner)})"
            signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
            counts = (
                f"{{{least},{'' if most is None else most}}}" if least != most else f"{{{least}}}"
            )
            return body + signs.get((least, most), counts) + ("?" if reluctant else "")
    raise TypeError(part)


def value(node: Any) -> str:
    match node:
        case o.Lit(one):
            if one is None or isinstance(one, bool):
                return "NULL" if one is None else str(one).upper()
            return "'" + one.replace("'", "''") + "'" if isinstance(one, str) else str(one)
        case o.Col(name, var, kind, offset, shift):
            text = f"{var}.{name}" if var else name
            if kind:
                text = f"{kind}({text}, {offset})" if offset else f"{kind}({text})"
            if shift:
                function, rows = ("PREV", shift) if shift > 0 else ("NEXT", -shift)
                text = f"{function}({text}, {rows})" if rows > 1 else f"{function}({text})"
            return text
        case o.Arith(sign, left, right):
            return f"({value(left)} {sign} {value(right)})"
        case o.Agg(name, var, column):
            return f"{name}({f'{var}.' if var else ''}{column or '*'})"
        case o.Case(test, then, otherwise):
            return f"CASE WHEN {condition(test)} THEN {value(then)} ELSE {value(otherwise)} END"
        case o.Coalesce(parts):
            return f"COALESCE({', '.join(map(value, parts))})"
        case o.Classifier():
            return "CLASSIFIER()"
    raise TypeError(node)


def condition(node: Any) -> str:
    match node:
        case o.Cmp(sign, left, right):
            return f"{value(left)} {sign} {value(right)}"
        case o.And(parts):
            return "(" + " AND ".join(map(condition, parts)) + ")"
        case o.Or(parts):
            return "(" + " OR ".join(map(condition, parts)) + ")"
        case o.Not(part):
            return f"NOT ({condition(part)})"
        case o.IsNull(one, negated):
            return f"{value(one)} IS {'NOT ' if negated else ''}NULL"
        case o.IsTruth(part, truth, negated):
            return f"({condition(part)}) IS {'NOT ' if negated else ''}{str(truth).upper()}"
        case o.Between(one, low, high, negated):
            return f"{value(one)} {'NOT ' if negated else ''}BETWEEN {value(low)} AND {value(high)}"
        case o.In(one, items, negated):
            return f"{value(one)} {'NOT ' if negated else ''}IN ({', '.join(map(value, items))})"
        case o.Like(one, text, negated):
            return f"{value(one)} {'NOT ' if negated else ''}LIKE '{text}'"
        case o.Distinct(left, right, negated):
            return f"{value(left)} IS {'NOT ' if negated else ''}DISTINCT FROM {value(right)}"
    return value(node)
