"""A client's stream across cut connections, lost brokers and other servers."""

from __future__ import annotations

import asyncio

import pytest

from runtime.living import Tally, broker, port, run, until, url
from runtime.proxy import DOWN, UP, Proxy
from sapwood.errors import RefusedError, UnconfirmedError
from sapwood.protocol.client import config
from sapwood.protocol.link import handshake
from sapwood.protocol.ports import Write
from sapwood.runtime.client import Bus, Gap, connect
from sapwood.runtime.config.settings import ClientSettings, Settings
from sapwood.runtime.server import Server
from sapwood.wire.scan import scan


async def publish_steadily(bus: Bus, count: int) -> None:
    for x in range(count):
        await bus.publish({"x": x}, b"x" * 100)
        if x % 20 == 0:
            await asyncio.sleep(0)


# The same broker


@pytest.mark.parametrize("direction", [UP, DOWN])
def test_cut_connections_lose_and_repeat_nothing(direction: str) -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            Proxy(port(server)) as proxy,
            connect(proxy.url) as bus,
            bus.subscribe("true") as wanted,
        ):
            tally = Tally(wanted)
            count, cuts = 4000, 12
            publishing = asyncio.create_task(publish_steadily(bus, count))
            for cut in range(cuts):
                await proxy.cut_after(7001 + 997 * cut, direction)
            await publishing
            await until(lambda: tally.count == count, "all have come", 40)
            assert tally.got == {bus.name: list(range(1, count + 1))}
            assert (tally.gaps, bus.unconfirmed) == ([], 0)
            assert proxy.connections == cuts + 1
            await tally.close()

    run(scenario())


def test_a_silent_broker_is_noticed_and_left() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            Proxy(port(server)) as proxy,
            connect(proxy.url, silence_seconds=0.4) as bus,
            bus.subscribe("true") as wanted,
        ):
            proxy.freeze()
            await bus.publish({"x": 1})
            await until(lambda: proxy.connections == 2, "it dials again")
            proxy.cut()
            proxy.thaw()
            found = await wanted.get(20)
            assert not isinstance(found, Gap)
            assert found["x"] == 1

    run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "theirs"), [(0.5, 60.0), (60.0, 2.0)])
def test_an_idle_connection_is_kept(ours: float, theirs: float) -> None:
    """Each side hears from the other as often as it wants to, though nothing is published."""

    async def scenario() -> None:
        client = ClientSettings(silence_seconds=theirs)
        async with (
            broker("B1", client=client) as server,
            Proxy(port(server)) as proxy,
            connect(proxy.url, silence_seconds=ours) as bus,
        ):
            over = asyncio.Event()
            asyncio.get_running_loop().call_later(2 * min(ours, theirs) + 1.5, over.set)
            await over.wait()
            assert bus.is_connected
            assert proxy.connections == 1

    run(scenario())


def test_a_round_trip_is_measured() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, connect(url(server)) as bus:
            times = await asyncio.gather(*(bus.ping() for _ in range(3)))
            assert all(0 < seconds < 20 for seconds in times)

    run(scenario())


def test_publications_of_one_turn_leave_together_and_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with broker("B1") as server, connect(url(server)) as bus:
            writes: list[int] = []
            carry_out = bus._driver.carry_out

            def watched(effects: list[object]) -> None:
                writes.extend(scan(one.data).frames for one in effects if isinstance(one, Write))
                carry_out(effects)

            monkeypatch.setattr(bus._driver, "carry_out", watched)
            await bus.publish({"x": 1})
            await asyncio.sleep(0)
            assert writes == [1]
            for x in range(100):
                await bus.publish({"x": x})
            await asyncio.sleep(0)
            assert writes == [1, 100]

    run(scenario())


# Another broker


def test_another_server_takes_over_with_a_gap() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as first,
            broker("B2", url(first)) as second,
            Proxy(port(second)) as proxy,
            connect(url(first)) as publisher,
            connect(proxy.url, url(first)) as bus,
            bus.subscribe("x > 0") as wanted,
        ):
            assert bus.broker == "B2"
            await publisher.publish({"x": 1})
            assert not isinstance(await wanted.get(20), Gap)
            proxy.is_down = True
            proxy.cut()
            gap = await wanted.get(20)
            assert gap == Gap(0, "the broker was lost; now connected to B1")
            await until(lambda: wanted.settled is True, "it has settled again")
            await publisher.publish({"x": 2})
            found = await wanted.get(20)
            assert not isinstance(found, Gap)
            assert found["x"] == 2
            assert bus.broker == "B1"

    run(scenario())


