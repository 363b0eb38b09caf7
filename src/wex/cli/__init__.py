"""The command `wex`: one module for each subcommand; `terminal` holds what they share."""

from __future__ import annotations

import gc
import sys

# Exit statuses.
FINE, FINDING, MISTAKE, ENGINE_FAILED, INTERRUPTED = 0, 1, 2, 3, 130

OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    """Run the command line; a user's mistake ends in a message and a status, never a traceback."""
    # Imports make many objects and next to no garbage: looking for it was a third of the time.
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        from wex.cli.app import run  # noqa: PLC0415  (an interrupt while it loads is one, too)

        status = run()
    except KeyboardInterrupt:
        status = INTERRUPTED
    gc.freeze()  # spares the collection at exit
    sys.exit(status)
