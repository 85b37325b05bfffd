"""What is read back from the journal, over whole nodes in virtual time."""

from __future__ import annotations

from random import Random

import pytest

from protocol.durable.asking import World, sequences
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.node import Node
from sapwood.sim.faithful.network import FaithfulNetwork

PAYLOAD = b"p" * 200


def read_all(world: World, name: str = "d") -> list[int]:
    """Read from the beginning to the end, page by page."""
    got: list[int] = []
    position = 0
    while True:
        page = world.answer("read", name=name, position=position)
        if not page.count:
            return got
        got += sequences(page)
        position = page.first + page.count


def recent_bytes(node: Node) -> int:
    assert node.durability is not None
    return sum(mailbox._recent_bytes for mailbox in node.durability.mailboxes)


def test_a_subscription_that_nobody_reads_takes_no_memory_of_its_size() -> None:
    world = World(memory_bytes=2**12)
    world.answer("open", name="d", filter="x >= 0")
    for _ in range(10):
        world.publish(100)
    node = world.network.nodes["B1"]
    assert recent_bytes(node) <= 2**12
    (state,) = world.answer("status", name="d").mailboxes
    assert state.size > 25 * 2**12
    assert read_all(world) == [*range(1, 1001)]


def test_the_next_life_reads_on_where_the_journal_has_it() -> None:
    world = World(memory_bytes=2**12, segment_bytes=2**14)
    world.answer("open", name="d", filter="x >= 0")
    for _ in range(3):
        world.publish(50)
        world.network.crash("B1")
        world.network.restart("B1")
        world.network.driver.run(30.0)
    assert recent_bytes(world.network.nodes["B1"]) <= 2**12
    assert read_all(world) == [*range(1, 151)]


def test_the_whole_journal_is_bounded_and_what_went_is_said() -> None:
    world = World(journal_bytes=2**18, segment_bytes=2**14)
    for name in ("d", "e"):
        world.answer("open", name=name, filter="x >= 0")
    for _ in range(30):
        world.publish(100)
    node = world.network.nodes["B1"]
    assert node.durability is not None
    assert node.durability.journal.size < 2**18 + 2**16
    assert world.network.sites["B1"].store.size < 2**18 + 2**16
    for name in ("d", "e"):
        page = world.answer("read", name=name)
        assert page.first > 0
        got = read_all(world, name)
        assert got == [*range(page.first + 1, 3001)]
        assert page.mailboxes[0].lost == page.first
    assert node.counts["mailbox_given_up"] > 0


def test_what_a_slow_reader_needs_is_written_once_more_so_that_old_segments_go() -> None:
    world = World(segment_bytes=2**14)
    world.answer("open", name="rare", filter="x = 0")
    world.answer("open", name="much", filter="x > 0")
    position = 0
    for _ in range(20):
        world.publish(60)
        page = world.answer("read", name="much", position=position)
        position = page.first + page.count
        world.answer("commit", name="much", epoch=page.mailboxes[0].epoch, committed=position)
    world.network.driver.run(5.0)
    assert world.network.sites["B1"].store.size < 8 * 2**14
    assert read_all(world, "rare") == [*range(1, 1201, 60)]
    world.network.crash("B1")
    world.network.restart("B1")
    world.network.driver.run(30.0)
    assert read_all(world, "rare") == [*range(1, 1201, 60)]


def test_what_is_damaged_is_given_up_counted_and_told() -> None:
    world = World(memory_bytes=2**10, segment_bytes=2**14)
    world.answer("open", name="d", filter="x >= 0")
    for _ in range(5):
        world.publish(100)
    files = world.network.sites["B1"].store._files
    files[min(files)][2000] ^= 1
    page = world.answer("read", name="d")
    assert page.first > 0
    assert sequences(page)[0] == page.first + 1
    node = world.network.nodes["B1"]
    assert node.counts["journal_damaged"] == 1
    assert node.counts["mailbox_given_up"] == page.first == page.mailboxes[0].lost


class Pair:
    """Two brokers with journals, a publisher at the one and a subscriber at the other."""

    def __init__(self, **settings: object) -> None:
        durability = DurabilitySettings(spool="disk", **settings)  # type: ignore[arg-type]
        self.network = network = FaithfulNetwork(Random(1), config={"durability": durability})
        network.add_broker("B1")
        network.add_broker("B2", ("B1",))
        assert network.driver.run_until(lambda: bool(network.joined_links()), 60.0)
        self.publisher = network.connect("p.1", "B1")
        self.reader = network.connect("r.1", "B2")
        network.driver.run(1.0)
        network.subscribe("r.1", "s", "x >= 0")
        network.driver.run(5.0)

    @property
    def peer(self) -> Peer:
        return self.network.nodes["B1"].peers["B2"]

    def publish(self, count: int) -> None:
        for number in range(count):
            self.network.publish("p.1", {"x": number}, PAYLOAD)
        self.network.driver.run(1.0)

    @property
    def got(self) -> list[int]:
        return [one.sequence for one in self.reader.deliveries]


@pytest.mark.parametrize("restarts", [False, True], ids=["stays", "restarts"])
def test_a_link_that_is_away_takes_no_memory_of_what_waits_for_it(restarts: bool) -> None:
    pair = Pair(memory_bytes=2**12)
    pair.publish(1)
    pair.network.cut("B1", "B2")
    pair.network.refuse("B1", "B2")
    for _ in range(10):
        pair.publish(100)
    spool = pair.peer.channel.spool
    assert spool.paged > 40 * 2**12
    assert spool.size - spool.paged < 2 * 2**12
    if restarts:
        pair.network.crash("B1")
        pair.network.restart("B1")
    pair.network.refuse("B1", "B2", is_refused=False)
    assert pair.network.driver.run_until(lambda: len(pair.got) >= 1001, 300.0)
    pair.network.driver.run(5.0)
    assert pair.got == [*range(1, 1002)]
    assert pair.peer.channel.spool.paged == 0
    assert pair.network.problems() == []


def test_what_the_journal_gave_up_for_a_link_is_counted_and_told() -> None:
    pair = Pair(memory_bytes=2**12, journal_bytes=2**18, segment_bytes=2**14)
    pair.publish(1)
    pair.network.cut("B1", "B2")
    pair.network.refuse("B1", "B2")
    for _ in range(20):
        pair.publish(100)
    pair.network.refuse("B1", "B2", is_refused=False)
    assert pair.network.driver.run_until(lambda: bool(pair.got) and pair.got[-1] == 2001, 300.0)
    lost = 2001 - len(pair.got)
    assert lost > 0
    assert pair.got == sorted(set(pair.got))
    assert pair.peer.channel.given_up == pair.network.nodes["B1"].counts["given_up"] == lost
