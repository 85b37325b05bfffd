"""Clients that go on at another broker: a stale stream must not deliver.

The broker at which a client arrives tells everybody (`ClientMoved`), and from then on its
publications are taken only from that direction (``fences``). Both go where notifications of that
source go, also while the tree changes (`Core.reach`). A broker that had the client before
dismisses it. What is dropped because of that is reported to those whom it would have concerned
(``gaps``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Dismiss, Effect, Send
from sapwood.protocol.events import ClientArrived
from sapwood.protocol.fences import ANYWHERE, NOWHERE, Fence
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import ClientMoved, ClientsAt

REASON: Final = "the client goes on at another broker"

REPEATED_MAX: Final = 16
"""Clients about whom everybody is told again in a period, in turn: somebody may have lost them."""


class Moves(Machine):
    """Tells of clients that moved here, and keeps out what they left elsewhere."""

    name = "moves"

    def events(self) -> Mapping[type, EventHandler]:
        """A client was somewhere else before."""
        return {ClientArrived: self._arrived}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """A client is somewhere else now."""
        return {ClientMoved: self._moved, ClientsAt: self._said}

    def _arrived(self, event: ClientArrived, now: float) -> list[Effect]:
        client, config = event.client, self.core.config
        if client not in self.core.clients:
            return self.core.drops.count(Drop.CLIENT_UNKNOWN, client)
        home = f"{config.id}.{config.session}"
        known = [one.again for one in self.core.fences.homes.values() if one.home == home]
        return self._move(client, Fence(client, event.streams, max(known, default=0), home))

    def _moved(self, source: str, message: ClientMoved, now: float) -> list[Effect]:
        fence = Fence(source, message.streams, message.again, message.home)
        if not message.is_behind:
            return self._move(message.client, fence, message)
        nobody = fence._replace(source=NOWHERE)
        if message.client not in self.core.clients and self.core.fences.move(
            message.client, nobody
        ):
            self.fences_changed()
        return []

    def _said(self, source: str, message: ClientsAt, now: float) -> list[Effect]:
        """A broker says again where its clients are."""
        core = self.core
        if not message.home or not core.fences.move_home(message.home, source, message.again):
            return []
        core.note_move(source, message)
        self.fences_changed()
        return core.spread(source, ClientsAt(message.home, message.again), core.reach(source))

    def _move(self, client: str, fence: Fence, message: ClientMoved | None = None) -> list[Effect]:
        """A client's publications come from a source; whoever is not behind it is told."""
        core = self.core
        before = core.fences.homes.get(client)
        if not core.fences.move(client, fence):
            return []
        if message is not None:
            core.note_move(fence.source, message)
        if before is None or before.source != fence.source:
            self.fences_changed()
        effects = core.spread(fence.source, told_of(client, fence), core.reach(fence.source))
        if client in core.clients and client != fence.source:
            effects.append(Dismiss(client, REASON))
        return effects

    def announce(self) -> list[Effect]:
        """Say again where clients are that have moved here: the way to them may be another one."""
        core = self.core
        effects: list[Effect] = []
        for home, clients in self._homes().items():
            again = 1 + max(core.fences.homes[client].again for client in clients)
            for client in clients:
                core.fences.homes[client] = core.fences.homes[client]._replace(again=again)
            if home:
                effects += core.spread(core.id, ClientsAt(home, again), core.reach(core.id))
        return effects

    def repeat(self) -> list[Effect]:
        """Say again where clients are, and before it of some of them by themselves, in turn.

        So a broker that has lost what it knew of them learns it again.
        """
        core = self.core
        said = self.announce()
        effects: list[Effect] = []
        for clients in self._homes().values():
            for client in _in_turn(clients, core.fences.homes[clients[0]].again):
                moved = told_of(client, core.fences.homes[client])
                effects += core.spread(core.id, moved, core.reach(core.id))
        return [*effects, *said]

    def _homes(self) -> dict[str, list[str]]:
        """The clients here that have moved, by home."""
        homes: dict[str, list[str]] = {}
        for client, fence in self.core.fences.homes.items():
            if fence.source == client and client in self.core.clients:
                homes.setdefault(fence.home, []).append(client)
        return homes

    def tell_across(self, neighbour: str, clients: Collection[str]) -> list[Effect]:
        """Tell a neighbour of clients of whose moves it could not hear."""
        homes = self.core.fences.homes
        known = [(one, homes[one]) for one in clients if one in homes]
        return [
            Send(neighbour, told_of(client, fence))
            for client, fence in known
            if fence.source not in (NOWHERE, ANYWHERE, neighbour)
        ]

    def fences_changed(self) -> None:
        """What was remembered about who may send what does not hold any more."""
        core = self.core
        core.forwarding.shares_publishers = not core.fences
        core.forwarding.forget_publishers()

    # Links

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour that comes, or comes again, does not know who has moved."""
        said = self.announce()
        return [*self.tell_across(neighbour, self.core.fences.homes), *said]

    def link_exchanged(self, neighbour: str, now: float) -> list[Effect]:
        """Both ends of a link that comes in the place of another know who has moved."""
        return []

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """Nobody publishes from the direction of a neighbour that is gone."""
        if self.core.fences.forget_source(neighbour):
            self.fences_changed()
        return []

    def link_restarted(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is where it was, but has forgotten who has moved, also to its own side."""
        behind = [
            Send(neighbour, msgspec.structs.replace(told_of(client, fence), is_behind=True))
            for client, fence in self.core.fences.homes.items()
            if fence.source == neighbour
        ]
        return [*self.link_up(neighbour, now), *behind]

    # Looking

    def report(self) -> dict[str, Any]:
        """How many clients have moved."""
        return {"moved": len(self.core.fences)}

    def state(self) -> Any:
        """Where clients that have moved publish from."""
        return {client: list(fence) for client, fence in sorted(self.core.fences.homes.items())}

    def problems(self) -> Iterator[str]:
        """A client that moved publishes from a neighbour, or is a client here."""
        core = self.core
        for client, fence in core.fences.homes.items():
            source = fence.source
            is_somewhere = source in (NOWHERE, ANYWHERE, client)
            if not is_somewhere and not core.neighbours.is_in_tree(source):
                yield f"{client} is to publish from {source}, who is no neighbour"
        if core.forwarding.shares_publishers == bool(core.fences):
            yield "what neighbours may send is remembered for all of them though clients moved"


def told_of(client: str, fence: Fence) -> ClientMoved:
    """How others are told of a client that moved."""
    return ClientMoved(client, fence.streams, again=fence.again, home=fence.home)


def _in_turn(clients: list[str], again: int) -> list[str]:
    """Some of the clients, others each time."""
    first = again * REPEATED_MAX % len(clients)
    return [*clients[first:], *clients[:first]][:REPEATED_MAX]
