"""Window expressions: from the pairs of a spec to letters and automata."""
