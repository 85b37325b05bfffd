"""What the other end of a connection says about the connection, and who it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sapwood.protocol.events import BeaconReceived
from sapwood.protocol.link.goodbyes import told_goodbye
from sapwood.protocol.link.handshake import (
    PROTOCOL,
    Ack,
    Check,
    GivenUp,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Pong,
    Welcome,
)
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.states import LineState
from sapwood.protocol.stabilize.beacon import Beacon

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


def hear(node: Node, line: Line, message: LinkMessage, now: float) -> None:
    """Take what the other end said about a connection."""
    state = line.state
    node.changed = node.changed or isinstance(message, Hello | Welcome)
    if not line.advance(type(message).__name__):
        when = "before" if state is LineState.GREETING else "after"
        what = f"{type(message).__name__} {when} the handshake"
        what += "; begin with Hello" if state is LineState.GREETING else ""
        node.close(line, Goodbye(PROTOCOL, what), now)
    elif isinstance(message, Ack):
        node.acknowledged(line, message, now)
    elif isinstance(message, GivenUp):
        node.overflow.given_up_there(line, message, now)
    elif isinstance(message, Check):
        node.checking.heard(line, message, now)
    elif isinstance(message, Ping):
        node.say(line, Pong(message.number), now)
    elif isinstance(message, Pong):
        node.orders.answered(line, message.number, now)
    elif isinstance(message, Beacon):
        if line.peer is not None and not line.peer.is_client:
            node.bring(BeaconReceived(line.peer.name, message), now)
    elif isinstance(message, Hello):
        node.admission.hello(line, message, now)
    elif isinstance(message, Welcome):
        node.dialing.welcome(line, message, now)
        node.dialing.tick(now)
    else:
        told_goodbye(node, line, message, state, now)
