"""What brokers say to each other under the generic wrapper (Jaeger 2007, 3.4.1).

These have no form on the wire: the wrapper runs in the simulator only.
"""

from __future__ import annotations

from typing import TypeAlias, cast

import msgspec

from sapwood.protocol.messages import Advertise, Message, Subscribe, Unadvertise, Unsubscribe

BOTH = 2
"""In place of the number of a table: it is meant for both."""

Declaration: TypeAlias = Subscribe | Unsubscribe | Advertise | Unadvertise


class Tagged(msgspec.Struct, frozen=True, gc=False):
    """A control message, and for which of the two tables it is."""

    table: int
    message: Declaration


class Switch(msgspec.Struct, frozen=True, gc=False):
    """A table is to be built anew from now on."""

    kind: str
    """Of subscriptions or of advertisements."""
    table: int


def as_message(message: Tagged | Switch) -> Message:
    """For effects and events, which carry them like any other."""
    return cast("Message", message)