def test_publications_never_sent_move_on_and_others_are_counted() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as first,
            broker("B2") as second,
            Proxy(port(first)) as old,
            Proxy(port(second)) as new,
            connect(url(second)) as other,
            other.subscribe("true") as wanted,
            connect(old.url, new.url, silence_seconds=0.4) as bus,
        ):
            await _lose_the_first(bus, old, new)
            assert bus.unconfirmed == 1
            found = await wanted.get(20)
            assert not isinstance(found, Gap)
            assert (found["x"], found.id.sequence) == (3, 3)
            assert (bus.broker, bus.order) == ("B2", 3)

    run(scenario())


async def _lose_the_first(bus: Bus, old: Proxy, new: Proxy) -> None:
    """One publication is confirmed, one is under way when the broker falls silent, one waits."""
    await bus.publish({"x": 1}, confirm=True)
    old.freeze()
    doubtful = asyncio.create_task(bus.publish({"x": 2}, confirm=True))
    await until(lambda: bus.published == 2 and not bus._publishing.waiting, "it is handed over")
    old.is_down = new.is_down = True
    await until(lambda: not bus.is_connected, "the silence is noticed")
    moving = asyncio.create_task(bus.publish({"x": 3}, confirm=True))
    await until(lambda: bus.published == 3, "it is published")
    new.is_down = False
    with pytest.raises(UnconfirmedError):
        await doubtful
    await moving


def test_a_broker_that_is_started_anew_is_told_everything_again() -> None:
    async def scenario() -> None:
        server = Server(Settings(id="B1", listen="127.0.0.1:0", advertisements="required"))
        await server.start()
        where = port(server)
        async with connect(f"127.0.0.1:{where}") as bus, bus.subscribe("x > 0") as wanted:
            await bus.advertise("x > 0")
            await server.stop()
            again = Server(
                Settings(id="B1", listen=f"127.0.0.1:{where}", advertisements="required")
            )
            await again.start()
            assert isinstance(await wanted.get(20), Gap)
            await bus.publish({"x": 1}, confirm=True)
            found = await wanted.get(20)
            assert not isinstance(found, Gap)
            assert found["x"] == 1
        await again.stop()

    run(scenario())


def test_questions_survive_the_loss_of_the_broker() -> None:
    """Whoever waits for a subscription to settle gets the answer of the next broker."""

    async def scenario() -> None:
        async with (
            broker("B1", settle_interval_seconds=60.0) as first,
            broker("B2") as second,
            Proxy(port(first)) as proxy,
            connect(proxy.url, url(second)) as bus,
            bus.subscribe("x = 1"),
        ):
            waiting = asyncio.create_task(bus.subscribe("x = 2").__aenter__())
            await until(lambda: len(bus._subscriptions) == 2, "it has begun")
            proxy.is_down = True
            proxy.cut()
            assert (await waiting).settled
            assert bus.broker == "B2"

    run(scenario())


def test_whom_the_network_no_longer_wants_is_told() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as first,
            broker("B2", token="secret") as second,
            Proxy(port(first)) as proxy,
            connect(proxy.url, url(second)) as bus,
            bus.subscribe("true") as wanted,
        ):
            proxy.is_down = True
            proxy.cut()
            with pytest.raises(RefusedError, match="token"):
                await wanted.get(20)
            with pytest.raises(RefusedError, match="token"):
                await bus.publish({})

    run(scenario())


def test_a_broker_of_another_version_is_refused_with_both_ranges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with broker("B1") as server:
            hello = handshake.Hello
            monkeypatch.setattr(config, "Hello", lambda **fields: hello(**fields, versions=(7, 9)))
            with pytest.raises(RefusedError, match="you speak 7-9, this broker 1-1"):
                async with connect(url(server)):
                    pass

    run(scenario())


