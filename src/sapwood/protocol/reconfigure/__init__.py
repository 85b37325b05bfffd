"""Changing the tree while it carries: links are exchanged, brokers leave, and nothing is lost."""
