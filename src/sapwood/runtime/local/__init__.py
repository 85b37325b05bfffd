"""Brokers as processes of this machine: one of them, and a whole network."""
