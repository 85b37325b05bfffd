"""Clients at work, on a broker of this process."""

from __future__ import annotations

import asyncio
from random import Random

from runtime.living import broker, run, until, url
from sapwood.demo.clients import Clients
from sapwood.demo.workload import Publisher, Subscriber
from sapwood.runtime.client import Gap


async def evening() -> None:
    gaps: list[tuple[Subscriber, Gap]] = []
    publishers = [Publisher("p", "B1", 500.0, lambda random: {"x": random.randrange(2)})]
    subscribers = [Subscriber("all", "B1", "true"), Subscriber("some", "B1", "x = 1")]
    async with broker("B1") as server:
        clients = Clients(
            publishers, subscribers, {"B1": [url(server)]}, lambda *gap: gaps.append(gap)
        )
        async with clients:
            assert clients.settled == 2
            clients.start_publishing(Random(1))
            await until(lambda: clients.published["p"] >= 50, "50 publications")
            await clients.stop_publishing()
            await clients.flush(20.0)
            count = clients.published.total()
            await until(lambda: clients.delivered["all"] == count, "all are delivered")
            assert 0 < clients.delivered["some"] < count
            assert clients.published.total() == count
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
            clients = Clients([], subscribers, {"B1": [url(server)]}, lambda *_: None)
            try:
                async with clients:
                    raise AssertionError("there should have been an error")
            except ValueError:
                pass
            await until(lambda: not server.node.peers, "all clients have left")

    run(main())
