"""Regions: the events that can come next in any stream, as a finite graph."""
