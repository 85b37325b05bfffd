"""What the brokers say about themselves while the demonstration runs: the tree, rates, repairs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from sapwood.errors import NetworkError
from sapwood.protocol.tree import Link
from sapwood.runtime.local.broker_process import BrokerProcess

LINKED, AWAY, DOWN = "linked", "away", "down"

Status: TypeAlias = dict[str, Any]
"""What the admin endpoint of a broker says."""


class BrokerView(NamedTuple):
    """A broker at one moment."""

    is_up: bool
    clients: int = 0
    entries: int = 0
    """In its routing table."""
    resumed: int = 0
    """Streams that went on over a new connection, so far."""
    root: str = ""
    parent: str = ""
    """Empty for a root."""
    kept: tuple[str, ...] = ()
    """Neighbours in the tree whose links carry nothing."""
    candidates: tuple[str, ...] = ()
    """Those that stand by."""
    faults: Mapping[str, int] = {}
    """What it has found that only a fault brings about, by kind."""
    repaired: int = 0
    """Entries that were put right by comparing tables."""
    repeated: int = 0
    """Notifications that came a second time and were dropped."""
    delay: float = 0.0
    """Longest time over one of its links, in seconds, as it has measured."""


class LinkView(NamedTuple):
    """A link of the tree at one moment."""

    state: str
    down_rate: float = 0.0
    """Frames a second away from the root."""
    up_rate: float = 0.0


class View(NamedTuple):
    """The network at one moment."""

    brokers: Mapping[str, BrokerView]
    links: Mapping[Link, LinkView]
    """From each broker's parent to the broker."""

    @property
    def up(self) -> list[str]:
        """The brokers that are there."""
        return [name for name, one in self.brokers.items() if one.is_up]

    @property
    def roots(self) -> list[str]:
        """Whom the living brokers take for the root."""
        return sorted({self.brokers[name].root for name in self.up})

    @property
    def is_tree(self) -> bool:
        """Whether all living brokers have one root, and every way to it carries."""
        carrying = {child for (_, child), link in self.links.items() if link.state == LINKED}
        return len(self.roots) == 1 and carrying == set(self.up) - set(self.roots)

    @property
    def parents(self) -> dict[str, str]:
        """Of the living brokers."""
        return {name: self.brokers[name].parent for name in self.up}

    @property
    def standing_by(self) -> list[Link]:
        """Links outside the tree, each once, both ends of which say so."""
        return [
            (name, other)
            for name in self.up
            for other in self.brokers[name].candidates
            if name < other and other in self.brokers and name in self.brokers[other].candidates
        ]

    @property
    def delay(self) -> float:
        """The longest time over any link, in seconds."""
        return max((self.brokers[name].delay for name in self.up), default=0.0)


NOTHING = View({}, {})


async def look(processes: Mapping[str, BrokerProcess]) -> View:
    """Ask every broker for its status, all at the same time; who does not answer is down."""
    answers = await asyncio.gather(*map(_status, processes.values()))
    return view_of(dict(zip(processes, answers, strict=True)))


async def _status(process: BrokerProcess) -> Status | None:
    if not process.is_running:
        return None
    try:
        return await asyncio.to_thread(process.status)
    except NetworkError:
        return None


def view_of(statuses: Mapping[str, Status | None]) -> View:
    """The network, from what its brokers say."""
    brokers = {name: _broker(status) for name, status in statuses.items()}
    links = [(one.parent, name) for name, one in brokers.items() if one.parent]
    return View(brokers, {link: _link(link, statuses) for link in links})


def _broker(status: Status | None) -> BrokerView:
    if status is None:
        return BrokerView(is_up=False)
    tree = status["tree"]
    return BrokerView(
        is_up=True,
        clients=len(status["clients"]),
        entries=status["tables"]["subscriptions"],
        resumed=status["counts"].get("resumed", 0),
        root=tree["root"],
        parent=tree["parent"],
        kept=tuple(tree["kept"]),
        candidates=tuple(tree["candidates"]),
        faults=status["faults"],
        repaired=status["refresh"]["repaired"],
        repeated=status["drops"].get("repeated", 0),
        delay=tree["delay_seconds"],
    )


def _link(link: Link, statuses: Mapping[str, Status | None]) -> LinkView:
    """A link carries if both ends say so."""
    parent, child = link
    above, below = statuses.get(parent), statuses.get(child)
    if above is None or below is None:
        return LinkView(DOWN)
    down, up = _neighbour(above, child), _neighbour(below, parent)
    if not (_carries(above, down) and _carries(below, up)):
        return LinkView(AWAY)
    assert down is not None
    return LinkView(LINKED, down["rate"]["frames_out"], down["rate"]["frames_in"])


def _carries(status: Status, neighbour: dict[str, Any] | None) -> bool:
    return (
        neighbour is not None
        and neighbour["state"] == LINKED
        and neighbour["in_tree"]
        and neighbour["id"] not in status["tree"]["kept"]
    )


def _neighbour(status: Status, name: str) -> dict[str, Any] | None:
    neighbours: Iterable[dict[str, Any]] = status["neighbours"]
    return next((one for one in neighbours if one["id"] == name), None)
