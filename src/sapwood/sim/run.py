"""Run a scenario, record what happens, and judge it by the definitions of correctness.

What happens does not depend on who looks: whether rows are digested, judged, written to files or
not made at all, the brokers get the same events at the same times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import msgspec

from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.sim.network import Network
from sapwood.sim.scenario import Scenario
from sapwood.sim.stabilizing import Pardon, Stabilizing
from sapwood.sim.workloads.action import Action, ActionKind
from sapwood.trace.digest import Digest
from sapwood.trace.judge.checkers import Checker
from sapwood.trace.judge.verdict import VIOLATIONS, Verdict, Violation
from sapwood.trace.judge.watch import Watch
from sapwood.trace.recorder import Recorder, Sink
from sapwood.trace.schema import CLOCK, Row, RunSettings
from sapwood.wire.frames import split

_WITH_FAULTS = ("faults", "bound", "recovered_after")
"""What is said of a run only if its scenario has faults."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to."""

    seed: int
    digest: str
    """Of all rows; empty if none were made."""
    violations: int
    published: int
    expected: int
    delivered: int
    notification_hops: int
    control_hops: int
    settling_hops: int
    brokers: int
    table_entries: int
    virtual_seconds: float
    steps: int
    checked: bool
    """Whether what was delivered was judged; if not, nothing was expected or violated."""
    verdict: Verdict
    faults: int = 0
    """How many faults the scenario has."""
    bound: float | None = None
    """Seconds within which everything has to be right again after the last fault."""
    recovered_after: float | None = None
    """Seconds after which it was; None: it was not."""

    def summary(self) -> dict[str, Any]:
        """The counts, and what the verdict adds to them, without the violations themselves."""
        counts = msgspec.structs.asdict(self)
        for name in ("verdict",) if self.faults else ("verdict", *_WITH_FAULTS):
            del counts[name]
        if self.checked:
            counts |= {kind: getattr(self.verdict, kind) for kind in (*VIOLATIONS, "early")}
        return counts


