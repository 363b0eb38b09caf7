"""Kernels compile whatever the cache on disk holds, and cannot write to a user's table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.cpu import CPUTargetOptions

from wex.engine.kernels import cache as module
from wex.engine.kernels.compiled import compiled, compiled_without_refcounts
from wex.engine.kernels.types import read_only


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep compiled code in a directory of its own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return module.cache_directory()


def doubled(make: Callable[[Any], Any] = compiled) -> Any:
    def double(x: int) -> int:
        return 2 * x

    return make(double)


def hits(kernel: Any) -> int:
    return sum(kernel.dispatcher.stats.cache_hits.values())


def test_a_kernel_is_read_from_the_cache(cache: Path) -> None:
    first, second = doubled(), doubled()
    assert (first(4), hits(first)) == (8, 0)
    (file,) = cache.iterdir()
    assert file.name.startswith("double-")
    assert (second(4), hits(second)) == (8, 1)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut off": lambda saved: saved[: len(saved) // 2],
    "a bit flipped": lambda saved: saved[:-100] + bytes([saved[-100] ^ 1]) + saved[-99:],
    "something else": lambda _: b"not compiled code",
    # A pickle of a class in a module that is gone, as an older version may have left it behind.
    "stale": lambda _: module.FRAME.closed(b"cwex.engine.kernels.gone\nSegments\n."),
    "of another shape": lambda _: module.FRAME.closed(b"]."),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_cache_is_compiled_anew(cache: Path, damage: Callable[[bytes], bytes]) -> None:
    doubled()(4)
    (file,) = cache.iterdir()
    saved = file.read_bytes()
    file.write_bytes(damage(saved))
    kernel = doubled()
    assert (kernel(4), hits(kernel)) == (8, 0)
    again = doubled()
    assert (again(4), hits(again)) == (8, 1)  # the damaged file was replaced


def test_without_a_directory_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.devnull)
    kernel = doubled()
    assert kernel(4) == 8
    again = doubled()
    assert (again(4), hits(again)) == (8, 0)


def test_files_of_numba_beside_the_kernels_are_not_read(tmp_path: Path) -> None:
    """Run from a copy of the package whose `__pycache__` holds an index of numba that is stale."""
    package = Path(module.__file__).parents[2]
    copy = tmp_path / "wex"
    shutil.copytree(package, copy)
    beside = copy / "engine" / "kernels" / "__pycache__"
    beside.mkdir(exist_ok=True)
    code = """
import pickle, sys, pathlib, numba
import wex.engine.kernels.scans as scans
line = scans.keep_disjoint.function.__code__.co_firstlineno
name = f"scans.keep_disjoint-{line}.py{sys.version_info[0]}{sys.version_info[1]}.nbi"
stale = pickle.dumps(numba.__version__) + b"cwex.engine.kernels.gone\\nSegments\\n."
pathlib.Path(scans.__file__).with_name("__pycache__").joinpath(name).write_bytes(stale)
import numpy as np
numbers = np.zeros(1, dtype=np.int64)
assert scans.keep_disjoint(numbers, numbers, numbers, numbers - 1)[0].all()
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": os.devnull}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_references_are_counted_if_numba_cannot_leave_them_out(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doubled(compiled_without_refcounts).dispatcher.targetoptions["_nrt"] is False
    owner = next(kind for kind in CPUTargetOptions.__mro__ if "_nrt" in vars(kind))
    monkeypatch.delattr(owner, "_nrt")
    kernel = doubled(compiled_without_refcounts)
    assert "_nrt" not in kernel.dispatcher.targetoptions
    assert kernel(4) == 8


def test_a_kernel_that_writes_to_its_input_does_not_compile(cache: Path) -> None:
    def spoil(column: Any) -> None:
        column[0] = 1

    with pytest.raises(numba.TypingError, match="readonly"):
        compiled(spoil)(read_only(np.zeros(3)))


@pytest.mark.parametrize("writeable", [True, False])
def test_read_only_arrays_share_memory(writeable: bool) -> None:
    array = np.arange(6)
    array.flags.writeable = writeable
    view = read_only(array)
    assert np.shares_memory(view, array)
    assert not view.flags.writeable
    assert array.flags.writeable == writeable
    assert read_only(array[::2]).tolist() == [0, 2, 4]
