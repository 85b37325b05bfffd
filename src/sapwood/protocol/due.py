"""Stored times, used so that a wrong one does no lasting harm.

A broker keeps the times at which something is due, and looks at them at every tick. A time that was
spoilt (far in the future, or no number at all) must not mean that something never happens: whatever
does not lie within its own period from now is due at once. And what has been so since a time cannot
have been so since a later one than now.
"""

from __future__ import annotations


def is_due(at: float, now: float, period: float) -> bool:
    """Whether a time that was stored as at most a period ahead has come, or makes no sense."""
    # Written so that what is no number is due.
    return not now < at <= now + period


def past(since: float, now: float) -> float:
    """A time that has been, as it was stored; now, if that makes no sense."""
    return since if since <= now else now
