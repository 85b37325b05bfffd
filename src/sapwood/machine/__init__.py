"""Machine code on disk: linked and written at installation, mapped and called by brokers.

What the code does is not known here. `sapwood.compiled` makes it with Numba, and falls back to
Numba where it cannot be used; see docs/decisions/machine-code.md.
"""
