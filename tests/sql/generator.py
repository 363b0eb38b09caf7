"""Random queries and tables for the comparison with the oracle."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.sql import oracle as o

COLUMNS = {"k": "string", "t": "int", "x": "int", "y": "int", "s": "string", "b": "bool"}


class Generator:
    """Makes queries out of random numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.plain = False  # whether only rows at a fixed distance may be named
        self.names = ["A", "B", "C", "D"][: random.choice([1, 2, 2, 3, 3, 4])]
        self.drawn = self.pattern()
        self.names = sorted(set(variables(self.drawn)))
        self.subsets: dict[str, tuple[str, ...]] = {}
        if len(self.names) > 1 and random.random() < 0.15:
            self.subsets = {"U": (self.names[0], self.names[-1])}

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # --- Patterns

    def pattern(self) -> Any:
        while True:
            part = self.part(3)
            if self.chance(0.5):
                part = o.Seq(tuple(self.quantified(o.Var(name)) for name in self.names))
            if not nullable(part):
                break
        if self.chance(0.07):
            part = o.Seq((o.Anchor("^"), *(part.parts if isinstance(part, o.Seq) else (part,))))
            part = (
                part
                if not any(isinstance(one, o.Alt) for one in part.parts[1:2]) or len(part.parts) > 2
                else o.Seq((part.parts[0], o.Seq(part.parts[1:])))
            )
        if self.chance(0.07):
            part = o.Seq((*(part.parts if isinstance(part, o.Seq) else (part,)), o.Anchor("$")))
        return part

    def part(self, depth: int) -> Any:
        choice = self.random.random()
        if depth == 0 or choice < 0.35:
            return self.quantified(o.Var(self.random.choice(self.names)))
        parts = tuple(self.part(depth - 1) for _ in range(self.random.choice([2, 2, 3])))
        if choice < 0.7:
            return o.Seq(parts)
        if choice < 0.85:
            return o.Alt(parts)
        if choice < 0.9:
            return o.Permute(parts[:2])
        if choice < 0.93:
            return o.Exclude(parts[0])
        return self.quantified(o.Seq(parts))

    def quantified(self, part: Any) -> Any:
        if self.chance(0.5):
            return part
        bounds = self.random.choice(
            [(0, None), (1, None), (1, None), (0, 1), (2, 2), (1, 2), (2, None), (0, 2)]
        )
        return o.Rep(part, *bounds, self.chance(0.3))

    # --- Conditions

    def query(self) -> o.Query:
        define = {name: self.condition(name, 2) for name in self.names if self.chance(0.85)}
        if self.chance(0.25):  # definitions that exclude each other, so that a filter can tell rows
            for value, name in enumerate(self.names):
                own = o.Cmp("=", o.Col("x"), o.Lit(value))
                define[name] = o.And((own, define[name])) if name in define else own
        measures = {f"m{n}": self.measure() for n in range(self.random.choice([0, 1, 1, 2]))}
        skip: tuple[str, str | None] = ("past", None)
        if self.chance(0.4):
            skip = ("next", None)
        elif self.chance(0.5):
            skip = (self.random.choice(["first", "last"]), self.skipped_to())
        return o.Query(self.drawn, define, measures, skip, self.subsets)

    def skipped_to(self) -> str:
        """Return a variable or subset to skip to: rarely the first one, where SQL fails."""
        written = variables(self.drawn)
        if self.chance(0.25):
            return written[-1]  # its place is often certain
        later = [name for name in written[1:] if name != written[0]]
        choices = later if later and self.chance(0.8) else self.names
        return self.random.choice([*choices, *self.subsets])

    def condition(self, name: str, depth: int) -> Any:
        choice = self.random.random()
        if depth and choice < 0.4:
            parts = tuple(self.condition(name, depth - 1) for _ in range(2))
            return (o.And if self.chance(0.6) else o.Or)(parts)
        if depth and choice < 0.5:
            return o.Not(self.condition(name, depth - 1))
        return self.atom(name)

    def atom(self, name: str) -> Any:
        choice, value = self.random.random(), self.number(name)
        if choice < 0.03:
            return self.by_case(name)
        if choice < 0.6:
            return o.Cmp(self.random.choice(list(o.COMPARISONS)), value, self.number(name))
        if choice < 0.68:
            return o.IsNull(self.tested(name), self.chance(0.5))
        if choice < 0.75:
            return o.Between(value, self.number(name), o.Lit(2), self.chance(0.4))
        if choice < 0.8:
            items = tuple(o.Lit(self.random.choice([0, 1, 2, None])) for _ in range(2))
            return o.In(value, items, self.chance(0.4))
        if choice < 0.85:
            return o.Like(
                self.column(name, "s"), self.random.choice(["a%", "_b", "%"]), self.chance(0.5)
            )
        if choice < 0.9:
            return o.Cmp(
                self.random.choice(["=", "<>"]),
                self.column(name, "s"),
                o.Lit(self.random.choice(["a", "ab"])),
            )
        if choice < 0.93:
            return o.Distinct(self.column(name, "x"), self.column(name, "y"), self.chance(0.5))
        return self.column(name, "b")

    def tested(self, name: str) -> Any:
        """Return a column for IS NULL: of this row, an earlier one, or an earlier one of the variable."""
        column = self.random.choice("yysb")
        if self.chance(0.3):
            return o.Col(column, name, "LAST", 1)
        return o.Col(column, shift=self.random.choice([0, 0, 1, 2]))

    def number(self, name: str) -> Any:
        choice = self.random.random() * (0.75 if self.plain else 1)
        if choice < 0.25:
            return o.Lit(self.random.choice([0, 1, 1, 2, 3]))
        if choice < 0.75:
            return self.column(name, self.random.choice("xy"))
        if choice < 0.83:
            return o.Arith(self.random.choice("+-*"), self.column(name, "x"), self.number(name))
        if choice < 0.93:
            var = self.random.choice([None] * 12 + [name, *self.names, *self.subsets])
            function = self.random.choice(["SUM", "MIN", "MAX", "COUNT", "AVG", "COUNT"])
            return o.Agg(function, var, None if function == "COUNT" and self.chance(0.6) else "x")
        return self.column(name, "x")

    def by_case(self, name: str) -> Any:
        """Return a test of CASE, COALESCE or IS TRUE, of rows at a fixed distance."""
        self.plain = True
        test, value = self.atom(name), self.column(name, "x")
        choice: Any = (
            o.Case(test, value, o.Lit(1)) if self.chance(0.5) else o.Coalesce((value, o.Lit(1)))
        )
        self.plain = False
        if self.chance(0.3):
            return o.IsTruth(test, self.chance(0.5), self.chance(0.5))
        return o.Cmp(self.random.choice(["=", "<", ">="]), choice, o.Lit(1))

    def column(self, name: str, column: str) -> Any:
        choice = self.random.random() * (0.7 if self.plain else 1)
        if choice < 0.45:
            return o.Col(column, self.random.choice([None, name]))
        if choice < 0.7:
            return o.Col(
                column, self.random.choice([None, name]), shift=self.random.choice([1, 1, 1, 2])
            )
        if choice < 0.8:
            return o.Col(
                column, self.random.choice([None, name]), "LAST", self.random.choice([0, 1, 1, 2])
            )
        if choice < 0.88 and column in "xy":
            return o.Col(column, self.random.choice([None, None, self.names[0]]), "FIRST")
        if choice < 0.95:
            return o.Col(column, shift=1)
        var = self.random.choice([*self.names, *self.subsets])
        kind = self.random.choice(["", "", "LAST", "FIRST"])
        return o.Col(
            column,
            var,
            kind,
            self.random.choice([0, 0, 1]) if kind else 0,
            self.random.choice([0, 0, 0, 1]),
        )

    # --- Measures

    def measure(self) -> Any:
        choice = self.random.random()
        var = self.random.choice([None, *self.names, *self.subsets])
        if choice < 0.1:
            return o.Classifier()
        if choice < 0.5:
            function = self.random.choice(["SUM", "MIN", "MAX", "COUNT"])
            return o.Agg(function, var, None if function == "COUNT" and self.chance(0.6) else "x")
        kind = self.random.choice(["", "LAST", "FIRST"])
        offset = self.random.choice([0, 0, 1]) if kind else 0
        shift = self.random.choice([0, 0, 0, 1]) if kind != "FIRST" and not offset else 0
        column = o.Col(self.random.choice(["t", "x"]), var, kind, offset, shift)
        return column if self.chance(0.8) else o.Arith("+", column, o.Lit(1))

    # --- Tables

    def table(self, keys: int = 8, longest: int = 7) -> list[list[o.Row]]:
        """Return the rows of some streams; NULL is as rare or frequent as chance says."""
        nulls = self.random.choice([0, 0, 0.1, 0.3])
        streams = []
        for key in range(keys):
            rows = []
            for t in range(self.random.randint(1, longest)):
                row: o.Row = {"k": f"k{key}", "t": t}
                values: dict[str, list[Any]] = {
                    "x": [0, 1, 2, 3],
                    "y": [0, 1, 2],
                    "s": ["a", "ab", "b"],
                    "b": [True, False],
                }
                for name, choices in values.items():
                    row[name] = None if self.chance(nulls) else self.random.choice(choices)
                rows.append(row)
            streams.append(rows)
        return streams


def variables(part: Any) -> list[str]:
    match part:
        case o.Var(name):
            return [name]
        case o.Seq(parts) | o.Permute(parts) | o.Alt(parts):
            return [name for one in parts for name in variables(one)]
        case o.Rep(inner) | o.Exclude(inner):
            return variables(inner)
    return []


def nullable(part: Any) -> bool:
    match part:
        case o.Seq(parts) | o.Permute(parts):
            return all(map(nullable, parts))
        case o.Alt(parts):
            return any(map(nullable, parts))
        case o.Rep(inner, least):
            return least == 0 or nullable(inner)
        case o.Exclude(inner):
            return nullable(inner)
    return False
