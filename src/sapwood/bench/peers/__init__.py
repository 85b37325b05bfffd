"""Brokers that are measured side by side: how each is started, and what its clients say."""
