"""The roster: a broker and its driver must agree about who is linked and who is connected.

The driver owns the links and the sessions of clients. What the broker holds beyond that is gone,
and what it lacks is there: it gets the event that it must have missed. Entries of those who are not
there are removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sapwood.protocol.events import (
    ClientDown,
    ClientUp,
    Event,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    Roster,
)
from sapwood.protocol.neighbours import PHASES, STEADY
from sapwood.protocol.optimize.edges.messages import NUMBER_MAX
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.routing.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from sapwood.protocol.core import Core
    from sapwood.protocol.neighbours import Neighbour


def missed_events(core: Core, roster: Roster) -> Iterator[Event]:
    """The events after which a broker agrees with its driver; none where it does.

    Each is to be handled before the next is asked for.
    """
    links = {one.neighbour: one for one in roster.links}
    for name in [one for one in core.clients if one not in roster.clients]:
        yield ClientDown(name)
    for name in [one for one in core.neighbours if one not in links]:
        yield LinkDown(name)
    for name, link in links.items():
        neighbour = core.neighbours.get(name)
        has_beacons = BEACONS in link.features
        if neighbour is None or neighbour.in_tree is not link.in_tree:
            yield link
        neighbour = core.neighbours.get(name)
        if neighbour is None:
            continue
        is_away = name in roster.away
        is_wrong = neighbour.is_connected is is_away
        if is_wrong or (not has_beacons and neighbour.is_away is not is_away):
            yield NeighbourAway(name) if is_away else NeighbourBack(name, in_place=not has_beacons)
    for name in roster.clients:
        if name not in core.clients:
            yield ClientUp(name)


def strangers(core: Core) -> list[str]:
    """Those who have entries though they are neither clients nor neighbours in the tree."""
    return [
        name
        for name in dict.fromkeys(one for table in core.tables for one in table.destinations())
        if name not in core.clients
        and not core.neighbours.is_in_tree(name)
        and name != core.joining
    ]


def agree(neighbour: Neighbour, link: LinkUp, routing: str) -> None:
    """Let a neighbour be what was agreed with it when the link came, as far as that lasts.

    How its edge is routed may have changed since, but only to what there is.
    """
    neighbour.session = link.session
    neighbour.addresses = link.addresses
    neighbour.features = link.features
    neighbour.is_frozen = False
    for name in ("sends", "receives"):
        if getattr(neighbour, name) not in ALGORITHMS:
            setattr(neighbour, name, getattr(link, name) or routing)
    if neighbour.announced not in ALGORITHMS:
        neighbour.announced = ""
    agree_about_switches(neighbour)


def agree_about_switches(neighbour: Neighbour) -> None:
    """Let what is kept of switches be something that can be: comparisons do the rest."""
    if neighbour.how not in ALGORITHMS:
        neighbour.how = ""
    if neighbour.outward_phase not in PHASES:
        neighbour.outward_phase = STEADY
    for name in ("inward_number", "outward_number"):
        value = getattr(neighbour, name)
        if type(value) is not int or not 0 <= value < NUMBER_MAX:
            setattr(neighbour, name, 0)
