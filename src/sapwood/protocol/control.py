"""Control messages: what a broker does with each, and when.

Messages of neighbours take effect where they come. Those of clients that change what they claim
wait for their turn if there are too many of them (``turns``), and everything else that their client
says waits behind them.
"""

from __future__ import annotations

from sapwood.errors import SapwoodError
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Dismiss, Effect, Send
from sapwood.protocol.events import ControlReceived
from sapwood.protocol.faults import RequestLostError
from sapwood.protocol.machine import MessageHandler
from sapwood.protocol.members import Members
from sapwood.protocol.messages import CODEC, Message, Refused, Unadvertise, Unsubscribe
from sapwood.protocol.reconfigure.asking import ChangeTree
from sapwood.protocol.reconfigure.turning import OVER_CANDIDATES, Turning
from sapwood.protocol.turns import Turns
from sapwood.wire.frames import CONTROL, walk


class Control(Members):
    """The part of a broker that takes control messages."""

    turning: Turning
    turns: Turns
    _from_neighbours: dict[type, list[MessageHandler]]
    _from_clients: dict[type, list[MessageHandler]]

    def _decoded(self, source: str, body: bytes, now: float) -> list[Effect]:
        try:
            message = CODEC.decode(body)
        except SapwoodError as problem:
            effects = self.drops.count(Drop.MALFORMED, source)
            if source in self.clients:
                effects.append(Send(source, Refused(str(problem))))
            return effects
        return self._control_received(ControlReceived(source, message), now)

    def _received_aside(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Frames over a link outside the tree: only what ends or begins a change is taken."""
        effects: list[Effect] = []
        for kind, _, _, body_at, end in walk(data):
            if kind == CONTROL:
                effects += self._decoded(source, data[body_at:end], now)
            else:
                effects += self.drops.count(Drop.OUTSIDE_TREE, source)
        return effects

    def _control_received(self, event: ControlReceived, now: float) -> list[Effect]:
        source, message = event.source, event.message
        if self.turning.holds(source):
            held = self.turning.hold_message(source, message, now)
            if held is not None:
                return held
        rejection = self.rejection(source)
        if rejection is Drop.OUTSIDE_TREE and isinstance(message, OVER_CANDIDATES):
            rejection = None
        if rejection is not None:
            return self.drops.count(rejection, source)
        if source in self.clients:
            return self._said_by_client(source, message, now)
        return self._handled(source, message, now)

    def _said_by_client(self, client: str, message: Message, now: float) -> list[Effect]:
        """Take a message of a client, or let it wait for its turn."""
        try:
            if not self.turns.must_wait(client, message, now):
                return self._take(client, message, now)
            reason = self.turns.keep(client, message, now)
        except Exception as problem:
            self._check_lost(client, message, problem)
            raise
        return [Dismiss(client, reason, goes_on=False)] if reason else []

    def _check_lost(self, client: str, message: Message, problem: Exception) -> None:
        """A fault was found while a message of a client was handled: note what it asked for."""
        request = getattr(message, "request", 0)
        if request and not self.config.raises_faults:
            raise RequestLostError(client, message, request) from problem

    def _take_turns(self, now: float) -> list[Effect]:
        """Take the messages of clients that have waited for their turn."""
        effects: list[Effect] = []
        while (turn := self.turns.following(now)) is not None:
            try:
                effects += self._take(*turn, now)
            except Exception as problem:
                self._check_lost(*turn, problem)
                raise
        return effects

    def finish_turns(self, now: float) -> list[Effect]:
        """Take all messages that wait, whatever that costs: this broker is about to leave."""
        effects: list[Effect] = []
        for client, message in self.turns.take_all():
            effects += self._handled(client, message, now)
        return effects

    def end_claims(self, client: str, count: int, now: float) -> list[Effect]:
        """End some of what a client claims that is gone (``link.farewells``)."""
        effects = self.turns.client_down(client, now)
        for kind, entry_id in self.clients.some_claims(client, count):
            own = entry_id.removeprefix(f"{client}/")
            message = Unsubscribe(own) if kind == SUBSCRIBED else Unadvertise(own)
            effects += self._handled(client, message, now)
        return effects

    def _take(self, client: str, message: Message, now: float) -> list[Effect]:
        """Take a message of a client, and count the work that it causes."""
        left = self.left
        effects = self._handled(client, message, now)
        work = 1 + len(effects) + max(0, self.left - left)
        self.turns.charge(client, message, work, now)
        return effects

    def _handled(self, source: str, message: Message, now: float) -> list[Effect]:
        table = self._from_clients if source in self.clients else self._from_neighbours
        handlers = table.get(type(message))
        if handlers is None:
            return self.drops.count(Drop.NOT_FOR_BROKERS, source)
        if isinstance(message, ChangeTree) and (reason := self.change_refusal(source, message)):
            refusal = Send(source, Refused(reason, message.request))
            return [*self.drops.count(Drop.REFUSED, source), refusal]
        effects: list[Effect] = []
        for handler in handlers:
            effects += handler(source, message, now)
        return effects
