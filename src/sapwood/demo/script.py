"""What goes wrong, and when: connections break, and a broker at the edge dies and comes back."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from sapwood.protocol.tree import Link, Topology


class Cut(msgspec.Struct, frozen=True):
    """The connections of some links break at the same moment."""

    links: tuple[Link, ...]


class Kill(msgspec.Struct, frozen=True):
    """A broker's process ends without a word."""

    broker: str


class Restart(msgspec.Struct, frozen=True):
    """The broker is started again."""

    broker: str


class Scheduled(NamedTuple):
    """Something that goes wrong, after a share of the time."""

    share: float
    fault: Cut | Kill | Restart


def script(topology: Topology) -> list[Scheduled]:
    """Faults for a tree: a link near the root, two at once, a leaf that dies, all links at once.

    A restarted broker needs time to be part of the network again, so the last fault is not long
    after it.
    """
    links = topology.links
    if not links:
        return []
    leaf = topology.brokers[-1]
    return [
        Scheduled(0.15, Cut(links[:1])),
        Scheduled(0.28, Cut(tuple(dict.fromkeys((links[-1], links[len(links) // 2]))))),
        Scheduled(0.42, Kill(leaf)),
        Scheduled(0.50, Restart(leaf)),
        Scheduled(0.80, Cut(links)),
    ]
