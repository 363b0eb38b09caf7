"""The schema of a state: the names of its columns and lists, in the one place that knows them.

A state has a table with a row for each stream, and *lists*: tables with any number of rows for each
stream, which a column of the first table counts. The names are part of the saved bytes, so that
another name needs another version.
"""

from __future__ import annotations

import pyarrow as pa

# --- The table of streams: whole numbers, beside the keys

KEY = "key."  # before the name of a key column
COUNT = "#"  # before the name of the list whose rows are counted
POSITION = "position"  # of the next event
ASSUMPTION = "promise"  # the state of the automaton that checks `assume`


def key(name: str) -> str:
    """Return the column for a key of the stream."""
    return KEY + name


def count(name: str) -> str:
    """Return the column that counts the rows of a list."""
    return COUNT + name


def machine_state(window: int) -> str:
    """Return the column for the state of a window's machine: a config, or a prefix state."""
    return f"state.{window}"


def last_end(window: int) -> str:
    """Return the column for the end of the last window that `keep disjoint` kept; -1: none.

    For `keep leftmost` it is the last event that no further window may start at.
    """
    return f"last.{window}"


def prefix_state(window: int) -> str:
    """Return the column for the automaton of the events before a window that has labels.

    It is the state before the oldest event that is kept with all the events it looks back at.
    """
    return f"prefix.{window}"


def stream_columns(windows: int, *, rated: bool = False) -> dict[str, int]:
    """Return the columns for so many windows, each with its value before the first event."""
    columns = {POSITION: 0, ASSUMPTION: 0, count(TAIL): 0}
    for window in range(windows):
        columns |= {machine_state(window): 0, last_end(window): -1, count(held(window)): 0}
    return columns | ({count(RATES): 0} if rated else {})


# --- The lists

TAIL = "tail"  # the last events of each stream, with the columns of the events
RATES = "rates"  # the times of the last events, if `assume` says how many there are in a time


def held(window: int) -> str:
    """Return the list of the open starts of a window."""
    return f"held.{window}"


def list_names(windows: int, *, rated: bool = False) -> list[str]:
    """Return the lists for so many windows."""
    return [TAIL, *map(held, range(windows)), *([RATES] if rated else [])]


# --- The columns of open starts

SLOT = "slot"  # of a config, or the state of the window automaton
CLOCK = "clock"  # what `within` measures; 0 without `within`
TIME = "time"  # the first order column, if there is one
FAILED = "spoilt"  # of a fold: whether arithmetic failed for an event of the pane
HELD_NUMBERS = (POSITION, SLOT, CLOCK)

# Windows by preference: the end of the best window so far and its time, -1 and NULL without one. Of a
# row that only divides panes, where such a window ends, the slot is BORDER.
CANDIDATE = "candidate"
CANDIDATE_TIME = "candidate.time"
BORDER = -1

# Windows that a watermark can report: the watermark that reports the window of a start, if no event comes
# before. It is computed when it is asked for.
CLOSES = "closes"
NOT_ASKED = 0
REPORTED = -1
NEVER = 2**63 - 1


def part(fold: int, name: str) -> str:
    """Return the column for a part of a fold over the pane of an open start."""
    return f"{fold}.{name}"


def register(number: int) -> str:
    """Return the column for a register of an open start: an aggregate in a predicate has some."""
    return f"register.{number}"


def held_columns(
    time: pa.DataType | None,
    parts: dict[str, pa.DataType],
    *,
    prefers: bool = False,
    closes: bool = False,
) -> dict[str, pa.DataType]:
    """Return the columns of open starts: the type of the first order column, and parts of folds."""
    columns = dict.fromkeys(HELD_NUMBERS, pa.int64())
    times = {} if time is None else {TIME: time}
    if prefers:
        columns[CANDIDATE] = pa.int64()
        times |= {} if time is None else {CANDIDATE_TIME: time}
    if closes:
        columns[CLOSES] = pa.int64()
    return columns | times | parts
