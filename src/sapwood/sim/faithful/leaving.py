"""Brokers leave under load and come back: the swarm of leaving.

Trees whose brokers have clients that publish and subscribe, some of them slow, some without a
connection for a while. Brokers at the edge end one after the other and hand their clients over,
sometimes while a connection breaks; they start again, and get new clients. What must hold: nothing
is lost, repeated or out of order, causal order included, nobody is told of a loss, and the traces
of all brokers together say the same.

``python -m sapwood.sim.faithful.leaving --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.protocol.link.limits import ClientLimits
from sapwood.sim.faithful.client import FaithfulClient
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.oracle import Oracle, Tree
from sapwood.sim.faithful.swarm import BoundedKernel, RunawayError
from sapwood.sim.seeds import Seeds
from sapwood.trace.judge.checkers import check
from sapwood.trace.judge.verdict import Verdict
from sapwood.trace.schema import Row

STEPS_MAX: Final = 2_000_000

FORM_SECONDS: Final = 90.0
"""Within so long the tree is there."""

REST_SECONDS: Final = 60.0
"""Within so long everything is delivered, when nobody publishes any more."""

SETTLE_SECONDS: Final = 2.0
"""What the traces are judged by."""

ROUTINGS: Final = ("covering", "merging", "identity", "simple", "flooding")
FILTERS: Final = ("n >= 0", "n < 3", "n = 4", "n > 2 and n < 7", "n in (1, 5, 9)")
SLOW_FILTERS: Final = ("n in (1, 5, 9)",)
"""What slow clients want: they fall behind, and yet hear in time that their broker leaves."""

DELAYS: Final = ((0.0, 0.0), (0.0005, 0.002), (0.001, 0.02), (0.0, 0.1))


class Plan(NamedTuple):
    """A network, and what is drawn for it before it runs."""

    seed: int
    joins: dict[str, tuple[str, ...]]
    routing: str
    delay: tuple[float, float]
    seconds: float
    """How long clients publish."""
    has_cuts: bool
    """Whether connections of the broker that leaves break meanwhile."""
    has_strays: bool
    """Whether clients lose their connections. One that is cut off from everybody when its broker
    leaves may not hear of it: then it begins anew, and is told so."""
    has_advertisements: bool
    """Whether only what is advertised may be published. A client that begins anew would publish
    before its advertisement has settled."""

    def describe(self) -> str:
        """One line about it."""
        words = [f"{len(self.joins)} brokers", self.routing, f"{self.seconds:.0f} s"]
        words += ["cuts"] * self.has_cuts + ["strays"] * self.has_strays
        words += ["advertisements"] * self.has_advertisements
        return ", ".join(words)


def draw_plan(seed: int) -> Plan:
    """The plan of a seed."""
    random = Random(f"leaving {seed}")
    names = [f"B{number}" for number in range(1, random.randint(3, 7) + 1)]
    random.shuffle(names)
    joins: dict[str, tuple[str, ...]] = {names[0]: ()}
    for number, name in enumerate(names[1:], 1):
        joins[name] = (names[random.randrange(number)],)
    has_strays = random.random() < 0.3
    return Plan(
        seed,
        joins,
        random.choice(ROUTINGS),
        random.choice(DELAYS),
        random.uniform(4.0, 12.0),
        random.random() < 0.3,
        has_strays,
        not has_strays and random.random() < 0.3,
    )


class PlanRun:
    """One plan, from its start until all is at rest."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kernel = BoundedKernel(STEPS_MAX)
        self.rows: list[Row] = []
        self.network = FaithfulNetwork(
            Random(plan.seed),
            kernel=self.kernel,
            delay=plan.delay,
            record=self._record,
            config={
                "routing": plan.routing,
                "client": ClientLimits(grace_seconds=60.0),
                "advertisements_required": plan.has_advertisements,
            },
        )
        self.removals = 0
        """Brokers that have ended."""
        self.handed_over = 0
        """Clients that go on at another broker than where they began."""
        self._random = Random(f"what happens in {plan.seed}")
        self._clients = 0
        self._until = float("inf")
        """When nobody publishes any more."""
        self._is_starting: set[str] = set()
        self._slow: set[str] = set()

    def _record(self, broker: str, session: int, at: float, kind: str, **fields: Any) -> None:
        self.rows.append(
            Row(
                run="leaving",
                broker=broker,
                session=session,
                step=len(self.rows) + 1,
                at=at,
                kind=kind,
                **fields,
            )
        )

    # What happens

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        network, plan = self.network, self.plan
        for name, joins in plan.joins.items():
            network.add_broker(name, joins)
        if not network.driver.run_until(self._is_formed, FORM_SECONDS):
            return ["the tree is not there"]
        for name in plan.joins:
            for _ in range(self._random.randint(1, 2)):
                self._add_client(name)
        network.driver.run(1.0)
        self._until = self.kernel.now + plan.seconds
        self.kernel.at(self.kernel.now + self._random.uniform(0.2, 1.5), self._remove)
        self.kernel.run(self._until)
        network.driver.run_until(network.is_idle, REST_SECONDS)
        network.driver.run(2 * SETTLE_SECONDS)
        network.driver.run_until(network.has_no_waves, REST_SECONDS)
        self.handed_over = sum(
            any(home.is_resumed for home in client.homes) for client in network.clients.values()
        )
        return list(islice(self._problems(), 20))

    def _is_formed(self) -> bool:
        return all(
            self.network.is_joined(name, other)
            for name, joins in self.plan.joins.items()
            for other in joins
        )

    def _add_client(self, broker: str) -> str:
        self._clients += 1
        session = f"C{self._clients}.1"
        random, network = self._random, self.network
        network.connect(session, broker)
        is_slow = random.random() < 0.2
        for filter in random.sample(FILTERS, random.randint(0, 2)) if not is_slow else SLOW_FILTERS:
            network.subscribe(session, filter, filter)
        if self.plan.has_advertisements:
            network.advertise(session, "all", "n >= 0")
        if is_slow:
            self._slow.add(session)
            for name in network.sites:
                network.slow(session, name, random.choice((100_000.0, 300_000.0)))
        at = self.kernel.now + random.uniform(0.5, 1.0)
        rate = random.uniform(5.0, 10.0 if is_slow else 60.0)
        self.kernel.at(at, self._act, session, rate)
        return session

    def _act(self, session: str, rate: float) -> None:
        """A client publishes, and now and then does something else."""
        if self.kernel.now >= self._until:
            return
        random, network = self._random, self.network
        chance = random.random()
        if chance < 0.01:
            filter = random.choice(FILTERS)
            network.subscribe(session, filter, filter)
        elif chance < 0.015 and self._may_unsubscribe(session):
            network.unsubscribe(
                session, random.choice(list(network.clients[session].subscriptions))
            )
        elif chance < 0.02 and self.plan.has_strays:
            self._cut_off(session, random.choice((0.1, 1.0, 3.0)))
        payload = bytes(random.choice((0, 0, 100, 3000)))
        network.publish(session, {"n": random.randrange(10)}, payload)
        self.kernel.at(self.kernel.now + random.expovariate(rate), self._act, session, rate)

    def _may_unsubscribe(self, session: str) -> bool:
        """Whether a client may end a subscription: what a slow one had waiting comes much later."""
        return session not in self._slow and bool(self.network.clients[session].subscriptions)

    def _cut_off(self, session: str, seconds: float) -> None:
        """A client loses its connection, and finds nobody for a while."""
        for name in self.network.sites:
            self.network.refuse(session, name)
            self.network.cut(session, name)
        self.kernel.at(self.kernel.now + seconds, self._let_in, session)

    def _let_in(self, session: str) -> None:
        for name in self.network.sites:
            self.network.refuse(session, name, is_refused=False)

    def _remove(self) -> None:
        """A broker at the edge ends, if there is one that everybody else can do without."""
        network, random = self.network, self._random
        if self.kernel.now >= self._until:
            return
        leaves = [
            name
            for name, node in network.nodes.items()
            if not self._is_starting.intersection((name, *self._around(name)))
            and not node.ending.is_begun
            and [network.is_joined(name, other) for other in node.broker.neighbours.tree()]
            == [True]
        ]
        if leaves and len(network.nodes) > 2:
            name = random.choice(leaves)
            neighbour = network.nodes[name].broker.neighbours.tree()[0]
            network.stop(name)
            self.removals += 1
            self._is_starting.add(name)
            if self.plan.has_cuts and random.random() < 0.5:
                at = self.kernel.now + random.uniform(0.0, 0.1)
                self.kernel.at(at, network.cut, name, neighbour)
            self.kernel.at(self.kernel.now + random.uniform(1.0, 3.0), self._restart, name)
        self.kernel.at(self.kernel.now + random.uniform(0.3, 2.0), self._remove)

    def _restart(self, name: str) -> None:
        """A broker comes back when somebody is there whom it joins, or who joins it."""
        network = self.network
        if name in network.nodes or not any(one in network.nodes for one in self._around(name)):
            self.kernel.at(self.kernel.now + 0.5, self._restart, name)
            return
        network.restart(name)
        self._greet(name)

    def _around(self, name: str) -> list[str]:
        """Those whom a broker joins, and those who join it."""
        joins = self.plan.joins
        return [*joins[name], *(other for other, one in joins.items() if name in one)]

    def _greet(self, name: str) -> None:
        """A broker that is back gets a client when it is part of the tree."""
        node = self.network.nodes[name]
        tree = node.broker.neighbours.tree()
        if any(self.network.is_joined(name, other) for other in tree):
            if self.kernel.now + 2.0 < self._until:
                session = self._add_client(name)
                self.kernel.at(self.kernel.now + 0.1, self._settle_in, name, session)
        else:
            self.kernel.at(self.kernel.now + 0.2, self._greet, name)

    def _settle_in(self, name: str, session: str) -> None:
        """A broker may leave again when its client has found it."""
        if self.network.clients[session].is_connected:
            self._is_starting.discard(name)
        else:
            self.kernel.at(self.kernel.now + 0.1, self._settle_in, name, session)

    # What must hold

    def _problems(self) -> Iterator[str]:
        network = self.network
        oracle = Oracle(network.clients, Tree((), 0.0))
        yield from oracle.order()
        yield from oracle.unexpected()
        for pair in oracle.lost():
            has_strayed = self._has_strayed(pair.publisher) or self._has_strayed(pair.client)
            is_told = self.plan.has_strays and oracle.is_reported(pair)
            if not has_strayed and not is_told:
                yield f"lost: {pair}"
        for name, client in network.clients.items():
            if client.failed is not None:
                yield f"{name} has failed: {client.failed.reason}"
            if not client.is_idle:
                yield f"{name} still waits"
            if not self.plan.has_strays:
                yield from self._noticed(name, client)
            elif self._has_strayed(name):
                began = max(home.at for home in client.homes if not home.is_resumed)
                for wanted in client.subscriptions.values():
                    if wanted.asked_at < began and not wanted.reports:
                        yield f"{name} has begun anew, and {wanted.name!r} was not told"
        yield from network.problems()
        yield from network.problems_at_rest()
        if not self.plan.has_strays:
            yield from self._misjudged()
        for what, count in network.faults().items():
            yield f"{count} times {what}"

    def _has_strayed(self, name: str) -> bool:
        """Whether a client has begun anew: perhaps at a broker that was not in the tree yet.

        There a subscription settles, and a publication is taken, though nobody else hears of it.
        """
        homes = self.network.clients[name].homes
        return self.plan.has_strays and sum(not home.is_resumed for home in homes) > 1

    def _noticed(self, name: str, client: FaithfulClient) -> Iterator[str]:
        """What a client noticed, though nobody is to notice anything.

        Where a connection breaks while the tree changes, a broker may fear a loss that is none.
        """
        for report in () if self.plan.has_cuts else client.reports:
            yield f"{name} is told of a loss at {report.at:.3f}: {report.reason}"
        if client.unconfirmed:
            yield f"{name} has {len(client.unconfirmed)} publications unconfirmed"
        begun = [home for home in client.homes if not home.is_resumed]
        if len(begun) != 1:
            yield f"{name} has begun streams with {[home.broker for home in begun]}"

    def _misjudged(self) -> Iterator[str]:
        """What is wrong by the rows of all brokers."""
        verdict: Verdict = check(self.rows, SETTLE_SECONDS)
        for violation in verdict.violations:
            yield f"by the trace: {violation}"


def problems_of(seed: int, tally: Counter[str] | None = None) -> list[str]:
    """Everything that is wrong with the plan of a seed; nothing if it is all right."""
    run = PlanRun(draw_plan(seed))
    try:
        problems = run.run()
    except RunawayError as problem:
        problems = [f"it does not come to rest: {problem}"]
    if tally is not None:
        tally["left"] += run.removals
        tally["handed over"] += run.handed_over
        tally["published"] += sum(len(one.publications) for one in run.network.clients.values())
    return problems


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.leaving",
    __doc__,
    problems_of,
    lambda seed: draw_plan(seed).describe(),
)
command = SEEDS.command


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""
    return SEEDS.main_counting(
        problems_of,
        "{left} brokers left, {handed over} clients were handed over, {published} publications",
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
