"""A broker whose waves are watched closely: clients c and d, a short interval, little patience."""

from __future__ import annotations

from protocol.brokers import handle
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.events import (
    ClientDown,
    ClientUp,
    ControlReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    Tick,
)
from sapwood.protocol.messages import BrokerReport, Echo, Message, Probe, Settled, Survey


class WaveBench:
    """Broker B of session 3. Requests are about nothing in particular."""

    def __init__(self, *neighbours: str) -> None:
        config = BrokerConfig(id="B", session=3, settle_interval=1.0, settle_patience=10.0)
        self.broker = Broker(config)
        for client in ("c", "d"):
            self.broker.handle(ClientUp(client), 0.0)
        for name in neighbours:
            self.add_neighbour(name)

    @property
    def origins(self) -> list[str]:
        """Whose waves are under way here."""
        return list(self.broker.waves.by_origin)

    @property
    def drops(self) -> dict[Drop, int]:
        return dict(self.broker.drops.counts)

    @property
    def next_at(self) -> float | None:
        return self.broker.next_at

    @property
    def own_report(self) -> BrokerReport:
        return self.broker.report()

    def request(self, client: str, number: int, now: float) -> list[Effect]:
        return self.broker.settling.request(client, number, SUBSCRIBED, "a", now)

    def survey(self, client: str, number: int, now: float) -> list[Effect]:
        return self._told(client, Survey(number), now)

    def probed(self, source: str, probe: Probe, now: float = 0.0) -> list[Effect]:
        return self._told(source, probe, now)

    def echoed(self, source: str, echo: Echo, now: float) -> list[Effect]:
        return self._told(source, echo, now)

    def _told(self, source: str, message: Message, now: float) -> list[Effect]:
        return handle(self.broker, ControlReceived(source, message), now)

    def tick(self, now: float) -> list[Effect]:
        return handle(self.broker, Tick(), now)

    def add_neighbour(self, name: str) -> None:
        assert handle(self.broker, LinkUp(name)) == []

    def remove_neighbour(self, name: str, now: float) -> list[Effect]:
        return handle(self.broker, LinkDown(name), now)

    def neighbour_away(self, name: str, now: float) -> list[Effect]:
        return handle(self.broker, NeighbourAway(name), now)

    def neighbour_back(self, name: str) -> None:
        assert handle(self.broker, NeighbourBack(name)) == []

    def forget_client(self, client: str) -> None:
        handle(self.broker, ClientDown(client))


def probe(wave: int) -> Probe:
    return Probe("B", wave, session=3)


def echo(wave: int, *, intact: bool = True) -> Echo:
    return Echo("B", wave, session=3, intact=intact)


def yes(client: str, request: int) -> Send:
    return Send(client, Settled(request, settled=True))


def no(client: str, request: int) -> Send:
    return Send(client, Settled(request, settled=False))


def not_yet(client: str, request: int, *unreachable: str) -> Send:
    reason = f"out of reach for now: {', '.join(unreachable)}"
    return Send(client, Settled(request, settled=False, reason=reason))
