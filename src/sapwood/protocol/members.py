"""Neighbours and clients that come and go, and links that become part of the tree or leave it.

Here a broker notes who is there; what follows from it is for the machines, which are told in their
order. The driver brings what happens to connections; the tree and changes of it decide which links
carry.
"""

from __future__ import annotations

from collections.abc import Callable

from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import CloseLink, Effect, Hold
from sapwood.protocol.events import (
    ClientAway,
    ClientBack,
    ClientDown,
    ClientHandedOver,
    ClientUp,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
)
from sapwood.protocol.machine import Machine
from sapwood.protocol.neighbours import RESTART, Neighbour
from sapwood.routing.algorithms import FLOODING, check_algorithm


class Members(Core):
    """Who is linked and connected to a broker."""

    machines: tuple[Machine, ...]
    """In the order in which they are told of what happens."""

    def _all(self, notify: Callable[[Machine], list[Effect]]) -> list[Effect]:
        """Let all machines know of something, in order."""
        effects: list[Effect] = []
        for machine in self.machines:
            effects += notify(machine)
        return effects

    # Links

    def _link_up(self, event: LinkUp, now: float) -> list[Effect]:
        """A link comes, or comes again: then what was there before is forgotten first.

        Unless the neighbour was restarted and says when it has told its table again: then what it
        wanted stays until that.
        """
        name = event.neighbour
        sends = check_algorithm(event.sends or self.config.routing)
        receives = check_algorithm(event.receives or self.config.routing)
        announced = "" if self.config.says_routing else sends
        if name == self.id or name in self.clients:
            return self.drops.count(Drop.LINK_IMPOSSIBLE, name)
        keeps = (
            event.restarted
            and event.in_tree
            and RESTART in event.features
            and self.neighbours.is_in_tree(name)
        )
        effects: list[Effect] = []
        if not keeps and name in self.neighbours:
            effects += self._link_down(LinkDown(name), now)
        elif keeps and self._may_say_routing and self.neighbours[name].is_flooded:
            receives = FLOODING  # it wanted everything, and has not said yet that it does not
        self.neighbours[name] = Neighbour(
            event.in_tree,
            sends,
            receives,
            event.session,
            event.addresses,
            event.features,
            event.refresh_seconds,
            announced=announced,
        )
        for machine in self.machines:
            if keeps:
                effects += machine.link_restarted(name, now)
            elif event.in_tree:
                effects += machine.link_up(name, now)
            else:
                effects += machine.link_aside(name, now)
        if event.is_held:
            effects += self.hold_link(name, now)
        elif event.in_tree and event.place:
            effects += self._all(lambda machine: machine.link_placed(name, event.place, now))
        return effects

    def _link_down(self, event: LinkDown, now: float) -> list[Effect]:
        name = event.neighbour
        neighbour = self.neighbours.pop(name, None)
        if neighbour is None:
            return self.drops.count(Drop.LINK_UNKNOWN, name)
        effects: list[Effect] = []
        if neighbour.in_tree:
            effects += self._all(lambda machine: machine.link_down(name, now))
        return [*effects, *self._all(lambda machine: machine.neighbour_gone(name, now))]

    def _neighbour_away(self, event: NeighbourAway, now: float) -> list[Effect]:
        name = event.neighbour
        neighbour = self.neighbours.get(name)
        if neighbour is None:
            return []
        was_away, neighbour.is_away = neighbour.is_away, True
        neighbour.is_connected = False
        effects: list[Effect] = []
        if neighbour.in_tree and not was_away:
            effects += self._all(lambda machine: machine.link_away(name, now))
        return [*effects, *self._all(lambda machine: machine.line_lost(name, now))]

    def _neighbour_back(self, event: NeighbourBack, now: float) -> list[Effect]:
        name = event.neighbour
        neighbour = self.neighbours.get(name)
        if neighbour is None:
            return []
        neighbour.is_connected = True
        effects: list[Effect] = []
        if not neighbour.in_tree:
            neighbour.is_away = False
        elif event.in_place:
            neighbour.is_away = False
            effects += self._all(lambda machine: machine.link_back(name, now))
        else:
            effects += self.hold_link(name, now)
        return [*effects, *self._all(lambda machine: machine.line_up(name, now))]

    @property
    def _may_say_routing(self) -> bool:
        """Whether a neighbour that gets everything says when it does not have to any more."""
        return self.tree_parent is not None or self.config.edges.is_auto

    # Links of the tree

    def enter_tree(self, name: str, now: float) -> list[Effect]:
        """A candidate is part of the tree from now on."""
        neighbour = self.neighbours[name]
        neighbour.in_tree, neighbour.is_away = True, False
        return self._all(lambda machine: machine.link_up(name, now))

    def exchange_link(self, name: str, now: float) -> list[Effect]:
        """A candidate is part of the tree in the place of another link."""
        neighbour = self.neighbours[name]
        neighbour.in_tree, neighbour.is_away = True, False
        return self._all(lambda machine: machine.link_exchanged(name, now))

    def resume_link(self, name: str, now: float) -> list[Effect]:
        """A link that was kept carries again."""
        self.neighbours[name].is_away = False
        self.forwarding.forget_publishers()
        return [Hold(name, is_held=False), *self._all(lambda machine: machine.link_back(name, now))]

    def hold_link(self, name: str, now: float) -> list[Effect]:
        """A link stays part of the tree, and carries nothing."""
        self.neighbours[name].is_away = True
        self.forwarding.forget_publishers()
        return [Hold(name, is_held=True), *self._all(lambda machine: machine.link_away(name, now))]

    def stand_aside(self, name: str, now: float) -> list[Effect]:
        """A link is part of the tree no longer, and stays for what is under way over it."""
        neighbour = self.neighbours[name]
        neighbour.in_tree, neighbour.is_away = False, not neighbour.is_connected
        if self.config.edges.is_auto:
            neighbour.forget_switches(self.config.routing)
        return self._all(lambda machine: machine.link_down(name, now))

    def keep_link(self, name: str, now: float) -> list[Effect]:
        """A link of the tree has no connection for the time being."""
        self.neighbours[name].is_away = True
        return self._all(lambda machine: machine.link_away(name, now))

    def thaw(self, name: str, now: float) -> list[Effect]:
        """A neighbour is told again what it is owed."""
        return self._all(lambda machine: machine.link_thawed(name, now))

    def compare(self, name: str, now: float) -> list[Effect]:
        """Let the two ends of an edge compare what they told and hold."""
        return self._all(lambda machine: machine.compare(name, now))

    def leave_tree(self, name: str, reason: str, now: float) -> list[Effect]:
        """A link is part of the tree no longer: its stream ends, and what it brought."""
        return [CloseLink(name, reason)]

    # Clients

    def _client_up(self, event: ClientUp, now: float) -> list[Effect]:
        name = event.client
        is_broker = name == self.id or name in self.neighbours
        if is_broker or not self.clients.add(name, event.features):
            return self.drops.count(Drop.CLIENT_TWICE, name)
        return self._all(lambda machine: machine.client_up(name, now))

    def _client_away(self, event: ClientAway, now: float) -> list[Effect]:
        if event.client in self.clients:
            self.clients.away[event.client] = None
        return []

    def _client_back(self, event: ClientBack, now: float) -> list[Effect]:
        if self.clients.away.pop(event.client, self) is self:
            return []
        return self._all(lambda machine: machine.client_back(event.client, now))

    def _client_down(self, event: ClientDown, now: float) -> list[Effect]:
        name = event.client
        if name not in self.clients:
            return self.drops.count(Drop.CLIENT_UNKNOWN, name)
        return self._all(lambda machine: machine.client_down(name, now))

    def _client_handed_over(self, event: ClientHandedOver, now: float) -> list[Effect]:
        """What a client claimed does not end: it claims it elsewhere."""
        self.clients.disclaim(event.client)
        return self._client_down(ClientDown(event.client), now)

    def drop_link(self, name: str, now: float) -> list[Effect]:
        """A neighbour is gone for good, and all it wanted."""
        return self._link_down(LinkDown(name), now)

    def welcome_client(self, name: str, now: float) -> list[Effect]:
        """A client's session goes on here."""
        return self._all(lambda machine: machine.client_up(name, now))
