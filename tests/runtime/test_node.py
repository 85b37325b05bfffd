"""Tests for a live broker: slow and lost clients, an orderly end, and how much is sent ahead."""

from __future__ import annotations

import asyncio

import pytest
from sapwood.runtime.node import Node

import sapwood
from runtime.living import QUICK_LINK, RawPeer, Tally, broker, changed, port, run, until, url
from sapwood.protocol.link.handshake import (
    LEAVING,
    LINK_CODEC,
    SHUTDOWN,
    SLOW_CONSUMER,
    Ack,
    GivenUp,
    Goodbye,
    Hello,
    Welcome,
)
from sapwood.protocol.messages import CODEC, Subscribe
from sapwood.runtime.config.settings import ClientSettings, LinkSettings

SMALL = ClientSettings(buffer_bytes=64 * 1024, window_bytes=8 * 1024)
PAYLOAD = bytes(1000)


async def subscriber(server_port: int, name: str, policy: str = "", credit: int = 4096) -> RawPeer:
    """A client that subscribes to everything, and then neither reads nor acknowledges."""
    client = await RawPeer.connect(server_port)
    client.say(
        Hello(
            role="client",
            network="sapwood",
            id=name,
            session=1,
            credit=credit,
            silence=30.0,
            slow_policy=policy,
        )
    )
    assert await client.heard(Welcome)
    client.send(CODEC.encode(Subscribe("1", "n >= 0")))
    assert await client.heard(Ack)
    return client


def test_a_slow_client_loses_the_oldest_and_is_told_how_many() -> None:
    async def scenario() -> None:
        async with (
            broker("B1", client=SMALL) as server,
            await subscriber(port(server), "slow") as slow,
            sapwood.connect(url(server)) as bus,
            bus.subscribe("n >= 0") as subscription,
        ):
            tally = Tally(subscription)
            for number in range(300):
                await bus.publish({"n": number}, payload=PAYLOAD)
            await tally.reaches(300)
            assert tally.gaps == []
            lost = server.node.counts["given_up"]
            assert lost > 0
            got = 0
            slow.say(Ack(0, 2**30))
            while got + lost < 300:
                frame = await slow.frame()
                if frame[0] == 2:
                    got += 1
                elif isinstance(message := _link(frame), GivenUp):
                    lost -= message.count
                    got += message.count
            assert (got, lost) == (300, 0)
            await tally.close()

    run(scenario())


def _link(frame: bytes) -> object:
    return LINK_CODEC.decode(frame[7:]) if frame[0] == 3 else None


def test_a_slow_client_can_ask_to_be_disconnected_instead() -> None:
    async def scenario() -> None:
        async with (
            broker("B1", client=SMALL) as server,
            await subscriber(port(server), "slow", "disconnect") as slow,
            sapwood.connect(url(server)) as bus,
        ):
            for number in range(100):
                await bus.publish({"n": number}, payload=PAYLOAD)
            goodbye = await slow.goodbye()
            assert goodbye is not None
            assert goodbye.code == SLOW_CONSUMER
            assert server.node.counts["slow_clients_disconnected"] == 1
            await until(lambda: list(server.node.peers) == [bus.name], "it is gone")

    run(scenario())


def test_a_slow_client_can_hold_back_those_who_publish_to_it() -> None:
    async def scenario() -> None:
        async with (
            broker("B1", client=SMALL) as server,
            await subscriber(port(server), "slow", "block") as slow,
            sapwood.connect(url(server), buffer_bytes=2**16) as bus,
        ):

            async def publish() -> None:
                for number in range(300):
                    await bus.publish({"n": number}, payload=PAYLOAD)

            publishing = asyncio.create_task(publish())
            await until(lambda: len(server.node.flow) > 0, "the publisher is held back")
            got = 0
            while got < 300:
                frame = await slow.frame()
                if frame[0] == 2:
                    got += 1
                    slow.say(Ack(got, 2**20))
            await publishing
            assert server.node.counts["given_up"] == 0

    run(scenario())


