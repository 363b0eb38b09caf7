"""Regions: what can come next in any stream, as a finite graph."""
