"""Tests for the driver: what it brings to a machine, and how it carries out what is asked."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.authority import Authority
from runtime.driving import Recorder, driving, listening
from runtime.living import RawPeer, run, until
from runtime.serving import free_port
from sapwood.protocol.events import Tick
from sapwood.protocol.ports import (
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    DriverEvent,
    Row,
    Stopped,
    Unsent,
    Write,
)
from sapwood.runtime import driver as module
from sapwood.runtime import endpoint
from sapwood.runtime.clock import Clock
from sapwood.runtime.tls import server_context


def test_two_machines_talk_until_one_ends() -> None:
    async def scenario() -> None:
        served, dialled = Recorder(), Recorder()
        async with driving(served) as (server, _), driving(dialled) as (client, _):
            async with listening(server) as port:
                client.carry_out([Dial(7, f"127.0.0.1:{port}")])
                await until(lambda: bool(dialled.events), "connected")
                assert dialled.events == [Connected(1, 7, f"127.0.0.1:{port}")]
                client.carry_out([Write(1, b"one "), Write(1, b"two"), Close(1, "enough")])
                await until(lambda: bool(served.brought(Disconnected)), "both ends are gone")
                await until(lambda: bool(dialled.brought(Disconnected)), "both ends are gone")
            assert b"".join(event.data for event in served.brought(Data)) == b"one two"
            assert [type(event) for event in dialled.events] == [Connected, Disconnected]
            assert dialled.events[-1] == Disconnected(1, "enough")
            assert served.brought(Connected)[0].dial == 0
            assert served.events[-1] == Disconnected(1, "closed by the other side")
            client.carry_out([Write(1, b"late"), Abort(1), Close(99)])  # nothing there any more

    run(scenario())


def test_effects_of_one_event_are_done_before_the_next_event() -> None:
    """Also if an effect brings an event about at once, as whoever it is handed to may do."""

    async def scenario() -> None:
        order: list[object] = []

        def answer(event: DriverEvent, now: float) -> Sequence[object]:
            order.append(event)
            return [Row(0.0, "first", {}), Row(0.0, "second", {})] if event == Tick() else []

        def handed_on(effect: object) -> None:
            assert isinstance(effect, Row)
            order.append(effect.kind)
            if effect.kind == "first":
                driver.bring(DialFailed(1, "meanwhile"))
                driver.carry_out([Row(0.0, "called", {})])

        driver = module.Driver(Recorder(answer), Clock(), handed_on)
        driver.bring(Tick())
        assert order == [Tick(), "first", "second", DialFailed(1, "meanwhile"), "called"]
        await driver.close()

    run(scenario())


def test_unknown_effects_are_handed_on_in_order() -> None:
    async def scenario() -> None:
        machine = Recorder(lambda event, now: ["what", Stopped()])
        async with driving(machine) as (driver, handed_on):
            driver.bring(Tick())
            assert handed_on == ["what", Stopped()]

    run(scenario())


def test_a_deadline_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TICK_SECONDS", 60.0)

    async def scenario() -> None:
        ticked_at: list[float] = []

        def answer(event: DriverEvent, now: float) -> Sequence[object]:
            ticked_at.append(now)
            machine.deadline = math.inf
            return []

        machine = Recorder(answer)
        async with driving(machine) as (driver, _):
            machine.deadline = due = driver.clock.now() + 0.05
            driver.carry_out([])
            await until(lambda: bool(ticked_at), "the deadline has come")
            assert ticked_at[0] >= due
            assert machine.events == [Tick()]

    run(scenario())


def test_ticks_come_regularly_without_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TICK_SECONDS", 0.02)

    async def scenario() -> None:
        machine = Recorder()
        async with driving(machine):
            await until(lambda: [*map(type, machine.events)] == [Tick] * 3, "three ticks")

    run(scenario())


def test_the_machine_is_told_how_long_reads_have_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sixteen reads one is timed, and stands for all; afterwards it begins anew."""
    monkeypatch.setattr(module, "TICK_SECONDS", 0.05)

    async def scenario() -> None:
        def answer(event: DriverEvent, now: float) -> Sequence[object]:
            while isinstance(event, Data) and driver.clock.now() < now + 0.001:
                pass  # reading takes a millisecond at least
            return []

        machine = Recorder(answer)
        async with driving(machine) as (driver, _):
            for _ in range(32):
                driver.receive(1, b"x")
            await until(lambda: len(machine.brought(Tick)) >= 2, "two ticks")
            assert len(machine.brought(Data)) == 32
            first, second = machine.brought(Tick)[:2]
            assert first.handling >= 2 * 16 * 0.001
            assert second.handling == 0.0

    run(scenario())


def test_a_deadline_that_stays_in_the_past_does_not_stop_everything_else() -> None:
    async def scenario() -> None:
        machine = Recorder()
        machine.deadline = 0.0
        async with driving(machine):
            await until(lambda: len(machine.events) > 3, "ticks go on, and this loop turns")

    run(scenario())


@pytest.mark.parametrize(
    ("address", "words", "is_final"),
    [
        ("127.0.0.1:{port}", "cannot reach .*listening there", False),
        ("http://there", "is no address", True),
        ("sapwood://" + "a" * 70 + ":1", "cannot be the name of a host", True),
    ],
)
def test_a_failed_dial_says_why(address: str, words: str, is_final: bool) -> None:
    async def scenario() -> None:
        machine = Recorder()
        async with driving(machine) as (driver, _):
            driver.carry_out([Dial(3, address.format(port=free_port()))])
            await until(lambda: bool(machine.brought(DialFailed)), "it has failed")
            (failed,) = machine.events
            assert (failed.dial, failed.is_final) == (3, is_final)
            with pytest.raises(OSError, match=words):
                raise OSError(failed.reason)

    run(scenario())


