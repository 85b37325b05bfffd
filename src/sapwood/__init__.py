"""Sapwood: a publish/subscribe network that manages itself.

>>> import sapwood
>>> sapwood.Filter("price > 100").covers(sapwood.Filter("price > 200"))
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sapwood.errors import SapwoodError
from sapwood.filters import BloomFilter, Filter, Notification, NotificationId

if TYPE_CHECKING:
    from sapwood.runtime.client import Bus, Gap, Subscription, connect

__all__ = [
    "BloomFilter",
    "Bus",
    "Filter",
    "Gap",
    "Notification",
    "NotificationId",
    "SapwoodError",
    "Subscription",
    "__version__",
    "connect",
]

_WHERE = {
    "Bus": "sapwood.runtime.client",
    "Gap": "sapwood.runtime.client",
    "Subscription": "sapwood.runtime.client",
    "connect": "sapwood.runtime.client",
}
"""What is looked up when it is asked for, so that importing filters stays quick."""

_MODULES = {"errors", "matching", "sync", "testing"}
"""What users may reach by ``import sapwood`` alone."""


def __getattr__(name: str) -> object:
    """Look up what would make the import of this package slow."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - see above

        return version("sapwood")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in _MODULES:
        return import_module(f"sapwood.{name}")
    raise AttributeError(f"module 'sapwood' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All there is, looked up already or not."""
    return sorted({*globals(), *__all__, *_MODULES})
