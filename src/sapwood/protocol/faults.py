"""What comes of values in memory that make no sense: the exceptions of code that is right.

After a transient fault any variable may hold anything, and then nearly everything may raise. What
raises is a detected fault; whoever notices lets the part that it was about begin anew.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from sapwood.errors import SapwoodError

FAULTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    SapwoodError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
    struct.error,
)


class RequestLostError(Exception):
    """A fault was found while a client's request was handled: it is seen to, once mended."""

    def __init__(self, client: str, message: object, request: int) -> None:
        super().__init__(client, request)
        self.client = client
        self.message = message
        self.request = request
