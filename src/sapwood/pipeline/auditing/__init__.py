"""Audits: what a trace shows, against the definitions of a correct system."""
