"""Endless streams: events that wait for the watermark, and state that expires."""
