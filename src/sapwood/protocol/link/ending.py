"""How a node ends: it hands its clients over if it can, and then stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sapwood.protocol.effects import End
from sapwood.protocol.events import LeaveEnded, LeaveRefused
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link.handing import HandingOver, obstacle, successor
from sapwood.protocol.link.handshake import SHUTDOWN, Goodbye, Hello
from sapwood.protocol.link.stopping import Stopping

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


class Ending:
    """The end of a node, from when it is asked for."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def is_begun(self) -> bool:
        """Whether this node is about to end."""
        return self._node.stopping is not None or self._node.handing is not None

    def begin(self, now: float) -> None:
        """End: a broker at the edge of the tree hands its clients over first, if it can."""
        node = self._node
        if self.is_begun:
            return
        neighbour = successor(node)
        if neighbour is not None:
            node.handing = HandingOver(node, neighbour, now)
            node.handing.ask(now)
            return
        node.bring(LeaveEnded(f"broker {node.config.id} is shutting down"), now)
        node.stopping = Stopping(node, now)

    def wanted(self, effect: End, now: float) -> None:
        """Somebody wants this broker to leave: begin, or say why not."""
        reason = obstacle(self._node)
        if self.is_begun:
            reason = f"broker {self._node.config.id} is about to end already"
        if reason:
            self._node.bring(LeaveRefused(effect.request, effect.route, reason), now)
        else:
            self.begin(now)

    def objection(self, hello: Hello, name: str, now: float) -> Goodbye | None:
        """Why somebody is not let in any more, if so."""
        node = self._node
        handing, stopping = node.handing, node.stopping
        if stopping is None:
            return None if handing is None else handing.objection(hello, name, now)
        if handing is not None and stopping.has_moved(name):
            return handing.goodbye
        return Goodbye(SHUTDOWN, f"broker {node.config.id} is shutting down")

    def look(self, now: float) -> bool:
        """See how far it is; True when it is over, once."""
        node = self._node
        if node.stopping is None and node.handing is not None:
            try:
                if node.handing.look(now):
                    node.stopping = Stopping(node, now, node.handing)
            except FAULTS:
                if node.config.raises_faults or type(node.handing) is not HandingOver:
                    raise  # nobody asked for an end: what is there is forgotten (`drop_strays`)
                node.handing = None  # it was spoilt: end without it
                node.stopping = Stopping(node, now)
        return node.stopping is not None and node.stopping.look(now)

    @property
    def next_at(self) -> float | None:
        """When it has to be looked at again."""
        node = self._node
        if node.stopping is not None:
            return node.stopping.next_at
        return None if node.handing is None else node.handing.until
