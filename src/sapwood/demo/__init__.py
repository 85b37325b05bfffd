"""The demonstration: a network of broker processes with a workload, faults, and a verdict.

It prints nothing: what happens goes to whoever watches (`sapwood.demo.run.Observer`).
"""
