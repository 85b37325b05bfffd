"""What goes out of a client's session: the calls of the application, and how they leave.

Calls change the state and say by `wants_flush` that something waits; what is published or asked in
one turn leaves in one write.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.client.config import SessionConfig
from sapwood.protocol.client.deliveries import Deliveries, Inbox
from sapwood.protocol.client.outputs import Accepted, IndexWanted, Unconfirmed
from sapwood.protocol.client.publishing import Publishing
from sapwood.protocol.client.refreshing import Refreshing
from sapwood.protocol.client.requests import OpenRequest, Requests
from sapwood.protocol.durable.messages import Mailbox
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handshake import Ping, Welcome
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.states import SessionState
from sapwood.protocol.messages import CODEC, Advertise, Message, Subscribe
from sapwood.protocol.ports import Write
from sapwood.protocol.reconfigure.asking import Wish

ACK_SECONDS: Final = 0.02
"""Longest time until what came is acknowledged."""


class Outbound:
    """The sending half of a session."""

    def __init__(self, config: SessionConfig) -> None:
        self.config = config
        self.name = config.name
        self.state = SessionState.IDLE
        self.wants_flush = False
        """Whether calls of the application wait for `flush`."""
        self.publishing = Publishing(self.name, config.buffer_bytes)
        self.deliveries = Deliveries()
        self.requests = Requests()
        self.refreshing = Refreshing(self.name, self.requests)
        self.channel = Channel(config.limits)
        self.broker = ""
        """The broker of this session, or the last one."""
        self.has_journal = False
        """Whether that broker has on disk what it acknowledges."""
        self._line: Line | None = None
        self._last_ping = 0
        self._effects: list[object] = []
        self._acknowledge_at = inf
        self._check_at = -inf
        """When the stream is looked at again, and the broker is told how far it is."""

    @property
    def order(self) -> int:
        """How much was published and received, in the client's own order."""
        return self.deliveries.received + self.publishing.sequence - self.publishing.waiting

    @property
    def _check_seconds(self) -> float:
        """How often the stream is looked at: as often as the broker compares tables, at least.

        Its bound for healing a stream holds only if both ends look in its period.
        """
        told, own = self.refreshing.seconds, self.config.check_seconds
        return min(told, own) if told > 0 else own

    # Calls of the application

    def publish(
        self,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        *,
        published_at: float,
        expires_in: float | None = None,
    ) -> int:
        """Publish attributes that were checked; the sequence number."""
        self.wants_flush = True
        return self.publishing.add(attributes, payload, published_at, expires_in)

    def subscribe(
        self, filter: Filter, *, buffer: int = 10_000, settle: bool = True, gaps: bool = True
    ) -> tuple[Inbox, int]:
        """Begin a subscription; where it is delivered, and the number of the request.

        With `settle` it is answered when the whole network knows; else the number is zero.
        """
        request = self.requests.open(Subscribe, str(filter), settle=settle)
        self._send(request.message)
        inbox = Inbox(request.name, filter, buffer, yields_gaps=gaps)
        if self.deliveries.add(inbox):
            self._effects.append(IndexWanted())
        return inbox, request.number

    def unsubscribe(self, name: str, *, settle: bool = False) -> int:
        """End a subscription; the number of the request, or zero if no answer will come."""
        return self._end(name, settle=settle) if self.deliveries.remove(name) else 0

    def advertise(self, filter: Filter, *, settle: bool = True) -> OpenRequest:
        """Say what will be published."""
        request = self.requests.open(Advertise, str(filter), settle=settle)
        self._send(request.message)
        return request

    def unadvertise(self, name: str, *, settle: bool = True) -> int:
        """Take an advertisement back; the number of the request."""
        return self._end(name, settle=settle)

    def survey(self) -> int:
        """Ask what the network looks like; the number of the request."""
        survey = self.requests.survey()
        self._send(survey)
        return survey.request

    def change_tree(
        self, wish: Wish, links: tuple[tuple[str, str], ...] = (), broker: str = ""
    ) -> int:
        """Ask for a change of the tree; the number of the request."""
        change = self.requests.change(wish, links, broker)
        self._send(change)
        return change.request

    def mailbox(self, asked: Mailbox) -> int:
        """Ask something about durable subscriptions; the number of the request."""
        message = self.requests.mailbox(asked)
        self._send(message)
        return message.request

    def ping(self) -> int:
        """Ask the broker whether it is there; the number of the ping. There is a connection."""
        self._last_ping += 1
        self.wants_flush = True
        if self._line is not None:
            self._line.say(Ping(self._last_ping))
        return self._last_ping

    def make_room(self) -> None:
        """Something was read: perhaps the broker may send more."""
        if not self.channel.withheld:
            return
        self.wants_flush = True
        try:
            self._acknowledge()
        except FAULTS as fault:
            self._spoilt(fault)

    def _end(self, name: str, *, settle: bool) -> int:
        message = self.requests.end(name, settle=settle)
        if message is None:
            return 0
        self._send(message)
        return message.request

    def _send(self, message: Message) -> None:
        """Send a control message, behind all that was published before."""
        self.wants_flush = True
        try:
            self.publishing.move_into(self.channel)
            self.channel.push_control(CODEC.encode(message))
            if self.channel.withheld:
                self._acknowledge()  # the answer must not wait behind notifications nobody reads
        except FAULTS as fault:
            self._spoilt(fault)

    def _spoilt(self, fault: Exception) -> None:
        """A call found the stream spoilt: at the next tick it begins anew, not in the call."""
        if self.config.raises_faults:
            raise fault
        self._check_at = -inf

    def _publish_again(self, welcome: Welcome) -> list[object]:
        """Put publications into a new stream; what the application has to be told of them.

        The broker that had them before may have them in its journal, and says how far: then what is
        not in it was never taken, and goes to it once more.
        """
        before = self.publishing.accepted
        kept = welcome.published if welcome.id == self.broker else None
        lost = self.publishing.begin_anew(self.channel, kept)
        told: list[object] = [Unconfirmed(first, last) for first, last in lost]
        if kept is not None and self.publishing.accepted > before:
            told.insert(0, Accepted(self.publishing.accepted))
        return told

    # Sending

    def _flush(self) -> None:
        """Send what may be sent.

        What came before is acknowledged first, so that a trace knows what a publication may have
        been caused by. An acknowledgement never waits behind publications: they may be waiting
        for the broker, and the broker for it.
        """
        channel, line = self.channel, self._line
        self.publishing.move_into(channel)
        if line is None or not channel.connected or self.state is not SessionState.CONNECTED:
            return
        runs = channel.take()
        if runs:
            self.publishing.handed_over(channel)
            if channel.owes_ack:
                line.out.append(channel.ack())
            line.out += runs

    def _refresh(self, now: float) -> None:
        """Let the broker compare, or answer what it asked."""
        for message in self.refreshing.due(now):
            self._send(message)
        self._flush()

    def _acknowledge(self) -> None:
        """Tell the broker what came, and how much may come.

        Where nobody reads, it may not send more, unless an answer would wait behind that.
        """
        self._acknowledge_at = inf
        channel = self.channel
        channel.withheld = self.deliveries.is_full and not self.requests.is_waiting
        if self._line is not None and channel.connected and channel.owes_ack:
            self._line.out.append(channel.ack())

    def _write(self, line: Line, now: float) -> None:
        """Write all that is to be written over a connection."""
        if line.out:
            line.wrote_at = now
            data = line.take()
            if type(data) is not bytes:
                raise TypeError(f"to be written are bytes, not {data!r}")
            self._effects.append(Write(line.number, data))
