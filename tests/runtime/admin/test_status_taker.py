"""Taking a status: what a broker tells is what is there."""

from __future__ import annotations

from pathlib import Path

from runtime.living import until
from runtime.serving import run, serving
from sapwood.runtime.admin.status import RefreshStatus
from sapwood.runtime.client import connect
from sapwood.runtime.config.settings import ClientSettings, TraceSettings


def test_a_linked_broker_with_a_client() -> None:
    async def check() -> None:
        async with (
            serving("B1", routing="merging") as first,
            serving("B2", routing="merging", join=(str(first.address),)) as second,
            connect(str(second.address), slow_policy="block") as bus,
            bus.subscribe("price > 100"),
            bus.subscribe("price < 10"),
        ):
            await bus.publish({"price": 50}, confirm=True)
            one, two = first.status(), second.status()
            assert (one.id, one.session, one.routing) == (
                "B1",
                first.node.config.session,
                "merging",
            )
            assert (one.joins, one.clients, one.trace) == ((), (), None)
            assert [(join.address, join.is_linked, join.problem) for join in two.joins] == [
                (str(first.address), True, "")
            ]
            (neighbour,) = one.neighbours
            assert (neighbour.id, neighbour.session) == ("B2", second.node.config.session)
            assert (neighbour.state, neighbour.away_seconds) == ("linked", 0.0)
            assert (neighbour.sends, neighbour.receives) == ("merging", "merging")
            assert (one.tables.subscriptions, two.tables.subscriptions) == (1, 2)  # merged
            (client,) = two.clients
            assert (client.id, client.state, client.subscriptions) == (bus.name, "connected", 2)
            assert (client.slow_policy, client.is_slow) == ("block", False)
            assert client.frames_in >= 3
            assert two.uptime_seconds > 0
            assert two.refresh == RefreshStatus(scheme="digest")  # nothing was ever wrong

    run(check())


def test_a_neighbour_that_is_gone_for_a_while_is_away() -> None:
    async def check() -> None:
        async with serving("B1") as first, serving("B2", join=(str(first.address),)) as second:
            (endpoint,) = second.driver._endpoints.values()
            second.driver._is_closed = True  # it dials no more
            endpoint.abort("pulled out")
            await until(lambda: first.status().neighbours[0].state == "away", "B2 is away")
            (neighbour,) = first.status().neighbours
            assert neighbour.address == ""
            await until(
                lambda: first.status().neighbours[0].away_seconds > neighbour.away_seconds,
                "time passes",
            )
            assert first.status().counts["connections_lost"] == 1

    run(check())


def test_a_client_that_does_not_keep_up_is_slow() -> None:
    async def check() -> None:
        small = ClientSettings(buffer_bytes=65_536)
        async with (
            serving("B1", client=small) as server,
            connect(str(server.address), id="slow") as slow,
            connect(str(server.address), id="quick") as quick,
            slow.subscribe("true", buffer=1),
        ):
            for _ in range(400):
                await quick.publish({"price": 1}, payload=bytes(4096))
            await quick.flush()
            found = {client.id: client for client in server.status().clients}
            assert found[slow.name].is_slow
            assert found[slow.name].queue.given_up > 0
            assert not found[quick.name].is_slow

    run(check())


def test_a_trace_is_part_of_the_status(tmp_path: Path) -> None:
    async def check() -> None:
        trace = TraceSettings(directory=str(tmp_path), run="today")
        async with serving("B1", trace=trace) as server:
            found = server.status().trace
            assert found is not None
            assert (found.directory, found.run) == (str(tmp_path), "today")
            assert (found.left_out, found.failure) == (0, "")

    run(check())
