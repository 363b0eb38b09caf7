"""The command `wex`: one module per subcommand; what they share is in `terminal`."""

from __future__ import annotations

import sys

FINE, FINDING, MISTAKE, ENGINE_FAILED, INTERRUPTED = 0, 1, 2, 3, 130


def main() -> None:
    """Run the command line; a user's mistake ends in a sentence and a status, never a traceback."""
    try:
        from wex.cli.app import run  # noqa: PLC0415  (an interrupt while it loads is one, too)

        status = run()
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)
