"""State: what an engine remembers of streams between batches, its store and its bytes."""