def test_a_dial_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who accepts and never answers in TLS; and it leaves nothing behind."""
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.1)

    async def scenario() -> None:
        silent, machine = Recorder(), Recorder()
        async with driving(silent) as (server, _), driving(machine) as (driver, _):
            async with listening(server) as port:
                driver.carry_out([Dial(1, f"sapwoods://127.0.0.1:{port}")])
                await until(lambda: bool(machine.events), "it has failed")
            reason = f"sapwoods://127.0.0.1:{port} does not answer within 0.1 s"
            assert machine.events == [DialFailed(1, reason)]
            assert not driver._endpoints

    run(scenario())


def test_certificates_are_told_by_their_names_or_refused_for_good(tmp_path: Path) -> None:
    async def scenario() -> None:
        authority = Authority(tmp_path)
        context = server_context(authority.settings("127.0.0.1", "B1"))
        served, trusting, wary = Recorder(), Recorder(), Recorder()
        async with (
            driving(served) as (server, _),
            driving(trusting, tls=authority.trusted) as (client, _),
            driving(wary) as (stranger, _),
            listening(server, ssl=context) as port,
        ):
            client.carry_out([Dial(1, f"sapwoods://127.0.0.1:{port}")])
            await until(lambda: bool(trusting.events and served.events), "connected")
            assert trusting.events[0].certificate == ("127.0.0.1", "B1", "b1")
            assert served.events[0].certificate is None
            stranger.carry_out([Dial(1, f"sapwoods://127.0.0.1:{port}")])
            await until(lambda: bool(wary.events), "failed")
            (failed,) = wary.events
            assert failed.is_final
            assert "the authority's certificates" in failed.reason
            assert len(server._endpoints) == 1, "the handshake that failed left nothing behind"

    run(scenario())


def test_who_speaks_no_tls_is_told_to_if_the_connection_ends_before_anything_came() -> None:
    async def scenario() -> None:
        served, machine = Recorder(), Recorder()
        async with driving(served) as (server, _), driving(machine) as (driver, _):
            async with listening(server) as port:
                driver.carry_out([Dial(1, f"127.0.0.1:{port}")])
                await until(lambda: bool(served.events), "connected")
                server.carry_out([Abort(1)])
                await until(lambda: bool(machine.brought(Disconnected)), "lost")
            assert machine.events[-1].reason.endswith("; if it uses TLS, write sapwoods://")

    run(scenario())


def test_the_machine_is_told_what_the_other_side_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(endpoint, "CLOSE_SECONDS", 0.05)

    async def scenario() -> None:
        machine = Recorder()
        async with driving(machine) as (driver, _), listening(driver) as port:
            async with await RawPeer.connect(port):
                await until(lambda: bool(machine.brought(Connected)), "accepted")
                driver.carry_out([Write(1, bytes(50 * 2**20))])
                await until(lambda: bool(machine.brought(Unsent)), "it is told")
                told = machine.events.index(machine.brought(Unsent)[0])
                assert machine.events[told].size > 0
                assert isinstance(machine.events[told + 1], Tick)
                driver.carry_out([Close(1, "over")])
                await until(lambda: bool(machine.brought(Disconnected)), "patience is over")
            assert machine.brought(Disconnected) == [Disconnected(1, "over")]

    run(scenario())


def test_closing_waits_for_what_was_written_but_not_for_ever() -> None:
    async def scenario() -> None:
        served, machine = Recorder(), Recorder()
        async with driving(served) as (server, _), listening(server) as port:
            driver = module.Driver(machine, Clock(), lambda effect: None)
            driver.carry_out([Dial(1, f"127.0.0.1:{port}")])
            await until(lambda: bool(machine.events), "connected")
            driver.carry_out([Write(1, bytes(2**20)), Close(1, "over")])
            await driver.close(10.0)
            driver.carry_out([Dial(2, f"127.0.0.1:{port}")])
            assert machine.events[-1] == Disconnected(1, "over")
            await until(lambda: sum(len(e.data) for e in served.brought(Data)) == 2**20, "all came")
            assert not driver._dials

    run(scenario())


def test_a_connection_that_the_loop_gives_up_when_it_was_just_made_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine the time to dial may be over between the two; uvloop says nothing then."""

    async def scenario() -> None:
        def dawdle(event: DriverEvent, now: float) -> Sequence[object]:
            begun = time.monotonic()
            while isinstance(event, Connected) and time.monotonic() < begun + 0.1:
                pass
            return []

        monkeypatch.setattr(module, "CONNECT_SECONDS", 0.05)
        dialled = Recorder(dawdle)
        async with (
            driving(Recorder()) as (server, _),
            driving(dialled) as (client, _),
            listening(server) as port,
        ):
            client.carry_out([Dial(7, f"127.0.0.1:{port}")])
            await until(lambda: bool(dialled.brought(Disconnected)), "it is lost")
            client.carry_out([Write(1, b"late")])
        assert [type(event) for event in dialled.events] == [Connected, Disconnected]

    run(scenario())
