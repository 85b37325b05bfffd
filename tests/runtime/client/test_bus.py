"""A bus on live brokers: publishing, subscribing, confirmations, refusals, bad input."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

import sapwood
from runtime.living import broker, run, until, url
from sapwood.errors import (
    ClosedError,
    FilterError,
    FrameError,
    InvalidIdError,
    InvalidNotificationError,
    ParameterError,
    RefusedError,
    UnreachableError,
    UnsupportedTypeError,
)
from sapwood.filters.notification import Notification
from sapwood.filters.values import Value
from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.client.deliveries import INDEX_FROM
from sapwood.runtime.client import Bus, Item, Subscription, connect
from sapwood.runtime.config.settings import ClientSettings
from sapwood.wire.frames import BODY_BYTES_MAX


async def values(subscription: Subscription, count: int, name: str = "x") -> list[Value]:
    """An attribute of the next notifications."""
    return [_notification(await subscription.get(20))[name] for _ in range(count)]


def _notification(item: Item) -> Delivered:
    assert isinstance(item, Delivered)
    return item


# Publishing and subscribing


def test_the_example_of_the_design() -> None:
    printed: list[tuple[Any, ...]] = []

    async def scenario() -> None:
        async with (
            broker("B1") as server,
            sapwood.connect(url(server)) as bus,
        ):
            async with bus.subscribe("symbol = 'IBM' and price > 100") as quotes:
                await bus.publish({"symbol": "IBM", "price": 120.5}, payload=b"")
                async for quote in quotes:
                    assert isinstance(quote, sapwood.Notification)
                    printed.append((quote["price"], str(quote.id), quote.payload))
                    break
            printed.append((bus.name,))

    run(scenario())
    assert printed == [(120.5, f"{printed[1][0]}:1", b""), printed[1]]


def test_it_goes_through_several_brokers() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as first,
            broker("B2", url(first)) as second,
            connect(url(first)) as here,
            connect(url(second)) as there,
        ):
            async with here.subscribe("x > 2") as wanted:
                assert wanted.settled
                for x in range(6):
                    await there.publish({"x": x}, b"payload")
                assert await values(wanted, 3) == [3, 4, 5]
            assert (here.broker, there.broker) == ("B1", "B2")

    run(scenario())


def test_each_subscription_gets_its_own_once() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as bus,
            bus.subscribe("x > 0") as wide,
            bus.subscribe("x > 1") as narrow,
        ):
            for x in (1, 2, 3):
                await bus.publish({"x": x}, confirm=True)
            assert await values(wide, 3) == [1, 2, 3]
            assert await values(narrow, 2) == [2, 3]
            await narrow.close(settle=True)
            await bus.publish({"x": 4}, confirm=True)
            assert await values(wide, 1) == [4]
            assert not narrow.items
            assert bus.received == 4

    run(scenario())


def test_notifications_can_be_published_as_such_and_again() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as bus,
            bus.subscribe("true") as wanted,
        ):
            await bus.publish(Notification({"x": 1}, b"one"))
            first = _notification(await wanted.get(20))
            await bus.publish(first)
            again = _notification(await wanted.get(20))
            assert (dict(again), again.payload) == ({"x": 1}, b"one")
            assert again.id.sequence == 2

    run(scenario())


def test_what_expires_is_not_delivered_late() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as bus,
            bus.subscribe("true") as wanted,
        ):
            await bus.publish({"x": 1}, expires_in=1e-9, confirm=True)
            await bus.publish({"x": 2}, expires_in=60.0)
            found = _notification(await wanted.get(20))
            assert found["x"] == 2
            assert found.expires_at == pytest.approx(found.published_at + 60, abs=0.01)

    run(scenario())


def test_a_lasting_id_and_a_session_that_grows() -> None:
    names = [connect("127.0.0.1", id="press-7") for _ in range(3)]
    assert [bus.id for bus in names] == ["press-7"] * 3
    assert names[0].session < names[1].session < names[2].session
    assert names[0].name == f"press-7.{names[0].session}"
    assert connect().id != connect().id


def test_the_order_counts_what_was_published_and_received() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as bus,
            bus.subscribe("x > 1") as wanted,
        ):
            for x in (1, 2, 3):
                await bus.publish({"x": x})
            assert bus.order == 0  # nothing was handed over yet
            await values(wanted, 2)
            assert (bus.order, bus.published, bus.received) == (5, 3, 2)

    run(scenario())


# Confirmations


def test_a_confirmed_publication_is_with_the_broker() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, connect(url(server)) as bus:
            name = (await bus.publish({"x": 1}, confirm=True)).publisher
            assert server.node.peers[name].channel.received == 1
            for x in range(100):
                await bus.publish({"x": x})
            await bus.flush()
            assert server.node.peers[name].channel.received == 101
            await bus.flush()

    run(scenario())


def test_a_confirmation_does_not_wait_for_what_comes_later() -> None:
    """The queue never runs empty, and yet each confirmation comes."""

    async def scenario() -> None:
        async with broker("B1") as server, connect(url(server)) as bus:
            is_over = False

            async def keep_busy() -> None:
                while not is_over:
                    await bus.publish({"x": 0}, b"x" * 1000)
                    if bus.published % 50 == 0:
                        await asyncio.sleep(0)

            busy = asyncio.create_task(keep_busy())
            await until(lambda: bus.published > 1000, "it is busy")
            for _ in range(5):
                await bus.publish({"x": 1}, confirm=True)
            is_over = True
            await busy

    run(scenario())


def test_leaving_sends_what_was_published() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as other,
            other.subscribe("true") as wanted,
        ):
            async with connect(url(server)) as bus:
                for x in range(1000):
                    await bus.publish({"x": x})
            assert await values(wanted, 1000) == list(range(1000))
            await until(lambda: len(server.node.peers) == 1, "the client is gone")

    run(scenario())


def test_publishing_lets_others_work() -> None:
    """A program that only publishes must not keep its own event loop from reading."""

    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as bus,
            bus.subscribe("x = 0") as wanted,
        ):
            await bus.publish({"x": 0})
            for number in range(1, 100_000):
                await bus.publish({"x": number}, b"x" * 200)
                if wanted.items:
                    break
            assert number < 10_000

    run(scenario())


# What was forgotten


def test_a_bus_that_is_not_entered_says_what_would_be_right() -> None:
    async def scenario() -> None:
        bus = connect()
        uses: list[Callable[[], Awaitable[object]]] = [
            lambda: bus.publish({"x": 1}),
            lambda: bus.publish({"x": 1}, confirm=True),
            bus.flush,
            bus.ping,
            bus.survey,
            lambda: bus.advertise("true"),
            bus.subscribe("true").__aenter__,
        ]
        for use in uses:
            with pytest.raises(
                ClosedError, match=r"write: async with sapwood\.connect\(…\) as bus"
            ):
                await use()
        assert bus.published == 0

    run(scenario())


def test_a_subscription_that_is_not_entered_does_not_wait_for_ever() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, connect(url(server)) as bus:
            forgotten = bus.subscribe("x > 1")
            words = r"x > 1 has not begun.* write: async with bus\.subscribe"
            with pytest.raises(ClosedError, match=words):
                async for _ in forgotten:
                    pass
            with pytest.raises(ClosedError, match=words):
                await forgotten.get(5)
            with pytest.raises(ClosedError, match=words):
                await forgotten.read(seconds=5)

    run(scenario())


# Advertisements


def test_where_advertisements_are_required_others_are_refused() -> None:
    refused: list[tuple[str, str]] = []

    async def scenario() -> None:
        async with (
            broker("B1", advertisements="required") as server,
            connect(
                url(server), on_refused=lambda name, why: refused.append((str(name), why))
            ) as bus,
            bus.subscribe("true") as wanted,
        ):
            assert bus.advertisements_required
            name = await bus.advertise("x > 10")
            await bus.publish({"x": 11}, confirm=True)
            with pytest.raises(RefusedError, match="has not advertised"):
                await bus.publish({"x": 1}, confirm=True)
            await bus.publish({"x": 2})
            await bus.publish({"x": 12}, confirm=True)
            assert await values(wanted, 2) == [11, 12]
            assert bus.refused == 2
            assert [found for found, _ in refused] == [f"{bus.name}:2", f"{bus.name}:3"]
            await bus.unadvertise(name)
            with pytest.raises(RefusedError, match="has not advertised"):
                await bus.publish({"x": 13}, confirm=True)
            with pytest.raises(ClosedError, match="nothing is advertised under"):
                await bus.unadvertise(name)

    run(scenario())


# Back-pressure


def test_a_full_buffer_holds_the_broker_back_and_loses_nothing() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as slow,
            connect(url(server)) as quick,
            slow.subscribe("true", buffer=10) as wanted,
        ):
            count = 3000
            publishing = asyncio.create_task(_publish_many(quick, count))
            await until(lambda: slow._machine.channel.withheld, "the broker is held back")
            assert await values(wanted, count) == list(range(count))
            await publishing
            assert not wanted.gaps

    run(scenario())


async def _publish_many(bus: Bus, count: int, size: int = 1000) -> None:
    for x in range(count):
        await bus.publish({"x": x}, b"x" * size)


def test_an_answer_does_not_wait_behind_what_nobody_reads() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as server,
            connect(url(server)) as quick,
            connect(url(server)) as bus,
            bus.subscribe("true", buffer=1) as full,
        ):
            await _publish_many(quick, 2500)
            channel = server.node.peers[bus.name].channel
            await until(lambda: channel.waiting > 0, "the broker may not send more")
            async with bus.subscribe("x = -1") as other:
                assert other.settled
            assert await values(full, 2500) == list(range(2500))

    run(scenario(), 20)


@pytest.mark.slow
def test_a_client_that_wants_to_be_disconnected_when_slow_is() -> None:
    async def scenario() -> None:
        client = ClientSettings(buffer_bytes=64 * 1024)
        async with (
            broker("B1", client=client) as server,
            connect(url(server)) as quick,
            connect(url(server), slow_policy="disconnect") as slow,
        ):
            async with slow.subscribe("true", buffer=1, gaps=False) as wanted:
                with pytest.raises(RefusedError, match="does not keep up"):
                    await _fill(quick, slow)
                with pytest.raises(RefusedError, match="does not keep up"):
                    await values(wanted, 10**6)
            with pytest.raises(RefusedError):
                await slow.publish({"x": 1})

    run(scenario())


async def _fill(quick: Bus, slow: Bus) -> None:
    """Publish until the slow one is sent away; it says so with its own failure."""
    while slow._failure is None:
        await quick.publish({"x": 1}, b"x" * 10_000)
        await quick.flush()
    raise slow._failure


def test_a_slow_client_may_hold_publishers_back() -> None:
    """With the policy ``block``, publishers of the same broker wait, and nothing is given up."""

    async def scenario() -> None:
        client = ClientSettings(buffer_bytes=2**20, window_bytes=2**16)
        async with (
            broker("B1", client=client) as server,
            connect(url(server), buffer_bytes=2**17) as quick,
            connect(url(server), slow_policy="block") as slow,
            slow.subscribe("true", buffer=1) as wanted,
        ):
            count = 5000
            publishing = asyncio.create_task(_publish_many(quick, count))
            await until(lambda: len(server.node.flow) == 1, "the slow one holds back")
            assert not publishing.done()
            assert await values(wanted, count) == list(range(count))
            await publishing
            assert not wanted.gaps

    run(scenario())


def test_a_slow_client_is_told_what_it_missed() -> None:
    async def scenario() -> None:
        client = ClientSettings(buffer_bytes=64 * 1024)
        async with (
            broker("B1", client=client) as server,
            connect(url(server)) as quick,
            connect(url(server)) as slow,
            slow.subscribe("true", buffer=1) as wanted,
        ):
            count = 3000
            await _publish_many(quick, count)
            await quick.flush()
            got, missed = 0, 0
            while got + missed < count:
                item = await wanted.get(20)
                if isinstance(item, Delivered):
                    got += 1
                else:
                    missed += item.count
                    assert item.reason == "this client did not keep up"
            assert missed > 0
            assert got + missed == count

    run(scenario())


# The end, and cancellation


def test_after_the_end_everything_says_so() -> None:
    async def scenario() -> None:
        async with broker("B1") as server:
            async with connect(url(server)) as bus:
                wanted = await bus.subscribe("true").__aenter__()
            for call in (bus.publish({}), bus.advertise("true"), bus.flush(), bus.ping()):
                with pytest.raises(ClosedError, match="the bus is closed; connect again"):
                    await call
            with pytest.raises(ClosedError):
                await wanted.get()
            assert [item async for item in wanted] == []
            await bus.close()

    run(scenario())


def test_a_cancelled_subscription_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with (
            broker("B1", settle_interval_seconds=5.0) as server,
            connect(url(server)) as bus,
        ):
            async with bus.subscribe("x = 1"):
                pass
            beginning = asyncio.create_task(bus.subscribe("x = 2").__aenter__())
            name = bus.name
            await until(lambda: len(bus._subscriptions) == 1, "it has begun")
            beginning.cancel()
            with pytest.raises(asyncio.CancelledError):
                await beginning
            assert len(bus._subscriptions) == 0
            await bus.publish({}, confirm=True)
            assert server.node.broker.clients.claims(name, "subscribed") == {}

    run(scenario())


def test_a_cancelled_publication_that_waited_was_not_published() -> None:
    async def scenario() -> None:
        bus = connect("127.0.0.1:1", buffer_bytes=1000)  # never connected: nothing is taken
        opening = asyncio.create_task(bus.__aenter__())
        await asyncio.sleep(0)
        await bus.publish({}, b"x" * 2000)
        waiting = asyncio.create_task(bus.publish({}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert bus.published == 1
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    run(scenario())


# Bad input


def test_wrong_use_is_refused_before_anything_is_sent() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, connect(url(server)) as bus:
            with pytest.raises(FilterError, match="column 8"):
                bus.subscribe("price > ")
            with pytest.raises(FilterError):
                await bus.advertise("price >")
            with pytest.raises(InvalidNotificationError):
                await bus.publish({"x": float("nan")})
            with pytest.raises(UnsupportedTypeError, match="payload is of type str"):
                await bus.publish({}, "text")  # type: ignore[arg-type]
            with pytest.raises(FrameError, match="a body of"):
                await bus.publish({}, b"x" * BODY_BYTES_MAX)
            with pytest.raises(ParameterError, match="buffer: is 0"):
                bus.subscribe("true", buffer=0)
            assert bus.published == 0
            await bus.publish({}, confirm=True)

    run(scenario())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"slow_policy": "wait"}, "slow_policy: is 'wait'; choose from drop_oldest, disconnect"),
        ({"silence_seconds": 0}, "silence_seconds: is 0; it must be above zero"),
        ({"bufer_bytes": 1}, "connect: Unexpected keyword argument 'bufer_bytes'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(problem)):
        connect(**options)


def test_an_id_with_a_space_is_refused() -> None:
    with pytest.raises(InvalidIdError):
        connect(id="two words")


def test_nobody_there_is_said_in_one_line() -> None:
    async def scenario() -> None:
        with pytest.raises(
            UnreachableError, match=r"cannot reach sapwood://127\.0\.0\.1:1: .*broker"
        ):
            async with connect("127.0.0.1:1", connect_seconds=0.1):
                pass

    run(scenario())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"network": "other", "token": "secret"}, "this is network 'sapwood', not 'other'"),
        ({"token": "guess"}, "the token is missing or wrong"),
        ({}, "the token is missing or wrong"),
    ],
)
def test_who_may_not_come_in_is_told_why(options: dict[str, Any], problem: str) -> None:
    async def scenario() -> None:
        async with broker("B1", token="secret") as server:
            async with connect(url(server), token="secret"):
                pass
            with pytest.raises(RefusedError, match=problem):
                async with connect(url(server), **options):
                    pass

    run(scenario())


@pytest.mark.slow
def test_many_subscriptions_are_matched_by_an_index() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, connect(url(server)) as bus, AsyncExitStack() as stack:
            wanted = [
                await stack.enter_async_context(bus.subscribe(f"x = {number}", settle=False))
                for number in range(INDEX_FROM)
            ]
            deliveries = bus._machine.deliveries
            await until(lambda: deliveries._index is not None, "the index is loaded", 110)
            await bus.publish({"x": 5})
            assert isinstance(await wanted[5].get(20), Delivered)

    run(scenario(), 115)
