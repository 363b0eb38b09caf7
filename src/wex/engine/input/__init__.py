"""Input: Arrow data as batches of events that conform to the stream line, sorted by stream."""
