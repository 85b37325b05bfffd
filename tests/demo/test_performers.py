"""Clients at work, on a broker of this process."""

from __future__ import annotations

import asyncio
from random import Random

from runtime.living import broker, run, until, url
from sapwood.demo.performers import Performers
from sapwood.demo.workload import Publisher, Subscriber
from sapwood.runtime.subscription import Gap


async def evening() -> None:
    gaps: list[tuple[Subscriber, Gap]] = []
    publishers = [Publisher("p", "B1", 500.0, lambda random: {"x": random.randrange(2)})]
    subscribers = [Subscriber("all", "B1", "true"), Subscriber("some", "B1", "x = 1")]
    async with broker("B1") as server:
        performers = Performers(
            publishers, subscribers, {"B1": url(server)}, lambda *gap: gaps.append(gap)
        )
        async with performers:
            assert performers.settled == 2
            performers.start_publishing(Random(1))
            await until(lambda: performers.published["p"] >= 50, "50 publications")
            await performers.stop_publishing()
            await performers.flush(20.0)
            count = performers.published.total()
            await until(lambda: performers.delivered["all"] == count, "all are delivered")
            assert 0 < performers.delivered["some"] < count
            assert performers.published.total() == count
    assert not gaps
    assert all(task is asyncio.current_task() or task.done() for task in asyncio.all_tasks())


def test_publishers_publish_and_subscribers_listen() -> None:
    run(evening())


def test_nobody_stays_when_a_client_cannot_connect() -> None:
    async def main() -> None:
        async with broker("B1") as server:
            subscribers = [
                Subscriber("ok", "B1", "true"),
                Subscriber("bad", "B1", "not a filter ("),
            ]
            performers = Performers([], subscribers, {"B1": url(server)}, lambda *_: None)
            try:
                async with performers:
                    raise AssertionError("there should have been an error")
            except ValueError:
                pass
            await until(lambda: not server.node.peers, "all clients have left")

    run(main())
