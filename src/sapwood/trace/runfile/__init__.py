"""A Parquet writer of our own, for columns that are given as runs (docs/decisions/trace-files.md).

`parquet.write` is what others call; `runs` is what they hand to it.
"""