class ViolationFound(Exception):  # noqa: N818 - not an error of ours: it ends a run early
    """A violation shows while a simulation runs."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class Judge:
    """Judges rows as they happen: stops at what shows at once, finds the rest at the end."""

    def __init__(self, run: str, settings: RunSettings) -> None:
        assert settings.settle_seconds is not None
        self._checker = Checker(settings={run: settings})
        self._watch = Watch(settings.settle_seconds)

    def add(self, row: Row) -> None:
        """Take a row; raises if it shows a violation."""
        self._checker.add(row)
        violation = self._watch.add(row)
        if violation is not None:
            raise ViolationFound(violation)

    def verdict(self) -> Verdict:
        """The verdict on all rows so far."""
        return self._checker.verdict()


class Simulation:
    """One run of a scenario with one seed.

    Without `check`, `digest` and `sinks` no row is made: for measuring speed.
    """

    network_type: type[Network] = Network

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        *,
        check: bool = True,
        digest: bool = True,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self.run_name = scenario.run_name(self.seed)
        self.settings = scenario.run_settings()
        self._random = Random(f"{scenario.name} {self.seed}")
        self.topology = scenario.topology.build(self._random)
        self._digest = Digest() if digest else None
        self._judge = Judge(self.run_name, self.settings) if check else None
        self.stabilizing: Stabilizing | None = None
        self._pardon: Pardon | None = None
        self._recorder = self._make_recorder(sinks)
        self._published = self._delivered = 0
        self._sessions: dict[str, int] = {}
        self.network = self._build()

    def _make_recorder(self, sinks: Sequence[Sink]) -> Recorder | None:
        """The judge comes last: it may stop the run, and the others should have the row by then."""
        own = [one.add for one in (self._digest,) if one is not None]
        last = [self._judged] if self._judge is not None else []
        every = [*own, *sinks, *last]
        return Recorder(self.run_name, every) if every else None

    def _judged(self, row: Row) -> None:
        """Let the judge have a row, unless it is about what happened while anything may."""
        assert self._judge is not None
        (self._judge if self._pardon is None else self._pardon).add(row)

    def _build(self) -> Network:
        scenario, topology = self.scenario, self.topology
        routing = scenario.edge_routing.build(topology)
        config = {
            "advertisements_required": self.settings.advertisements_required,
            "advertisement_routing": scenario.edge_routing.advertisement_algorithm,
        }
        random = Random(self._random.getrandbits(64))
        delays = scenario.delays(topology, self._random)
        scenario.check_settle(topology, delays)
        make_broker: Callable[..., Broker] = Broker
        if scenario.is_stabilized or scenario.faults:
            self.stabilizing = Stabilizing(
                scenario, topology, delays, Random(self._random.getrandbits(64))
            )
            make_broker = self.stabilizing.make_broker
            if scenario.faults and self._judge is not None:
                self._pardon = Pardon(self.stabilizing, self._judge.add)
        network = self.network_type(
            random, config=config, record=self._recorder, make_broker=make_broker
        )
        network.deliveries = self._count_delivered
        if self._recorder is not None:
            self._recorder.now = lambda: network.kernel.now
        for name in topology.brokers:
            network.add_broker(name)
        for left, right in topology.links:
            network.add_link(left, right, delays.link(left, right).sample, routing)
        if self.stabilizing is not None:
            self.stabilizing.attach(network)
        if not scenario.is_stabilized:
            network.kernel.run()
        return network

    def run(self, progress: Callable[[float], None] | None = None) -> Result:
        """Let everything happen, or as much as is correct; what it came to."""
        if self.stabilizing is not None:
            self.stabilizing.begin()
        self._schedule(self.actions(), progress)
        with suppress(ViolationFound):  # it is in the verdict
            self._finish()
        return self._result()

    def actions(self) -> Iterator[Action]:
        """What clients do in this run, in the order of time; drawn once, as it is asked for."""
        workload = self.scenario.clients(self.topology)
        return workload.actions(self._random, self.scenario.duration)

    def _finish(self) -> None:
        """Run until all is quiet, and then long enough for the checkers to judge all of it."""
        kernel = self.network.kernel
        if self.stabilizing is not None:
            self.stabilizing.finish()
        else:
            kernel.run()
            kernel.run(kernel.now + 2 * self.scenario.settle)
        if self._recorder is not None:
            for broker in self.network.brokers:
                self._recorder(broker, CLOCK)

    def _schedule(
        self, actions: Iterator[Action], progress: Callable[[float], None] | None
    ) -> None:
        """Let the next action happen, and only then look at the one behind it."""
        kernel = self.network.kernel
        start = kernel.now

        def act(current: Action) -> None:
            self.perform(current)
            if progress is not None:
                progress(current.at)
            plan()

        def plan() -> None:
            following = next(actions, None)
            if following is not None:
                kernel.at(start + following.at, act, following)

        plan()

    def perform(self, action: Action) -> None:
        """Let a client do something."""
        network, kind = self.network, action.kind
        if kind is ActionKind.CONNECT:
            self._sessions[action.client] = self._sessions.get(action.client, 0) + 1
            session = self._session(action.client)
            network.connect(session, action.broker)
            if self.stabilizing is not None:
                self.stabilizing.connect(session)
            return
        session = self._session(action.client)
        if kind is ActionKind.PUBLISH:
            assert action.attributes is not None
            self._published += 1
            network.publish(session, action.attributes, action.payload)
        elif kind is ActionKind.DISCONNECT:
            if self.stabilizing is not None:
                self.stabilizing.disconnect(session)
            network.disconnect(session)
        else:
            assert action.filter is not None
            self._ask(session, kind, action.filter)

    def _ask(self, session: str, kind: ActionKind, filter: Filter) -> None:
        network, settle = self.network, self.scenario.settle_requests
        entry_id = f"{session}/{filter.id}"
        if self.stabilizing is not None:
            self._declared(self.stabilizing, session, kind, filter)
            lease = self.stabilizing.lease_of(session)
            if lease and kind is ActionKind.SUBSCRIBE:
                network.subscribe(session, entry_id, str(filter), settle, lease)
                return
        if kind is ActionKind.SUBSCRIBE:
            network.subscribe(session, entry_id, str(filter), settle)
        elif kind is ActionKind.UNSUBSCRIBE:
            network.unsubscribe(session, entry_id, settle)
        elif kind is ActionKind.ADVERTISE:
            network.advertise(session, entry_id, str(filter), settle)
        else:
            network.unadvertise(session, entry_id, settle)

    def _declared(
        self, stabilizing: Stabilizing, session: str, kind: ActionKind, filter: Filter
    ) -> None:
        """Let it be known, and renewed, what a client has declared."""
        entry_id = f"{session}/{filter.id}"
        of = SUBSCRIBED if kind in (ActionKind.SUBSCRIBE, ActionKind.UNSUBSCRIBE) else ADVERTISED
        if kind in (ActionKind.SUBSCRIBE, ActionKind.ADVERTISE):
            stabilizing.declare(session, of, entry_id, filter)
        else:
            stabilizing.withdraw(session, of, entry_id)

    def _session(self, client: str) -> str:
        return f"{client}.{self._sessions[client]}"

    def _count_delivered(self, session: str, data: bytes) -> None:
        self._delivered += sum(1 for _ in split(data))

    def _result(self) -> Result:
        verdict = Verdict() if self._judge is None else self._judge.verdict()
        hops = self.network.hops()
        brokers = self.network.brokers.values()
        return Result(
            seed=self.seed,
            digest="" if self._digest is None else self._digest.hexdigest(),
            violations=sum(getattr(verdict, kind) for kind in VIOLATIONS),
            published=self._published,
            expected=verdict.expected,
            delivered=self._delivered,
            notification_hops=hops.notifications,
            control_hops=hops.control,
            settling_hops=hops.settling,
            brokers=len(brokers),
            table_entries=sum(len(broker.subscriptions) for broker in brokers),
            virtual_seconds=self.network.kernel.now,
            steps=self.network.kernel.steps,
            checked=self._judge is not None,
            verdict=verdict,
            faults=len(self.scenario.faults),
            bound=None if self.stabilizing is None else self.stabilizing.bound,
            recovered_after=None if self.stabilizing is None else self.stabilizing.recovered_after,
        )
