"""A driver in virtual time for any machine of `sapwood.protocol.ports`.

It moves bytes between machines over simulated connections, as the asyncio driver does over sockets,
and decides nothing. What networks and processes do to connections is asked of it from outside:
cut, freeze, refuse, crash, stand still. Everything it draws comes from one random generator, so one
seed gives one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from random import Random
from typing import Any, Final

from sapwood.protocol.events import Tick
from sapwood.protocol.hashing import is_right
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Close,
    Connected,
    Dial,
    DialFailed,
    Disconnected,
    DriverEvent,
    Machine,
    SecretVerified,
    Unsent,
    VerifySecret,
    Write,
)
from sapwood.sim.faithful.host import Action, Clock, Host
from sapwood.sim.faithful.transport import End, Route
from sapwood.sim.kernel import Kernel

VERIFY_SECONDS: Final = 0.05
"""How long it takes to verify a password."""

DIAL_SECONDS: Final = 5.0
"""How long an attempt to dial may take."""

CLOSE_SECONDS: Final = 5.0
"""How long an end that closes waits for its bytes to go out."""

LEARN_SECONDS_MAX: Final = 0.2
"""An end learns of a broken connection after so long at most."""

TICK_SECONDS_MIN: Final = 0.001
"""Shortest time between two ticks: a deadline that has passed does not stop everything else."""

TICKS_IN_A_ROW_MAX: Final = 2000
"""More ticks than that at the shortest distance: the machine wants ticks and does nothing."""

_TICK: Final = Tick()


class Crash(StrEnum):
    """How a process ends that was not asked to."""

    KILLED = "killed"
    """The operating system closes its connections: what was written still arrives."""
    RESET = "reset"
    """The other ends learn it, and what was under way is lost."""
    SILENT = "silent"
    """As when the power fails: nobody is told, until they write to the next life."""


class StuckError(Exception):
    """A machine wants one tick after the other and time stands still."""


class VirtualDriver:
    """Hosts, routes between them, and the connections over these."""

    def __init__(
        self,
        random: Random,
        kernel: Kernel | None = None,
        *,
        delay: tuple[float, float] = (0.001, 0.02),
        split_share: float = 0.3,
        reset_share: float = 0.3,
        on_effect: Callable[[Host, object], None] | None = None,
    ) -> None:
        self.random = random
        self.kernel = Kernel() if kernel is None else kernel
        self.hosts: dict[str, Host] = {}
        """The present life of each machine, the dead ones included."""
        self.routes: dict[tuple[str, str], Route] = {}
        self.on_effect = on_effect
        """Gets every effect that is not about connections."""
        self.watch: Callable[[Host], None] | None = None
        """Is called after every event of a machine, when all is done that it asked for."""
        self.connections = 0
        """How many connections there were so far."""
        self._delay = delay
        self._split_share = split_share
        self._reset_share = reset_share
        self._addresses: dict[str, str] = {}
        self._effects: dict[type, Callable[[Host, Any], None]] = {
            Write: self._write,
            Close: self._close,
            Abort: self._abort,
            Dial: self._dial,
            VerifySecret: self._verify,
        }

    # Hosts

    def start(
        self, name: str, machine: Machine, *, clock: Clock | None = None, address: str = ""
    ) -> Host:
        """A machine begins its life; whoever dials the address reaches it."""
        host = Host(name, machine, clock or Clock(), self.kernel.now)
        self.hosts[name] = host
        if address:
            self._addresses[address] = name
        self._schedule(host)
        return host

    def bring(self, host: Host, event: DriverEvent) -> None:
        """Bring an event to a machine and do what it asks, in order."""
        if not host.is_up:
            return
        if host.hangs:
            host.inbox.append(event)
            return
        self._do(host, host.machine.handle(event, host.read_clock(self.kernel.now)))

    def _bring_data(self, end: End, data: bytes) -> None:
        host = end.host
        if host.is_up:
            now = host.read_clock(self.kernel.now)
            self._do(host, host.machine.receive(end.number, data, now))

    def call(self, host: Host, action: Action) -> None:
        """Let the process of a host do something by itself."""
        if not host.is_up:
            return
        if host.hangs:
            host.inbox.append(action)
            return
        self._do(host, action(host.read_clock(self.kernel.now)))

    def _do(self, host: Host, effects: Sequence[object]) -> None:
        for effect in effects:
            carry_out = self._effects.get(type(effect))
            if carry_out is not None:
                carry_out(host, effect)
            elif self.on_effect is not None:
                self.on_effect(host, effect)
        if host.is_up:
            self._schedule(host)
        if self.watch is not None:
            self.watch(host)

    # Time

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.kernel.run(self.kernel.now + seconds)

    def run_until(self, condition: Callable[[], bool], seconds: float, step: float = 0.1) -> bool:
        """Let time pass until something holds, or for so long; whether it holds."""
        end = self.kernel.now + seconds
        while not condition():
            if self.kernel.now >= end:
                return False
            self.kernel.run(min(end, self.kernel.now + step))
        return True

    def _next_tick(self, host: Host) -> float:
        at = host.clock.when(host.machine.deadline)
        return at if at < host.tick_at else host.tick_at

    def _schedule(self, host: Host) -> None:
        wanted = self._next_tick(host)
        if wanted >= host.wake_at or host.hangs:
            return
        at = max(wanted, host.ticked_at + TICK_SECONDS_MIN, self.kernel.now)
        if at < host.wake_at:
            host.wake_at = at
            self.kernel.at(at, self._tick, host, at)

    def _tick(self, host: Host, at: float) -> None:
        if at != host.wake_at:
            return
        host.wake_at = float("inf")
        if not host.is_up or host.hangs:
            return
        if self._next_tick(host) <= at:
            self._bring_tick(host)
        else:
            self._schedule(host)

    def _bring_tick(self, host: Host) -> None:
        now = self.kernel.now
        is_close = now - host.ticked_at < 2 * TICK_SECONDS_MIN
        host.ticks_in_a_row = host.ticks_in_a_row + 1 if is_close else 0
        if host.ticks_in_a_row > TICKS_IN_A_ROW_MAX:
            raise StuckError(f"{host.name} wants one tick after the other at {now}")
        host.ticked_at = now
        if now >= host.tick_at:
            host.tick_at = now + TICK_SECONDS
            for end in list(host.ends.values()):
                if end.unsent:
                    self.bring(host, Unsent(end.number, end.unsent))
        # Rounding must not show a time just before the deadline that has come.
        deadline = host.machine.deadline
        if host.clock.when(deadline) <= now:
            host.shown = max(host.shown, min(deadline, host.clock.local(now) + 1e-6))
        self.bring(host, _TICK)

    # Effects

    def _write(self, host: Host, effect: Write) -> None:
        end = host.ends.get(effect.connection)
        if end is None:
            return
        if end.is_cut:
            if end.is_silent and self.hosts[end.other.host.name].is_up:
                end.is_silent = False
                self._learn_soon(end, "connection reset by peer")
            return
        end.other.send(effect.data, self.kernel.now, self.random)
        self._expect(end.other)

    def _close(self, host: Host, effect: Close) -> None:
        end = host.ends.pop(effect.connection, None)
        if end is None:
            return
        now, other = self.kernel.now, end.other
        if end.is_cut:
            self.kernel.at(now, self._learn, end, effect.reason)
            return
        other.ends_at = other.last_arrival
        self._expect(other)
        patience = now + CLOSE_SECONDS
        sent_at = patience if other.route.is_frozen and end.unsent else max(now, other.free_at)
        if sent_at < patience:
            self.kernel.at(sent_at, self._learn, end, effect.reason)
        else:
            self.kernel.at(patience, self._lose_patience, end, effect.reason)

    def _lose_patience(self, end: End, reason: str) -> None:
        """An end that wanted to close has waited long enough for its bytes to go out."""
        if end.unsent:
            self.cut_connection(end, told=(end.other,))
        self._learn(end, reason)

    def _abort(self, host: Host, effect: Abort) -> None:
        end = host.ends.pop(effect.connection, None)
        if end is not None:
            self.cut_connection(end, told=(end.other,))
            self.kernel.at(self.kernel.now, self._learn, end, effect.reason)

    def _dial(self, host: Host, effect: Dial) -> None:
        name = self._addresses.get(effect.address)
        if name is None:
            self._fail_dial(host, effect.dial, f"{effect.address}: no such address")
            return
        route = self.route(host.name, name)
        if not route.is_reachable:
            # A firewall refuses, or says nothing.
            seconds = self.random.choice((route.delay(self.random), DIAL_SECONDS))
            self._fail_dial(host, effect.dial, f"{effect.address}: unreachable", seconds)
            return
        began = self.kernel.now
        self.kernel.at(began + route.delay(self.random), self._accept, host, effect, name, began)

    def _verify(self, host: Host, effect: VerifySecret) -> None:
        """See whether a secret is right; that takes its time."""
        answer = SecretVerified(effect.connection, is_right(effect.hashes, effect.secret))
        self.kernel.at(self.kernel.now + VERIFY_SECONDS, self.bring, host, answer)

    def _fail_dial(self, host: Host, dial: int, reason: str, seconds: float = 0.0) -> None:
        self.kernel.at(self.kernel.now + seconds, self.bring, host, DialFailed(dial, reason))

    def _accept(self, host: Host, effect: Dial, name: str, began: float) -> None:
        """An attempt to dial has come to the other host."""
        if not host.is_up:
            return
        there, back = self.route(host.name, name), self.route(name, host.name)
        target, now = self.hosts[name], self.kernel.now
        if there.is_frozen or back.is_frozen:
            seconds = max(0.0, began + DIAL_SECONDS - now)
            self._fail_dial(host, effect.dial, f"{effect.address}: no answer", seconds)
            return
        seconds = back.delay(self.random)
        if there.is_refused or not target.is_up:
            self._fail_dial(host, effect.dial, f"{effect.address}: connection refused", seconds)
            return
        self.connections += 1
        number = self.connections
        near = End(host, number, back, now + seconds)
        far = End(target, number, there, now)
        near.other, far.other = far, near
        back.ends.append(near)
        there.ends.append(far)
        host.ends[number] = near
        target.ends[number] = far
        self.kernel.at(
            now + seconds,
            self.bring,
            host,
            Connected(number, dial=effect.dial, address=effect.address),
        )
        self.bring(target, Connected(number, address=f"{host.name}:{number}"))

    # Bytes

    def _expect(self, end: End) -> None:
        """See to it that what is under way to an end arrives."""
        at = end.next_arrival
        if at is None or end.route.is_frozen or end.host.hangs:
            return
        at = max(at, self.kernel.now)
        if end.due is None or at < end.due:
            end.due = at
            self.kernel.at(at, self._arrive, end, at)

    def _arrive(self, end: End, at: float) -> None:
        if end.due != at:
            return
        end.due = None
        if end.route.is_frozen or end.host.hangs:
            return  # whoever ends that will look again
        data = end.take(at)
        if data:
            data = self._read(end, data)
        blows = end.fuse is not None and end.fuse <= 0
        if data and end.number in end.host.ends:
            end.received += len(data)
            self._bring_data(end, data)
        elif data and self.random.random() < self._reset_share:
            # Bytes for an end that has closed are answered by a reset, which may overtake.
            self.cut_connection(end, told=(end.other,))
        if blows:
            self.cut_connection(end)
        elif end.segments:
            self._expect(end)
        elif end.ends_at is not None:
            if end.ends_at > at:
                self._expect(end)
            else:
                self._finish(end)

    def _read(self, end: End, data: bytes) -> bytes:
        """What one read brings of the bytes that are here: all, or only the first ones."""
        random = self.random
        if len(data) > 1 and random.random() < self._split_share:
            size = random.randrange(1, len(data))
            end.put_back(data[size:], self.kernel.now + end.route.delay(random) * random.random())
            data = data[:size]
        if end.fuse is not None:
            data = data[: end.fuse]
            end.fuse -= len(data)
        return data

    def _finish(self, end: End) -> None:
        """The other side's end of the stream is here: this side closes, too."""
        end.is_cut = end.other.is_cut = True
        end.other.drop()
        self._learn(end, "closed by the other side")
        self._forget(end)

    # What happens to connections

    def route(self, source: str, target: str) -> Route:
        """The route from one host to another."""
        route = self.routes.get((source, target))
        if route is None:
            route = self.routes[source, target] = Route(*self._delay)
        return route

    def both_routes(self, a: str, b: str) -> tuple[Route, Route]:
        """The routes between two hosts, in both directions."""
        return self.route(a, b), self.route(b, a)

    def ends_between(self, a: str, b: str) -> Iterator[End]:
        """Of each connection between two hosts: the end at the second one."""
        yield from list(self.route(a, b).ends)

    def cut_connection(self, end: End, told: tuple[End, ...] | None = None) -> None:
        """Break a connection: what is under way is lost, and its ends learn it sooner or later."""
        if end.is_cut:
            return
        for one in (end, end.other):
            one.is_cut = True
            one.drop()
        self._forget(end)
        for one in (end, end.other) if told is None else told:
            self._learn_soon(one, "connection reset by peer")

    def cut(self, a: str, b: str) -> None:
        """Break all connections between two hosts."""
        for end in self.ends_between(a, b):
            self.cut_connection(end)

    def cut_after(self, source: str, target: str, size: int) -> None:
        """Break the connections there are when so many more bytes have arrived at the target."""
        for end in self.ends_between(source, target):
            end.fuse = size
            if size <= 0:
                self.cut_connection(end)

    def freeze(self, source: str, target: str) -> None:
        """Bytes from one host to another stay under way; nobody is told."""
        self.route(source, target).is_frozen = True

    def thaw(self, source: str, target: str) -> None:
        """Bytes move again."""
        route = self.route(source, target)
        route.is_frozen = False
        for end in list(route.ends):
            end.due = None
            self._expect(end)

    def _forget(self, end: End) -> None:
        for one in (end, end.other):
            if one in one.route.ends:
                one.route.ends.remove(one)

    def _learn_soon(self, end: End, reason: str) -> None:
        at = self.kernel.now + self.random.random() * LEARN_SECONDS_MAX
        self.kernel.at(max(at, end.since), self._learn, end, reason)

    def _learn(self, end: End, reason: str) -> None:
        """A machine is told that a connection is gone, once."""
        if end.is_open and end.host.is_up:
            end.is_open = False
            end.host.ends.pop(end.number, None)
            self.bring(end.host, Disconnected(end.number, reason))

    # What happens to processes

    def hang(self, host: Host) -> None:
        """A process stands still; its connections stay."""
        host.hangs = True

    def resume(self, host: Host) -> None:
        """A process goes on, and finds all that has happened meanwhile."""
        if not host.hangs:
            return
        host.hangs = False
        if self.random.random() < 0.5 and host.is_up:
            self._bring_tick(host)
        while host.inbox and host.is_up:
            found = host.inbox.popleft()
            if callable(found):
                self.call(host, found)
            else:
                self.bring(host, found)
        for end in list(host.ends.values()):
            end.due = None
            self._expect(end)
        if host.is_up:
            self._schedule(host)

    def end(self, host: Host, crash: Crash = Crash.KILLED) -> None:
        """A process is no more."""
        host.is_up = host.hangs = False
        host.inbox.clear()
        for end in list(host.ends.values()):
            other = end.other
            if end.is_cut:
                continue
            if crash is Crash.KILLED:
                other.ends_at = other.last_arrival
                self._expect(other)
            elif crash is Crash.RESET:
                self.cut_connection(end, told=(other,))
            else:
                other.is_silent = True
                self.cut_connection(end, told=())
        host.ends.clear()
