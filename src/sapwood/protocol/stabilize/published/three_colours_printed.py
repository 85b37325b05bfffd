"""The self-stabilizing tree with three colours, as printed (thesis 4.5.3, algorithms 9 to 15).

The root rotates the colours every recolour period and tells its children, they tell theirs. Who
gets no recolour message in time looks for a new parent, starting at the root; a child that does
not acknowledge is removed. A change of the tree travels with one recolour message and is active
with the next, when the tables of its colour have been filled over the new links.

Printed where the text says enough, and read as follows where it does not: `nColor` in algorithm 10
is the new colour; "remove child" means in all colours; the remote call of algorithm 14 is a
question and an answer, and "connect" a message to the new parent, which enters its child for the
topology to come. A parallel change that contradicts one that waits is rejected, one that touches
the same brokers waits a period longer (4.5.5).

It does not work: `sapwood.protocol.stabilize.published.three_colours` says why, and corrects it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeAlias

from sapwood.filters.values import Value
from sapwood.protocol.due import is_due
from sapwood.protocol.stabilize.published.colour_messages import (
    COLORS,
    Acknowledge,
    AskForPlace,
    Change,
    ChangeRequested,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    ColoredNotification,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Connect,
    Effect,
    Event,
    Message,
    Place,
    Received,
    Recolor,
    Rejected,
    RequestChange,
    Send,
    Tick,
    TryThere,
)
from sapwood.protocol.stabilize.published.colour_parts import (
    REQUESTS_MAX,
    ColourConfig,
    ColourState,
)
from sapwood.protocol.stabilize.published.coloured_routing import (
    CLIENT,
    ColouredRouting,
    ParseFilter,
)

MessageHandler: TypeAlias = Callable[[str, Any, float], list[Effect]]
EventHandler: TypeAlias = Callable[[Any, float], list[Effect]]


class PrintedColours:
    """One broker of the tree, driven by `handle`."""

    def __init__(self, config: ColourConfig, random: Random, parse: ParseFilter) -> None:
        self.config = config
        self.id = config.id
        self.state = ColourState()
        self.routing = ColouredRouting(config, self.state, parse)
        self._random = random
        self._events: Mapping[type, EventHandler] = {
            Received: self._received,
            Tick: lambda event, now: self._tick(now),
            ClientSubscribed: self._client_subscribed,
            ClientUnsubscribed: self._client_unsubscribed,
            ClientPublished: self._client_published,
            ChangeRequested: self._change_requested,
        }
        self._messages: Mapping[type, MessageHandler] = self._message_handlers()

    def _message_handlers(self) -> dict[type, MessageHandler]:
        return {
            Recolor: self._recolored,
            Acknowledge: self._acknowledged,
            AskForPlace: self._asked,
            Place: self._placed,
            TryThere: self._pointed,
            Connect: self._connected,
            RequestChange: self._requested,
            ColoredSubscribe: lambda source, message, now: self.routing.subscribe(source, message),
            ColoredUnsubscribe: lambda source, message, now: self.routing.unsubscribe(
                source, message
            ),
            ColoredNotification: self._notified,
        }

    # The door

    def handle(self, event: Event, now: float) -> list[Effect]:
        """What this broker does about an event."""
        return self._events[type(event)](event, now)

    @property
    def next_at(self) -> float:
        """When something is due here."""
        return self.state.timer_at

    @property
    def is_root(self) -> bool:
        """Whether this broker is the root."""
        return self.id == self.config.root_group[0]

    def start(self, now: float) -> None:
        """The timer runs from now on; the root recolours at once."""
        self._reset_timer(now)
        if self.is_root:
            self.state.timer_at = now

    def _received(self, event: Received, now: float) -> list[Effect]:
        handler = self._messages.get(type(event.message))
        return [] if handler is None else handler(event.source, event.message, now)

    # Time-outs (algorithms 9 and 13)

    @property
    def _period(self) -> float:
        return self.config.recolor_period if self.is_root else self.config.timeout

    def _reset_timer(self, now: float) -> None:
        self.state.timer_at = now + self._period

    def _tick(self, now: float) -> list[Effect]:
        if is_due(self.state.timer_at, now, self._period):
            return self._timed_out(now)
        return []

    def _timed_out(self, now: float) -> list[Effect]:
        """Algorithm 9: the root recolours, anybody else looks for a parent."""
        self._reset_timer(now)
        if not self.is_root:
            return self._join(now)
        state = self.state
        state.rotate(state.new + 1)
        state.parent[state.new] = ""
        changes = self._take_changes()
        self._apply(changes)
        return self._send_to_children(Recolor(state.new, changes, self._path_below()))

    def _path_below(self) -> tuple[str, ...]:
        """What recolour messages say about the way from the root: nothing in the print."""
        return ()

    # Recolour messages (algorithms 10 to 12)

    def _recolored(self, source: str, message: Recolor, now: float) -> list[Effect]:
        """Algorithm 10."""
        if source != self.state.parent[self.state.new]:
            return []
        self._reset_timer(now)
        self.state.rotate(message.color)
        self._apply(message.changes)
        below = Recolor(self.state.new, message.changes, self._path_below())
        return [Send(source, Acknowledge()), *self._send_to_children(below)]

    def _acknowledged(self, source: str, message: Acknowledge, now: float) -> list[Effect]:
        """Algorithm 11."""
        if source in self.state.children[self.state.current]:
            self.state.flags.add(source)
        return []

    def _send_to_children(self, message: Recolor) -> list[Effect]:
        """Algorithm 12: a child that did not acknowledge the last message is removed."""
        state = self.state
        effects: list[Effect] = []
        for child in sorted(state.children[state.current]):
            if child in state.flags:
                state.flags.discard(child)
                effects.append(Send(child, message))
            else:
                state.forget_child(child)
                effects += self._child_removed(child)
        return effects

    def _child_removed(self, child: str) -> list[Effect]:
        """What a child that is removed is told: nothing in the print."""
        return []

    # Looking for a parent (algorithms 14 and 15)

    def _join(self, now: float) -> list[Effect]:
        """Algorithm 14 begins: ask the root."""
        return self._ask(self.config.root_group[0], now)

    def _ask(self, whom: str, now: float) -> list[Effect]:
        self.state.asked = whom
        return [Send(whom, AskForPlace())]

    def _asked(self, source: str, message: AskForPlace, now: float) -> list[Effect]:
        """Algorithm 15: a place here, or somebody below."""
        children = self.state.children[self.state.new]
        if len(children) < self.config.degree_max:
            return [Send(source, Place())]
        return [Send(source, TryThere(self._random.choice(sorted(children))))]

    def _pointed(self, source: str, message: TryThere, now: float) -> list[Effect]:
        """Algorithm 14 goes on: ask the one that was named."""
        return self._ask(message.broker, now) if source == self.state.asked else []

    def _placed(self, source: str, message: Place, now: float) -> list[Effect]:
        """Algorithm 14 ends."""
        if source != self.state.asked:
            return []
        self.state.asked = ""
        self.state.parent[self.state.new] = source
        return [Send(source, Connect())]

    def _connected(self, source: str, message: Connect, now: float) -> list[Effect]:
        """A child comes into the topology to come."""
        self._add_child(source)
        return []

    def _add_child(self, name: str) -> None:
        self.state.children[self.state.new].add(name)

    # Changes of the tree

    def _change_requested(self, event: ChangeRequested, now: float) -> list[Effect]:
        if self.is_root:
            return self._requested(self.id, RequestChange(event.change), now)
        return [Send(self.config.root_group[0], RequestChange(event.change))]

    def _requested(self, source: str, message: RequestChange, now: float) -> list[Effect]:
        """The root collects changes; one that contradicts another is rejected (4.5.5)."""
        if not self.is_root:
            return []
        requests, change = self.state.requests, message.change
        if change in requests:
            return []
        contradicts = any(one.broker == change.broker for one in requests)
        if contradicts or len(requests) >= REQUESTS_MAX:
            return [Send(source, Rejected(change))]
        requests.append(change)
        return []

    def _take_changes(self) -> tuple[Change, ...]:
        """The changes for the next recolour message: of those that touch, one each time."""
        taken: list[Change] = []
        left: list[Change] = []
        touched: set[str] = set()
        for change in self.state.requests:
            brokers = {change.broker, change.old_parent, change.new_parent} - {"", self.id}
            (left if brokers & touched else taken).append(change)
            touched |= brokers
        self.state.requests[:] = left
        return tuple(taken)

    def _apply(self, changes: tuple[Change, ...]) -> None:
        """Write what concerns this broker into the topology to come."""
        state = self.state
        for change in changes:
            if change.broker == self.id:
                state.parent[state.new] = change.new_parent
            if change.old_parent == self.id:
                state.children[state.new].discard(change.broker)
            if change.new_parent == self.id:
                self._add_child(change.broker)

    # Clients and notifications

    def _client_subscribed(self, event: ClientSubscribed, now: float) -> list[Effect]:
        """A subscription is coloured new; a first one perhaps current, or both."""
        state, first = self.state, self.config.first_color
        if event.is_refresh or first == "new":
            colors = [state.new]
        elif first == "current":
            colors = [state.current]
        else:
            colors = [state.new, state.current]
        return [
            effect
            for color in colors
            for effect in self.routing.subscribe(
                CLIENT + event.client, ColoredSubscribe(color, event.id, event.filter)
            )
        ]

    def _client_unsubscribed(self, event: ClientUnsubscribed, now: float) -> list[Effect]:
        message = ColoredUnsubscribe(self.state.new, event.id)
        return self.routing.unsubscribe(CLIENT + event.client, message)

    def _client_published(self, event: ClientPublished, now: float) -> list[Effect]:
        return self.publish(event.client, event.client, event.sequence, event.attributes)

    def publish(
        self, source: str, publisher: str, sequence: int, attributes: dict[str, Value]
    ) -> list[Effect]:
        """A notification comes in from a client here, coloured current from now on."""
        message = ColoredNotification(self.state.current, publisher, sequence, attributes)
        return self.routing.route(CLIENT + source, message)

    def _notified(self, source: str, message: ColoredNotification, now: float) -> list[Effect]:
        return self.routing.route(source, message)

    # Looking

    def is_linked(self, name: str, message: Message) -> bool:
        """Whether a message of a colour comes from a neighbour in the topology of that colour."""
        color = getattr(message, "color", 0) % COLORS
        return name in set(self.state.neighbours(color))
