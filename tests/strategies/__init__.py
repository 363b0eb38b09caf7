"""Random specs, events and streams for the laws, and how many of them a law tries."""

from __future__ import annotations

from hypothesis import settings


def fewer(share: int) -> settings:
    """Return settings with a share of the examples of the profile, for laws whose examples are large."""
    return settings(max_examples=settings().max_examples // share)
