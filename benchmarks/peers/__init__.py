"""Other systems beside WEX: `make bench-peers`.

- `pages` reads the queries of docs/compare, with the data they run on there.
- `flink` sets up Apache Flink in an environment of its own and runs jobs in it.
- `agreement` runs those queries on Flink, and compares the matches.
- `speed` measures both on the same file.
"""
