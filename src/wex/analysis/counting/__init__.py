"""Counting starts: how many can be open or held at once."""
