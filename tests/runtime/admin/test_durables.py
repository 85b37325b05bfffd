"""Durable subscriptions as the admin endpoint sees them; see also those of the client library."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.serving import run, serving
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.protocol.ports import DriverEvent, DropMailbox
from sapwood.runtime.admin.durables import durables
from sapwood.runtime.client import connect


def test_without_a_journal_there_are_none_and_removing_one_says_so() -> None:
    async def check() -> None:
        async with serving("B1") as server:
            asked: list[DriverEvent] = []
            found = durables(lambda: server.node, server.clock.now, asked.append)
            assert (found.list(), found.drop("d"), asked) == ([], False, [DropMailbox("d")])

    run(check())


@pytest.mark.slow
def test_those_of_the_present_node_are_listed_and_removed(tmp_path: Path) -> None:
    async def check() -> None:
        kept = DurabilitySettings(spool="disk")
        async with serving("B1", data=str(tmp_path), durability=kept) as server:
            found = durables(lambda: server.node, server.clock.now, server.driver.bring)
            async with connect(str(server.address)) as bus:
                await bus.durable("d").open("n >= 0")
                assert [one.name for one in found.list()] == ["d"]
                assert (found.drop("d"), found.list()) == (True, [])

    run(check())
