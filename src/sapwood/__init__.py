"""Sapwood: a publish/subscribe network that manages itself.

>>> import sapwood
>>> sapwood.Filter("price > 100").covers(sapwood.Filter("price > 200"))
True
"""

from __future__ import annotations

from sapwood.errors import SapwoodError
from sapwood.filters import BloomFilter, Filter, Notification, NotificationId

__all__ = [
    "BloomFilter",
    "Filter",
    "Notification",
    "NotificationId",
    "SapwoodError",
    "__version__",
]


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: reading package metadata is slow."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - see above

        return version("sapwood")
    raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
