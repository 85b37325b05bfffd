"""Routing per edge, message by message: the evaluation of hybrid routing (Schröter et al.)."""
