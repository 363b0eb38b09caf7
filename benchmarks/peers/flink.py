"""Apache Flink in an environment of its own: it pins numpy, pandas and pyarrow of other years."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
ENVIRONMENT = REPOSITORY / ".venv-flink"
REQUIREMENTS = REPOSITORY / "requirements" / "flink.txt"
WORKER = Path(__file__).with_name("flink_worker.py")


class FlinkMissingError(Exception):
    """Flink cannot be had on this machine."""


def python() -> Path:
    """Return the Python that has Flink; install it first where it is missing."""
    ready = ENVIRONMENT / ".ready"
    if not ready.exists():
        print(f"Setting up {ENVIRONMENT.name} (Flink is 230 MB) ...", flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
            pip = [
                str(ENVIRONMENT / "bin" / "pip"),
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ]
            subprocess.run([*pip, "--require-hashes", "-r", str(REQUIREMENTS)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise FlinkMissingError(f"Flink could not be installed: {error}") from error
        ready.touch()
    return ENVIRONMENT / "bin" / "python"


def version() -> str:
    """Return the version of Flink that is pinned."""
    lines = REQUIREMENTS.read_text("utf-8").splitlines()
    pinned = next(line for line in lines if line.startswith("apache-flink=="))
    return pinned.split()[0].partition("==")[2]


def run(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run jobs in one JVM; return their answers (`flink_worker`)."""
    interpreter = python()
    with tempfile.TemporaryDirectory() as folder:
        request, answer = Path(folder, "request.json"), Path(folder, "answer.json")
        request.write_text(json.dumps(jobs), "utf-8")
        worker = subprocess.run(
            [interpreter, WORKER, request, answer],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # Only what the worker needs: paths of this environment would hide those of Flink's.
            env={
                name: os.environ[name]
                for name in ("PATH", "HOME", "JAVA_HOME")
                if name in os.environ
            },
            check=False,
        )
        if not answer.exists():
            last = (worker.stderr.strip().splitlines() or ["no message"])[-1]
            raise FlinkMissingError(f"Flink does not run here: {last}")
        return list(json.loads(answer.read_text("utf-8")))
