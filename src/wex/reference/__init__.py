"""The definition of a window as code, slow and obvious: every other engine is tested against it.

It shares nothing with the engine that it checks. From `wex.engine` come only the conversion of
data to Arrow columns and of results from them (`input.columns`, `measures.results`), the check of
time zones, the calls of a user's own aggregate, and the errors with their texts (`data_errors`).
"""
