"""A run in which tables are kept right, or spoilt, or both.

Beside the brokers, which follow a scheme, there are the clients, which renew what they have
declared; the faults of the scenario; and the watch that says when everything was right again.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import msgspec

from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.messages import Advertise, Subscribe
from sapwood.protocol.stabilize.published.broker import PublishedBroker
from sapwood.protocol.stabilize.published.settings import SchemeSettings
from sapwood.protocol.tree import Topology
from sapwood.sim.comparing import Comparing
from sapwood.sim.faults import Faults
from sapwood.sim.forging import NamedFilter
from sapwood.sim.network import Network
from sapwood.sim.recovery import Declared, RecoveryWatch
from sapwood.sim.scenario import Scenario
from sapwood.sim.topology.delays import DelayModel
from sapwood.trace.recorder import Sink
from sapwood.trace.schema import PUBLISHED, Row

EVERYTHING: NamedFilter = (Filter("true").id, "true")
"""Among the filters of which faults are made: it covers all others."""


class Declaration(NamedTuple):
    """Something a client renews."""

    declared: Declared
    entry_id: str
    since: float


class Stabilizing:
    """What a run has beyond others because of its scheme and its faults."""

    def __init__(
        self, scenario: Scenario, topology: Topology, delays: DelayModel, random: Random
    ) -> None:
        self.scenario = scenario
        self.topology = topology
        section = scenario.stabilization
        around = scenario.control_delays(topology, delays)
        layers = 2 if scenario.routing.advertisements == "required" else 1
        self._delay_max = around.delay_max
        self.lease = section.lease(around)
        self.bound = section.bound(around, layers)
        self._random = random
        self._own_lease = {name: period for period in section.periods for name in period.brokers}
        self._live: dict[str, dict[tuple[str, str], Declaration]] = {}
        """By session, then by kind and id."""
        self._filters: dict[str, str] = dict([EVERYTHING])
        self._network: Network | None = None
        self._comparing: Comparing | None = None
        self._watch: RecoveryWatch | None = None

    # Brokers

    def make_broker(self, config: BrokerConfig, **shared: Any) -> Broker:
        """A broker that follows the scheme."""
        section = self.scenario.stabilization
        if section.is_compared:
            config = msgspec.structs.replace(
                config,
                stabilization=msgspec.structs.replace(section.settings, delay_max=self._delay_max),
                client_refresh_seconds=section.refresh_period,
            )
        if section.published is None:
            return Broker(config, **shared)
        settings = SchemeSettings(
            scheme=section.scheme,
            lease_period=self.lease,
            phase=self._random.random(),
            root=self.scenario.routing.root or self.topology.brokers[0],
            ends=section.unsubscriptions == "told",
        )
        return PublishedBroker(config, settings, **shared)

    def attach(self, network: Network) -> None:
        """Go with a network."""
        self._network = network
        section = self.scenario.stabilization
        if section.is_compared:
            self._comparing = Comparing(
                network, self._random, section.refresh_period, self._as_said
            )
        if self.scenario.faults:
            kernel = network.kernel
            self._watch = RecoveryWatch(network.brokers, self.topology, lambda: kernel.now)
            network.watch = self._watch.touch

    @property
    def network(self) -> Network:
        """The network it goes with."""
        assert self._network is not None
        return self._network

    # Time

    @property
    def faults_end_at(self) -> float:
        """When the last fault is over."""
        return max((fault.ends_at for fault in self.scenario.faults), default=0.0)

    @property
    def ends_at(self) -> float:
        """How long to go on: clients renew for ever, so the run does not end by itself."""
        scenario = self.scenario
        return max(scenario.duration, self.faults_end_at + 2 * (self.bound or 0.0))

    def begin(self) -> None:
        """Let the faults happen in their time."""
        faults = Faults(self.network, self._random, self._known_filters, self._struck)
        faults.schedule(self.scenario.faults)

    def finish(self) -> None:
        """Run to the end, and long enough for the checkers to judge all of it."""
        kernel = self.network.kernel
        kernel.run(self.ends_at)
        kernel.run(kernel.now + 2 * self.scenario.settle)
        if self._watch is not None:
            self._watch.touch_all()
            self._watch.look()

    @property
    def recovered_after(self) -> float | None:
        """Seconds from the end of the last fault until everything was right, and stayed so."""
        if self._watch is None or self._watch.right_since is None:
            return None
        return max(0.0, self._watch.right_since - self.faults_end_at)

    def _known_filters(self) -> list[NamedFilter]:
        return list(self._filters.items())

    def _struck(self, broker: str) -> None:
        if self._watch is not None:
            self._watch.touch(broker)

    # What clients declare

    def connect(self, session: str) -> None:
        """A client has come."""
        if self._comparing is not None:
            self._comparing.include(session)

    def lease_of(self, session: str) -> float:
        """The lease of a client's own, zero if it has none."""
        period = self._own_lease.get(self.network.clients[session].broker)
        return 0.0 if period is None else period.lease_period

    def declare(self, session: str, kind: str, entry_id: str, filter: Filter) -> None:
        """A client has subscribed or advertised: it renews that from now on."""
        broker = self.network.clients[session].broker
        declared = Declared(session, broker, kind, filter)
        declaration = Declaration(declared, entry_id, self.network.kernel.now)
        self._live.setdefault(session, {})[kind, entry_id] = declaration
        self._filters.setdefault(filter.id, str(filter))
        self._expect(declaration)
        if self.scenario.stabilization.published is not None:
            # The first renewal comes at any time within a period: so as many come as are printed.
            self._plan(declaration, self._random.random() * self._period(declared))

    def withdraw(self, session: str, kind: str, entry_id: str) -> None:
        """A client has taken something back."""
        declaration = self._live.get(session, {}).pop((kind, entry_id), None)
        if declaration is None:
            return
        if self._watch is not None:
            declared, kernel, settle = declaration.declared, self.network.kernel, self._settle
            is_required = kernel.now >= declaration.since + settle
            self._change(declared, required=-1 if is_required else 0)
            kernel.at(kernel.now + settle, self._no_longer_allowed, declared)

    def disconnect(self, session: str) -> None:
        """A client is gone."""
        for kind, entry_id in list(self._live.get(session, ())):
            self.withdraw(session, kind, entry_id)
        self._live.pop(session, None)

    def _as_said(self, session: str) -> dict[str, Subscribe | Advertise]:
        """What a client has declared, by id, as it said that."""
        return {
            entry_id: (Subscribe if kind == SUBSCRIBED else Advertise)(
                entry_id, str(one.declared.filter)
            )
            for (kind, entry_id), one in self._live.get(session, {}).items()
        }

    def _is_live(self, declaration: Declaration) -> bool:
        session, _, kind, _ = declaration.declared
        return self._live.get(session, {}).get((kind, declaration.entry_id)) is declaration

    # Renewals

    def _period(self, declared: Declared) -> float:
        own = self._own_lease.get(declared.broker)
        if own is not None:
            return own.refresh_period
        count = len(self._live.get(declared.session, ()))
        return self.scenario.stabilization.plan.seconds(count)

    def _plan(self, declaration: Declaration, wait: float) -> None:
        kernel = self.network.kernel
        kernel.at(kernel.now + wait, self._renew, declaration)

    def _renew(self, declaration: Declaration) -> None:
        declared, entry_id = declaration.declared, declaration.entry_id
        if not self._is_live(declaration):
            return
        session, network = declared.session, self.network
        say = network.subscribe if declared.kind == SUBSCRIBED else network.advertise
        say(session, entry_id, str(declared.filter), False, self.lease_of(session))
        self._plan(declaration, self._period(declared))

    # What is expected

    @property
    def _settle(self) -> float:
        return self.scenario.settle

    def _expect(self, declaration: Declaration) -> None:
        if self._watch is None:
            return
        self._change(declaration.declared, allowed=1)
        kernel = self.network.kernel
        kernel.at(kernel.now + self._settle, self._now_required, declaration)

    def _now_required(self, declaration: Declaration) -> None:
        if self._is_live(declaration):
            self._change(declaration.declared, required=1)

    def _no_longer_allowed(self, declared: Declared) -> None:
        self._change(declared, allowed=-1)

    def _change(self, declared: Declared, **changes: int) -> None:
        assert self._watch is not None
        self._watch.touch_all()
        self._watch.expectation.change(declared, **changes)


class Pardon:
    """Hands rows on but for notifications published while the network may be wrong.

    From the first fault until the bound has passed after the last one, nothing is promised; what
    is published before and after is judged as always.
    """

    def __init__(self, stabilizing: Stabilizing, sink: Sink) -> None:
        faults, settle = stabilizing.scenario.faults, stabilizing.scenario.settle
        bound = stabilizing.bound
        self._from = min(fault.at for fault in faults) - settle
        self._until = float("inf") if bound is None else stabilizing.faults_end_at + bound + settle
        self._sink = sink
        self._pardoned: set[str] = set()

    def add(self, row: Row) -> None:
        """Take a row."""
        notification = row.notification
        if notification is not None:
            if row.kind == PUBLISHED and self._from <= row.at <= self._until:
                self._pardoned.add(notification)
            if notification in self._pardoned:
                return
        self._sink(row)
