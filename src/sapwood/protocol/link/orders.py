"""What a broker asks of its node about links and clients, and messages for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sapwood.protocol.due import is_due
from sapwood.protocol.effects import (
    Adopted,
    AskMailbox,
    Bar,
    CloseLink,
    Dismiss,
    End,
    HandOver,
    Hold,
    Measure,
    OpenLink,
    Reborn,
    ResetStream,
    SaveBook,
    Say,
    Send,
    StayHere,
    TreeChanged,
    Withhold,
)
from sapwood.protocol.events import DelayMeasured
from sapwood.protocol.link.admission import CHALLENGE_PING
from sapwood.protocol.link.adopting import adopt
from sapwood.protocol.link.handshake import OUTSIDE_TREE, Goodbye, Ping
from sapwood.protocol.link.line import Line
from sapwood.protocol.messages import CODEC, Refused, Surveyed
from sapwood.protocol.ports import ChangeAnswered, RememberBook
from sapwood.protocol.reconfigure.messages import ChangeEnded

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

DELAY_LOOK_SECONDS: Final = 10.0
"""How often a neighbour is asked how long a message takes."""

DELAY_PING: Final = 2**61
"""Number of the ping that asks it."""


class Orders:
    """Carries out what a broker asks for."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def carry_out(self, effect: object, now: float) -> bool:
        """Do what is asked; whether it is about links and clients at all."""
        act = self.ACTS.get(type(effect))
        if act is None:
            return False
        act(self, effect, now)
        return True

    def _send(self, effect: Send, now: float) -> None:
        node, message = self._node, effect.message
        peer = node.peers.get(effect.destination)
        if peer is not None:
            push = peer.channel.push_control
            if type(message) is Refused:
                push = peer.channel.push_refusal
            push(CODEC.encode(message))
            node.touch(peer)
        elif node.durability is not None and effect.destination != node.config.id:
            node.durability.mailboxes.told(effect.destination, message, now)
        elif effect.destination == node.config.id and isinstance(message, Surveyed | Refused):
            node.admission.surveyed(message, now)
        elif effect.destination == node.config.id and isinstance(message, ChangeEnded):
            node.do(ChangeAnswered(message))

    def _say(self, effect: Say, now: float) -> None:
        peer = self._node.peers.get(effect.neighbour)
        if peer is not None and peer.line is not None and peer.line.is_open:
            self._node.say(peer.line, effect.beacon, now)
            self._measure_delay(peer.line, now)

    def _measure_delay(self, line: Line, now: float) -> None:
        """Ask now and then how long a message takes over a line."""
        if is_due(line.ping_at + DELAY_LOOK_SECONDS, now, DELAY_LOOK_SECONDS):
            line.ping_at = now
            self._node.say(line, Ping(DELAY_PING), now)

    def answered(self, line: Line, number: int, now: float) -> None:
        """The other end of a line answers a ping: that it is alive, or how long a message takes."""
        peer = line.peer
        if peer is not None and number == CHALLENGE_PING:
            self._node.admission.answered(peer, now)
        elif peer is not None and number == DELAY_PING and not peer.is_client:
            peer.round_trip = now - line.ping_at
            self._node.bring(DelayMeasured(peer.name, (now - line.ping_at) / 2), now)

    def _hold(self, effect: Hold, now: float) -> None:
        peer = self._node.peers.get(effect.neighbour)
        if peer is not None:
            peer.channel.is_held = effect.is_held
            self._node.touch(peer)

    def _bar(self, effect: Bar, now: float) -> None:
        peer = self._node.peers.get(effect.neighbour)
        if peer is None:
            return
        if effect.is_barred:
            peer.channel.bar()
        else:
            peer.channel.lift()
        self._node.touch(peer)

    def _hand_over(self, effect: HandOver, now: float) -> None:
        if self._node.handing is not None:
            self._node.handing.flushed(effect, now)

    def _stay(self, effect: StayHere, now: float) -> None:
        if self._node.handing is not None:
            self._node.handing.refused(effect, now)

    def _withhold(self, effect: Withhold, now: float) -> None:
        peer = self._node.peers.get(effect.neighbour)
        if peer is not None:
            self._node.credit.withhold(peer, now)

    def _open(self, effect: OpenLink, now: float) -> None:
        self._node.dialing.seek(effect.broker, effect.addresses, now)

    def _measure(self, effect: Measure, now: float) -> None:
        """Ask at once how long a message takes to a neighbour."""
        peer = self._node.peers.get(effect.neighbour)
        if peer is not None and peer.line is not None and peer.line.is_open:
            peer.line.ping_at = now
            self._node.say(peer.line, Ping(DELAY_PING), now)

    def _save_book(self, effect: SaveBook, now: float) -> None:
        self._node.do(RememberBook(effect.hints))

    def _close(self, effect: CloseLink, now: float) -> None:
        peer = self._node.peers.get(effect.neighbour)
        if peer is not None and not peer.is_client:
            self._node.membership.remove(peer, Goodbye(OUTSIDE_TREE, effect.reason), now)

    def _end(self, effect: End, now: float) -> None:
        self._node.ending.wanted(effect, now)

    def _tree_changed(self, effect: TreeChanged, now: float) -> None:
        self._node.membership.tree_changed(now)

    def _dismiss(self, effect: Dismiss, now: float) -> None:
        self._node.membership.dismiss(effect, now)

    def _ask_mailbox(self, effect: AskMailbox, now: float) -> None:
        node = self._node
        if node.durability is not None:
            node.durability.mailboxes.asked(effect.client, effect.asked, now)
            return
        reason = (
            f"broker {node.config.id} keeps no journal, so there are no durable subscriptions; "
            "set durability.spool to 'disk' there, with a data directory"
        )
        self._send(Send(effect.client, Refused(reason, effect.asked.request)), now)

    def _reset(self, effect: ResetStream, now: float) -> None:
        self._node.membership.reset(effect, now)

    def _reborn(self, effect: Reborn, now: float) -> None:
        self._node.membership.reborn(effect, now)

    def _adopt(self, effect: Adopted, now: float) -> None:
        adopt(self._node, effect, now)

    ACTS: ClassVar[dict[type, Callable[[Any, Any, float], None]]] = {
        Send: _send,
        Say: _say,
        Hold: _hold,
        Withhold: _withhold,
        OpenLink: _open,
        Measure: _measure,
        SaveBook: _save_book,
        CloseLink: _close,
        End: _end,
        TreeChanged: _tree_changed,
        Dismiss: _dismiss,
        ResetStream: _reset,
        Reborn: _reborn,
        Bar: _bar,
        HandOver: _hand_over,
        StayHere: _stay,
        Adopted: _adopt,
        AskMailbox: _ask_mailbox,
    }
    """What is done for each kind of effect: code, so that no fault changes it."""
