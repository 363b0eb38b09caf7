"""Benchmarks: every number is a ratio to something that ran beside it."""
