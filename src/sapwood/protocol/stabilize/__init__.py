"""Self-stabilization: from any state back to a correct one, within a stated time.

What a transient fault did to routing tables, to the tree or to streams is found by looking again
every so often, and mended. How long that takes is computed in ``sapwood.analysis.stabilization``.
"""
