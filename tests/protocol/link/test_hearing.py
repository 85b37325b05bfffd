"""What the other end says about a connection is for the part that it concerns."""

from __future__ import annotations

from random import Random

from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import LINK_CODEC, PROTOCOL, Ack, Goodbye, Hello, LinkMessage
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import Connected, Data, Write
from sapwood.wire.frames import HEADER_SIZE


def heard(*messages: LinkMessage) -> list[LinkMessage]:
    """What a node answers to somebody who dialled and says something."""
    node = Node(NodeConfig(id="B1"), Random(1), lambda: "secret")
    node.handle(Tick(), 0.0)
    node.handle(Connected(1), 0.0)
    data = b"".join(map(LINK_CODEC.encode, messages))
    writes = [one.data for one in node.handle(Data(1, data), 0.0) if isinstance(one, Write)]
    return [LINK_CODEC.decode(one[HEADER_SIZE:]) for one in writes]


def test_what_comes_before_the_handshake_ends_the_connection() -> None:
    (goodbye,) = heard(Ack(0, 0))
    assert isinstance(goodbye, Goodbye)
    assert goodbye.code == PROTOCOL
    assert goodbye.reason == "Ack before the handshake; begin with Hello"


def test_a_hello_is_answered() -> None:
    hello = Hello(role="client", network="sapwood", id="c", session=1)
    (answer,) = heard(hello)
    assert type(answer).__name__ == "Welcome"
