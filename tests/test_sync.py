"""The face without await does what the other does."""

from __future__ import annotations

import inspect
import threading

import pytest

import sapwood
import sapwood.sync
from runtime.serving import chain_in_background
from sapwood.errors import ClosedError, FilterError, RefusedError, UnreachableError
from sapwood.protocol.client.delivered import Delivered
from sapwood.runtime import client

LEFT_OUT = {
    "Bus": {
        *{"begin", "end", "has_room"},  # between a bus and its subscriptions
        *{"account", "secret", "tls"},  # for whoever asks brokers elsewhere in the same name
    },
    "Subscription": {"begin", "check_begun", "wake", "finish"},
}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(client.Bus, sapwood.sync.Bus), (client.Subscription, sapwood.sync.Subscription)],
)
def test_names_and_arguments_are_the_same(theirs: type, ours: type) -> None:
    wanted = {name for name in vars(theirs) if not name.startswith("_")} - LEFT_OUT[ours.__name__]
    assert wanted <= set(dir(ours))
    for name in wanted:
        other = getattr(theirs, name)
        if callable(other):
            given = inspect.signature(getattr(ours, name)).parameters
            assert list(given) == list(inspect.signature(other).parameters), name


def test_the_example_of_the_design_without_await() -> None:
    with (
        chain_in_background(2) as servers,
        sapwood.sync.connect(str(servers[0].address)) as bus,
        sapwood.sync.connect(str(servers[1].address)) as other,
        bus.subscribe("symbol = 'IBM' and price > 100") as quotes,
    ):
        assert quotes.settled
        assert str(quotes.filter) == "price > 100 and symbol = 'IBM'"
        published = other.publish({"symbol": "IBM", "price": 120.5}, payload=b"data")
        for quote in quotes:
            assert isinstance(quote, sapwood.Notification)
            assert (quote["price"], quote.id, quote.payload) == (120.5, published, b"data")
            break
        assert (bus.broker, other.broker, bus.received) == ("B1", "B2", 1)
        assert bus.ping() > 0


def test_many_come_in_order_however_they_are_read() -> None:
    with (
        chain_in_background(1) as servers,
        sapwood.sync.connect(str(servers[0].address)) as bus,
        bus.subscribe("true") as wanted,
    ):
        for x in range(1000):
            bus.publish({"x": x})
        bus.flush()
        items = [wanted.get(20), *wanted.read(10, 20), next(wanted), *wanted.read(10)]
        while len(items) < 1000:
            items += wanted.read()
        found = [item["x"] for item in items if isinstance(item, Delivered)]
        assert found == list(range(1000))
        with pytest.raises(TimeoutError):
            wanted.get(0.01)
        assert wanted.read(seconds=0.01) == []
        wanted.close(settle=True)
        assert list(wanted) == []


def test_confirmations_and_advertisements() -> None:
    with (
        chain_in_background(1, advertisements="required") as servers,
        sapwood.sync.connect(str(servers[0].address), id="press") as bus,
    ):
        name = bus.advertise("x > 0")
        assert str(bus.publish({"x": 1}, confirm=True)) == f"{bus.name}:1"
        with pytest.raises(RefusedError, match="has not advertised"):
            bus.publish({"x": 0}, confirm=True, expires_in=60)
        bus.unadvertise(name)
        assert (bus.id, bus.published, bus.refused, bus.unconfirmed) == ("press", 2, 1, 0)
        assert bus.survey().brokers[0].id == "B1"


def test_several_threads_may_use_one_bus() -> None:
    with (
        chain_in_background(1) as servers,
        sapwood.sync.connect(str(servers[0].address)) as bus,
        bus.subscribe("true") as wanted,
    ):

        def publish() -> None:
            for _ in range(100):
                bus.publish({"x": 1})

        threads = [threading.Thread(target=publish) for _ in range(4)]
        for thread in threads:
            thread.start()
        found = [wanted.get(20) for _ in range(400)]
        for thread in threads:
            thread.join()
        sequences = [item.id.sequence for item in found if isinstance(item, Delivered)]
        assert sequences == list(range(1, 401))


def test_errors_come_through() -> None:
    with (
        pytest.raises(UnreachableError, match="cannot reach"),
        sapwood.sync.connect("127.0.0.1:1", connect_seconds=0.1),
    ):
        pass
    with chain_in_background(1) as servers:
        with (
            sapwood.sync.connect(str(servers[0].address)) as bus,
            pytest.raises(FilterError),
        ):
            bus.subscribe("price >")
        assert not bus.is_connected
        with pytest.raises(ClosedError, match=r"write: with sapwood\.sync\.connect"):
            bus.publish({})
        bus.close()


def test_a_bus_that_is_not_entered_says_what_would_be_right() -> None:
    bus = sapwood.sync.connect()
    for use in (lambda: bus.publish({"x": 1}), bus.ping, lambda: list(bus.subscribe("true"))):
        with pytest.raises(ClosedError, match=r"write: with sapwood\.sync\.connect\(…\) as bus"):
            use()


def test_a_subscription_that_is_not_entered_does_not_wait_for_ever() -> None:
    with (
        chain_in_background(1) as servers,
        sapwood.sync.connect(str(servers[0].address)) as bus,
    ):
        forgotten = bus.subscribe("x > 1")
        for use in (lambda: list(forgotten), forgotten.get, lambda: forgotten.read(seconds=5)):
            with pytest.raises(ClosedError, match=r"has not begun.* write: with bus\.subscribe"):
                use()
        forgotten.close()
        assert list(forgotten) == []


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    with (
        chain_in_background(1) as servers,
        sapwood.sync.connect(str(servers[0].address)) as bus,
    ):
        bus.publish({"x": 1})
    assert set(threading.enumerate()) <= before
