"""Benchmarks: what Sapwood does, measured beside simpler ways to do it.

Measuring happens here, showing in `sapwood.cli.bench`. `registry` knows all benchmarks.
"""
