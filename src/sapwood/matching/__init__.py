"""Which of many filters match a notification, and where it has to go.

A few filters are matched in plain Python. The engine for many needs the extra ``matching`` (NumPy
and Numba), and loads them when it is needed; without them an index of any size works, slowly.
"""

from sapwood.matching.index import MatchIndex
from sapwood.matching.loading import preload

__all__ = ["MatchIndex", "preload"]
