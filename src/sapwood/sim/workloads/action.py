"""One thing a client does at one moment, and streams of such things."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from operator import attrgetter
from random import Random
from typing import Protocol

import msgspec

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value


class ActionKind(StrEnum):
    """What a client can do."""

    CONNECT = "connect"
    DISCONNECT = "disconnect"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    ADVERTISE = "advertise"
    UNADVERTISE = "unadvertise"
    PUBLISH = "publish"


class Action(msgspec.Struct, frozen=True, gc=False):
    """A client does something at the broker it is connected to.

    `filter` is there when it (un)subscribes or (un)advertises, `attributes` and `payload` when it
    publishes. Attributes may be shared by many actions: whoever wants to change them makes a copy.
    """

    at: float
    """Seconds since the start."""
    client: str
    broker: str
    kind: ActionKind
    filter: Filter | None = None
    attributes: Mapping[str, Value] | None = None
    payload: bytes = b""


class Workload(Protocol):
    """What all workloads have in common."""

    def actions(self, random: Random, until: float) -> Iterator[Action]:
        """Everything before `until`, in the order of time; endless if that is infinite.

        A client connects before it does anything else, and never takes back what it did not do.
        """


def merged(streams: Iterable[Iterator[Action]]) -> Iterator[Action]:
    """One stream of several, each in the order of time; at the same time the earlier stream first.

    Only the next action of each stream is held.
    """
    return heapq.merge(*streams, key=attrgetter("at"))


def split(random: Random) -> Random:
    """A source of random numbers of its own.

    Streams that draw from different sources do not disturb each other: with twice the
    publications, the same subscriptions arrive at the same times.
    """
    return Random(random.getrandbits(64))
