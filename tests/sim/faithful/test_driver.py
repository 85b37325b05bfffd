"""The driver in virtual time: the contract of the ports, and everything that can be broken."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.protocol.hashing import hash_token
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    DriverEffect,
    Remember,
    SecretVerified,
    Unsent,
    VerifySecret,
    Write,
)
from sapwood.sim.faithful.driver import (
    CLOSE_SECONDS,
    DIAL_SECONDS,
    LEARN_SECONDS_MAX,
    Crash,
    StuckError,
    VirtualDriver,
)
from sapwood.sim.faithful.host import Clock, Host
from sim.faithful.machines import Scripted


class Duo:
    """Two hosts; the left one can dial the right one."""

    def __init__(self, seed: int = 1, *, connects: bool = True, **options: float) -> None:
        self.effects: list[tuple[str, object]] = []
        self.driver = VirtualDriver(
            Random(seed),
            on_effect=lambda host, effect: self.effects.append((host.name, effect)),
            **options,  # type: ignore[arg-type]
        )
        self.left, self.right = Scripted(), Scripted()
        self.near = self.driver.start("left", self.left, address="at-left")
        self.far = self.driver.start("right", self.right, address="at-right")
        if connects:
            self.do(self.near, Dial(1, "at-right"))
            self.driver.run(0.1)

    def do(self, host: Host, *effects: DriverEffect) -> None:
        self.driver.call(host, lambda now: list(effects))

    def send(self, data: bytes) -> None:
        self.do(self.near, Write(1, data))

    def reply(self, data: bytes) -> None:
        self.do(self.far, Write(1, data))


def test_both_ends_learn_of_a_connection_under_one_number() -> None:
    duo = Duo()
    assert duo.left.of(Connected) == [Connected(1, dial=1, address="at-right")]
    assert duo.right.of(Connected) == [Connected(1, address="left:1")]


@given(seed=st.integers(0, 10_000), parts=st.lists(st.binary(max_size=50), max_size=20))
@settings(max_examples=50, deadline=None)
def test_bytes_arrive_whole_and_in_order_however_they_are_split(
    seed: int, parts: list[bytes]
) -> None:
    duo = Duo(seed, split_share=0.7)
    for part in parts:
        duo.send(part)
        duo.driver.run(0.005)
        duo.reply(part[::-1])
    duo.driver.run(5)
    assert duo.right.data == b"".join(parts)
    assert duo.left.data == b"".join(part[::-1] for part in parts)


def test_a_write_is_split_now_and_then() -> None:
    duo = Duo(split_share=0.5)
    for _ in range(20):
        duo.send(bytes(100))
        duo.driver.run(0.1)
    assert 20 < len(duo.right.of(Data)) < 60


def test_a_tick_comes_at_the_deadline_and_every_half_second_in_any_case() -> None:
    duo = Duo(connects=False)
    duo.left.deadline = 0.2
    duo.do(duo.near)
    duo.driver.run(0.3)
    assert duo.left.ticks[0] == pytest.approx(0.2)
    duo.left.ticks.clear()
    duo.driver.run(10)
    gaps = [b - a for a, b in zip(duo.left.ticks, duo.left.ticks[1:], strict=False)]
    assert len(gaps) > 15
    assert max(gaps) == pytest.approx(TICK_SECONDS)


def test_a_deadline_that_does_not_move_is_an_error_not_a_run_without_end() -> None:
    duo = Duo(connects=False)
    duo.left.is_stuck = True
    duo.left.deadline = 0.0
    with pytest.raises(StuckError, match="left"):
        duo.driver.run(10)


def test_each_machine_has_a_clock_of_its_own() -> None:
    driver = VirtualDriver(Random(1))
    machine = Scripted()
    machine.deadline = wanted = 1_000_100.9
    driver.start("one", machine, clock=Clock(1_000_000.0, 1.01))
    driver.run(200)
    assert machine.ticks == sorted(machine.ticks)
    assert wanted in machine.ticks
    assert machine.ticks[-1] == pytest.approx(1_000_202, abs=1)


def test_effects_that_are_not_about_connections_are_handed_on() -> None:
    duo = Duo(connects=False)
    duo.do(duo.near, Remember(("B2",)))
    assert duo.effects == [("left", Remember(("B2",)))]


# Ends


def test_a_close_comes_behind_the_bytes() -> None:
    duo = Duo()
    duo.do(duo.near, Write(1, b"last words"), Close(1, "done"))
    duo.driver.run(1)
    assert duo.right.data == b"last words"
    assert duo.right.kinds[-1] == "Disconnected"
    assert duo.left.of(Disconnected) == [Disconnected(1, "done")]
    duo.send(b"too late")
    duo.driver.run(1)
    assert duo.right.data == b"last words"


def test_whoever_writes_to_a_closed_end_may_lose_what_was_under_way_to_it() -> None:
    heard = set()
    for seed in range(30):
        duo = Duo(seed, reset_share=1.0)
        duo.reply(bytes(10))
        duo.do(duo.near, Write(1, b"last words"), Close(1))
        duo.driver.run(1)
        assert duo.left.data == b""
        assert duo.right.kinds[-1] == "Disconnected"
        heard.add(duo.right.data)
    assert {b"", b"last words"} <= heard


def test_an_abort_loses_what_is_under_way() -> None:
    duo = Duo()
    duo.do(duo.near, Write(1, b"never"), Abort(1, "why"))
    duo.driver.run(1)
    assert duo.right.data == b""
    assert duo.left.of(Disconnected) == [Disconnected(1, "why")]
    assert len(duo.right.of(Disconnected)) == 1


@given(seed=st.integers(0, 1000), size=st.integers(1, 60), after=st.integers(0, 59))
@settings(max_examples=50, deadline=None)
def test_a_connection_breaks_after_any_byte(seed: int, size: int, after: int) -> None:
    duo = Duo(seed)
    sent = bytes(range(size))
    duo.driver.cut_after("left", "right", after)
    duo.send(sent)
    duo.reply(b"x" * 5)
    duo.driver.run(1)
    assert duo.right.data == sent[:after]
    is_cut = after <= size
    assert len(duo.right.of(Disconnected)) == len(duo.left.of(Disconnected)) == int(is_cut)


def test_both_ends_learn_of_a_cut_each_at_its_own_time() -> None:
    duo = Duo()
    cut_at = duo.driver.kernel.now
    duo.driver.cut("left", "right")
    duo.send(b"into the void")
    duo.driver.run(1)
    times = [machine.events[-1][0] - cut_at for machine in (duo.left, duo.right)]
    assert times[0] != times[1]
    assert max(times) <= LEARN_SECONDS_MAX
    assert duo.right.data == b""


def test_a_frozen_direction_keeps_its_bytes_and_tells_nobody() -> None:
    duo = Duo()
    duo.driver.freeze("left", "right")
    duo.send(b"wait")
    duo.reply(b"the other direction moves")
    duo.driver.run(60)
    assert duo.right.data == b""
    assert duo.left.data == b"the other direction moves"
    assert "Disconnected" not in duo.left.kinds + duo.right.kinds
    duo.driver.thaw("left", "right")
    duo.driver.run(1)
    assert duo.right.data == b"wait"


def test_bytes_that_do_not_go_out_are_reported_before_ticks() -> None:
    duo = Duo()
    duo.driver.freeze("left", "right")
    duo.send(bytes(100_000))
    duo.driver.run(1)
    assert Unsent(1, 100_000 - 65_536) in duo.left.of(Unsent)
    assert duo.right.of(Unsent) == []


def test_an_end_that_closes_waits_for_its_bytes_but_not_for_ever() -> None:
    duo = Duo()
    duo.driver.freeze("left", "right")
    duo.do(duo.near, Write(1, bytes(100_000)), Close(1))
    duo.driver.run(CLOSE_SECONDS - 0.1)
    assert duo.left.of(Disconnected) == []
    duo.driver.run(0.2)
    assert len(duo.left.of(Disconnected)) == 1
    duo.driver.run(1)
    assert len(duo.right.of(Disconnected)) == 1


def test_a_narrow_route_takes_its_time() -> None:
    duo = Duo()
    duo.driver.route("left", "right").bytes_per_second = 1000.0
    duo.send(bytes(5000))
    duo.driver.run(2.5)
    assert 2000 < len(duo.right.data) < 3000
    duo.driver.run(3)
    assert len(duo.right.data) == 5000


# Dialing


def test_whom_a_firewall_hides_cannot_be_dialled_but_can_dial() -> None:
    duo = Duo(connects=False)
    duo.driver.route("left", "right").is_reachable = False
    duo.do(duo.near, Dial(7, "at-right"))
    duo.do(duo.far, Dial(8, "at-left"))
    duo.driver.run(DIAL_SECONDS + 1)
    (failed,) = duo.left.of(DialFailed)
    assert failed == DialFailed(7, "at-right: unreachable")
    assert [event.dial for event in duo.right.of(Connected)] == [8]  # type: ignore[union-attr]


@pytest.mark.parametrize("why", ["refused", "down", "frozen", "unknown"])
def test_an_attempt_that_cannot_succeed_fails(why: str) -> None:
    duo = Duo(connects=False)
    if why == "refused":
        duo.driver.route("left", "right").is_refused = True
    elif why == "down":
        duo.driver.end(duo.far)
    elif why == "frozen":
        duo.driver.freeze("right", "left")
    began = duo.driver.kernel.now
    duo.do(duo.near, Dial(3, "nowhere" if why == "unknown" else "at-right"))
    duo.driver.run(DIAL_SECONDS + 1)
    ((at, event),) = duo.left.events
    assert isinstance(event, DialFailed)
    assert (at - began >= DIAL_SECONDS * 0.99) == (why == "frozen")
    assert duo.right.events == []


# Processes


def test_a_process_that_stood_still_finds_everything() -> None:
    duo = Duo()
    duo.driver.hang(duo.far)
    ticks = len(duo.right.ticks)
    for number in range(10):
        duo.send(bytes([number]))
        duo.driver.run(1)
    called: list[float] = []

    def call(now: float) -> list[DriverEffect]:
        called.append(now)
        return []

    duo.driver.call(duo.far, call)
    duo.do(duo.near, Close(1), Dial(2, "at-right"))
    duo.driver.run(1)
    assert (duo.right.data, len(duo.right.ticks), called) == (b"", ticks, [])
    assert duo.left.of(Connected)[-1] == Connected(2, dial=2, address="at-right")
    duo.driver.resume(duo.far)
    duo.driver.run(1)
    assert duo.right.data == bytes(range(10))
    assert len(called) == 1
    assert len(duo.right.of(Connected)) == 2
    assert len(duo.right.of(Disconnected)) == 1
    assert len(duo.right.ticks) > ticks


def test_what_a_killed_process_had_written_still_arrives() -> None:
    duo = Duo()
    duo.reply(b"testament")
    duo.driver.end(duo.far, Crash.KILLED)
    duo.driver.run(1)
    assert duo.left.data == b"testament"
    assert len(duo.left.of(Disconnected)) == 1
    assert "Disconnected" not in duo.right.kinds


def test_what_was_under_way_at_a_reset_is_lost() -> None:
    duo = Duo()
    duo.reply(b"testament")
    duo.driver.end(duo.far, Crash.RESET)
    duo.driver.run(1)
    assert duo.left.data == b""
    assert len(duo.left.of(Disconnected)) == 1


def test_a_silent_end_shows_when_someone_writes_to_the_next_life() -> None:
    duo = Duo()
    duo.driver.end(duo.far, Crash.SILENT)
    duo.send(b"is anybody there")
    duo.driver.run(60)
    assert "Disconnected" not in duo.left.kinds
    second = Scripted()
    duo.driver.start("right", second, address="at-right")
    duo.driver.run(1)
    assert "Disconnected" not in duo.left.kinds
    duo.send(b"is anybody there")
    duo.driver.run(1)
    assert len(duo.left.of(Disconnected)) == 1
    assert second.events == []
    duo.do(duo.near, Dial(2, "at-right"))
    duo.driver.run(1)
    assert len(second.of(Connected)) == 1


def test_a_connection_is_never_lost_before_it_was_there() -> None:
    for seed in range(100):
        duo = Duo(seed, connects=False)
        duo.do(duo.near, Dial(1, "at-right"))
        while not duo.right.events:
            duo.driver.run(0.0005)
        duo.driver.cut("left", "right")
        duo.driver.run(1)
        assert duo.left.kinds == ["Connected", "Disconnected"]
        assert duo.right.kinds == ["Connected", "Disconnected"]


SCRIPT = """
from random import Random
from sapwood.protocol.ports import Dial, Write
from sapwood.sim.faithful.driver import VirtualDriver
from sim.faithful.machines import Scripted

driver = VirtualDriver(Random(3))
machines = [Scripted() for _ in range(4)]
hosts = [driver.start(f"H{n}", machine, address=f"a{n}") for n, machine in enumerate(machines)]
for host in hosts[1:]:
    driver.call(host, lambda now: [Dial(1, "a0")])
driver.run(1)
for n in range(1, 4):
    driver.call(hosts[0], lambda now, n=n: [Write(n, bytes(1000))])
driver.freeze("H0", "H1")
driver.cut_after("H0", "H2", 500)
driver.run(1)
driver.thaw("H0", "H1")
driver.run(1)
print([machine.events for machine in machines])
"""


def test_the_hash_seed_makes_no_difference() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1")
    ]
    assert len(printed[0]) > 1000
    assert printed[0] == printed[1]


def test_a_password_is_verified_after_a_while() -> None:
    duo = Duo()
    hashes = (hash_token("right"),)
    duo.do(duo.near, VerifySecret(7, hashes, "right"), VerifySecret(8, hashes, "wrong"))
    assert duo.left.of(SecretVerified) == []
    duo.driver.run(0.2)
    assert duo.left.of(SecretVerified) == [
        SecretVerified(7, is_right=True),
        SecretVerified(8, is_right=False),
    ]
