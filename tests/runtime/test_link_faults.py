"""Links between live brokers over a network that breaks, freezes and slows down."""

from __future__ import annotations

import asyncio
import random

import pytest

import sapwood
from runtime.living import QUICK_LINK, Tally, broker, changed, port, run, until, url
from runtime.proxy import DOWN, UP, Proxy
from sapwood.runtime.client import Bus

pytestmark = pytest.mark.slow

PAYLOAD = bytes(100)
AHEAD_MAX = 2000


class Publisher:
    """Publishes until it is told to stop, or a number of notifications.

    With a tally it runs ahead of it by so many only, else a line that is cut all the time would
    fill the buffers.
    """

    def __init__(
        self,
        bus: Bus,
        count: int | None = None,
        ahead_of: Tally | None = None,
        **attributes: str | int,
    ) -> None:
        self.count = 0
        self._bus = bus
        self._most = count
        self._ahead_of = ahead_of
        self._attributes = attributes
        self.task = asyncio.create_task(self._publish())
        self._stopped = False

    async def _publish(self) -> None:
        while not self._stopped and self.count != self._most:
            await self._bus.publish({**self._attributes, "n": self.count}, payload=PAYLOAD)
            self.count += 1
            if self.count % 20 == 0:
                await asyncio.sleep(0)
            if self._ahead_of is not None:
                await until(self._may_go_on, "something arrives")

    def _may_go_on(self) -> bool:
        assert self._ahead_of is not None
        return self._stopped or self.count - self._ahead_of.count < AHEAD_MAX

    async def stop(self) -> None:
        self._stopped = True
        await self.task


async def break_often(proxy: Proxy, chance: random.Random, times: int) -> None:
    """Cut connections under load: after a random byte of either direction, or half open."""
    for number in range(times):
        before = proxy.connections
        if number % 12 == 11:
            proxy.freeze()
            await dialled_again(proxy, before)
            proxy.cut()
            proxy.thaw()
        else:
            await proxy.cut_after(chance.randint(1, 30_000), chance.choice((UP, DOWN)))
        await dialled_again(proxy, before)


async def dialled_again(proxy: Proxy, before: int) -> None:
    await until(lambda: proxy.connections > before, "the brokers dial again")


async def cuts_under_load(seed: int, times: int) -> None:
    print(f"replay: cuts_under_load({seed}, {times})")
    chance = random.Random(seed)
    async with (
        broker("B1") as one,
        Proxy(port(one)) as proxy,
        broker("B2", proxy.url) as two,
        sapwood.connect(url(one)) as left,
        sapwood.connect(url(two)) as right,
        left.subscribe("side = 'right'") as to_left,
        right.subscribe("side = 'left'") as to_right,
    ):
        tallies = [Tally(to_left), Tally(to_right)]
        publishers = [
            Publisher(right, ahead_of=tallies[0], side="right"),
            Publisher(left, ahead_of=tallies[1], side="left"),
        ]
        await break_often(proxy, chance, times)
        for publisher in publishers:
            await publisher.stop()
        for tally, publisher in zip(tallies, publishers, strict=True):
            await tally.reaches(publisher.count)
            assert tally.gaps == []
            assert [*tally.got.values()] == [list(range(1, publisher.count + 1))]
            await tally.close()
        assert one.node.counts["resumed"] >= times * 0.9  # now and then a handshake is cut, too
        assert one.node.counts["given_up"] == two.node.counts["given_up"] == 0


def test_a_link_cut_all_the_time_loses_and_repeats_nothing() -> None:
    run(cuts_under_load(seed=4, times=50), seconds=100)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
def test_a_link_cut_many_times_more(seed: int) -> None:
    run(cuts_under_load(seed, times=300), seconds=600)


def test_a_connection_that_is_half_open_is_noticed_in_the_stated_time() -> None:
    """Silence, and a tick at most: a quarter of it, here. Nothing is lost by it."""

    async def scenario() -> None:
        async with (
            broker("B1") as one,
            Proxy(port(one)) as proxy,
            broker("B2", proxy.url) as two,
            sapwood.connect(url(one)) as left,
            sapwood.connect(url(two)) as right,
            left.subscribe("n >= 0") as subscription,
        ):
            peer = one.node.peers["B2"]
            loop = asyncio.get_running_loop()
            silence = QUICK_LINK.silence_seconds
            proxy.freeze()
            frozen_at = loop.time()
            for number in range(5):
                await right.publish({"n": number})
            await until(lambda: peer.line is None, "the connection is taken for dead")
            noticed_after = loop.time() - frozen_at
            assert silence * 0.5 <= noticed_after <= silence * 1.5 + 0.5
            proxy.cut()
            proxy.thaw()
            tally = Tally(subscription)
            await tally.reaches(5)
            assert tally.got == {right.name: [1, 2, 3, 4, 5]}
            await tally.close()

    run(scenario())


def test_an_idle_connection_is_kept_alive() -> None:
    async def scenario() -> None:
        async with (
            broker("B1") as one,
            Proxy(port(one)) as proxy,
            broker("B2", proxy.url) as two,
        ):
            before = proxy.forwarded[UP]
            await until(lambda: proxy.forwarded[UP] > before + 100, "pings for some time")
            assert one.node.counts["connections_lost"] == two.node.counts["connections_lost"] == 0

    run(scenario())


