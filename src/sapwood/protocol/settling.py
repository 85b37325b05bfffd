"""Settled: tell a client when what it asked has taken effect everywhere. And surveys.

A wave goes out over the tree and comes back as echoes. Links are first in, first out, and a broker
passes on what follows from a message before it handles the next one; so when the probe arrives
anywhere, everything that follows there from earlier requests has been handled, and what the far
side sends because of it (subscriptions that an advertisement pulls) is ahead of the echo. The wave
needs nothing from the routing algorithm.

One wave serves all requests before it; those that come while it is under way wait for the next,
which starts no sooner than an interval after it. A change of the tree spoils the waves that pass
there: they come back as not intact, and their origin starts another. A request that is not
answered by its deadline is answered with no; a wave that nobody waits for then is given up, so a
message that got lost with a link stops nothing for good. A wave does not wait for a neighbour that
is away: it comes back with its name, and the answer is no, at once and with that reason.

A wave can also be a survey: then every broker it reaches puts a report about itself into its echo.

A broker keeps one wave of each origin at most: an origin has only one at a time, so a newer one
means that the older is history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sapwood.protocol.drops import Drop, Drops
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.messages import (
    BrokerReport,
    Echo,
    Probe,
    Refused,
    Settled,
    Surveyed,
)

UNREACHABLE_MAX = 8
"""Brokers that cannot be reached and are named in an answer; there may be more."""

REPORTS_MAX = 10_000
"""Brokers in the answer to a survey; those beyond are left out."""

ORIGINS_MAX = 65_536
"""Brokers whose waves are relayed at a time. Beyond it, waves come back as not intact."""


class Request:
    """Someone waits for an answer, until a deadline. Without `on_settled` it asks for a survey."""

    __slots__ = ("client", "deadline", "number", "on_settled")

    def __init__(
        self,
        client: str,
        number: int,
        deadline: float,
        on_settled: Callable[[], list[Effect]] | None,
    ) -> None:
        self.client = client
        self.number = number
        self.deadline = deadline
        self.on_settled = on_settled

    @property
    def is_survey(self) -> bool:
        """Whether it asks who is there."""
        return self.on_settled is None

    def answer(self, wave: Wave) -> list[Effect]:
        """The wave of this request has come back."""
        unreachable = tuple(wave.unreachable)
        if self.on_settled is None:
            answer = Surveyed(self.number, tuple(wave.reports), unreachable)
            return [Send(self.client, answer)]
        if unreachable:
            reason = f"out of reach for now: {', '.join(unreachable)}"
            return [Send(self.client, Settled(self.number, settled=False, reason=reason))]
        return [*self.on_settled(), Send(self.client, Settled(self.number, settled=True))]

    def give_up(self) -> Effect:
        """No wave has come back in time."""
        if self.is_survey:
            refused = Refused("the survey did not come back in time; try again", self.number)
            return Send(self.client, refused)
        return Send(self.client, Settled(self.number, settled=False))


class Wave:
    """A wave here: where it came from (nowhere, if it is our own), and whose echo is missing."""

    __slots__ = (
        "intact",
        "number",
        "parent",
        "reports",
        "since",
        "survey",
        "unreachable",
        "waiting",
    )

    def __init__(
        self,
        number: tuple[int, int],
        parent: str | None,
        waiting: set[str],
        since: float,
        own: BrokerReport | None = None,
    ) -> None:
        self.number = number
        self.parent = parent
        self.waiting = waiting
        self.since = since
        self.intact = True
        self.unreachable: dict[str, None] = {}
        self.survey = own is not None
        self.reports = [] if own is None else [own]
        """Of a survey: this broker, and those behind it that have answered."""

    def skip(self, names: Iterable[str]) -> None:
        """The wave could not reach some brokers."""
        for name in names:
            if len(self.unreachable) < UNREACHABLE_MAX:
                self.unreachable[name] = None


class Settling:
    """The waves a broker starts, and those of others that pass through it."""

    def __init__(
        self,
        broker: str,
        session: int,
        interval: float,
        patience: float,
        drops: Drops,
        report: Callable[[], BrokerReport],
    ) -> None:
        self.neighbours: dict[str, None] = {}
        self.away: dict[str, None] = {}
        """Neighbours that cannot be reached for the time being."""
        self.waves: dict[str, Wave] = {}
        """By origin: those under way here, our own among them."""
        self.queue: list[Request] = []
        """Requests for the next wave, in the order of their deadlines."""
        self.under_way: list[Request] = []
        """Requests that our own wave will answer; all older than those in the queue."""
        self._broker = broker
        self._session = session
        self._interval = interval
        self._patience = patience
        self._drops = drops
        self._report = report
        self._count = 0
        self._next_start = float("-inf")

    def request(
        self,
        client: str,
        number: int,
        now: float,
        on_settled: Callable[[], list[Effect]] | None = None,
    ) -> list[Effect]:
        """Take a request; it is answered when a wave that starts later has come back.

        Without `on_settled` it asks for a survey.
        """
        self.queue.append(Request(client, number, now + self._patience, on_settled))
        return self._start_when_due(now)

    def forget_client(self, client: str) -> None:
        """A client is gone: nobody waits any more."""
        self.queue = [request for request in self.queue if request.client != client]
        self.under_way = [request for request in self.under_way if request.client != client]

    def add_neighbour(self, neighbour: str) -> None:
        """The tree has a new edge here: no wave that is under way proves anything about it."""
        self.neighbours[neighbour] = None
        for wave in self.waves.values():
            wave.intact = False

    def remove_neighbour(self, neighbour: str, now: float) -> list[Effect]:
        """The tree has lost an edge here; no echo will come over it, and none can go."""
        if neighbour not in self.neighbours:
            return []
        del self.neighbours[neighbour]
        self.away.pop(neighbour, None)
        effects: list[Effect] = []
        for origin, wave in list(self.waves.items()):
            wave.intact = False
            if wave.parent == neighbour:
                del self.waves[origin]
            elif neighbour in wave.waiting:
                effects += self._answered(origin, wave, neighbour, now)
        return effects

    def neighbour_away(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour cannot be reached: no wave waits for it."""
        if neighbour not in self.neighbours:
            return []
        self.away[neighbour] = None
        effects: list[Effect] = []
        for origin, wave in list(self.waves.items()):
            if neighbour in wave.waiting:
                wave.skip([neighbour])
                effects += self._answered(origin, wave, neighbour, now)
        return effects

    def neighbour_back(self, neighbour: str) -> None:
        """A neighbour can be reached again. Echoes it still owes belong to waves that are over."""
        self.away.pop(neighbour, None)

    def probed(self, source: str, probe: Probe, now: float) -> list[Effect]:
        """A wave of another broker arrives."""
        if source not in self.neighbours:
            return self._drops.count(Drop.STRAY, source)
        number = (probe.session, probe.wave)
        last = self.waves.get(probe.origin)
        if last is not None and last.number == number and last.parent == source:
            return self._drops.count(Drop.REPEATED, source)
        if self._contradicts(probe, last):
            # The sender waits for an echo, and must not wait for ever.
            echo = Echo(probe.origin, probe.wave, probe.session, intact=False)
            return [*self._drops.count(Drop.STRAY, source), Send(source, echo)]
        behind = [name for name in self.neighbours if name != source and name not in self.away]
        wave = Wave(number, source, set(behind), now, self._report() if probe.survey else None)
        wave.skip(name for name in self.away if name != source)
        if not behind:
            return [Send(source, _echo(probe.origin, wave))]
        self.waves[probe.origin] = wave
        return [Send(neighbour, probe) for neighbour in behind]

    def echoed(self, source: str, echo: Echo, now: float) -> list[Effect]:
        """An echo comes back."""
        wave = self.waves.get(echo.origin)
        number = (echo.session, echo.wave)
        if wave is None or wave.number != number or source not in wave.waiting:
            return self._drops.count(Drop.STRAY, source)
        wave.intact = wave.intact and echo.intact
        wave.skip(echo.unreachable)
        if wave.survey:
            wave.reports += echo.reports[: REPORTS_MAX - len(wave.reports)]
        return self._answered(echo.origin, wave, source, now)

    @property
    def next_at(self) -> float | None:
        """When something is due here, if anything is."""
        times = [request.deadline for request in (*self.under_way, *self.queue)]
        if self.queue:
            own = self.waves.get(self._broker)
            times.append(self._next_start if own is None else own.since + self._patience)
        return min(times, default=None)

    def tick(self, now: float) -> list[Effect]:
        """Answer with no whoever has waited too long, and start a wave if one is due.

        A wave that is as old as any request may become has lost an echo: it is given up.
        """
        requests = [*self.under_way, *self.queue]
        late = {id(one) for one in requests if is_due(one.deadline, now, self._patience)}
        effects: list[Effect] = [one.give_up() for one in requests if id(one) in late]
        self.under_way = [one for one in self.under_way if id(one) not in late]
        self.queue = [one for one in self.queue if id(one) not in late]
        for origin, wave in list(self.waves.items()):
            if is_due(wave.since + self._patience, now, self._patience):
                del self.waves[origin]
        if late and not self.under_way:
            self.waves.pop(self._broker, None)
        elif self._broker not in self.waves:
            self.queue, self.under_way = self.under_way + self.queue, []
        return effects + self._start_when_due(now)

    def _contradicts(self, probe: Probe, last: Wave | None) -> bool:
        """Whether a probe came round a circle, is older than one that was here, or one too many."""
        if probe.origin == self._broker:
            return True
        if last is None:
            return len(self.waves) >= ORIGINS_MAX
        return (probe.session, probe.wave) <= last.number

    def _start_when_due(self, now: float) -> list[Effect]:
        if self._broker in self.waves or not self.queue:
            return []
        if is_due(self._next_start, now, self._interval):
            return self._start(now)
        return []

    def _start(self, now: float) -> list[Effect]:
        self._count += 1
        self._next_start = now + self._interval
        self.under_way, self.queue = self.queue, []
        reachable = [name for name in self.neighbours if name not in self.away]
        survey = any(request.is_survey for request in self.under_way)
        number = (self._session, self._count)
        wave = Wave(number, None, set(reachable), now, self._report() if survey else None)
        wave.skip(self.away)
        if not reachable:
            return self._finish(wave, now)
        self.waves[self._broker] = wave
        probe = Probe(self._broker, self._count, self._session, survey)
        return [Send(neighbour, probe) for neighbour in reachable]

    def _answered(self, origin: str, wave: Wave, source: str, now: float) -> list[Effect]:
        """One echo less is missing; if it was the last one, the wave leaves here."""
        wave.waiting.remove(source)
        if wave.waiting:
            return []
        del self.waves[origin]
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
            effects += request.answer(wave)
        return effects + self._start_when_due(now)


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
