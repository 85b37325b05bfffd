"""Spark itself: a session, the Java below it, what it raises, and what goes along to workers."""
