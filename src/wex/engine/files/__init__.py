"""Reads and writes tables in files: Parquet, CSV, JSON lines and Arrow, with declared types.

`sources` finds the files that a user names, and `reading` opens each in its format. `texts` and
`moments` convert the texts of CSV and JSON to values. `guesses` explains values that cannot be read
and suggests options. `writing` writes tables.
"""
