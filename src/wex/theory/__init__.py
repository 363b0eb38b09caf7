"""What predicates mean: typed terms, their evaluation, satisfiability, and letters."""
