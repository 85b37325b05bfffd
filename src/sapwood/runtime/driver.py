"""The asyncio driver of a machine: a broker's node, or a client's session.

It moves bytes, dials and watches the clock, and decides nothing (`sapwood.protocol.ports`). All
effects of one event are carried out before the next event is brought; an event that arises
meanwhile waits for its turn.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from sapwood.errors import AddressError, NetworkError, RefusedError
from sapwood.protocol.events import Tick
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Close,
    Data,
    Dial,
    DialFailed,
    DriverEvent,
    Machine,
    Unsent,
    Write,
)
from sapwood.runtime.address import Address, parse_address
from sapwood.runtime.clock import Clock
from sapwood.runtime.endpoint import Endpoint
from sapwood.runtime.tls import client_context, explained, silent_end

CONNECT_SECONDS: Final = 5.0
"""How long dialing may take, the handshake of TLS included."""

_TIMED_READS: Final = 16  # of so many the time of one is taken
_TIMER_SECONDS_MIN: Final = 0.001
"""Shortest time until a timer: a deadline that has passed does not stop everything else."""


class Driver:
    """Brings events to one machine, and carries out what it asks."""

    def __init__(
        self,
        machine: Machine,
        clock: Clock,
        on_effect: Callable[[object], None],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.machine = machine
        self.clock = clock
        self._on_effect = on_effect
        self._performers: dict[type, Callable[[Any], None]] = {
            Close: self._close,
            Abort: self._abort,
            Dial: self._begin_dial,
        }
        """By kind of effect; all others but `Write` are handed on."""
        self.tls = tls
        self._numbers = itertools.count(1)
        self._endpoints: dict[int, Endpoint] = {}
        """All connections that are there, those included that are about to end."""
        self._transports: dict[int, asyncio.Transport] = {}
        """Of the connections that the machine has not ended."""
        self._dials: set[asyncio.Task[None]] = set()
        self._queue: deque[DriverEvent | Iterable[object]] = deque()
        self._is_busy = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf
        """When the timer runs out."""
        self._tick_at = math.inf
        """When the next regular tick is due."""
        self._emptied = asyncio.Event()
        self._untimed = _TIMED_READS
        """Reads until the next one whose time is taken."""
        self._handling = 0.0
        """Seconds that reads have taken since the last regular tick, by those that were timed."""

    def start(self) -> None:
        """Begin to watch the clock, on the running event loop."""
        self._tick_at = self.clock.now() + TICK_SECONDS
        self._arm()

    def accept(self) -> Endpoint:
        """A connection that somebody else opens: for a listening server."""
        return Endpoint(self)

    async def close(self, seconds: float = 0.0) -> None:
        """End: dial no more, let connections end for some seconds, then abort those left."""
        self._is_closed = True
        for task in list(self._dials):
            task.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        if self._endpoints and seconds:
            self._emptied.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._emptied.wait()
        for endpoint in list(self._endpoints.values()):
            endpoint.abort("the process ends")
        if self._timer is not None:
            self._timer.cancel()

    def replace(self, machine: Machine) -> None:
        """Drive another machine from now on, which knows of no connection."""
        self.machine = machine
        self._queue.clear()
        self._transports.clear()
        for task in list(self._dials):
            task.cancel()
        for endpoint in list(self._endpoints.values()):
            endpoint.abort("a new session begins")

    # Events

    def bring(self, event: DriverEvent) -> None:
        """Bring an event to the machine, and carry out what it asks."""
        if self._is_busy:
            self._queue.append(event)
        else:
            self.carry_out(self.machine.handle(event, self.clock.now()))

    def receive(self, number: int, data: bytes) -> None:
        """Bring a read to the machine, and carry out what it asks."""
        if self._is_busy:
            self._queue.append(Data(number, data))
            return
        self._untimed -= 1
        if not self._untimed:
            began, self._untimed = self.clock.now(), _TIMED_READS + 1
            self.receive(number, data)
            self._handling += (self.clock.now() - began) * _TIMED_READS
            return
        effects = self.machine.receive(number, data, self.clock.now())
        if len(effects) == 1 and type(effects[0]) is Write:  # a short read is not worth a detour
            write = effects[0]
            transport = self._transports.get(write.connection)
            if transport is not None and not transport.is_closing():
                transport.write(write.data)
        elif effects:
            self.carry_out(effects)
            return
        if self.machine.deadline < self._due:
            self._arm()

    def carry_out(self, effects: Iterable[object]) -> None:
        """Carry out what the machine asks because of an event, or of a call of the application."""
        if self._is_busy:
            self._queue.append(effects)
            return
        self._is_busy = True
        try:
            self._perform(effects)
            if self._queue:
                self._catch_up()
        finally:
            self._is_busy = False
        if self.machine.deadline < self._due:
            self._arm()

    def _catch_up(self) -> None:
        """Do what has come up while effects were carried out, in order."""
        while self._queue:
            item = self._queue.popleft()
            if isinstance(item, DriverEvent):
                item = self.machine.handle(item, self.clock.now())
            self._perform(item)

    def add(self, endpoint: Endpoint) -> int:
        """Number a connection that was made."""
        assert endpoint.transport is not None
        number = next(self._numbers)
        self._endpoints[number] = endpoint
        self._transports[number] = endpoint.transport
        return number

    def remove(self, endpoint: Endpoint) -> None:
        """Forget a connection that is gone."""
        self._endpoints.pop(endpoint.number, None)
        self._transports.pop(endpoint.number, None)
        if not self._endpoints:
            self._emptied.set()

    # Effects

    def _perform(self, effects: Iterable[object]) -> None:
        for effect in effects:
            if type(effect) is Write:
                transport = self._transports.get(effect.connection)
                if transport is not None and not transport.is_closing():
                    transport.write(effect.data)
            else:
                self._performers.get(type(effect), self._on_effect)(effect)

    def _close(self, effect: Close) -> None:
        self._transports.pop(effect.connection, None)
        endpoint = self._endpoints.get(effect.connection)
        if endpoint is not None:
            endpoint.close(effect.reason)

    def _abort(self, effect: Abort) -> None:
        self._transports.pop(effect.connection, None)
        endpoint = self._endpoints.get(effect.connection)
        if endpoint is not None:
            endpoint.abort(effect.reason)

    def _begin_dial(self, effect: Dial) -> None:
        if self._is_closed:
            return
        task = asyncio.get_running_loop().create_task(self._dial(effect))
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    async def _dial(self, effect: Dial) -> None:
        made: list[Endpoint] = []
        try:
            address = parse_address(effect.address)
            await self._connect(address, effect.dial, made)
        except (NetworkError, AddressError) as problem:
            if made and made[0].number:
                made[0].connection_lost(problem)
            else:
                is_final = isinstance(problem, RefusedError | AddressError)
                self.bring(DialFailed(effect.dial, str(problem), is_final))

    async def _connect(self, address: Address, dial: int, made: list[Endpoint]) -> None:
        """Open a connection; a NetworkError with the remedy if that cannot be."""

        def make() -> Endpoint:
            made[:] = [Endpoint(self, dial, silent_end(address))]
            return made[0]

        loop = asyncio.get_running_loop()
        tls = (self.tls or client_context()) if address.tls else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.create_connection(make, address.host, address.port, ssl=tls)
        except TimeoutError:
            raise NetworkError(f"{address} does not answer within {CONNECT_SECONDS} s") from None
        except ssl.SSLError as problem:
            raise explained(problem, address) from None
        except UnicodeError:
            raise AddressError(f"{address.host!r} cannot be the name of a host") from None
        except OSError as problem:
            what = problem.strerror or str(problem)
            raise NetworkError(
                f"cannot reach {address}: {what}; is a broker listening there?"
            ) from None

    # Time

    def _arm(self) -> None:
        """Set the timer to the deadline of the machine, or the next regular tick."""
        if self._is_closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = min(self._tick_at, self.machine.deadline)  # one that is no number is none
        delay = max(self._due - self.clock.now(), _TIMER_SECONDS_MIN)
        self._timer = asyncio.get_running_loop().call_later(delay, self._fire)

    def _fire(self) -> None:
        self._due = -math.inf  # it is set anew when all is done
        now = self.clock.now()
        if now >= self._tick_at:
            self._tick_at = now + TICK_SECONDS
            for number, transport in list(self._transports.items()):
                size = transport.get_write_buffer_size()
                if size:
                    self.bring(Unsent(number, size))
            handling, self._handling = self._handling, 0.0
            self.bring(Tick(handling=handling, skew=self.clock.skew))
        elif now >= self.machine.deadline:
            self.bring(Tick())
        self._arm()
