"""Brokers and nodes with something in every corner of their state, to be spoilt."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from protocol.joined import Network
from protocol.wiring import notification
from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.effects import Effect, Reborn
from sapwood.protocol.events import (
    ClientArrived,
    ClientUp,
    ControlReceived,
    DelayMeasured,
    Event,
    FramesReceived,
    LinkUp,
    NeighbourAway,
    NotificationsMissed,
    Roster,
    Tick,
)
from sapwood.protocol.link.limits import FRAME_BYTES, LinkLimits
from sapwood.protocol.messages import (
    AdoptedStream,
    Advertise,
    ClientMoved,
    Message,
    Missed,
    Probe,
    SpooledRun,
    Subscribe,
    Survey,
)
from sapwood.protocol.node import Node
from sapwood.protocol.optimize.costs import PairCost
from sapwood.protocol.optimize.decision import Decision
from sapwood.protocol.optimize.messages import SWAPS, LinkProbe, Neighbourhood, SwapPropose
from sapwood.protocol.optimize.records import Backoff, Promise, Proposal, Watched
from sapwood.protocol.optimize.settings import OFF, OptimizationSettings
from sapwood.protocol.optimize.surroundings import Room
from sapwood.protocol.reconfigure.leaving import Adopting, Adoption
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.testing.perturbing import Rom

SETTINGS: Final = StabilizationSettings(refresh_seconds=2.0, audit_seconds=10.0)
FEATURES: Final = ("restart",)
SWAPPING: Final = OptimizationSettings(
    mode="on", period_seconds=1.0, window_min_seconds=1.0, window_max_seconds=8.0
)

ROM: Final[Rom] = {
    BrokerConfig: "set from outside",
    "Broker.id": "set from outside",
    "Surroundings.given": "set from outside",
    "Broker.heads": "shared by the brokers of a simulator, None in a live one",
    Random: "injected: it draws times of attempts, and nothing that has to be right",
}
"""What no fault changes, by the ground rules of self-stabilization."""

LINKS: Final = (
    LinkUp("N1", features=FEATURES),
    LinkUp("N2", features=FEATURES, addresses=("tcp://n2:1",)),
    LinkUp("N3", in_tree=False),
    LinkUp("N4", receives="flooding", sends="identity"),
)
CLIENTS: Final = ("c1.1", "c2.1")
ROSTER: Final = Roster(LINKS, ("N4",), CLIENTS)


class Specimen:
    """A broker with neighbours, clients, entries, waves, fences, and a driver that ticks it."""

    def __init__(
        self,
        routing: str = "covering",
        *,
        advertisements: bool = False,
        optimization: OptimizationSettings = OFF,
    ) -> None:
        self.now = 0.0
        self.effects: list[Effect] = []
        self.broker = Broker(
            BrokerConfig(
                id="B",
                routing=routing,
                advertisements_required=advertisements,
                stabilization=SETTINGS,
                optimization=optimization,
                settle_patience=3.0,
                restore_seconds=3.0,
                stale_seconds=4.0,
                expected=("N1", "N9"),
                raises_faults=False,
            )
        )
        for link in LINKS:
            self.bring(link)
        for client in CLIENTS:
            self.bring(ClientUp(client))
        self._fill()

    def _fill(self) -> None:
        filters = ("x > 1", "x > 2", "x = 5", "price < 5", "symbol = 'IBM'", "y in (1, 3)", "true")
        for number, filter in enumerate(filters):
            for source in ("N1", "N2", "N4", *CLIENTS):
                self.tell(source, Subscribe(f"s{number}{source}", filter))
        for source in ("N1", "N2", *CLIENTS):
            self.tell(source, Advertise(f"a{source}", "x > 0"))
        self.tell("N1", ClientMoved("m1.1", 2))
        self.bring(ClientArrived("c1.1", 1))
        self.publish("N2", "m1.1", {"x": 4})
        self.publish("N2", "p1.1", {"x": 4})
        self.publish("c1.1", "c1.1", {"x": 4, "y": 1})
        self.tell("N2", Missed(3, "N8-N2", ("x > 1",)))
        self.bring(NotificationsMissed("N1", 2))
        self.bring(NeighbourAway("N4"))
        self.bring(LinkUp("N1", features=FEATURES, restarted=True))
        self.tell("N2", Probe("N7", 1))
        self.tell("c1.1", Subscribe("w", "z = 1", 7))
        self.tell("c2.1", Survey(8))
        stream = AdoptedStream(session=1, secret="s", homes=(("N2", 1),))
        part = Adopting(stream, [("s", "a1.1/1", "x > 1")], [SpooledRun(b"", 1, 1)], 1)
        self.broker.leaving.adopting["N2"] = Adoption("N2.1/1", 0.0, 0.0, {"a1.1": part})
        self.broker.leaving.note_left("N7", 1, 0.0)

    # Driving

    def bring(self, event: Event) -> None:
        self.effects += self.broker.handle(event, self.now)

    def tell(self, source: str, message: Message) -> None:
        self.bring(ControlReceived(source, message))

    def publish(self, source: str, publisher: str, attributes: dict[str, int]) -> None:
        self.bring(FramesReceived(source, notification(publisher, attributes)))

    def run(self, seconds: float) -> None:
        """Let time pass as a node does: ticks when they are due, and the roster."""
        end, roll_at = self.now + seconds, self.now
        tick_at = self.now
        while self.now < end:
            if self.now >= roll_at:
                roll_at = self.now + SETTINGS.refresh_seconds
                self.bring(ROSTER)
            self.bring(Tick())
            tick_at += 0.5
            due = self.broker.next_at
            due = tick_at if due is None or not due < tick_at else due
            self.now = max(due, self.now + 0.001)

    @property
    def rebirths(self) -> list[Reborn]:
        return [one for one in self.effects if isinstance(one, Reborn)]


def specimens() -> Iterator[Specimen]:
    """Brokers that have, together, every field there is."""
    for routing in ("covering", "merging", "simple", "identity"):
        yield Specimen(routing)
        yield Specimen(routing, advertisements=True)
    yield optimizing()
    auditing = Specimen()
    auditing.run(3.0)
    while auditing.broker.audit.shadow is None:
        auditing.run(0.5)
    yield auditing


def optimizing() -> Specimen:
    """A broker that moves links, with something in every corner of what it knows for that."""
    specimen = Specimen(optimization=SWAPPING)
    broker = specimen.broker
    for name in ("N1", "N2"):
        broker.neighbours[name].features = (*FEATURES, SWAPS)
        told = Neighbourhood(1.0, 0.1, 2, 3, addresses=(f"tcp://{name}:1",))
        specimen.tell(name, told)
        for _ in range(3):
            specimen.bring(DelayMeasured(name, 0.01))
    specimen.tell("N1", LinkProbe(1, "N8", ("tcp://n8:1",)))
    specimen.run(3.0)
    swapping, surroundings = broker.swapping, broker.surroundings
    surroundings.ask("N1", "N2", specimen.now)
    surroundings.heard["N1", "N3"] = PairCost(1.0, specimen.now, linked=False)
    surroundings.failed["N2", "N3"] = specimen.now + 1.0
    surroundings.rooms = [Room(1.0, "N1", "N2")]
    surroundings.loads = [1.0]
    swapping.traffic.fold({("N1", "N2"): (50, 500), ("", "N1"): (40, 400)}, specimen.now)
    numbers = dict.fromkeys(("moved", "joint", "alone", "window", "cost_old", "cost_new"), 1.0)
    numbers |= dict.fromkeys(("cost_kept", "processing_middle", "processing_onto"), 1.0)
    numbers |= dict.fromkeys(("gain", "sigma", "score", "price", "threshold"), 1.0)
    names = {"change": "B.1/s1", "middle": "B", "mover": "N1", "onto": "N2"}
    decision = Decision(at=specimen.now, **names, **numbers)  # type: ignore[arg-type]
    swapping.decisions = [decision]
    swapping.considered = decision
    swapping.proposal = Proposal(decision, -1_000_001, specimen.now + 5.0, ["N1"])
    proposed = SwapPropose("N2.1/s1", "B", "N7")
    swapping.promise = Promise(proposed, "N2", specimen.now + 5.0)
    swapping.watched = [Watched(proposed, "N2", specimen.now)]
    swapping.backoffs["N2", "N1"] = Backoff(specimen.now + 2.0, 2)
    swapping.strikes["N1"] = 1
    swapping.left_out["N2"] = specimen.now + 5.0
    return specimen


def nodes() -> Iterator[Node]:
    """Nodes that have, together, the fields of links, streams and clients."""
    net = Network(Random(1))
    limits = LinkLimits(buffer_bytes=FRAME_BYTES)
    net.add("B1", stabilization=SETTINGS, recording=True, link=limits)
    net.add("B2", "B1", stabilization=SETTINGS)
    net.add("B3", "B1", "nowhere", stabilization=SETTINGS)
    clients = [net.client(f"c{number}", "B1") for number in range(3)]
    clients[0].subscribe("n > 0")
    clients[1].publish("c1.1", 5, 3)
    net.run()
    net.dial("B1")
    clients[2].leave()
    net.cut("B1", "B3")
    clients[1].publish("c1.1", 5, 3)
    yield from net.nodes.values()
    yield from ending_nodes()


def ending_nodes() -> Iterator[Node]:
    """A node that hands its clients over, and one that cannot and stops."""
    net = Network(Random(1))
    for name, joins in (("B1", ()), ("B2", ("B1",)), ("B3", ("B1",))):
        net.add(name, *joins, stabilization=SETTINGS)
    net.advance(2.0)
    net.freeze("B1", "B2")
    net.stop("B2")
    yield net.nodes["B2"]
    net.stop("B1")
    yield net.nodes["B1"]
