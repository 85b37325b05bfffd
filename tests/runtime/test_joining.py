"""Tests for keeping links: both sides dial, brokers come back, and circles are not closed."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack

import pytest

import sapwood
from runtime.living import QUICK_LINK, Tally, broker, port, run, until, url
from runtime.proxy import Proxy
from sapwood.errors import RefusedError
from sapwood.protocol.handshake import WRONG_NETWORK
from sapwood.runtime.server import Server
from sapwood.runtime.settings import Settings


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
    return all(peer is not None and peer.connection is not None for peer in peers)


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
            await until(lambda: one.node.peers["B2"].connection is None, "it is away")
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
