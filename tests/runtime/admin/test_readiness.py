"""Whether a broker takes part, by itself and as ``/readyz`` says it."""

from __future__ import annotations

import asyncio
import secrets
from random import Random
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from runtime.living import QUICK_LINK, until
from runtime.serving import ANY_PORT, free_port, run, serving
from sapwood.protocol.events import Tick
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import Stop
from sapwood.runtime.admin.readiness import why_not_ready
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.server import Server


def node(**config: Any) -> Node:
    return Node(NodeConfig(id="B1", **config), Random(1), secrets.token_hex)


async def asked(server: Server) -> tuple[int, str]:
    """Status and line of `/readyz`."""
    assert server.admin is not None
    url = f"{server.admin.url}/readyz"

    def fetch() -> tuple[int, str]:
        try:
            with urlopen(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    return await asyncio.to_thread(fetch)


def test_a_broker_with_nobody_to_join_is_ready_by_itself() -> None:
    assert why_not_ready(node()) == ""


def test_a_restarted_broker_is_ready_once_it_has_waited_for_its_neighbours() -> None:
    restarted = node(expected=("B2",), restore_seconds=5.0)
    restarted.handle(Tick(), 100.0)
    assert why_not_ready(restarted).startswith("restoring: ")
    restarted.handle(Tick(), 106.0)
    assert why_not_ready(restarted) == ""


def test_a_broker_that_ends_is_not_ready() -> None:
    ending = node()
    ending.handle(Stop(), 1.0)
    assert why_not_ready(ending).startswith("stopping: ")


def test_a_state_that_makes_no_sense_is_a_reason_and_no_exception() -> None:
    spoilt = node(joins=("sapwood://127.0.0.1:1",))
    spoilt.peers["B2"] = None  # type: ignore[assignment]
    assert why_not_ready(spoilt).startswith("the state of this broker is wrong")


def site(name: str, port: int) -> Server:
    return Server(
        Settings(
            id=name,
            listen=ANY_PORT,
            admin=ANY_PORT,
            join=(f"sapwood://127.0.0.1:{port}",),
            join_seconds=0.0,
            link=QUICK_LINK,
        )
    )


def test_a_site_is_ready_while_it_is_linked_to_its_hub() -> None:
    """The hub of two sites is in the middle: when it ends, they keep its place, and are alone."""

    async def check() -> None:
        port = free_port()
        first, second = sites = [site("site-1", port), site("site-2", port)]
        for one in sites:
            await one.start()
        try:
            status, line = await asked(first)
            assert (status, line[:7]) == (503, "alone: ")
            assert line.endswith("\n")
            assert line.count("\n") == 1
            async with serving("hub", listen=f"127.0.0.1:{port}"):
                for one in sites:
                    await until(lambda one=one: not why_not_ready(one.node), "it takes part")  # type: ignore[misc]
                assert await asked(first) == (200, "ready\n")
            await until(lambda: why_not_ready(first.node)[:7] == "alone: ", "the hub is missed")
            assert first.node.peers["hub"].in_tree
            assert (await asked(first))[0] == 503
            second.driver.bring(Stop())
            status, line = await asked(second)
            assert (status, line[:9]) == (503, "stopping:")
        finally:
            for one in sites:
                await one.stop()

    run(check())
