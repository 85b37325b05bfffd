"""What a live broker noted, as columns of rows: mostly in compiled code, without the interpreter.

Needs the extra ``matching`` (NumPy and Numba).
"""
