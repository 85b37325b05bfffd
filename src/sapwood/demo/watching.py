"""What the brokers say about themselves while the demonstration runs: rates, and links."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sapwood.errors import NetworkError
from sapwood.protocol.tree import Link, Topology
from sapwood.runtime.local.broker_process import BrokerProcess

LINKED, AWAY, DOWN = "linked", "away", "down"


class BrokerView(NamedTuple):
    """A broker at one moment."""

    is_up: bool
    clients: int = 0
    entries: int = 0
    """In its routing table."""
    resumed: int = 0
    """Streams that went on over a new connection, so far."""


class LinkView(NamedTuple):
    """A link at one moment."""

    state: str
    down_rate: float = 0.0
    """Frames a second away from the root."""
    up_rate: float = 0.0


class View(NamedTuple):
    """The network at one moment."""

    brokers: Mapping[str, BrokerView]
    links: Mapping[Link, LinkView]


NOTHING = View({}, {})


async def look(topology: Topology, processes: Mapping[str, BrokerProcess]) -> View:
    """Ask every broker for its status, all at the same time; who does not answer is down."""
    answers = await asyncio.gather(*(_status(processes[name]) for name in topology.brokers))
    return view_of(topology, dict(zip(topology.brokers, answers, strict=True)))


async def _status(process: BrokerProcess) -> dict[str, Any] | None:
    if not process.is_running:
        return None
    try:
        return await asyncio.to_thread(process.status)
    except NetworkError:
        return None


def view_of(topology: Topology, statuses: Mapping[str, dict[str, Any] | None]) -> View:
    """The network, from what its brokers say."""
    brokers = {name: _broker(status) for name, status in statuses.items()}
    return View(brokers, {link: _link(link, statuses) for link in topology.links})


def _broker(status: dict[str, Any] | None) -> BrokerView:
    if status is None:
        return BrokerView(is_up=False)
    return BrokerView(
        is_up=True,
        clients=len(status["clients"]),
        entries=status["tables"]["subscriptions"],
        resumed=status["counts"].get("resumed", 0),
    )


def _link(link: Link, statuses: Mapping[str, dict[str, Any] | None]) -> LinkView:
    parent, child = link
    if statuses[parent] is None or statuses[child] is None:
        return LinkView(DOWN)
    found = _neighbour(statuses[parent], child)
    if found is None or found["state"] != LINKED:
        return LinkView(AWAY)
    rate = found["rate"]
    return LinkView(LINKED, rate["frames_out"], rate["frames_in"])


def _neighbour(status: dict[str, Any] | None, name: str) -> dict[str, Any] | None:
    neighbours: Iterable[dict[str, Any]] = () if status is None else status["neighbours"]
    return next((one for one in neighbours if one["id"] == name), None)
