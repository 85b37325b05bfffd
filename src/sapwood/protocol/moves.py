"""Clients that go on at another broker: a stale stream must not deliver.

The broker at which a client arrives tells everybody (`ClientMoved`), and from then on its
publications are taken only from that direction (``fences``). A broker that had the client before
dismisses it. What is dropped because of that is reported to those whom it would have concerned
(``gaps``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Dismiss, Effect, Send
from sapwood.protocol.events import ClientArrived
from sapwood.protocol.fences import Fence
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import ClientMoved

REASON: Final = "the client goes on at another broker"


class Moves(Machine):
    """Tells of clients that moved here, and keeps out what they left elsewhere."""

    name = "moves"

    def events(self) -> Mapping[type, EventHandler]:
        """A client was somewhere else before."""
        return {ClientArrived: self._arrived}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """A client is somewhere else now."""
        return {ClientMoved: self._moved}

    def _arrived(self, event: ClientArrived, now: float) -> list[Effect]:
        client = event.client
        if client not in self.core.clients:
            return self.core.drops.count(Drop.CLIENT_UNKNOWN, client)
        return self._move(client, Fence(client, event.streams))

    def _moved(self, source: str, message: ClientMoved, now: float) -> list[Effect]:
        one = self.core.neighbours.get(source)
        if one is not None and one.is_frozen and not message.is_behind:
            return self._pass_on(message.client, Fence(source, message.streams, message.again))
        if not message.is_behind:
            fence = Fence(source, message.streams, message.again)
            return self._move(message.client, fence)
        nobody = Fence("", message.streams, message.again)
        if message.client not in self.core.clients and self.core.fences.move(
            message.client, nobody
        ):
            self.fences_changed()
        return []

    def _move(self, client: str, fence: Fence) -> list[Effect]:
        """A client's publications come from a source; whoever is not behind it is told."""
        core = self.core
        before = core.fences.homes.get(client)
        if not core.fences.move(client, fence):
            return []
        if before is None or before.source != fence.source:
            self.fences_changed()
        return self._pass_on(client, fence)

    def _pass_on(self, client: str, fence: Fence) -> list[Effect]:
        """Tell whoever is not behind a source that a client publishes from there.

        While a change of the tree is under way with the source that is all: from which way the
        client's publications come is about to change.
        """
        core = self.core
        moved = _told(client, fence)
        others = [name for name in core.neighbours.tree() if name != fence.source]
        effects: list[Effect] = [Send(name, moved) for name in others]
        if client in core.clients and client != fence.source:
            effects.append(Dismiss(client, REASON))
        return effects

    def announce(self) -> list[Effect]:
        """Say again where clients are that have moved here: the way to them may be another one."""
        core = self.core
        effects: list[Effect] = []
        for client, fence in list(core.fences.homes.items()):
            if fence.source == client and client in core.clients:
                effects += self._move(client, fence._replace(again=fence.again + 1))
        return effects

    def fences_changed(self) -> None:
        """What was remembered about who may send what does not hold any more."""
        core = self.core
        core.forwarding.shares_publishers = not core.fences
        core.forwarding.forget_publishers()

    # Links

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour that comes, or comes again, does not know who has moved."""
        told = [
            Send(neighbour, _told(client, fence))
            for client, fence in self.core.fences.homes.items()
            if fence.source not in ("", neighbour, client)
        ]
        return [*told, *self.announce()]

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """Nobody publishes from the direction of a neighbour that is gone."""
        if self.core.fences.forget_source(neighbour):
            self.fences_changed()
        return []

    def link_restarted(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is where it was, but has forgotten who has moved, also to its own side."""
        behind = [
            Send(neighbour, msgspec.structs.replace(_told(client, fence), is_behind=True))
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
            if source not in ("", client) and not core.neighbours.is_in_tree(source):
                yield f"{client} is to publish from {source}, who is no neighbour"
        if core.forwarding.shares_publishers == bool(core.fences):
            yield "what neighbours may send is remembered for all of them though clients moved"


def _told(client: str, fence: Fence) -> ClientMoved:
    return ClientMoved(client, fence.streams, again=fence.again)
