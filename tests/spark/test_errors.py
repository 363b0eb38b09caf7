"""Errors come back from workers as they were, and nothing else is taken for one."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, UnsupportedOperationException

import wex
from wex.engine.streaming.worker_errors import SECRET, WorkerError, sealed_errors
from wex.errors import LimitError
from wex.spark.batch_job import Job
from wex.spark.errors import error_for_user, recovered

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
    text = f"{before}\nTraceback (most recent call last):\n  File x\nWorkerError: {error}\n{after}"
    return ValueError(text)


@given(errors, texts, texts)
def test_what_a_worker_raises_comes_back(error: wex.WexError, before: str, after: str) -> None:
    result = recovered(as_spark_says_it(worker_error(error), before, after))
    assert type(result) is type(error)
    assert vars(result) == vars(error) | ({"key": result.key} if isinstance(result, wex.DataError) else {})  # fmt: skip
    if isinstance(error, wex.DataError):
        assert isinstance(result, wex.DataError)
        assert result.key == error.key


@given(st.lists(texts, max_size=12).map("".join), st.booleans())
def test_nothing_else_is_an_error(text: str, chained: bool) -> None:
    error = ValueError(text)
    if chained:
        error.__cause__, error.__context__ = ValueError(text), error
    assert recovered(error) is None


@given(errors, st.data())
def test_a_damaged_one_is_none(error: wex.WexError, data: st.DataObject) -> None:
    sealed = str(worker_error(error)).splitlines()[-1]
    index = data.draw(st.integers(0, len(sealed) - 1))
    cut = sealed[:index] if data.draw(st.booleans()) else sealed[:index] + "~" + sealed[index + 1 :]
    assert recovered(ValueError(cut)) is None
    assert recovered(worker_error(error, b"another process")) is None


def test_an_error_inside_the_data_of_another() -> None:
    inner = worker_error(wex.WexError("inner", "of another process", None), b"theirs")
    outer = worker_error(wex.WexError("outer", f"a value {inner} is no int", None))
    result = recovered(ValueError(f"{inner} {outer}"))
    assert result is not None
    assert result.code == "outer"


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
    text = (
        "Job aborted due to stage failure:\n"
        "Traceback (most recent call last):\n  File x\nKeyError: 'first'\n"
        "Traceback (most recent call last):\n  File y, line 3\nModuleNotFoundError: No module named 'z'\n"
        "\tat org.apache.spark.api.python.Runner\n"
    )
    error = error_for_user(ValueError(text), Job("in.csv", "out.csv"))
    assert error.code == "spark-failed"
    assert "a Python worker failed: ModuleNotFoundError: No module named 'z'" in error.message


class Java:
    """An exception of Java's, as py4j shows it; one without a condition does not have the method."""

    def __init__(self, name: str, message: str | None, cause: Java | None = None) -> None:
        self.name, self.message, self.cause = name, message, cause

    def getClass(self) -> Java:  # noqa: N802
        return self

    def getName(self) -> str:  # noqa: N802
        return self.name

    def getMessage(self) -> str | None:  # noqa: N802
        return self.message

    def getCause(self) -> Java | None:  # noqa: N802
        return self.cause


class BridgeError(Exception):
    def __init__(self, java: Java) -> None:
        super().__init__("An error occurred while calling o1.save")
        self.java_exception = java


JOB = Job("in.csv", "out")


def test_causes_of_java() -> None:
    header = Java(
        "x.SparkIllegalArgumentException", "CSV header does not conform to the schema.\n Header: x"
    )
    unreadable = (
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file 1.csv.  SQLSTATE: KD001"
    )
    file = Java("org.apache.spark.SparkException", unreadable, header)
    assert error_for_user(BridgeError(file), JOB).code == "columns-differ"
    file.cause = Java("java.io.IOException", None)
    error = error_for_user(BridgeError(file), JOB)
    assert (error.code, error.message) == (
        "unreadable",
        "Encountered error while reading file 1.csv.",
    )
    file.cause.cause = file  # a cycle
    assert error_for_user(BridgeError(file), JOB).code == "unreadable"
    memory = Java("java.lang.OutOfMemoryError", "Java heap space")
    assert error_for_user(BridgeError(Java("x.SparkException", "Job aborted.", memory)), JOB).message == "Java has no memory left"  # fmt: skip
    other = Java("x.SparkException", "[OTHER] Something else. SQLSTATE: 1\n\tat x")
    error = error_for_user(BridgeError(other), JOB)
    assert (error.code, error.message) == ("spark-failed", "Spark: Something else.")


def test_causes_in_the_trace_of_a_server() -> None:
    error = UnsupportedOperationException(
        "Query failed", errorClass="STREAM_FAILED", messageParameters={}
    )
    error.getStackTrace = lambda: (  # type: ignore[attr-defined]
        "x.StreamingQueryException\n\tat x\nCaused by: x.SparkException: [CAST_INVALID_INPUT] The value 'a'. SQLSTATE: 2"
    )
    explanation = error_for_user(error, JOB)
    assert (explanation.code, explanation.message) == ("wrong-value", "in.csv: The value 'a'.")


@pytest.mark.parametrize("name", ["PATH_NOT_FOUND", "PATH_NOT_FOUND.BELOW"])
def test_conditions_and_not_words(name: str) -> None:
    """A condition counts where Spark gives it, and not where a message mentions it."""
    error = AnalysisException("nothing in words", errorClass=name, messageParameters={})
    assert error_for_user(error, JOB).code == "no-file"
    assert (
        error_for_user(ValueError("a value PATH_NOT_FOUND, or [PATH_NOT_FOUND] "), JOB).code
        == "spark-failed"
    )
    assert error_for_user(AnalysisException("PATH_NOT_FOUND", errorClass=name.replace("FOUND", "FOUNDER"), messageParameters={}), JOB).code == "spark-refused"  # fmt: skip


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), ConnectionResetError()]
)
def test_java_has_ended(error: Exception) -> None:
    assert error_for_user(error, JOB).message.startswith("the Java process of Spark has ended")
    elsewhere = Java("java.net.ConnectException", "Connection refused")
    assert "Java process" not in error_for_user(BridgeError(elsewhere), JOB).message
