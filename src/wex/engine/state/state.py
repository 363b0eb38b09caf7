"""The state of streams between batches, as tables and as bytes.

A state has a row for each stream: its key, its position, the states of its automata. It has lists
of rows that belong to a stream: its last events, and for each window its open starts with their
panes. The columns are named in `schema`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.input.columns import spans
from wex.engine.state import schema
from wex.errors import StateError
from wex.framing import Frame, require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.state.shelf import Shelf


FRAME = Frame(
    "state",
    b"WEXSTATE",
    1,
    "read it with the version that has written it, or process the stream anew",
)
# Bytes of a table. A small one costs ten times as much time to compress as to write.
WORTH_COMPRESSING = 1 << 13
WITH_ROWS = "-rows"  # the end of the fingerprint of an engine whose states have events for rows


@dataclass(frozen=True, eq=False)
class State:
    """Tables with the columns of `wex.engine.state.schema`; `lists` are the lists by name.

    `shelves` are lists that short batches have divided; they say nothing that `lists` do not.
    """

    streams: pa.Table
    lists: dict[str, pa.Table]
    shelves: Mapping[str, Shelf] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many streams there are."""
        return int(self.streams.num_rows)

    @property
    def tails(self) -> pa.Table:
        """Return the last events of the streams."""
        return self.lists[schema.TAIL]

    @property
    def tail_counts(self) -> Ints:
        """Return how many last events each stream has."""
        return self.counts(schema.TAIL)

    @property
    def positions(self) -> Ints:
        """Return how many events each stream has had."""
        return self.numbers(schema.POSITION)

    def numbers(self, name: str) -> Ints:
        """Return a column of whole numbers."""
        numbers: Ints = self.streams.column(name).to_numpy()
        return numbers

    def keys(self, names: Sequence[str]) -> pa.Table:
        """Return the keys of the streams."""
        columns = {schema.COUNT: self.streams.column(schema.POSITION)}  # a row without any key
        columns |= {name: self.streams.column(schema.key(name)) for name in names}
        return pa.table(columns)

    def counts(self, name: str) -> Ints:
        """Return how many rows of a list each stream has."""
        return self.numbers(schema.count(name))

    def take(self, rows: Ints) -> State:
        """Return the state of some streams, in the order of the rows given."""
        lists = {}
        for name, table in self.lists.items():
            counts = self.counts(name)
            begin = np.cumsum(counts) - counts
            lists[name] = table.take(pa.array(spans(begin[rows], (begin + counts)[rows])))
        return State(self.streams.take(pa.array(rows)), lists)


def joined(states: Sequence[State]) -> State:
    """Return one state with the streams of several, one after the other."""
    lists = {
        name: pa.concat_tables(
            [state.lists[name] for state in states], promote_options="permissive"
        )
        for name in states[0].lists
    }
    streams = pa.concat_tables([state.streams for state in states], promote_options="permissive")
    return State(
        streams.combine_chunks(), {name: table.combine_chunks() for name, table in lists.items()}
    )


def to_bytes(state: State, fingerprint: str) -> bytes:
    """Return a state as framed bytes, with the fingerprint of its plan."""
    tables = {"": state.streams, **state.lists}
    payloads = [to_ipc(table, compressed=True) for table in tables.values()]
    index = {
        "plan": fingerprint,
        "tables": list(tables),
        "sizes": [len(payload) for payload in payloads],
    }
    written = json.dumps(index, separators=(",", ":")).encode()
    return FRAME.closed(len(written).to_bytes(4, "big") + written + b"".join(payloads))


def from_bytes(content: bytes, fingerprint: str) -> State:
    """Return the state in some bytes, if it is of a plan; anything wrong with them is a StateError.

    The tables are valid for Arrow. Their values are checked by `wex.engine.state.state_check`.
    """
    body = FRAME.opened(content)
    with FRAME.reading():
        length = int.from_bytes(body[:4], "big")
        index = json.loads(body[4 : 4 + length])
        if index["plan"] != fingerprint:
            raise _other_spec(index["plan"], fingerprint)
        names, sizes = index["tables"], index["sizes"]
        require(all(isinstance(name, str) for name in names), "a table has no name")
        require(all(type(size) is int and size >= 0 for size in sizes), "a table has no size")
        require(len(set(names)) == len(names) == len(sizes), "a table stands there twice")
        require(4 + length + sum(sizes) == len(body), "tables are cut off")
        tables, begin = {}, 4 + length
        for name, size in zip(names, sizes, strict=True):
            tables[name] = valid_table(body[begin : begin + size])
            begin += size
        return State(tables.pop(""), tables)


def _other_spec(saved: str, fingerprint: str) -> StateError:
    hint = "restore it with the spec that it was saved with, or process the stream anew"
    if saved in (fingerprint + WITH_ROWS, fingerprint.removesuffix(WITH_ROWS)):
        message = "this state was saved without rows=True, and has no events for rows"
        if saved.endswith(WITH_ROWS):
            message = "this state was saved with rows=True"
        return StateError("state-spec", message, "set rows as it was, or process the stream anew")
    return StateError("state-spec", "this state belongs to another spec", hint)


def to_ipc(table: pa.Table, *, compressed: bool = False) -> bytes:
    """Return a table as bytes, compressed if that is asked for and pays."""
    sink = pa.BufferOutputStream()
    # Arrow would compress on threads of its own, which wait for each other on a busy worker.
    pays = compressed and table.nbytes >= WORTH_COMPRESSING
    options = pa.ipc.IpcWriteOptions(compression="zstd" if pays else None, use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_ipc(content: bytes) -> pa.Table:
    """Return the table in some bytes."""
    options = pa.ipc.IpcReadOptions(use_threads=False)
    with pa.ipc.open_stream(content, options=options) as reader:
        return reader.read_all()


def valid_table(content: bytes) -> pa.Table:
    """Return the table in untrusted bytes; a table that is not valid for Arrow is an error."""
    table = from_ipc(content)
    table.validate(full=True)
    return table
