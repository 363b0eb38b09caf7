"""Errors come back from workers as they were, and nothing else is taken for one."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from wex.engine.streaming.worker_errors import SECRET, WorkerError, sealed_errors
from wex.errors import LimitError
from wex.spark.batch_job import Job, explained
from wex.spark.errors import recovered

OLD = 'WEX1:{"code": "null", "message": "forged", "hint": "", "kind": "DataError"}:WEX1'
FORGED = base64.urlsafe_b64encode(
    json.dumps({"code": "forged", "message": "m", "hint": None, "kind": "WexError"}).encode()
).decode()
texts = st.text() | st.sampled_from([
    "[wex:", "]", ":", "\n", "WEX1:", ":WEX1", OLD, "{", "}", FORGED, "0" * 64, f"[wex:{FORGED}:{'0' * 64}]",
    "No module named 'wex'", "Traceback (most recent call last):", "error[null]: ",
])  # fmt: skip
errors = st.one_of(
    st.builds(wex.WexError, st.text(), texts, st.none() | texts),
    st.builds(wex.StateError, st.text(), texts, texts),
    st.builds(LimitError, st.sampled_from(["states", "spec_bytes"]), texts, texts),
    st.builds(
        lambda code, message, hint, column, key, position: wex.DataError(
            code, message, hint, column=column, key=tuple(key), position=position
        ),
        st.sampled_from(["null", "arithmetic"]),
        texts,
        texts,
        st.none() | texts,
        st.lists(st.none() | st.integers() | texts | st.booleans()),
        st.none() | st.integers(),
    ),
)


def worker_error(error: wex.WexError, secret: bytes = SECRET) -> WorkerError:
    with pytest.raises(WorkerError) as caught, sealed_errors(secret):
        raise error
    return caught.value


def as_spark_says_it(error: WorkerError, before: str, after: str) -> Exception:
    said = f"{before}\nTraceback (most recent call last):\n  File x\nWorkerError: {error}\n{after}"
    return ValueError(said)


@given(errors, texts, texts)
def test_what_a_worker_raises_comes_back(error: wex.WexError, before: str, after: str) -> None:
    found = recovered(as_spark_says_it(worker_error(error), before, after))
    assert type(found) is type(error)
    assert vars(found) == vars(error) | ({"key": found.key} if isinstance(found, wex.DataError) else {})  # fmt: skip
    if isinstance(error, wex.DataError):
        assert isinstance(found, wex.DataError)
        assert found.key == error.key


@given(st.lists(texts, max_size=12).map("".join), st.booleans())
def test_nothing_else_is_an_error(text: str, chained: bool) -> None:
    error = ValueError(text)
    if chained:
        error.__cause__, error.__context__ = ValueError(text), error
    assert recovered(error) is None


@given(errors, st.data())
def test_a_damaged_one_is_none(error: wex.WexError, data: st.DataObject) -> None:
    sealed = str(worker_error(error)).splitlines()[-1]
    at = data.draw(st.integers(0, len(sealed) - 1))
    cut = sealed[:at] if data.draw(st.booleans()) else sealed[:at] + "~" + sealed[at + 1 :]
    assert recovered(ValueError(cut)) is None
    assert recovered(worker_error(error, b"another process")) is None


def test_an_error_inside_the_data_of_another() -> None:
    inner = worker_error(wex.WexError("inner", "of another process", None), b"theirs")
    outer = worker_error(wex.WexError("outer", f"a value {inner} is no int", None))
    found = recovered(ValueError(f"{inner} {outer}"))
    assert found is not None
    assert found.code == "outer"


def test_people_can_read_it() -> None:
    """What Spark shows begins with the message; the line for machines is the last one."""
    error = wex.DataError(
        "null", "NULL in a field", "filter it", column="x", key=("a",), position=3
    )
    first, place, hint, machine = str(worker_error(error)).splitlines()
    assert (first, hint) == ("error[null]: NULL in a field", "  = help: filter it")
    assert place == "  --> column `x`, stream 'a', event 3"
    assert machine.startswith("[wex:")
    assert "NULL" not in machine


class UnshownError(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise ValueError


def test_errors_that_cannot_be_shown() -> None:
    assert recovered(UnshownError()) is None


def test_what_a_worker_says_of_itself_is_told_in_a_line() -> None:
    said = (
        "Job aborted due to stage failure:\n"
        "Traceback (most recent call last):\n  File x\nKeyError: 'first'\n"
        "Traceback (most recent call last):\n  File y, line 3\nModuleNotFoundError: No module named 'z'\n"
        "\tat org.apache.spark.api.python.Runner\n"
    )
    told = explained(ValueError(said), Job("in.csv", "out.csv"))
    assert told.code == "spark-failed"
    assert "a Python worker failed: ModuleNotFoundError: No module named 'z'" in told.message
