"""Tables in files: Parquet, CSV, JSON lines and Arrow, read with the types that a spec declares.

`sources` finds the files that a user names, `reading` opens each in its format; texts of CSV and
JSON become values in `texts` and `moments`, and what cannot be read is explained by `guesses`.
`writing` is the way back.
"""
