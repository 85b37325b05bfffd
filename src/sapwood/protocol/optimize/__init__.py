"""Lowering the cost of the network by local decisions: which links the tree has."""
