"""Tests for the side that is dialled: who comes in, who does not, and what nobody notices."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from protocol.test_handshake import transcript
from sapwood.runtime.node import Node
from sapwood.runtime.reception import Reception

import sapwood
from runtime.living import QUICK_LINK, RawPeer, broker, changed, port, run, until, url
from runtime.proxy import Proxy
from sapwood.protocol.link.handshake import (
    BAD_CREDENTIALS,
    BUSY,
    ID_IN_USE,
    LINK_CODEC,
    NO_COMMON_VERSION,
    PROTOCOL,
    WRONG_NETWORK,
    Ack,
    GivenUp,
    Goodbye,
    Hello,
    LinkMessage,
    Pong,
    Resume,
    Welcome,
)
from sapwood.protocol.messages import CODEC, Subscribe
from sapwood.runtime import reception
from sapwood.runtime.client import Gap
from sapwood.runtime.config.settings import ClientSettings, Settings
from sapwood.wire.frames import CONTROL, LINK, NOTIFICATION, encode_head, encode_notification, frame


def hello(**changes: Any) -> Hello:
    usual: dict[str, Any] = {"role": "client", "network": "sapwood", "id": "alice", "session": 7}
    return Hello(**{**usual, "credit": 2**20, "silence": 30.0, **changes})


def test_a_client_of_version_1_is_answered_as_it_was_recorded() -> None:
    """The recorded transcript, byte for byte; acknowledgements may come between the rest."""

    async def scenario() -> None:
        node = Node(Settings(id="B1"), 42)
        node.start()
        server = await asyncio.get_running_loop().create_server(
            Reception(node).connection, "127.0.0.1", 0
        )
        try:
            async with await RawPeer.connect(server.sockets[0].getsockname()[1]) as client:
                await follow(client)
            await until(lambda: not node.peers, "the client has left")
        finally:
            server.close()
            await node.stop()

    run(scenario())


async def follow(client: RawPeer) -> None:
    """Say what was said then, and hear what was heard then."""
    for direction, data in transcript():
        if direction == ">":
            client.send(data)
            continue
        answer = await client.frame()
        while answer != data and isinstance(_message(answer), Ack):
            answer = await client.frame()
        assert answer == data


def _message(data: bytes) -> LinkMessage | None:
    return LINK_CODEC.decode(data[7:]) if data[0] == LINK else None


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (hello(versions=(2, 3)), NO_COMMON_VERSION, "you speak 2-3, this broker 1-1"),
        (hello(network="other"), WRONG_NETWORK, "'sapwood', not 'other'"),
        (hello(credentials={"token": "guess"}), BAD_CREDENTIALS, "give this network's token"),
        (hello(role="king", credentials={"token": "t"}), PROTOCOL, "there are broker and client"),
        (hello(id="", credentials={"token": "t"}), PROTOCOL, "is no name"),
        (hello(id="a b", credentials={"token": "t"}), PROTOCOL, "is no name"),
        (hello(slow_policy="cry", credentials={"token": "t"}), PROTOCOL, "there are drop_oldest"),
        (
            hello(role="broker", id="B.1", routing="covering", credentials={"token": "t"}),
            ID_IN_USE,
            "this broker itself is 'B.1'",
        ),
        (hello(id="B", session=1, credentials={"token": "t"}), ID_IN_USE, "this broker itself"),
        (Pong(), PROTOCOL, "begin with Hello"),
    ],
)
def test_who_does_not_come_in_is_told_why(said: LinkMessage, code: str, words: str) -> None:
    async def scenario() -> None:
        async with broker("B.1", token="t") as server:
            async with await RawPeer.connect(port(server)) as client:
                client.say(said)
                goodbye = await client.goodbye()
            assert goodbye is not None
            assert goodbye.code == code
            assert words in goodbye.reason
            assert server.node.peers == {}

    run(scenario())


def test_only_so_many_clients_come_in_and_those_who_are_in_may_come_back() -> None:
    async def scenario() -> None:
        async with broker("B1", client=ClientSettings(max_clients=1)) as server:
            async with await RawPeer.connect(port(server)) as client:
                client.say(hello())
                assert await client.heard(Welcome)
                async with await RawPeer.connect(port(server)) as other:
                    other.say(hello(id="bob"))
                    goodbye = await other.goodbye()
                    assert goodbye is not None
                    assert goodbye.code == BUSY
            async with await RawPeer.connect(port(server)) as client:
                client.say(hello(resume=(Resume("B1", server.node.session, 0),)))
                welcome = await client.heard(Welcome)
                assert isinstance(welcome, Welcome)
                assert welcome.resumed == 0

    run(scenario())


def test_a_client_cannot_take_the_place_of_a_broker() -> None:
    async def scenario() -> None:
        async with broker("B1") as one, broker("B.2", url(one)):
            async with await RawPeer.connect(port(one)) as client:
                client.say(hello(id="B", session=2))
                goodbye = await client.goodbye()
            assert goodbye is not None
            assert goodbye.code == ID_IN_USE
            assert one.node.peers["B.2"].line is not None

    run(scenario())


def test_whoever_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reception, "HANDSHAKE_SECONDS", 0.05)

    async def scenario() -> None:
        async with broker("B1") as server, await RawPeer.connect(port(server)) as client:
            goodbye = await client.goodbye()
            assert goodbye == Goodbye(PROTOCOL, "no Hello within 0.05 s")

    run(scenario())


def test_a_client_goes_on_where_the_connection_broke() -> None:
    """It has three frames of five; it gets the other two, and what it sent is not sent again."""

    async def scenario() -> None:
        async with broker("B1") as server, sapwood.connect(url(server)) as bus:
            async with await RawPeer.connect(port(server)) as client:
                client.say(hello())
                await client.heard(Welcome)
                client.send(CODEC.encode(Subscribe("1", "n >= 0")))
                await client.heard(Ack)
                for number in range(5):
                    await bus.publish({"n": number})
                frames = [await client.frame() for _ in range(5)]
            async with await RawPeer.connect(port(server)) as client:
                client.say(hello(resume=(Resume("B1", server.node.session, 3),)))
                welcome = await client.heard(Welcome)
                assert isinstance(welcome, Welcome)
                assert welcome.resumed == 1
                assert [await client.frame() for _ in range(2)] == frames[3:]

    run(scenario())


def test_a_stream_that_cannot_be_is_begun_anew() -> None:
    async def scenario() -> None:
        async with broker("B1") as server:
            for session, received in ((0, 0), (1, 0), (0, 5)):
                async with await RawPeer.connect(port(server)) as client:
                    resume = Resume("B1", server.node.session + session, received)
                    client.say(hello(resume=(resume,)))
                    welcome = await client.heard(Welcome)
                    assert isinstance(welcome, Welcome)
                    assert welcome.resumed is None

    run(scenario())


def test_an_id_that_a_living_broker_holds_is_refused() -> None:
    async def scenario() -> None:
        async with broker("B1") as one, broker("B2", url(one)), broker("B3", url(one)) as three:
            for at in (one, three):  # also where it is not a neighbour
                async with await RawPeer.connect(port(at)) as impostor:
                    impostor.say(hello(role="broker", id="B2", routing="covering"))
                    goodbye = await impostor.goodbye()
                assert goodbye is not None
                assert goodbye.code == ID_IN_USE
                assert "a living broker has the id 'B2'" in goodbye.reason

    run(scenario())


def test_a_broker_takes_its_place_over_from_its_dead_session() -> None:
    """The machine is gone, the connection still looks alive: nobody answers the challenge."""
    patient = changed(QUICK_LINK, silence_seconds=60.0)

    async def scenario() -> None:
        async with broker("B1", link=patient) as one, Proxy(port(one)) as proxy:
            dead = broker("B2", proxy.url, link=patient)
            old = (await dead.__aenter__()).node.session
            proxy.freeze()
            async with broker("B2", url(one), link=patient) as again:
                assert one.node.peers["B2"].session == again.node.session != old
            proxy.cut()
            proxy.thaw()
            await dead.__aexit__(None, None, None)

    run(scenario())


def garbage(chance: random.Random) -> bytes:
    """Something that a broken or hostile client might send after its hello."""
    note = encode_notification(encode_head("alice.7", {"n": 1}), 1, 0.0)
    kinds = [
        chance.randbytes(chance.randint(1, 200)),
        frame(chance.randrange(256), chance.randbytes(5), chance.randbytes(40)),
        frame(CONTROL, b"", chance.randbytes(30)),
        frame(LINK, b"", chance.randbytes(30)),
        frame(NOTIFICATION, chance.randbytes(20), chance.randbytes(40)),
        note[: chance.randint(1, len(note) - 1)],
        b"\x02\xff\xff\xff\xff\x00\x00",
        CODEC.encode(Subscribe("1", "this is ( no filter")),
        LINK_CODEC.encode(Ack(10**6, 10**6)),
        LINK_CODEC.encode(GivenUp(2**62)) * 3,
        LINK_CODEC.encode(hello()),
    ]
    return b"".join(chance.choices(kinds, k=chance.randint(1, 4)))


async def storm_of_garbage(seed: int, times: int) -> None:
    print(f"replay: storm_of_garbage({seed}, {times})")
    chance = random.Random(seed)
    async with (
        broker("B1") as one,
        broker("B2", url(one)) as two,
        sapwood.connect(url(one)) as left,
        sapwood.connect(url(two)) as right,
        left.subscribe("good = true") as subscription,
    ):
        for number in range(times):
            async with await RawPeer.connect(port(one)) as client:
                if chance.random() < 0.8:
                    client.say(hello(id=f"bad-{number}"))
                client.send(garbage(chance))
                if chance.random() < 0.5:
                    client.writer.write_eof()
                    await client.goodbye()
            await right.publish({"good": True, "n": number})
        for number in range(times):
            item = await subscription.get(10)
            assert not isinstance(item, Gap)
            assert item.id.sequence == number + 1
        assert one.node.counts["connections_lost"] > 0
        assert one.node.peers["B2"].line is not None
        assert two.node.counts["connections_lost"] == 0


def test_garbage_disturbs_nobody() -> None:
    run(storm_of_garbage(seed=1, times=150))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
def test_much_garbage_disturbs_nobody(seed: int) -> None:
    run(storm_of_garbage(seed, times=2000), seconds=600)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x02\xff\xff\xff\xff\x00\x00", "at most 16777216 are taken"),
        (LINK_CODEC.encode(GivenUp(2**63 - 1)) * 2, "more than there can be"),
        (LINK_CODEC.encode(hello()), "Hello after the handshake"),
        (frame(LINK, b"", b"\x00"), "does not decode"),
    ],
)
def test_a_client_that_breaks_the_protocol_is_told_and_the_network_does_not_notice(
    data: bytes, words: str
) -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            sapwood.connect(url(server)) as bus,
            bus.subscribe("n = 1") as subscription,
        ):
            async with await RawPeer.connect(port(server)) as client:
                client.say(hello())
                await client.heard(Welcome)
                client.send(data)
                goodbye = await client.goodbye()
            assert goodbye is not None
            assert goodbye.code == PROTOCOL
            assert words in goodbye.reason
            await bus.publish({"n": 1})
            await subscription.get(10)

    run(scenario())
