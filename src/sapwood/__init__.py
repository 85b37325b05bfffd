"""Sapwood: a publish/subscribe network that manages itself."""
