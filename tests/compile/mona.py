"""MONA as an oracle for formulas: the same formula in its notation, its automaton beside ours."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from wex.automata.tracks import Variable
from wex.compile import logic
from wex.compile.logic import Logic, Place
from wex.compile.window import CompiledWindow

HERE = shutil.which("mona")
MISSING = (
    "MONA is not installed (Debian: apt-get install mona), so there is nothing to compare with"
)


def program(formula: Logic, guards: dict[object, str]) -> str:
    """Return a program whose automaton is that of a formula; quantifiers reach up to `end`."""
    names = ", ".join(guards.values())
    declared = f"var2 {names};\n" if names else ""
    return f"{declared}var1 begin, end;\nbegin <= end & ({_formula(formula, guards)});\n"


def _formula(node: Logic, guards: dict[object, str]) -> str:
    match node:
        case logic.Constant(value):
            return "true" if value else "false"
        case logic.Letter(predicate, place, holds):
            return _signed(_inside(place, guards[predicate]), holds)
        case logic.Member(place, chosen, holds):
            return _signed(_inside(place, chosen.name), holds)
        case logic.Order(op, left, right):
            low = min(left.offset, right.offset)
            sides = [f"{_name(each)} + {each.offset - low}" for each in (left, right)]
            return f"({sides[0]} {'~=' if op == '!=' else op} {sides[1]})"
        case logic.Both(parts):
            return "(" + " & ".join(_formula(part, guards) for part in parts) + ")"
        case logic.Either(parts):
            return "(" + " | ".join(_formula(part, guards) for part in parts) + ")"
        case logic.Same(left, right):
            return f"({_formula(left, guards)} <=> {_formula(right, guards)})"
        case logic.Some(variable, body):
            return f"(ex{_order(variable)} & ({_formula(body, guards)}))"
        case logic.Every(variable, body):
            return f"(all{_order(variable)} => ({_formula(body, guards)}))"
    raise TypeError(node)


def _order(variable: Variable) -> str:
    name = variable.name
    if variable.is_set:
        return f"2 {name}: (all1 q{name}: q{name} in {name} => q{name} <= end)"
    return f"1 {name}: {name} <= end"


def _name(place: Place) -> str:
    return "end" if place.variable is None else place.variable.name


def _inside(place: Place, chosen: str) -> str:
    """Return that a place is in a set, and in the word: numbers have no negative ones."""
    name = _name(place)
    if place.offset >= 0:
        return f"({name} + {place.offset} <= end & {name} + {place.offset} in {chosen})"
    return f"(ex1 back: back + {-place.offset} = {name} & back in {chosen})"


def _signed(formula: str, holds: bool) -> str:
    return formula if holds else f"~{formula}"


class Oracle:
    """The automaton that MONA gives for a program."""

    def __init__(self, text: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "formula.mona"
            path.write_text(text)
            command = [str(HERE), "-w", "-q", "-n", "-u", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout
        assert "Transitions" in said, (text, said, done.stderr)
        self.names = re.search(r"free variables: (.*)", said).group(1).split()  # type: ignore[union-attr]
        accepting = re.search(r"Accepting states: ([\d ]*)", said).group(1)  # type: ignore[union-attr]
        self.accepting = set(map(int, accepting.split()))
        self.moves: dict[int, list[tuple[str, int]]] = {}
        for state, bits, after in re.findall(r"State (\d+): ([01X]*) -> state (\d+)", said):
            self.moves.setdefault(int(state), []).append((bits, int(after)))
        # The first transition is about variables without positions: there are none here.
        self.initial = self.moves[0][0][1]

    def step(self, state: int, marks: dict[str, bool]) -> int:
        """Return the state behind a position that lies in some of the sets."""
        bits = ["1" if marks[name] else "0" for name in self.names]
        for pattern, after in self.moves[state]:
            if all(one in ("X", two) for one, two in zip(pattern, bits, strict=True)):
                return after
        raise AssertionError((state, bits))


def disagreement(
    compiled: CompiledWindow, oracle: Oracle, guards: list[str]
) -> list[object] | None:
    """Return a word on which the automata differ, or None: by exploring both together."""
    form, letters = compiled.form, compiled.letters
    # Before the window, or the window state in it; MONA's state; the word that led there.
    first: tuple[str, int, int] = ("before", 0, oracle.initial)
    seen: dict[tuple[str, int, int], list[object]] = {first: []}
    pending = [first]
    while pending:
        node = pending.pop()
        where, own, theirs = node
        for letter, row in enumerate(letters.rows):
            truths = dict(zip(guards, row, strict=True))
            for begins in (False, True) if where == "before" else (False,):
                after = own
                if where == "before" and begins:
                    entry = int(form.starts[own])
                    after = -1 if entry < 0 else form.window.step(entry, letter)
                elif where == "before":
                    after = form.prefix.step(own, letter)
                elif own >= 0:
                    after = form.window.step(own, letter)
                inside = where == "within" or begins
                word = [*seen[node], (letter, begins)]
                if inside:
                    ended = oracle.step(theirs, {**truths, "begin": begins, "end": True})
                    accepted = after >= 0 and bool(form.window.final[after])
                    if accepted != (ended in oracle.accepting):
                        return word
                onwards = oracle.step(theirs, {**truths, "begin": begins, "end": False})
                following = ("within" if inside else "before", after, onwards)
                if following not in seen:
                    seen[following] = word
                    pending.append(following)
    return None
