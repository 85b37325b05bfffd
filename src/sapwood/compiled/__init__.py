"""What all compiled code shares: how it is compiled and cached, raw memory, a table of bytes.

Needs Numba, as its users do; nothing here is loaded by `import sapwood`.
"""
