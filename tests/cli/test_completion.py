"""Shells complete commands and paths."""

import os
import subprocess

import pytest

from tests.cli.commands import WEX


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("wex ch", "plain,check"),
        ("wex find s", "file,s"),
        ("wex run t.wex --out", "plain,--output"),
    ],
)
def test_commands_options_and_paths_are_completed(words: str, expected: str) -> None:
    told = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    environment = {**os.environ, **told, "_WEX_COMPLETE": "bash_complete"}
    done = subprocess.run([WEX], capture_output=True, check=False, env=environment)
    assert done.stdout.decode().splitlines()[0] == expected
