"""Waves over the tree: they go out as probes, come back as echoes, and prove something.

Links are first in, first out, and a broker passes on what follows from a message before it handles
the next one; so when a probe arrives anywhere, everything that follows there from earlier requests
has been handled, and what the far side sends because of it is ahead of the echo.

One wave serves all requests before it, whichever machine they are from; those that come while it is
under way wait for the next, which starts no sooner than an interval after it. A change of the tree
spoils the waves that pass there: they come back as not intact, and their origin starts another. A
request that is not answered by its deadline is given up; a wave that is as old as a request may
become has lost an echo and ends, so a message that got lost with a link stops nothing for good. A
wave does not wait for a neighbour that is away: it comes back with its name.

A wave can ask every broker it reaches for a report about itself, which the echoes bring.

A broker keeps one wave of each origin at most: an origin has only one at a time, so a newer one
means that the older is history. While a broker restores its tables it starts none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.machine import Machine, MessageHandler
from sapwood.protocol.messages import BrokerReport, Echo, Probe, Refused
from sapwood.protocol.restoration import Restoration

UNREACHABLE_MAX = 8
"""Brokers that cannot be reached and are named in an answer; there may be more."""

REPORTS_MAX = 10_000
"""Brokers in the answer to a survey; those beyond are left out."""

ORIGINS_MAX = 65_536
"""Brokers whose waves are relayed at a time. Beyond it, waves come back as not intact."""


class OpenRequest(msgspec.Struct):
    """Someone waits for a wave, until a deadline."""

    user: str
    """The machine that answers it."""
    client: str
    number: int
    deadline: float
    subject: tuple[str, str, int] | None = None
    """What it is about, for the machine that answers it."""


class Wave(msgspec.Struct):
    """A wave here: where it came from (nowhere, if it is our own), and whose echo is missing."""

    number: tuple[int, int]
    parent: str | None
    waiting: set[str]
    since: float
    survey: bool = False
    intact: bool = True
    unreachable: dict[str, None] = {}
    unsent: dict[str, None] = {}
    """Neighbours that get the probe when they are told again what they are owed."""
    reports: list[BrokerReport] = []
    """Of a survey: this broker, and those behind it that have answered."""

    def skip(self, names: Iterable[str]) -> None:
        """The wave could not reach some brokers."""
        for name in names:
            if len(self.unreachable) < UNREACHABLE_MAX:
                self.unreachable[name] = None


class WaveUser(Protocol):
    """A machine that starts waves."""

    @property
    def name(self) -> str:
        """Of the machine."""

    @property
    def surveys(self) -> bool:
        """Whether every broker has to report about itself."""

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """The wave of a request has come back."""

    def give_up(self, request: OpenRequest) -> list[Effect]:
        """No wave has come back in time."""


class Waves(Machine):
    """The waves a broker starts, and those of others that pass through it."""

    name = "waves"
    derived = ("_users",)

    def __init__(self, core: Core, restoration: Restoration) -> None:
        super().__init__(core)
        self.by_origin: dict[str, Wave] = {}
        """Those under way here, our own among them."""
        self.queue: list[OpenRequest] = []
        """Requests for the next wave, in the order of their deadlines."""
        self.under_way: list[OpenRequest] = []
        """Requests that our own wave will answer; all older than those in the queue."""
        self.next_start = float("-inf")
        self.count = 0
        self._users: dict[str, WaveUser] = {}
        self._restoration = restoration

    def serve(self, user: WaveUser) -> None:
        """Let a machine start waves."""
        self._users[user.name] = user

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """Probes and echoes."""
        return {Probe: self.probed, Echo: self.echoed}

    def request(
        self,
        user: WaveUser,
        client: str,
        number: int,
        now: float,
        subject: tuple[str, str, int] | None = None,
    ) -> list[Effect]:
        """Take a request; it is answered when a wave that starts later has come back."""
        deadline = now + self.core.config.settle_patience
        self.queue.append(OpenRequest(user.name, client, number, deadline, subject))
        return self._start_when_due(now)

    def waiting_for(self, client: str) -> list[OpenRequest]:
        """What a client has not been answered yet."""
        return [one for one in (*self.under_way, *self.queue) if one.client == client]

    def take_over(
        self, user: str, client: str, number: int, now: float, kind: str, entry_id: str
    ) -> list[Effect]:
        """Take a request that another broker had, about something that a client claims or gave up.

        The answer needs a wave of this broker, so it has as much time as any other.
        """
        machine = self._users.get(user)
        if machine is None:
            reason = f"{self.core.id} has taken this client over and knows no {user!r}; ask again"
            return [Send(client, Refused(reason, number))]
        entry = self.core.clients.standing(client, kind, entry_id)
        subject = (kind, entry_id, 0 if entry is None else entry.number) if kind else None
        return self.request(machine, client, number, now, subject)

    # Links and clients

    def client_down(self, client: str, now: float) -> list[Effect]:
        """A client is gone: nobody waits any more."""
        self.queue = [request for request in self.queue if request.client != client]
        self.under_way = [request for request in self.under_way if request.client != client]
        return []

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """The tree has a new edge here: no wave that is under way proves anything about it."""
        self.spoil()
        return []

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour has been told what it is owed: probes for it can go."""
        effects: list[Effect] = []
        for origin, wave in self.by_origin.items():
            if neighbour in wave.unsent:
                del wave.unsent[neighbour]
                if neighbour in wave.waiting:
                    session, number = wave.number
                    effects.append(Send(neighbour, Probe(origin, number, session, wave.survey)))
        return effects

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """The tree has lost an edge here; no echo will come over it, and none can go."""
        effects: list[Effect] = []
        for origin, wave in list(self.by_origin.items()):
            wave.intact = False
            if wave.parent == neighbour:
                del self.by_origin[origin]
            elif neighbour in wave.waiting:
                effects += self._answered(origin, wave, neighbour, now)
        return effects

    def link_away(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour cannot be reached: no wave waits for it."""
        effects: list[Effect] = []
        for origin, wave in list(self.by_origin.items()):
            if neighbour in wave.waiting:
                wave.skip([neighbour])
                effects += self._answered(origin, wave, neighbour, now)
        return effects

    # Probes and echoes

    def probed(self, source: str, probe: Probe, now: float) -> list[Effect]:
        """A wave of another broker arrives."""
        number = (probe.session, probe.wave)
        last = self.by_origin.get(probe.origin)
        if last is not None and last.number == number and last.parent == source:
            return self.core.drops.count(Drop.REPEATED, source)
        if self._contradicts(probe, last):
            # The sender waits for an echo, and must not wait for ever.
            echo = Echo(probe.origin, probe.wave, probe.session, intact=False)
            return [*self.core.drops.count(Drop.STRAY, source), Send(source, echo)]
        wave = self._new_wave(number, source, probe.survey, now)
        if not wave.waiting:
            return [Send(source, _echo(probe.origin, wave))]
        self.by_origin[probe.origin] = wave
        return self._send(wave, probe)

    def echoed(self, source: str, echo: Echo, now: float) -> list[Effect]:
        """An echo comes back."""
        wave = self.by_origin.get(echo.origin)
        number = (echo.session, echo.wave)
        if wave is None or wave.number != number or source not in wave.waiting:
            return self.core.drops.count(Drop.STRAY, source)
        wave.intact = wave.intact and echo.intact
        wave.skip(echo.unreachable)
        if wave.survey:
            wave.reports += echo.reports[: REPORTS_MAX - len(wave.reports)]
        return self._answered(echo.origin, wave, source, now)

    def _contradicts(self, probe: Probe, last: Wave | None) -> bool:
        """Whether a probe came round a circle, is older than one that was here, or one too many."""
        if probe.origin == self.core.id:
            return True
        if last is None:
            return len(self.by_origin) >= ORIGINS_MAX
        return (probe.session, probe.wave) <= last.number

    def _new_wave(
        self, number: tuple[int, int], parent: str | None, survey: bool, now: float
    ) -> Wave:
        """A wave that waits for all neighbours that can be reached, but where it came from.

        After a restart, those that are expected and not back yet are out of reach as well.
        """
        wave = Wave(number, parent, set(), now, survey)
        for name, neighbour in self.core.neighbours.items():
            if neighbour.in_tree and name != parent:
                if neighbour.is_away:
                    wave.skip([name])
                else:
                    wave.waiting.add(name)
        wave.skip(name for name in self._restoration.missing if name not in self.core.neighbours)
        if survey:
            wave.reports.append(self.core.report())
        return wave

    # Time

    @property
    def next_at(self) -> float | None:
        """When a request is given up or a wave has to start."""
        if not self.queue and not self.under_way:
            return None
        times = [request.deadline for request in (*self.under_way, *self.queue)]
        if self.queue:
            own = self.by_origin.get(self.core.id)
            if own is not None:
                times.append(own.since + self.core.config.settle_patience)
            elif not self._restoration.is_active:
                times.append(self.next_start)
        return min(times)

    def tick(self, now: float) -> list[Effect]:
        """Give up requests that have waited too long, and start a wave if one is due."""
        patience = self.core.config.settle_patience
        late, self.under_way = _split_late(self.under_way, now, patience)
        for origin, wave in list(self.by_origin.items()):
            if is_due(wave.since + patience, now, patience):
                del self.by_origin[origin]
        if late and not self.under_way:
            self.by_origin.pop(self.core.id, None)
        if self.core.id not in self.by_origin:
            self.queue, self.under_way = self.under_way + self.queue, []
        too_late, self.queue = _split_late(self.queue, now, patience)
        return self.refuse(late + too_late) + self._start_when_due(now)

    def refuse(self, requests: list[OpenRequest]) -> list[Effect]:
        """Answer requests with no."""
        effects: list[Effect] = []
        for request in requests:
            user = self._users.get(request.user)
            if user is not None:
                effects += user.give_up(request)
        return effects

    def _start_when_due(self, now: float) -> list[Effect]:
        if self.core.id in self.by_origin or not self.queue or self._restoration.is_active:
            return []
        if not is_due(self.next_start, now, self.core.config.settle_interval):
            return []
        return self._start(now)

    def _start(self, now: float) -> list[Effect]:
        self.count += 1
        self.next_start = now + self.core.config.settle_interval
        self.under_way, self.queue = self.queue, []
        users = [self._users.get(request.user) for request in self.under_way]
        survey = any(user is not None and user.surveys for user in users)
        session = self.core.config.session
        wave = self._new_wave((session, self.count), None, survey, now)
        if not wave.waiting:
            return self._finish(wave, now)
        self.by_origin[self.core.id] = wave
        return self._send(wave, Probe(self.core.id, self.count, session, survey))

    def _send(self, wave: Wave, probe: Probe) -> list[Effect]:
        """Send a probe on; it goes behind what a neighbour is owed, so it may have to wait."""
        effects: list[Effect] = []
        for name, neighbour in self.core.neighbours.items():
            if name not in wave.waiting:
                continue
            if neighbour.is_frozen:
                wave.unsent[name] = None
            else:
                effects.append(Send(name, probe))
        return effects

    def spoil(self) -> None:
        """The tree changes here: no wave that is under way proves anything."""
        for wave in self.by_origin.values():
            wave.intact = False

    def _answered(self, origin: str, wave: Wave, source: str, now: float) -> list[Effect]:
        """One echo less is missing; if it was the last one, the wave leaves here."""
        wave.waiting.discard(source)
        if wave.waiting:
            return []
        self.by_origin.pop(origin, None)
        if wave.parent is not None:
            return [Send(wave.parent, _echo(origin, wave))]
        if wave.intact:
            return self._finish(wave, now)
        self.queue = self.under_way + self.queue
        self.under_way = []
        return self._start_when_due(now)

    def _finish(self, wave: Wave, now: float) -> list[Effect]:
        done, self.under_way = self.under_way, []
        effects: list[Effect] = []
        for request in done:
            user = self._users.get(request.user)
            if user is not None:
                effects += user.answer(request, wave, now)
        return effects + self._start_when_due(now)

    # Looking

    def report(self) -> dict[str, Any]:
        """How many wait, and how many waves pass."""
        return {
            "waiting": len(self.queue) + len(self.under_way),
            "waves": len(self.by_origin),
        }

    def state(self) -> Any:
        """Waves by origin, and requests in order."""
        return {
            "waves": {
                origin: {**msgspec.to_builtins(wave), "waiting": sorted(wave.waiting)}
                for origin, wave in sorted(self.by_origin.items())
            },
            "queue": msgspec.to_builtins(self.queue),
            "under_way": msgspec.to_builtins(self.under_way),
            "next_start": self.next_start,
            "count": self.count,
        }

    def problems(self) -> Iterator[str]:
        """A wave waits for neighbours, and will be answered to one; a request waits for a wave."""
        core = self.core
        neighbours = core.neighbours.tree()
        for origin, wave in self.by_origin.items():
            if not wave.waiting or not wave.waiting <= {*neighbours}:
                yield f"the wave of {origin} waits for {sorted(wave.waiting)}"
            if (wave.parent is None) != (origin == core.id):
                yield f"the wave of {origin} came from {wave.parent}"
            if wave.parent is not None and (
                wave.parent not in neighbours or wave.parent in wave.waiting
            ):
                yield f"the wave of {origin} cannot be answered to {wave.parent}"
        requests = [*self.under_way, *self.queue]
        for request in requests:
            if request.client not in core.clients and request.client != core.id:
                yield f"an answer is kept for {request.client}, who is gone"
            if request.user not in self._users:
                yield f"an answer is kept for {request.user}, which is no machine"
        deadlines = [request.deadline for request in requests]
        if deadlines != sorted(deadlines):
            yield "requests are not in the order of their deadlines"
        if self.under_way and core.id not in self.by_origin:
            yield "requests wait for a wave that does not exist"


def _split_late(
    requests: list[OpenRequest], now: float, patience: float
) -> tuple[list[OpenRequest], list[OpenRequest]]:
    """Requests whose deadline has passed, and the others."""
    late: list[OpenRequest] = []
    others: list[OpenRequest] = []
    for one in requests:
        (late if is_due(one.deadline, now, patience) else others).append(one)
    return late, others


def _echo(origin: str, wave: Wave) -> Echo:
    session, number = wave.number
    return Echo(
        origin,
        number,
        session,
        intact=wave.intact,
        unreachable=tuple(wave.unreachable),
        reports=tuple(wave.reports),
    )
