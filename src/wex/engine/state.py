"""What a processor remembers of its streams, in columns, and as bytes.

A row for each stream: its key, its position, the states of its automata. And lists of rows that
belong to a stream: its last events, the starts that are open in each window with their panes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.arrays import spans
from wex.engine.ipc import from_ipc, to_ipc
from wex.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MAGIC = b"WEXSTATE"
VERSION = 1
CHECKSUM = 32
KEY = "key."  # before the names of key columns
COUNT = "#"  # the column that counts the rows of a list is named for the list


@dataclass(frozen=True, eq=False)
class State:
    """`streams` has a row for each stream; `lists[name]` the rows that its column `#name` counts."""

    streams: pa.Table
    lists: dict[str, pa.Table]

    @property
    def size(self) -> int:
        """Return how many streams there are."""
        return int(self.streams.num_rows)

    def numbers(self, name: str) -> Ints:
        """Return a column of whole numbers."""
        found: Ints = self.streams.column(name).to_numpy()
        return found

    def keys(self, names: Sequence[str]) -> pa.Table:
        """Return the keys of the streams."""
        numbers = {"#": self.streams.column("position")}  # a row for a stream without a key
        return pa.table({**numbers, **{name: self.streams.column(KEY + name) for name in names}})

    def counts(self, name: str) -> Ints:
        """Return how many rows of a list each stream has."""
        return self.numbers(COUNT + name)

    def take(self, rows: Ints) -> State:
        """Return some of the streams, in that order."""
        lists = {}
        for name, table in self.lists.items():
            counts = self.counts(name)
            begin = np.cumsum(counts) - counts
            lists[name] = table.take(pa.array(spans(begin[rows], (begin + counts)[rows])))
        return State(self.streams.take(pa.array(rows)), lists)


def joined(states: Sequence[State]) -> State:
    """Return the streams of several states, one after the other."""
    lists = {
        name: pa.concat_tables([each.lists[name] for each in states], promote_options="permissive")
        for name in states[0].lists
    }
    streams = pa.concat_tables([each.streams for each in states], promote_options="permissive")
    return State(
        streams.combine_chunks(), {name: each.combine_chunks() for name, each in lists.items()}
    )


def to_bytes(state: State, fingerprint: str) -> bytes:
    """Return a state as bytes that say what they are, and which plan they belong to."""
    tables = {"": state.streams, **state.lists}
    payloads = [to_ipc(table, compressed=True) for table in tables.values()]
    index = {
        "plan": fingerprint,
        "tables": list(tables),
        "sizes": [len(payload) for payload in payloads],
    }
    head = MAGIC + VERSION.to_bytes(2, "big")
    written = json.dumps(index, separators=(",", ":")).encode()
    body = len(written).to_bytes(4, "big") + written + b"".join(payloads)
    return head + hashlib.sha256(head + body).digest() + body


def from_bytes(content: bytes, fingerprint: str) -> State:
    """Return the state in some bytes; whatever is wrong with them is a StateError."""
    head = MAGIC + VERSION.to_bytes(2, "big")
    if not isinstance(content, bytes | bytearray | memoryview):
        message = f"a {type(content).__name__} is no state"
        raise StateError("not-state", message, "give the bytes that state() has returned")
    content = bytes(content)
    if not content.startswith(MAGIC):
        raise StateError("not-state", "these bytes are no state", "give what state() has returned")
    if not content.startswith(head):
        found = int.from_bytes(content[len(MAGIC) : len(head)], "big")
        message = f"this state is of version {found}, and this wex reads version {VERSION}"
        hint = "read it with the version that has written it, or process the stream anew"
        raise StateError("state-version", message, hint)
    checksum, body = content[len(head) :][:CHECKSUM], content[len(head) + CHECKSUM :]
    if hashlib.sha256(head + body).digest() != checksum:
        message = "this state is damaged: its checksum does not fit"
        raise StateError("state-damaged", message, "give all the bytes that state() has returned")
    length = int.from_bytes(body[:4], "big")
    index = json.loads(body[4 : 4 + length])
    if index["plan"] != fingerprint:
        message = "this state belongs to another spec"
        hint = "restore it with the spec that it was saved with, or process the stream anew"
        raise StateError("state-spec", message, hint)
    tables, begin = {}, 4 + length
    for name, size in zip(index["tables"], index["sizes"], strict=True):
        tables[name] = from_ipc(body[begin : begin + size])
        begin += size
    return State(tables.pop(""), tables)
