"""Tests for keeping links: both sides dial, brokers come back, and circles are not closed."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from typing import Any

import pytest
from sapwood.runtime.joining import Joining
from sapwood.runtime.node import Node

import sapwood
from runtime.living import QUICK_LINK, Tally, broker, port, run, until, url
from runtime.proxy import Proxy
from runtime.test_connection import Memory
from sapwood.errors import RefusedError
from sapwood.protocol.link.handshake import WRONG_NETWORK, Hello, Resume, Welcome
from sapwood.protocol.link.peer import Peer
from sapwood.runtime.address import Address
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.connection import Connection
from sapwood.runtime.server import Server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


async def started(stack: AsyncExitStack, name: str, own: int, *joins: int) -> Server:
    """A broker on a port that is known before, so that others can be told of it."""
    server = Server(
        Settings(
            id=name,
            listen=f"127.0.0.1:{own}",
            join=tuple(f"127.0.0.1:{other}" for other in joins),
            link=QUICK_LINK,
        )
    )
    await server.start()
    stack.push_async_callback(server.stop)
    return server


@pytest.mark.parametrize("attempt", range(5))
def test_two_brokers_that_join_each_other_have_one_link(attempt: int) -> None:
    """Whoever is first; and what is published arrives once."""

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            ports = free_port(), free_port()
            names = ("B1", "B2") if attempt % 2 else ("B2", "B1")
            one = await started(stack, names[0], ports[0], ports[1])
            for _ in range(attempt):
                await asyncio.sleep(0)
            two = await started(stack, names[1], ports[1], ports[0])
            await one.joined()
            await two.joined()
            await until(lambda: linked(one, two), "they are linked")
            left = await stack.enter_async_context(sapwood.connect(url(one)))
            right = await stack.enter_async_context(sapwood.connect(url(two)))
            subscription = await stack.enter_async_context(left.subscribe("n >= 0"))
            tally = Tally(subscription)
            for number in range(100):
                await right.publish({"n": number})
            await tally.reaches(100)
            assert (tally.got, tally.gaps) == ({right.name: list(range(1, 101))}, [])
            assert all(joining.is_linked for joining in (*one.joinings, *two.joinings))
            await tally.close()

    run(scenario())


def linked(one: Server, two: Server) -> bool:
    peers = (one.node.peers.get(two.node.settings.id), two.node.peers.get(one.node.settings.id))
    return all(peer is not None and peer.line is not None for peer in peers)


def test_a_link_that_both_sides_dial_is_kept_whole_when_it_breaks() -> None:
    """Both dial again at once; whichever connection stays, the stream goes on."""

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            own = free_port()
            one_proxy = await stack.enter_async_context(Proxy(own))
            two = await stack.enter_async_context(broker("B2"))
            two_proxy = await stack.enter_async_context(Proxy(port(two)))
            one = await started(stack, "B1", own, two_proxy.port)
            await one.joined()
            other = await stack.enter_async_context(broker("B3", one_proxy.url))
            left = await stack.enter_async_context(sapwood.connect(url(other)))
            right = await stack.enter_async_context(sapwood.connect(url(two)))
            tally = Tally(await stack.enter_async_context(left.subscribe("n >= 0")))
            for number in range(200):
                await right.publish({"n": number})
                if number % 20 == 10:
                    one_proxy.cut()
                    two_proxy.cut()
            await tally.reaches(200)
            assert (tally.got, tally.gaps) == ({right.name: list(range(1, 201))}, [])
            await tally.close()

    run(scenario())


def test_a_second_way_into_the_same_tree_is_a_link_outside_it() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as one,
            broker("B2", url(one)) as two,
            broker("B3", url(one), url(two)) as three,
            sapwood.connect(url(three)) as bus,
            sapwood.connect(url(two)) as other,
            bus.subscribe("n >= 0") as subscription,
        ):
            in_tree = [three.node.peers[name].in_tree for name in ("B1", "B2")]
            assert sorted(in_tree) == [False, True]
            tally = Tally(subscription)
            for number in range(50):
                await other.publish({"n": number})
            await tally.reaches(50)
            assert tally.got == {other.name: list(range(1, 51))}
            await tally.close()

    run(scenario())


def test_a_broker_that_was_lost_comes_back_and_the_gap_is_reported() -> None:
    """Its new session begins a new stream; nobody knows what the old one had still to send."""

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            own = free_port()
            one = await stack.enter_async_context(broker("B1"))
            proxy = await stack.enter_async_context(Proxy(port(one)))
            left = await stack.enter_async_context(sapwood.connect(url(one)))
            subscription = await stack.enter_async_context(left.subscribe("n >= 0"))
            tally = Tally(subscription)
            dead = await started(stack, "B2", own, proxy.port)
            await dead.joined()
            proxy.is_down = True
            proxy.cut()
            await until(lambda: one.node.peers["B2"].line is None, "it is away")
            again = await stack.enter_async_context(broker("B2", url(one)))
            await until(lambda: bool(tally.gaps), "the gap is reported")
            assert [gap.count for gap in tally.gaps] == [0]
            right = await stack.enter_async_context(sapwood.connect(url(again)))
            await right.publish({"n": 1})
            await tally.reaches(1)
            await tally.close()

    run(scenario())


def test_a_broker_that_is_not_there_yet_is_dialled_until_it_is() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            ports = free_port(), free_port()
            one = await started(stack, "B1", ports[0], ports[1])
            await until(lambda: bool(one.joinings[0].last_problem), "nobody answers")
            assert "cannot reach" in one.joinings[0].last_problem
            await started(stack, "B2", ports[1])
            await one.joined()
            assert (one.joinings[0].is_linked, one.joinings[0].last_problem) == (True, "")

    run(scenario())


def test_a_broker_of_another_network_is_not_dialled_again() -> None:
    async def scenario() -> None:
        async with broker("B1", network="other") as one:
            server = Server(Settings(id="B2", listen="", join=(url(one),), link=QUICK_LINK))
            await server.start()
            with pytest.raises(RefusedError) as caught:
                await server.joined()
            assert caught.value.code == WRONG_NETWORK
            await server.stop()

    run(scenario())


# What a welcome means, case by case: meanwhile the other side may have connected from its side.


class Case:
    """A broker B5 that has dialled another one, perhaps with a stream to it already."""

    def __init__(
        self, other: str, *, known: bool, received: int = 0, connected: bool = False
    ) -> None:
        self.node = Node(Settings(id="B5"), 1)
        self.node.start()
        self.joining = Joining(self.node, Address("127.0.0.1", 1))
        self.other = other
        self.old = self.connection()
        if known:
            channel = self.node.new_channel(is_client=False)
            self.node.enter(Peer(other, 7, channel, is_client=False), self.old, 1000)
            channel.received = received
            if not connected:
                self.old.connection_lost(None)
        self.before = self.node.peers.get(other)
        self.new = self.connection()

    def connection(self) -> Connection:
        made = Connection(self.node, 0.0)
        made.connection_made(Memory())
        return made

    def welcome(self, *offered: Resume, resumed: int | None = None, session: int = 7) -> str:
        """Take a welcome; what has become of the stream and of the connection."""
        hello = Hello(role="broker", network="n", id="B5", session=1, resume=offered)
        welcome = Welcome(id=self.other, session=session, version=1, resumed=resumed)
        self.joining._welcome(self.new, welcome, hello)
        after = self.node.peers.get(self.other)
        stream = "gone" if after is None else "same" if after is self.before else "new"
        stays = after is not None and after.connection is self.new
        assert stays != self.new.is_closing
        assert after is None or not stays or self.old.is_closing or self.before is not after
        return f"{stream} stream, {'new' if stays else 'old'} connection"


def resume(other: str, received: int, session: int = 7) -> Resume:
    return Resume(other, session, received)


def welcomed(other: str, *offered: Resume, resumed: int | None = None, **case: Any) -> str:
    session = case.pop("session", 7)

    async def scenario() -> str:
        made = Case(other, **case)
        outcome = made.welcome(*offered, resumed=resumed, session=session)
        made.node._connections.clear()
        made.node._all_gone.set()
        for peer in made.node.peers.values():
            peer.channel.disconnect()
        await made.node.stop()
        return outcome

    return run(scenario())


def test_a_broker_that_was_never_here_begins_a_stream() -> None:
    assert welcomed("B9", known=False) == "new stream, new connection"


def test_a_stream_goes_on_where_the_hello_said_it_was() -> None:
    goes_on = welcomed("B9", resume("B9", 3), resumed=0, known=True, received=3)
    assert goes_on == "same stream, new connection"


def test_a_stream_that_has_moved_since_the_hello_does_not_go_on_from_there() -> None:
    """The other side would send again what has come meanwhile."""
    moved = welcomed("B9", resume("B9", 2), resumed=0, known=True, received=3, connected=True)
    assert moved == "same stream, old connection"


def test_streams_that_do_not_fit_together_are_given_up() -> None:
    apart = welcomed("B9", resume("B9", 3), resumed=99, known=True, received=3)
    assert apart == "gone stream, old connection"


def test_a_stream_that_the_other_side_does_not_have_any_more_begins_anew() -> None:
    declined = welcomed("B9", resume("B9", 3), known=True, received=3)
    assert declined == "new stream, new connection"
    unheard_of = welcomed("B9", known=True, received=3)
    assert unheard_of == "new stream, new connection"


def test_a_new_session_begins_a_new_stream() -> None:
    restarted = welcomed("B9", resume("B9", 0), known=True, session=8)
    assert restarted == "new stream, new connection"


def test_of_two_connections_that_cross_the_one_of_the_smaller_id_stays() -> None:
    """On both sides the same one: B5 has dialled this one, and B9 or B1 the other."""
    crossing: dict[str, Any] = {"known": True, "connected": True}
    assert welcomed("B9", **crossing) == "same stream, new connection"
    assert welcomed("B1", **crossing) == "same stream, old connection"
    assert welcomed("B1", known=True, connected=False) == "same stream, new connection"
