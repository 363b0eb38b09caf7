"""Predicates as typed terms: their evaluation, satisfiability, projection, and letters."""
