"""One case of the swarm under one algorithm: run it, and note what is to be judged."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import msgspec

from sapwood.sim.kernel import Action, Kernel
from sapwood.sim.network import Network
from sapwood.sim.swarm.plan import PHASE_SECONDS, Case, Do, Step
from sapwood.trace.judge.checkers import Checker
from sapwood.trace.judge.verdict import Verdict
from sapwood.trace.recorder import Recorder, Sink
from sapwood.trace.schema import CLOCK, DELIVERED, Row, RunSettings

EVENTS_MAX = 50_000
"""Far more than any case needs: beyond it, messages go around for ever."""

Pair = tuple[str, int, str]
"""Publisher, sequence and the client it was delivered to."""


class RunawayError(Exception):
    """A network does not come to rest."""


class BoundedKernel(Kernel):
    """Virtual time that ends when a network does not come to rest by itself."""

    def at(self, time: float, action: Action, *arguments: Any) -> None:
        """Let an action happen at a time, unless there were too many."""
        if self.steps > EVENTS_MAX:
            raise RunawayError(f"more than {EVENTS_MAX} events")
        super().at(time, action, *arguments)

    def soon(self, time: float, action: Action, subject: Any, event: Any) -> None:
        """The same for what comes in the order of time."""
        if self.steps > EVENTS_MAX:
            raise RunawayError(f"more than {EVENTS_MAX} events")
        super().soon(time, action, subject, event)


class Outcome(msgspec.Struct, kw_only=True):
    """What one run came to."""

    verdict: Verdict
    delivered: Counter[Pair]
    late: list[str]
    """Deliveries after the notification had expired."""
    is_quiet: bool
    calm_hops: int
    """Notifications over links in the last phase."""
    control_hops: int
    entries: int
    broken: list[str]
    """Invariants that do not hold at the end."""


class CaseRun:
    """One case under one algorithm."""

    def __init__(self, case: Case, algorithm: str, expiring: dict[tuple[str, int], float]) -> None:
        self._case = case
        self._routing = case.routing(algorithm)
        self._expiring = expiring
        settings = RunSettings(
            settle_seconds=case.settle, advertisements_required=case.advertisements_required
        )
        self._checker = Checker(settings={"swarm": settings}, violations_max=EVENTS_MAX)
        self._delivered: Counter[Pair] = Counter()
        self._late: list[str] = []
        self.sinks: list[Sink] = [self._take]
        self._record = Recorder("swarm", self.sinks)
        self._network = self._build()
        self._record.now = lambda: self._network.kernel.now

    def _build(self) -> Network:
        case = self._case
        config = {
            "advertisements_required": case.advertisements_required,
            "advertisement_routing": case.advertisement_algorithm,
        }
        network = Network(Random(case.seed), config=config, record=self._record)
        network.kernel = BoundedKernel()
        for name in case.topology.brokers:
            network.add_broker(name)
        for left, right in case.topology.links:
            self._join(network, left, right)
        return network

    def _join(self, network: Network, left: str, right: str) -> None:
        network.add_link(left, right, self._case.delay.sample, self._routing)

    def run(self) -> Outcome:
        """Do all that is planned, wait until it is quiet after each phase, and look."""
        network = self._network
        is_quiet, calm_from = True, 0
        for number, phase in enumerate(self._case.phases):
            if number == len(self._case.phases) - 1:
                calm_from = network.hops().notifications
            for step in phase:
                network.kernel.at(step.at, self._do, step)
            network.kernel.run((number + 1) * PHASE_SECONDS)
            is_quiet = is_quiet and not len(network.kernel)
        for broker in network.brokers:
            self._record(broker, CLOCK)
        hops = network.hops()
        return Outcome(
            verdict=self._checker.verdict(),
            delivered=self._delivered,
            late=self._late,
            is_quiet=is_quiet,
            calm_hops=hops.notifications - calm_from,
            control_hops=hops.control,
            entries=sum(len(broker.subscriptions) for broker in network.brokers.values()),
            broken=network.problems(),
        )

    def _do(self, step: Step) -> None:
        network, settle = self._network, step.settle
        if step.do is Do.PUBLISH:
            network.publish(step.client, step.attributes, expires_at=step.expires_at)
        elif step.do is Do.CONNECT:
            network.connect(step.client, step.name)
        elif step.do is Do.DISCONNECT:
            network.disconnect(step.client)
        elif step.do is Do.CUT:
            network.cut_link(*step.link)
        elif step.do is Do.JOIN:
            self._join(network, *step.link)
        elif step.do is Do.SUBSCRIBE:
            network.subscribe(step.client, step.name, step.filter, settle)
        elif step.do is Do.ADVERTISE:
            network.advertise(step.client, step.name, step.filter, settle)
        elif step.do is Do.UNSUBSCRIBE:
            network.unsubscribe(step.client, step.name, settle)
        else:
            network.unadvertise(step.client, step.name, settle)

    def _take(self, row: Row) -> None:
        """Count a delivery; hand the row to the checkers, unless it may expire under way."""
        key = (row.publisher or "", row.sequence or 0)
        if row.kind == DELIVERED:
            self._delivered[*key, row.client or ""] += 1
            if row.at >= self._expiring.get(key, float("inf")):
                self._late.append(f"{row.notification} at {row.client}")
        if key not in self._expiring:
            self._checker.add(row)
