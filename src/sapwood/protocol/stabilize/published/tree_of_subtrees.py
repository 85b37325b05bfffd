"""A tree of coloured subtrees (thesis 4.5.5, scalability).

A subtree is a coloured tree with a recolour period of its own, which fits the short delays inside.
Its root is a leaf of the main tree, in which it stands for the subtree: to the main tree the
subtree is a client of its root, which wants whatever somebody below wants; to the subtree the
main tree is a client of its root, which publishes what comes from elsewhere. So neither sees the
colours of the other, and a fault or a change in a subtree is a matter of the subtree alone.

Routing must be hierarchical: then everything that is published or wanted in a subtree comes by
its root.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from sapwood.protocol.stabilize.published.colour_messages import (
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    ColoredNotification,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Deliver,
    Effect,
    Event,
    Message,
    Received,
    Send,
    Tick,
)
from sapwood.protocol.stabilize.published.three_colours import ThreeColours

SUBTREE = "^subtree"
"""The client that stands for the subtree in the main tree."""

MAIN = "^main"
"""The client that stands for the main tree in a subtree."""


class InTree(msgspec.Struct, frozen=True):
    """A message of one of the trees."""

    tree: str
    message: Message


class TreeSend(msgspec.Struct, frozen=True):
    """Send a message of one of the trees to a broker."""

    destination: str
    message: InTree


class TreeReceived(msgspec.Struct, frozen=True):
    """A message of one of the trees from a broker."""

    source: str
    message: InTree


TreeEvent: TypeAlias = TreeReceived | Event
TreeEffect: TypeAlias = TreeSend | Deliver


class SubtreeBroker:
    """A broker in one tree, or in a subtree as its root and in the main tree as its leaf."""

    def __init__(self, home: str, machines: Mapping[str, ThreeColours], main: str) -> None:
        self.home = home
        """The tree that its own clients are in."""
        self.machines = dict(machines)
        self._main = main

    @property
    def next_at(self) -> float:
        """When something is due in one of the trees."""
        return min(machine.next_at for machine in self.machines.values())

    @property
    def is_gateway(self) -> bool:
        """Whether it is in a subtree and in the main tree."""
        return len(self.machines) > 1

    def handle(self, event: TreeEvent, now: float) -> list[TreeEffect]:
        """What this broker does about an event."""
        if isinstance(event, TreeReceived):
            tree, message = event.message.tree, event.message.message
            if tree not in self.machines:
                return []
            return self._in_tree(tree, Received(event.source, message), now)
        if isinstance(event, Tick):
            ticks = [self._done(tree, one.handle(event, now)) for tree, one in self._trees()]
            return [effect for effects in ticks for effect in effects]
        return self._in_tree(self.home, event, now)

    def _trees(self) -> list[tuple[str, ThreeColours]]:
        return sorted(self.machines.items())

    def _in_tree(self, tree: str, event: Event, now: float) -> list[TreeEffect]:
        effects = self._done(tree, self.machines[tree].handle(event, now))
        if self.is_gateway and tree != self._main:
            effects += self._upwards(tree, event, now)
        return effects

    def _upwards(self, tree: str, event: Event, now: float) -> list[TreeEffect]:
        """What comes by the root of a subtree is told to the main tree."""
        main = self.machines[self._main]
        message = event.message if isinstance(event, Received) else event
        wish: Event
        if isinstance(message, ColoredSubscribe | ClientSubscribed):
            is_refresh = not (isinstance(message, ClientSubscribed) and not message.is_refresh)
            wish = ClientSubscribed(SUBTREE, message.id, message.filter, is_refresh)
        elif isinstance(message, ColoredUnsubscribe | ClientUnsubscribed):
            wish = ClientUnsubscribed(SUBTREE, message.id)
        elif isinstance(message, ClientPublished):
            return self._published(message.client, message.sequence, message)
        elif isinstance(message, ColoredNotification):
            assert isinstance(event, Received)
            if not self.machines[tree].is_linked(event.source, message):
                return []
            return self._published(message.publisher, message.sequence, message)
        else:
            return []
        return self._done(self._main, main.handle(wish, now))

    def _published(
        self, publisher: str, sequence: int, message: ClientPublished | ColoredNotification
    ) -> list[TreeEffect]:
        main = self.machines[self._main]
        effects = main.publish(SUBTREE, publisher, sequence, message.attributes)
        return self._done(self._main, effects)

    def _done(self, tree: str, effects: list[Effect]) -> list[TreeEffect]:
        """What the effects of one tree come to.

        Only the main tree delivers to the subtree: an entry of the subtree that says so is spoilt.
        """
        done: list[TreeEffect] = []
        for effect in effects:
            if isinstance(effect, Send):
                done.append(TreeSend(effect.destination, InTree(tree, effect.message)))
            elif effect.client != SUBTREE:
                done.append(effect)
            elif self.is_gateway and tree == self._main:
                done += self._downwards(effect.notification)
        return done

    def _downwards(self, message: ColoredNotification) -> list[TreeEffect]:
        """What the main tree delivers to the subtree is published there."""
        effects = self.machines[self.home].publish(
            MAIN, message.publisher, message.sequence, message.attributes
        )
        return self._done(self.home, effects)
