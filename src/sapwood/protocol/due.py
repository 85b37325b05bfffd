"""Stored times, used so that a wrong one does no lasting harm.

A broker keeps the times at which something is due, and looks at them at every tick. A time that was
spoilt (far in the future, or no number at all) must not mean that something never happens: whatever
does not lie within its own period from now is due at once. And what has been so since a time cannot
have been so since a later one than now. A value that cannot even be compared is no time either: it
would raise at every tick, before anybody came to store another one.
"""

from __future__ import annotations


def is_due(at: float, now: float, period: float) -> bool:
    """Whether a time that was stored as at most a period ahead has come, or makes no sense."""
    # Written so that what is no number is due.
    try:
        return not now < at <= now + period
    except TypeError:
        return True


def past(since: float, now: float) -> float:
    """A time that has been, as it was stored; now, if that makes no sense."""
    try:
        return since if since <= now else now
    except TypeError:
        return now
