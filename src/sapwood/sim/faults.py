"""Carries out the faults of a scenario: on messages, on tables, on whole brokers.

Everything is drawn with the seed, from a source of random numbers of its own, so a run with faults
can be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from sapwood.protocol.broker import Broker
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.events import ControlReceived, Event
from sapwood.protocol.stabilize.published.broker import PublishedBroker
from sapwood.protocol.stabilize.published.leases import Key
from sapwood.protocol.stabilize.published.memory import (
    Memory,
    Remembered,
    Spoiler,
    Surroundings,
    replace_entries,
)
from sapwood.protocol.stabilize.published.rebuild import Rebuild
from sapwood.sim.forging import Forger, NamedFilter
from sapwood.sim.network import Direction, Network
from sapwood.sim.scenario.faults import AnyFault, CrashFault, MessageFault, TableFault

PERIOD = 60.0
"""By which clocks are wrong in brokers that have no period."""


class Faults:
    """Faults that are to happen to a network."""

    def __init__(
        self,
        network: Network,
        random: Random,
        filters: Callable[[], Sequence[NamedFilter]],
        struck: Callable[[str], None],
    ) -> None:
        self._network = network
        self._random = random
        self._filters = filters
        """Those that are about."""
        self._struck = struck
        """Is told which broker was changed."""
        self._stale: dict[tuple[int, str], Memory] = {}

    def schedule(self, faults: Sequence[AnyFault]) -> None:
        """Let all of them happen in their time."""
        kernel = self._network.kernel
        start = kernel.now
        for number, fault in enumerate(faults):
            kernel.at(start + fault.at, self._happen, number, fault)
            if isinstance(fault, CrashFault) and fault.state == "stale":
                kernel.at(start + fault.at - fault.age, self._keep, number)

    def _happen(self, number: int, fault: AnyFault) -> None:
        if isinstance(fault, MessageFault):
            Disturbance(self._network, fault, self._random, self._filters()).begin()
            return
        for name in fault.chosen(list(self._network.brokers), self._random):
            if isinstance(fault, CrashFault):
                self._crash(number, fault, name)
            else:
                self._spoil(fault, name)
            self._network.look_at_clock(name)
            self._struck(name)

    def _keep(self, number: int) -> None:
        """Keep the states that brokers will have again when they crash."""
        for name, broker in self._network.brokers.items():
            self._stale[number, name] = remember(broker)

    def _crash(self, number: int, fault: CrashFault, name: str) -> None:
        before = remember(self._network.brokers[name])
        broker = self._network.restart(name)
        if fault.state == "stale":
            recall(broker, self._stale.get((number, name), before))
        elif fault.state == "spoilt":
            recall(broker, self._spoiler(broker, 1.0).spoilt(before))

    def _spoil(self, fault: TableFault, name: str) -> None:
        broker = self._network.brokers[name]
        recall(broker, self._spoiler(broker, fault.entries).spoilt(remember(broker)))

    def _spoiler(self, broker: Broker, share: float) -> Spoiler:
        period = PERIOD
        if isinstance(broker, PublishedBroker):
            period = broker.settings.lease_period
        around = Surroundings(
            now=self._network.kernel.now,
            period=period,
            destinations=[*broker.neighbours.tree(), *broker.clients],
            neighbours=broker.neighbours.tree(),
            filters=self._filters(),
        )
        return Spoiler(self._random, around, share)


def remember(broker: Broker) -> Memory:
    """The state of a broker's tables."""
    if isinstance(broker, PublishedBroker):
        return broker.published.remember()
    return Memory(
        entries=tuple(
            Remembered(Key(kind, entry.destination, entry.id), str(entry.filter))
            for kind, table in (
                (SUBSCRIBED, broker.subscriptions),
                (ADVERTISED, broker.advertisements),
            )
            for entry in table
        )
    )


def recall(broker: Broker, memory: Memory) -> None:
    """Let a broker's tables be in another state."""
    if isinstance(broker, PublishedBroker):
        broker.published.recall(memory)
    else:
        replace_entries(broker, [(one.key, one.text) for one in memory.entries])


class Disturbance:
    """Does to the messages of a network what a fault says, until it is over."""

    def __init__(
        self,
        network: Network,
        fault: MessageFault,
        random: Random,
        filters: Sequence[NamedFilter],
    ) -> None:
        self._network = network
        self._fault = fault
        self._random = random
        broker = next(iter(network.brokers.values()))
        is_tagged = isinstance(broker, PublishedBroker) and isinstance(broker.published, Rebuild)
        self._forger = Forger(random, filters, is_tagged=is_tagged)
        self._ends_at = network.kernel.now + fault.seconds

    def begin(self) -> None:
        """Begin with it; what is under way by now is spared."""
        network = self._network
        network.disturb(self._disturbed)
        network.kernel.at(self._ends_at, network.disturb, None)
        self._plan_insertion()

    def _disturbed(self, direction: Direction, event: Event) -> list[tuple[float, Event]]:
        """What becomes of something that comes out of a link: when it arrives, and as what."""
        fault = self._fault
        if self._hits(fault.loss):
            return []
        if isinstance(event, ControlReceived) and self._hits(fault.corruption):
            event = ControlReceived(event.source, self._forger.changed(event.message))
        delay = fault.late_seconds if self._hits(fault.late) else 0.0
        copies = 2 if self._hits(fault.duplication) else 1
        return [(delay, event)] * copies

    def _hits(self, share: float) -> bool:
        return bool(share) and self._random.random() < share

    def _plan_insertion(self) -> None:
        if not self._fault.insertion:
            return
        kernel = self._network.kernel
        at = kernel.now + self._random.expovariate(self._fault.insertion)
        if at < self._ends_at:
            kernel.at(at, self._insert)

    def _insert(self) -> None:
        source, target = self._random.choice(list(self._network.directions))
        self._network.insert(source, target, self._forger.made_up())
        self._plan_insertion()
