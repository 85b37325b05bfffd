"""Which of many filters match a notification, and where it has to go.

Needs the extra ``matching`` (NumPy and Numba); the rest of ``sapwood`` does without.
"""

from sapwood.matching.index import MatchIndex

__all__ = ["MatchIndex"]
