"""A node with a journal: nothing is acknowledged or passed on before it is on disk."""

from __future__ import annotations

from random import Random

from sapwood.protocol.durable.records import decode_segment
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import LINK_CODEC, Ack, Hello, LinkMessage, Welcome
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import Append, Connected, Data, DriverEffect, Sync, Synced, Write
from sapwood.wire.frames import LINK, encode_head, encode_notification, split

CONFIG = NodeConfig(id="B1", durability=DurabilitySettings(spool="disk"))
HELLO = Hello(role="client", network="sapwood", id="c", session=1, credit=10**6)
FRAMES = [encode_notification(encode_head("c.1", {"x": 1}), number, 0.0) for number in (1, 2, 3)]


class Life:
    """A node with one client, and the bytes of its journal."""

    def __init__(self, disk: bytes = b"") -> None:
        segments = [decode_segment(disk, is_last=True)] if disk else []
        self.node = Node(CONFIG, Random(1), lambda: "secret", journal=segments)
        self.disk = b""
        self.said: list[LinkMessage] = []
        self.syncs: list[int] = []
        self.take(self.node.handle(Tick(), 0.0))
        self.take(self.node.handle(Connected(1), 0.0))
        self.take(self.node.handle(Data(1, LINK_CODEC.encode(HELLO)), 0.0))

    def take(self, effects: list[DriverEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                self.disk += effect.data
            elif isinstance(effect, Sync):
                self.syncs.append(effect.position)
            elif isinstance(effect, Write):
                self.said += [
                    LINK_CODEC.decode(body) for kind, _, body in split(effect.data) if kind == LINK
                ]

    def tick(self, now: float) -> None:
        self.take(self.node.handle(Tick(), now))

    @property
    def acknowledged(self) -> int:
        return max((one.received for one in self.said if isinstance(one, Ack)), default=0)

    @property
    def welcome(self) -> Welcome:
        return next(one for one in self.said if isinstance(one, Welcome))


def test_a_publication_is_acknowledged_when_it_is_on_disk() -> None:
    life = Life()
    assert life.welcome.published == 0
    life.take(life.node.handle(Data(1, b"".join(FRAMES)), 0.0))
    for now in (0.02, 0.06, 0.2):
        life.tick(now)
    assert life.syncs == [1]
    assert life.acknowledged == 0
    life.take(life.node.handle(Synced(1), 0.3))
    assert life.acknowledged == 3


def test_the_next_life_knows_what_was_published() -> None:
    life = Life()
    life.take(life.node.handle(Data(1, b"".join(FRAMES)), 0.0))
    assert Life(life.disk).welcome.published == 3
    assert Life(life.disk[:-1]).welcome.published == 0, "the record was torn"


def test_a_node_without_journal_says_nothing_of_one() -> None:
    node = Node(NodeConfig(id="B1"), Random(1), lambda: "secret")
    node.handle(Connected(1), 0.0)
    effects = node.handle(Data(1, LINK_CODEC.encode(HELLO)), 0.0)
    (data,) = (one.data for one in effects if isinstance(one, Write))
    (body,) = (body for kind, _, body in split(data) if kind == LINK)
    welcome = LINK_CODEC.decode(body)
    assert isinstance(welcome, Welcome)
    assert welcome.published is None
    assert node.handle(Synced(1), 0.0) == []