def test_a_lost_client_is_kept_for_its_grace_and_then_forgotten() -> None:
    quick = ClientSettings(grace_seconds=0.3)

    async def scenario() -> None:
        async with broker("B1", client=quick) as server:
            client = await subscriber(port(server), "lost")
            client.writer.transport.abort()
            peer = server.node.peers["lost.1"]
            await until(lambda: peer.line is None, "the connection is lost")
            assert server.node.peers["lost.1"] is peer
            assert len(server.node.broker.subscriptions) == 1
            await until(lambda: not server.node.peers, "its grace is over")
            assert len(server.node.broker.subscriptions) == 0
            assert server.node.client_count == 0

    run(scenario())


def test_a_client_that_sends_but_does_not_read_is_sent_away() -> None:
    small = ClientSettings(buffer_bytes=64 * 1024, control_bytes=64 * 1024, silence_seconds=0.4)

    async def scenario() -> None:
        async with broker("B1", client=small) as server:
            client = await subscriber(port(server), "deaf")
            peer = server.node.peers["deaf.1"]
            for number in range(60_000):
                client.send(CODEC.encode(Subscribe("1", "this is ( no filter", number)))
                if number % 100 == 0:
                    if peer.line is None:
                        break
                    await asyncio.sleep(0)
            await until(lambda: "deaf.1" not in server.node.peers, "its answers overran")
            assert server.node.counts["overruns"] == 1
            client.writer.transport.abort()

    run(scenario())


@pytest.mark.parametrize(("name", "code"), [("B2", SHUTDOWN), ("B3", LEAVING)])
def test_a_leaf_leaves_and_a_broker_between_others_may_be_back(name: str, code: str) -> None:
    async def scenario() -> None:
        async with broker("B1") as one:
            two = broker("B2", url(one))
            middle = await two.__aenter__()
            three = broker("B3", url(middle))
            await three.__aenter__()
            if name == "B2":
                await two.__aexit__(None, None, None)
                assert one.node.peers["B2"].line is None
                await three.__aexit__(None, None, None)
            else:
                await three.__aexit__(None, None, None)
                await until(lambda: "B3" not in middle.node.peers, "it has left")
                await two.__aexit__(None, None, None)
            assert ("B2" in one.node.peers) == (code == SHUTDOWN)

    run(scenario())


def test_an_orderly_end_lets_clients_have_what_is_theirs() -> None:
    async def scenario() -> None:
        stopping = broker("B1")
        server = await stopping.__aenter__()
        client = await subscriber(port(server), "reader", credit=2**20)
        async with sapwood.connect(url(server)) as bus:
            for number in range(20):
                await bus.publish({"n": number})
            await bus.flush()
        end = asyncio.create_task(stopping.__aexit__(None, None, None))
        got = 0
        goodbye: object = None
        while frame := await client.frame():
            got += frame[0] == 2
            if isinstance(message := _link(frame), Goodbye):
                goodbye = message
            client.say(Ack(got, 2**20))
        await end
        client.writer.transport.abort()
        assert got == 20
        assert isinstance(goodbye, Goodbye)
        assert goodbye.code == SHUTDOWN

    run(scenario())


def test_the_more_there_are_the_less_each_may_send_ahead() -> None:
    """Together no more than half of a link's buffer, which is free when they are held back."""
    link = LinkSettings(buffer_bytes=2**20, window_bytes=2**18)

    async def scenario() -> None:
        async with broker("B1", link=changed(QUICK_LINK, buffer_bytes=2**20)) as server:
            node: Node = server.node
            alone = node.window(node.settings.client)
            assert alone == node.settings.client.window_bytes
            clients = [await subscriber(port(server), f"c{number}") for number in range(7)]
            assert node.window(node.settings.client) == 2**19 // 8
            assert node.window(link) == 2**19 // 8
            for client in clients:
                client.writer.transport.abort()

    run(scenario())
