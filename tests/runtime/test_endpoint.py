"""Tests for one end of a connection, with a transport in memory."""

from __future__ import annotations

import asyncio
from typing import Any

from sapwood.protocol.ports import Connected, Data, Disconnected, DriverEvent
from sapwood.runtime.endpoint import Endpoint


class Memory(asyncio.Transport):
    """A transport that notes how it is ended."""

    def __init__(self, **extra: Any) -> None:
        super().__init__(extra)
        self.calls: list[str] = []

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")


class Owner:
    """A driver that notes what it is brought."""

    def __init__(self) -> None:
        self.events: list[DriverEvent] = []
        self.endpoints: list[Endpoint] = []

    def bring(self, event: DriverEvent) -> None:
        self.events.append(event)

    def receive(self, number: int, data: bytes) -> None:
        self.bring(Data(number, data))

    def add(self, endpoint: Endpoint) -> int:
        self.endpoints.append(endpoint)
        return 5

    def remove(self, endpoint: Endpoint) -> None:
        self.endpoints.remove(endpoint)


def made(dial: int = 0, hint: str = "", **extra: Any) -> tuple[Owner, Endpoint, Memory]:
    owner, transport = Owner(), Memory(**extra)
    endpoint = Endpoint(owner, dial, hint)
    endpoint.connection_made(transport)
    return owner, endpoint, transport


def test_it_brings_what_happens() -> None:
    certificate = {"subject": ((("commonName", "B1"),),), "subjectAltName": (("DNS", "a"),)}
    owner, endpoint, _ = made(3, peername=("10.0.0.1", 99), peercert=certificate)
    endpoint.data_received(b"abc")
    endpoint.connection_lost(OSError("reset"))
    assert owner.events == [
        Connected(5, 3, "10.0.0.1:99", ("B1", "a")),
        Data(5, b"abc"),
        Disconnected(5, "reset"),
    ]
    assert owner.endpoints == []


def test_what_was_never_made_leaves_nothing_behind() -> None:
    owner = Owner()
    Endpoint(owner).connection_lost(OSError("TLS failed"))
    assert owner.events == []


def test_nothing_is_brought_after_the_machine_has_ended_it() -> None:
    async def scenario() -> None:
        owner, endpoint, transport = made()
        endpoint.close("over")
        endpoint.close("again")
        endpoint.data_received(b"late")
        endpoint.connection_lost(None)
        assert owner.events == [Connected(5, 0, "?"), Disconnected(5, "over")]
        assert transport.calls == ["close"]

    asyncio.run(scenario())


def test_an_abort_does_not_wait() -> None:
    owner, endpoint, transport = made()
    endpoint.abort("at once")
    endpoint.connection_lost(None)
    assert transport.calls == ["abort"]
    assert owner.events[-1] == Disconnected(5, "at once")


def test_the_hint_is_for_connections_over_which_nothing_came() -> None:
    for data, reason in (
        (b"", "closed by the other side; hint"),
        (b"x", "closed by the other side"),
    ):
        owner, endpoint, _ = made(1, "hint")
        if data:
            endpoint.data_received(data)
        endpoint.connection_lost(None)
        assert owner.events[-1] == Disconnected(5, reason)
