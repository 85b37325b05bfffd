"""Requests for changes of the tree: who is to begin one, with which ring, and how it ended.

Any broker can be asked. It surveys the tree, finds the ring and sends the request along the tree to
the broker that begins the change: the end of the new link on the longer side of the old one. That
broker has the new link dialled, by whichever end can, before anything is locked; what is locked is
locked for as long as the waves take and no longer. A broker that takes part in another change
refuses, and the change is tried again after a while, which is another one for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol
from zlib import crc32

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due, past
from sapwood.protocol.effects import CloseLink, Effect, OpenLink, Send
from sapwood.protocol.events import ChangeRequested
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.reconfigure.messages import (
    COMPLETED,
    REFUSED,
    BeginChange,
    ChangeEnded,
    Kind,
    Outcome,
    Prepare,
)
from sapwood.protocol.reconfigure.rings import plan_ring
from sapwood.protocol.reconfigure.state import messages_of
from sapwood.protocol.reconfigure.turning import Turning
from sapwood.protocol.waves import OpenRequest, Wave, Waves

DIAL_SECONDS: Final = 5.0
"""How long is waited for the new link."""

LOOK_SECONDS: Final = 10.0
"""How often whoever asked looks at the tree while there is no answer."""

ATTEMPTS_MAX: Final = 8
"""How often a change is tried that somebody refuses."""

ORDERS_MAX: Final = 64
"""Changes that one broker is to begin at a time."""

DEFERRED_MAX: Final = 256
"""Messages that wait for the end of a change; of more the oldest are given up."""

PAUSE_SECONDS: Final = (0.1, 3.2)
"""How long is waited after the first refusal and, doubled each time, after the last."""


class Asker(Protocol):
    """A machine of this broker that asks for changes, under negative numbers."""

    def ended(self, ended: ChangeEnded, now: float) -> list[Effect]:
        """A change that was asked for has ended."""


class Asked(msgspec.Struct):
    """A request of this broker, or of its driver, that is not answered yet."""

    old: tuple[str, str]
    new: tuple[str, str]
    kind: Kind
    until: float
    """When it is answered with no."""
    look_at: float
    """When is looked again whether the tree is as it was asked for: an answer may get lost."""
    is_begun: bool = False
    """Whether whoever is to begin was told."""


class Order(msgspec.Struct):
    """A change that this broker is to begin."""

    wanted: BeginChange
    since: float
    attempts: int = 0
    try_at: float = float("-inf")
    """When it is tried next; while the new link is dialled, when that has taken too long."""
    is_dialled: bool = False
    """Whether the new link was dialled because of it, and is to be closed if it is of no use."""
    change: str = ""
    """The one under way because of it."""
    reason: str = ""
    """Why it was refused last."""


class Changing(Machine):
    """The requests of this broker's driver, and the changes that it is to begin for others."""

    name = "changing"
    surveys = True
    derived = ("askers",)

    def __init__(self, core: Core, turning: Turning, waves: Waves) -> None:
        super().__init__(core)
        self.asked: dict[int, Asked] = {}
        """By request."""
        self.orders: dict[tuple[str, int], Order] = {}
        """By asker and request."""
        self.deferred: list[tuple[BeginChange | ChangeEnded, str]] = []
        """What goes on when the change under way has ended, and who sent it."""
        self.count = 0
        """Changes that this broker has begun."""
        self._turning = turning
        self._waves = waves
        self.askers: list[Asker] = []
        """Who is told of the end of requests with negative numbers; each knows its own."""
        turning.initiator = self
        waves.serve(self)

    def events(self) -> Mapping[type, EventHandler]:
        """The driver may ask."""
        return {ChangeRequested: self._requested}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """Requests on their way to who is to begin, answers on their way back."""
        return {
            BeginChange: self._passed,
            ChangeEnded: self._answered,
            Prepare: self._prepared,
        }

    # Asking

    def _requested(self, event: ChangeRequested, now: float) -> list[Effect]:
        return self.ask(event.request, event.old, event.new, event.kind, now)

    def ask(
        self, request: int, old: tuple[str, str], new: tuple[str, str], kind: Kind, now: float
    ) -> list[Effect]:
        """Let one link be exchanged for another, for the driver or for a machine (`Asker`)."""
        patience = self.core.config.settle_patience + self._seconds
        self.asked[request] = Asked(old, new, kind, now + patience, now + LOOK_SECONDS)
        return self._waves.request(self, self.core.id, request, now)

    @property
    def _seconds(self) -> float:
        """How long a change may take at the broker that begins it, with all attempts."""
        pauses = ATTEMPTS_MAX * PAUSE_SECONDS[1]
        return DIAL_SECONDS + pauses + 3 * self.core.config.tree.change_seconds

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """The survey is back: find the ring, and let the change begin."""
        core, asked = self.core, self.asked.get(request.number)
        if asked is None:
            return []
        if asked.is_begun:
            return self._look(request.number, asked, wave, now)
        asked.is_begun = True
        ring_max = core.config.tree.ring_max
        plan = plan_ring(wave.reports, core.id, asked.old, asked.new, asked.kind, ring_max)
        if plan.problem:
            return self._settle(ChangeEnded(core.id, request.number, REFUSED, plan.problem), now)
        wanted = BeginChange(
            core.id,
            request.number,
            plan.path,
            plan.k,
            plan.route,
            plan.back,
            plan.addresses,
        )
        return self._pass_on(wanted, now)

    def _look(self, request: int, asked: Asked, wave: Wave, now: float) -> list[Effect]:
        """See by a survey whether a change was made whose answer did not come."""
        links = {(one.id, other) for one in wave.reports for other in one.neighbours}
        if asked.new not in links or asked.new[::-1] not in links or asked.old in links:
            return []
        reason = "no answer came, but the tree is as asked for"
        return self._settle(ChangeEnded(self.core.id, request, COMPLETED, reason), now)

    def give_up(self, request: OpenRequest) -> list[Effect]:
        """No survey has come back in time."""
        asked = self.asked.get(request.number)
        if asked is not None and asked.is_begun:
            return []
        reason = "the survey did not come back in time; try again"
        ended = ChangeEnded(self.core.id, request.number, REFUSED, reason)
        return self._settle(ended, request.deadline)

    def _settle(self, ended: ChangeEnded, now: float) -> list[Effect]:
        """Answer whoever asked, once."""
        is_known = self.asked.pop(ended.request, None) is not None
        if ended.request < 0:
            return [effect for asker in self.askers for effect in asker.ended(ended, now)]
        if not is_known:
            return []
        return [Send(self.core.id, msgspec.structs.replace(ended, route=()))]

    # On the way

    def begin(self, wanted: BeginChange, now: float) -> list[Effect]:
        """Let a change begin whose ring is known, for a machine of this broker (`Asker`)."""
        return self._pass_on(wanted, now)

    def _passed(self, source: str, message: BeginChange, now: float) -> list[Effect]:
        return self._pass_on(message, now)

    def _pass_on(self, wanted: BeginChange, now: float) -> list[Effect]:
        """Let a request go on to who is to begin, or begin."""
        core, route = self.core, wanted.route
        if core.id not in route or len(wanted.path) < 2 or wanted.path[0] != route[-1]:
            return core.drops.count(Drop.MALFORMED, wanted.asker)
        place = route.index(core.id)
        if place == len(route) - 1:
            if len(self.orders) >= ORDERS_MAX:
                reason = f"{core.id} has {ORDERS_MAX} changes to begin already"
                back = tuple(reversed(route))
                ended = ChangeEnded(wanted.asker, wanted.request, REFUSED, reason, route=back)
                return self.answer_asker(ended, now)
            self.orders[wanted.asker, wanted.request] = order = Order(wanted, now)
            return self._try(order, now)
        if self._turning.ring is not None:
            return self._defer(wanted, "")
        following = route[place + 1]
        if core.neighbours.is_in_tree(following):
            return [Send(following, wanted)]
        reason = f"the way to {route[-1]} is lost at {core.id}"
        back = tuple(reversed(route[: place + 1]))
        ended = ChangeEnded(wanted.asker, wanted.request, REFUSED, reason, route=back)
        return self.answer_asker(ended, now)

    def _answered(self, source: str, message: ChangeEnded, now: float) -> list[Effect]:
        return self.answer_asker(message, now, source)

    def answer_asker(self, ended: ChangeEnded, now: float, source: str = "") -> list[Effect]:
        """Let an answer go on to who asked.

        If another change has taken the way there apart, everybody beyond is told.
        """
        core, route = self.core, ended.route
        if ended.asker == core.id:
            return self._settle(ended, now)
        if self._turning.ring is not None:
            return self._defer(ended, source)
        if core.id in route[:-1]:
            following = route[route.index(core.id) + 1]
            if core.neighbours.is_in_tree(following):
                return [Send(following, ended)]
        came_from = "" if route else source  # what has lost its way may have to go back
        ended = msgspec.structs.replace(ended, route=())
        return [Send(name, ended) for name in core.neighbours.tree() if name != came_from]

    def _defer(self, message: BeginChange | ChangeEnded, source: str) -> list[Effect]:
        """Let a message wait while a change is under way here: its way may be another one then."""
        self.deferred.append((message, source))
        del self.deferred[:-DEFERRED_MAX]
        return []

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """A change has ended here: what had to wait goes on."""
        return self._go_on(now)

    def _go_on(self, now: float) -> list[Effect]:
        deferred, self.deferred = self.deferred, []
        effects: list[Effect] = []
        for message, source in deferred:
            if isinstance(message, BeginChange):
                effects += self._pass_on(message, now)
            else:
                effects += self.answer_asker(message, now, source)
        return effects

    # Beginning

    def _try(self, order: Order, now: float) -> list[Effect]:
        """Begin a change, or have its new link dialled first."""
        path = order.wanted.path
        if order.change:
            return []
        if not self._is_linked(path[-1]):
            return self._dial(order, now)
        self.count += 1
        change = f"{self.core.id}.{self.core.config.session}/{self.count}"
        refusal = self._turning.refusal(change, path, order.wanted.k)
        if refusal:
            way = self._turning.make_way(path, refusal, now)
            return [*way, *self._refused(order, f"{self.core.id}: {refusal}", now)]
        order.change = change
        return self._turning.start(change, path, order.wanted.k, now)

    def _is_linked(self, name: str) -> bool:
        one = self.core.neighbours.get(name)
        return one is not None and one.is_connected

    def _dial(self, order: Order, now: float) -> list[Effect]:
        wanted = order.wanted
        if order.is_dialled:
            if is_due(order.try_at, now, DIAL_SECONDS):
                return self._end(order, REFUSED, f"no link to {wanted.path[-1]} in time", now)
            return []
        order.is_dialled, order.try_at = True, now + DIAL_SECONDS
        if wanted.addresses:
            return [OpenLink(wanted.path[-1], wanted.addresses)]
        name = f"{self.core.id}.{self.core.config.session}/0"
        return self._prepare(Prepare(name, wanted.path, self.core.config.addresses))

    def _prepared(self, source: str, message: Prepare, now: float) -> list[Effect]:
        return self._prepare(message)

    def _prepare(self, message: Prepare) -> list[Effect]:
        """Let the last of the path dial the first."""
        core, path = self.core, message.path
        if core.id not in path:
            return core.drops.count(Drop.MALFORMED, core.id)
        place = path.index(core.id)
        if place == len(path) - 1:
            return [] if self._is_linked(path[0]) else [OpenLink(path[0], message.addresses)]
        following = path[place + 1]
        return [Send(following, message)] if core.neighbours.is_in_tree(following) else []

    def link_aside(self, neighbour: str, now: float) -> list[Effect]:
        """A new link is there that a change may have waited for."""
        effects: list[Effect] = []
        for order in list(self.orders.values()):
            if order.wanted.path[-1] == neighbour and order.is_dialled and not order.change:
                effects += self._try(order, now)
        return effects

    # The end

    def ended(self, change: str, outcome: Outcome, reason: str, now: float) -> list[Effect]:
        """A change that this broker began has ended here."""
        order = next((one for one in self.orders.values() if one.change == change), None)
        if order is None:
            return []
        if outcome == COMPLETED:
            return self._end(order, outcome, reason, now)
        order.change = ""
        return self._refused(order, reason, now, change)

    def _refused(self, order: Order, reason: str, now: float, change: str = "") -> list[Effect]:
        """Somebody does not take part now: try again later, not all at the same time."""
        order.reason = reason
        order.attempts += 1
        if order.attempts >= ATTEMPTS_MAX:
            return self._end(order, "undone" if change else REFUSED, reason, now, change)
        first, last = PAUSE_SECONDS
        pause = min(last, first * 2.0**order.attempts)
        spread = crc32(f"{self.core.id}/{order.wanted}/{order.attempts}".encode()) / 2**32
        order.try_at = now + pause * (0.5 + spread)
        return []

    def _end(
        self, order: Order, outcome: Outcome, reason: str, now: float, change: str = ""
    ) -> list[Effect]:
        """Tell whoever asked how it ended."""
        wanted = order.wanted
        self.orders.pop((wanted.asker, wanted.request), None)
        n, k = len(wanted.path), wanted.k
        is_done = outcome == COMPLETED
        effects: list[Effect] = []
        new = wanted.path[-1]
        one = self.core.neighbours.get(new)
        if order.is_dialled and not is_done and one is not None and not one.in_tree:
            effects.append(CloseLink(new, "the change it was dialled for did not take place"))
        ended = ChangeEnded(
            wanted.asker,
            wanted.request,
            outcome,
            reason,
            order.change or change,
            wanted.path,
            wanted.path[k - 1 : k + 1],
            messages_of(n, k),
            now - past(order.since, now),
            wanted.back if is_done else tuple(reversed(wanted.route)),
        )
        return [*effects, *self.answer_asker(ended, now)]

    # Time

    @property
    def next_at(self) -> float | None:
        """When a change is tried again, or a request has waited for too long."""
        times = [order.try_at for order in self.orders.values() if not order.change]
        times += [asked.until for asked in self.asked.values()]
        times += [asked.look_at for asked in self.asked.values() if asked.is_begun]
        return min(times, default=None)

    def tick(self, now: float) -> list[Effect]:
        """Try again what was refused, and wait no longer than for its time."""
        effects = self._go_on(now)
        for order in list(self.orders.values()):
            if not order.change and is_due(order.try_at, now, PAUSE_SECONDS[1] * 2):
                effects += self._try(order, now)
        patience = self.core.config.settle_patience + self._seconds
        for request, asked in list(self.asked.items()):
            if asked.is_begun and is_due(asked.look_at, now, LOOK_SECONDS):
                asked.look_at = now + LOOK_SECONDS
                effects += self._waves.request(self, self.core.id, request, now)
            if is_due(asked.until, now, patience):
                reason = "nobody said in time how it ended; look at the tree"
                effects += self._settle(ChangeEnded(self.core.id, request, REFUSED, reason), now)
        return effects

    # Looking

    def report(self) -> dict[str, Any]:
        """How many changes are asked for, and to be begun."""
        return {"asked": len(self.asked), "orders": len(self.orders), "begun": self.count}

    def state(self) -> Any:
        """All of it."""
        return {
            "asked": {str(key): msgspec.to_builtins(one) for key, one in self.asked.items()},
            "orders": [msgspec.to_builtins(one) for one in self.orders.values()],
            "deferred": [[msgspec.to_builtins(one), source] for one, source in self.deferred],
            "count": self.count,
        }

    def problems(self) -> Iterator[str]:
        """What is under way because of an order is the change of the turning machine."""
        ring = self._turning.ring
        for order in self.orders.values():
            if order.change and (ring is None or ring.change != order.change):
                yield f"{order.change} is under way for {order.wanted.asker}, and is not"
