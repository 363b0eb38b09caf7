"""The pattern of a query as a spec writes it: names, lets, labels, the expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.vocabulary import RESERVED
from wex.sql.formulas import TRUE, Formula, atoms, show
from wex.sql.pattern import Choice, Concatenation, Pattern, Repeat, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wex.sql.positions import Graph
    from wex.sql.query import Query
    from wex.sql.reader import Reader


class Spelling:
    """The names of a spec: none has two meanings."""

    def __init__(self, graph: Graph, query: Query, columns: set[str]) -> None:
        self.taken = set(columns) | {measure.name.text for measure in query.measures}
        self.taken |= RESERVED | {"is_first"}
        self.table = tree.Name(query.table.text)
        self.window = self.free(query.table.text.lower() + "_match")
        names = {variable.name.key: variable.name.text for variable in graph.variables}
        names |= {key: name.text for key, (name, _) in query.subsets.items()}
        self.labels = {key: self.free(key) for key in names}  # CLASSIFIER is in upper case
        self.lets = {
            key: self.free(names[key].lower()) for key in names if key not in query.subsets
        }
        self.subsets: dict[str, list[str]] = {}
        for key, (_, members) in query.subsets.items():
            for member in members:
                self.subsets.setdefault(member.key, []).append(key)

    def free(self, name: str) -> str:
        """Return a name that is not taken yet, as a spec writes it."""
        chosen, number = name, 2
        while chosen in self.taken:
            chosen, number = f"{name}_{number}", number + 1
        self.taken.add(chosen)
        return str(tree.Name(chosen))

    def excluded(self, graph: Graph, reader: Reader) -> set[str]:
        """Return the labels whose rows `{- … -}` leaves out."""
        inside = {one.name.key for one in graph.variables if one.excluded}
        for variable in graph.variables:
            if variable.name.key in inside and not variable.excluded:
                message = f"`{variable.name.text}` occurs both inside and outside of {{- … -}}"
                reader.refuse(variable.name.span, message, "give the variable inside another name")
        return {self.labels[key] for key in inside}


class PatternText:
    """The text of a pattern whose variables have certain conditions."""

    def __init__(
        self,
        alternatives: Sequence[tuple[bool, Pattern]],
        conditions: Sequence[Formula],
        spelling: Spelling,
        labels: Iterable[str],
    ) -> None:
        self.alternatives = alternatives
        self.conditions = conditions
        self.spelling = spelling
        self.labels = set(labels)
        self.names: dict[Formula, str] = {}
        self.position = 0
        self.texts = [(anchored, self.text(part)) for anchored, part in alternatives]

    def pairs(self) -> list[str]:
        """Return the lines of `after` and `match`."""
        if len({anchored for anchored, _ in self.texts}) == 1:
            after = "after () " if self.texts[0][0] else ""
            return [f"  {after}match {' | '.join(text for _, text in self.texts)}"]
        pairs = [f"{'after () ' if anchored else ''}match {text}" for anchored, text in self.texts]
        return ["  " + "\n  or ".join(pairs)]

    def lets(self) -> list[str]:
        """Return the definitions of the names that the pattern uses."""
        return [f"let {name} = {show(formula)}" for formula, name in self.names.items()]

    def text(self, pattern: Pattern) -> str:
        """Return the text of a part; positions are counted from left to right."""
        match pattern:
            case Variable():
                return self.variable(pattern)
            case Concatenation(parts):
                texts = [
                    f"({self.text(part)})" if isinstance(part, Choice) else self.text(part)
                    for part in parts
                ]
                return " ".join(texts) or "()"
            case Choice(parts):
                return " | ".join(map(self.text, parts))
            case Repeat(part, least, most, reluctant):
                inner = self.text(part)
                body = inner if isinstance(part, Variable) else f"({inner})"
                return body + _quantifier(least, most, reluctant=reluctant)
        raise TypeError(pattern)

    def variable(self, variable: Variable) -> str:
        """Return the condition of a variable, with its labels."""
        condition = self.conditions[self.position]
        self.position += 1
        key = variable.name.key
        text = "any" if condition == TRUE else self.named(condition, self.spelling.lets[key])
        for label in [key, *self.spelling.subsets.get(key, [])]:
            if label in self.labels:
                inner = text if text.startswith("[") or ":" not in text else f"({text})"
                text = f"{self.spelling.labels[label]}:{inner}"
        return text

    def named(self, condition: Formula, name: str) -> str:
        """Return the name of a condition, or the condition itself if the name means another one."""
        if condition not in self.names and name in self.names.values():
            return f"[{show(condition)}]"
        if any(atom.own for atom in atoms(condition)):
            return f"[{show(condition)}]"
        return self.names.setdefault(condition, name)


def _quantifier(least: int, most: int | None, *, reluctant: bool) -> str:
    """Return the text of a quantifier; one that leaves no choice is not reluctant."""
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    if least == most:
        return f"{{{least}}}"
    sign = signs.get((least, most), f"{{{least},{'' if most is None else most}}}")
    return sign + ("?" if reluctant else "")
