"""Evaluation over columns: terms, guards and letters, for every row of a batch at once."""
