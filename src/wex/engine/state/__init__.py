"""The state of streams between batches: its schema, its store, its bytes and their check."""