def test_streams_that_do_not_fit_together_begin_anew() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            Proxy(port(server)) as proxy,
            connect(proxy.url) as bus,
            bus.subscribe("true") as wanted,
        ):
            await bus.publish({"x": 1}, confirm=True)
            await wanted.get(20)
            server.node.peers[bus.name].channel.received += 10**6
            proxy.cut()
            assert isinstance(await wanted.get(20), Gap)
            await bus.publish({"x": 2}, confirm=True)
            found = await wanted.get(20)
            assert not isinstance(found, Gap)
            assert found["x"] == 2

    run(scenario())


def test_a_refusal_does_not_wait_behind_what_a_client_has_no_room_for() -> None:
    """The acknowledgement waits for nothing: behind it, the refusal would come too late."""

    async def scenario() -> None:
        async with (
            broker("B1", advertisements="required") as server,
            connect(url(server), slow_policy="drop_oldest") as bus,
            connect(url(server)) as other,
            bus.subscribe("true", buffer=1),
        ):
            await other.advertise("true")
            channel = server.node.peers[bus.name].channel
            while not channel.waiting:
                await other.publish({"x": 1}, bytes(100_000), confirm=True)
            with pytest.raises(RefusedError, match="advertise"):
                await bus.publish({"x": 2}, confirm=True)
            assert channel.waiting

    run(scenario())


def test_a_refusal_that_was_under_way_when_the_connection_broke_still_counts() -> None:
    async def scenario() -> None:
        async with (
            broker("B1", advertisements="required") as server,
            Proxy(port(server)) as proxy,
            connect(proxy.url) as bus,
        ):
            proxy.bytes_per_second[DOWN] = 1e-3
            await bus.ping()  # the answer is the last that comes through for a while
            publishing = asyncio.create_task(bus.publish({"x": 1}, confirm=True))
            node = server.node
            await until(lambda: node.peers[bus.name].channel.received == 1, "it is with the broker")
            del proxy.bytes_per_second[DOWN]
            proxy.cut()
            with pytest.raises(RefusedError, match="advertise"):
                await publishing

    run(scenario())


def test_a_refusal_while_somebody_waits_for_the_answers_is_counted_and_no_error() -> None:
    """Whether it comes before `flush` and `close` or while they wait is a matter of chance."""

    async def scenario() -> None:
        async with (
            broker("B1", advertisements="required") as server,
            Proxy(port(server)) as proxy,
        ):
            bus = await connect(proxy.url).__aenter__()
            for last, wait in enumerate((bus.flush, bus.close), start=1):
                proxy.bytes_per_second[DOWN] = 1e-3
                await bus.ping()  # the answer is the last that comes through for a while
                await bus.publish({"x": 1})
                waiting = asyncio.create_task(wait())
                channel = server.node.peers[bus.name].channel
                await until(lambda c=channel, n=last: c.received == n, "it is with the broker")  # type: ignore[misc]
                assert (bus.refused, waiting.done()) == (last - 1, False)
                del proxy.bytes_per_second[DOWN]
                proxy.cut()
                await waiting
                assert bus.refused == last

    run(scenario())


def test_what_a_broker_had_accepted_is_confirmed_by_the_next_connection() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            Proxy(port(server)) as proxy,
            connect(proxy.url) as bus,
        ):
            proxy.bytes_per_second[DOWN] = 1e-3
            await bus.ping()
            publishing = asyncio.create_task(bus.publish({"x": 1}, confirm=True))
            node = server.node
            await until(lambda: node.peers[bus.name].channel.received == 1, "it is with the broker")
            del proxy.bytes_per_second[DOWN]
            proxy.cut()
            await publishing

    run(scenario())


def test_leaving_without_a_broker_says_what_was_not_accepted() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, Proxy(port(server)) as proxy:
            bus = await connect(proxy.url, close_seconds=0.2).__aenter__()
            proxy.is_down = True
            proxy.cut()
            await until(lambda: not bus.is_connected, "the connection is lost")
            await bus.publish({"x": 1})
            with pytest.raises(UnconfirmedError, match=r"not accepted within 0\.2 s: 1;"):
                await bus.close()

    run(scenario())
