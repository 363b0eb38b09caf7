"""Tables as bytes, in the stream format of Arrow: types survive, and anything that knows Arrow reads it."""

from __future__ import annotations

import pyarrow as pa


def to_ipc(table: pa.Table, *, compressed: bool = False) -> bytes:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if compressed else None)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def from_ipc(content: bytes) -> pa.Table:
    """Return the table in some bytes."""
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


def sound_table(content: bytes) -> pa.Table:
    """Return the table in bytes that nobody vouches for; what Arrow cannot work with is an error."""
    table = from_ipc(content)
    table.validate(full=True)
    return table