def test_an_outage_of_ten_times_the_buffer_is_counted_to_the_last_notification() -> None:
    limits = changed(QUICK_LINK, buffer_bytes=64 * 1024, window_bytes=16 * 1024)

    async def scenario() -> None:
        async with (
            broker("B1", link=limits) as one,
            Proxy(port(one)) as proxy,
            broker("B2", proxy.url, link=limits) as two,
            sapwood.connect(url(one)) as left,
            sapwood.connect(url(two)) as right,
            left.subscribe("n >= 0") as subscription,
        ):
            tally = Tally(subscription)
            load = Publisher(right)
            await until(lambda: tally.count > 500, "it flows")
            proxy.is_down = True
            proxy.cut()
            await until(lambda: two.node.peers["B1"].line is None, "the link is away")
            begin = two.node.peers["B1"].channel.last
            stream = two.node.peers["B1"].channel
            await until(
                lambda: (stream.last - begin) * (len(PAYLOAD) + 80) > 10 * limits.buffer_bytes,
                "ten times the buffer",
            )
            assert stream.buffered <= limits.buffer_bytes
            proxy.is_down = False
            await until(lambda: tally.missed > 0, "the loss is reported")
            await load.stop()
            await right.flush()
            await tally.reaches(load.count)
            assert tally.count + tally.missed == load.count
            assert tally.missed == two.node.counts["given_up"] > 0
            tally.check_order()
            afterwards = Publisher(right, 500)
            await afterwards.task
            await tally.reaches(load.count + 500)
            assert tally.got[right.name][-500:] == list(range(load.count + 1, load.count + 501))
            assert tally.count + tally.missed == load.count + 500
            await tally.close()

    run(scenario())


def test_a_slow_neighbour_slows_its_publishers_and_nobody_else() -> None:
    """Credits hold the publisher back before anything is given up; others go on."""
    limits = changed(QUICK_LINK, buffer_bytes=128 * 1024, window_bytes=16 * 1024)

    async def scenario() -> None:
        async with (
            broker("B1", link=limits) as one,
            Proxy(port(one)) as proxy,
            broker("B2", proxy.url, link=limits) as slow,
            broker("B3", url(one), link=limits) as quick,
            sapwood.connect(url(slow)) as slow_bus,
            sapwood.connect(url(quick)) as quick_bus,
            sapwood.connect(url(one), buffer_bytes=2**17) as both,
            sapwood.connect(url(one)) as other,
            slow_bus.subscribe("to = 'both'") as to_slow,
            quick_bus.subscribe("to = 'both' or to = 'quick'") as to_quick,
        ):
            proxy.bytes_per_second = {DOWN: 200_000}
            tallies = [Tally(to_slow), Tally(to_quick)]
            held_back = Publisher(both, 6000, to="both")
            await until(lambda: len(one.node.flow) > 0, "the publisher is held back")
            assert not held_back.task.done()
            free = Publisher(other, 3000, to="quick")
            await free.task
            await other.flush()
            assert not held_back.task.done()
            await until(lambda: len(tallies[1].got.get(other.name, ())) == 3000, "others go on")
            assert tallies[0].count < 6000
            await held_back.task
            await tallies[0].reaches(6000)
            await tallies[1].reaches(9000)
            for tally in tallies:
                assert tally.gaps == []
                tally.check_order()
                await tally.close()
            assert one.node.counts["given_up"] == 0

    run(scenario())


def test_a_neighbour_that_stands_still_holds_others_back_for_the_stated_time_only() -> None:
    limits = changed(
        QUICK_LINK,
        buffer_bytes=64 * 1024,
        window_bytes=16 * 1024,
        slow_seconds=0.5,
        silence_seconds=30.0,
    )

    async def scenario() -> None:
        async with (
            broker("B1", link=limits) as one,
            Proxy(port(one)) as proxy,
            broker("B2", proxy.url, link=limits) as stuck,
            broker("B3", url(one), link=limits) as quick,
            sapwood.connect(url(stuck)) as stuck_bus,
            sapwood.connect(url(quick)) as quick_bus,
            sapwood.connect(url(one), buffer_bytes=2**17) as bus,
            stuck_bus.subscribe("n >= 0") as to_stuck,
            quick_bus.subscribe("n >= 0") as to_quick,
        ):
            tallies = [Tally(to_stuck), Tally(to_quick)]
            proxy.freeze()
            load = Publisher(bus, 1000)
            await load.task
            await tallies[1].reaches(1000)
            assert tallies[1].count == 1000
            assert one.node.counts["given_up"] > 0
            proxy.thaw()
            await tallies[0].reaches(1000)
            assert tallies[0].count + tallies[0].missed == 1000
            assert tallies[0].missed == one.node.counts["given_up"]
            for tally in tallies:
                tally.check_order()
                await tally.close()

    run(scenario())


def test_both_directions_saturated_do_not_stop_each_other() -> None:
    limits = changed(QUICK_LINK, buffer_bytes=32 * 1024, window_bytes=4 * 1024)

    async def scenario() -> None:
        async with (
            broker("B1", link=limits) as one,
            Proxy(port(one)) as proxy,
            broker("B2", proxy.url, link=limits) as two,
            broker("B3", url(two), link=limits) as three,
            sapwood.connect(url(one), buffer_bytes=2**16) as left,
            sapwood.connect(url(three), buffer_bytes=2**16) as right,
            left.subscribe("side = 'right'") as to_left,
            right.subscribe("side = 'left'") as to_right,
        ):
            proxy.bytes_per_second = {UP: 400_000, DOWN: 400_000}
            tallies = [Tally(to_left), Tally(to_right)]
            load = [Publisher(right, 4000, side="right"), Publisher(left, 4000, side="left")]
            for publisher in load:
                await publisher.task
            for tally in tallies:
                await tally.reaches(4000)
                assert (tally.count, tally.gaps) == (4000, [])
                tally.check_order()
                await tally.close()

    run(scenario())
