"""What a broker asks of its node about links and clients, besides messages for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sapwood.protocol.due import is_due
from sapwood.protocol.effects import (
    CloseLink,
    Dismiss,
    Hold,
    OpenLink,
    Reborn,
    ResetStream,
    Say,
    TreeChanged,
)
from sapwood.protocol.events import DelayMeasured
from sapwood.protocol.link.admission import CHALLENGE_PING
from sapwood.protocol.link.handshake import OUTSIDE_TREE, Goodbye, Ping
from sapwood.protocol.link.line import Line

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
        self.by_kind: Final[dict[type, Callable[[Any, float], None]]] = {
            Say: self._say,
            Hold: self._hold,
            OpenLink: self._open,
            CloseLink: self._close,
            TreeChanged: self._tree_changed,
            Dismiss: node.membership.dismiss,
            ResetStream: node.membership.reset,
            Reborn: node.membership.reborn,
        }

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
            self._node.bring(DelayMeasured(peer.name, (now - line.ping_at) / 2), now)

    def _hold(self, effect: Hold, now: float) -> None:
        peer = self._node.peers.get(effect.neighbour)
        if peer is not None:
            peer.channel.is_held = effect.is_held
            self._node.touch(peer)

    def _open(self, effect: OpenLink, now: float) -> None:
        self._node.dialing.seek(effect.broker, effect.addresses, now)

    def _close(self, effect: CloseLink, now: float) -> None:
        peer = self._node.peers.get(effect.neighbour)
        if peer is not None and not peer.is_client:
            self._node.membership.remove(peer, Goodbye(OUTSIDE_TREE, effect.reason), now)

    def _tree_changed(self, effect: TreeChanged, now: float) -> None:
        self._node.membership.tree_changed(now)
