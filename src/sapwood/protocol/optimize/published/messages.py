"""What brokers say to each other under the published heuristics: m_K and m_Q (thesis 5.5.4).

They have no form on the wire: the heuristics run in the simulator.
"""

from __future__ import annotations

from typing import cast

import msgspec

from sapwood.protocol.messages import Message


class Knowledge(msgspec.Struct, frozen=True, gc=False):
    """What the origin knows about itself, and what the way from it to the receiver costs (m_K)."""

    path: tuple[str, ...]
    """From the origin to the sender."""
    processing: tuple[float, ...]
    """What the brokers of the path cost."""
    links: tuple[float, ...]
    """What the links of the path cost: one less."""
    recent: bytes
    """Which notifications concern the origin: a Bloom filter, or a sketch."""


class RingRequest(msgspec.Struct, frozen=True, gc=False):
    """Which link of a ring had best go if its ends were linked (m_Q); on its way along the path."""

    path: tuple[str, ...]
    """From the broker that would like to be linked to the last."""
    links: tuple[float, ...]
    """What the links of the ring cost, the new one last; the first broker has just heard it."""
    processing: tuple[float, ...]
    """What the brokers of the ring cost."""
    costs: tuple[float, ...]
    """By link of the ring, the new one last: what the ring would cost without it, so far."""
    addresses: tuple[str, ...]
    """Where the first of the path can be dialled."""


class RingAgreed(msgspec.Struct, frozen=True, gc=False):
    """A link is to go for the new one; on its way along the path to the broker that begins."""

    path: tuple[str, ...]
    """From the sender of it to the broker that begins: the ring."""
    k: int
    """How many of the ring, counted from who begins, are on that broker's side of the link."""
    addresses: tuple[str, ...]
    """Where the first of the path can be dialled."""


def as_message(message: Knowledge | RingRequest | RingAgreed) -> Message:
    """For effects and events, which carry them like any other."""
    return cast("Message", message)
