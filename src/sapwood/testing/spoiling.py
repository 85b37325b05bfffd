"""Whole networks whose brokers' state is spoilt, every kind of it at once: the swarm of two phases.

In the first phase a small network of whole nodes on faithful links has come together, its clients
have subscribed and publish; then a share of all places of some or all of its nodes is changed:
entries, what was told, neighbours, clients, the tree, links, streams and what waits in them,
everything that is derived, every time. In the second phase nothing goes wrong any more. What must
hold: the network is right within the bound of `sapwood.analysis.stabilization`, stays so, and
delivers everything exactly once.

``python -m sapwood.testing.spoiling --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from random import Random
from typing import Final, NamedTuple

from sapwood.analysis.stabilization import bounds, network_of
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.invariants import network_problems
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.stabilize.periods import periods_of
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MIN
from sapwood.protocol.tree import Groups
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.redundant import COPIES_MAX
from sapwood.sim.faithful.swarm import BoundedKernel, RunawayError
from sapwood.sim.seeds import Seeds
from sapwood.testing.faults import BROKER_ROM
from sapwood.testing.perturbing import Rom, perturb, walk

REFRESH_SECONDS: Final = 2.0
STABILIZATION: Final = StabilizationSettings(refresh_seconds=REFRESH_SECONDS, audit_seconds=4.0)
TREE: Final = TreeSettings(beacon_seconds=1.0, seek_seconds=3.0)
CLIENT: Final = ClientLimits(refresh_seconds=REFRESH_SECONDS, grace_seconds=3.0)
ROUTING: Final = ("covering", "merging", "simple", "identity", "flooding")
SHARES: Final = (0.005, 0.01, 0.05, 0.3)
"""How much of a broker is spoilt."""

DELAYS: Final = ((0.001, 0.02), (0.0, 0.0))

PATIENCE_SECONDS: Final = 3.0
"""How long whoever asks everybody something waits for the answer."""

FORM_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 2.0
"""How often is looked whether everything is still right."""
STAY_SECONDS: Final = 6.0
"""For how long it has to stay so: three refreshs, and an audit."""
STEPS_MAX: Final = 200_000

ROM: Final[Rom] = {
    **BROKER_ROM,
    NodeConfig: "set from outside",
    "Node.draw_secret": "set from outside",
    Random: "injected: it draws times of attempts",
}


class Plan(NamedTuple):
    """A network, and how much of it is spoilt."""

    seed: int
    joins: dict[str, tuple[str, ...]]
    routing: str
    advertisements: bool
    spoilt: tuple[str, ...]
    share: float
    wait: float
    """Between the last subscription and the fault, in seconds."""
    delay: tuple[float, float]
    """Of every message, in seconds; without any, what goes round a circle does so at once."""

    def describe(self) -> str:
        """One line about it."""
        pairs = ((name, other) for name, dialled in self.joins.items() for other in dialled)
        links = ", ".join(f"{name}-{other}" for name, other in pairs)
        with_advertisements = ", advertisements" if self.advertisements else ""
        return (
            f"{links}; {self.routing}{with_advertisements}; "
            f"{self.share:.1%} of {', '.join(self.spoilt)}"
        )


def draw_plan(seed: int) -> Plan:
    """The plan of a seed: a tree, every other one with a link too many."""
    random = Random(f"spoiling {seed}")
    names = [f"B{number}" for number in range(1, random.randint(3, 4) + 1)]
    joins: dict[str, tuple[str, ...]] = {names[0]: ()}
    for number, name in enumerate(names[1:], start=1):
        joins[name] = (random.choice(names[:number]),)
    if random.random() < 0.5:
        others = [one for one in names[:-1] if one not in joins[names[-1]]]
        joins[names[-1]] += tuple(others[:1])
    count = random.randint(1, len(names))
    return Plan(
        seed,
        joins,
        random.choice(ROUTING),
        random.random() < 0.3,
        tuple(sorted(random.sample(names, count))),
        random.choice(SHARES),
        random.uniform(0.0, 5.0),
        random.choice(DELAYS),
    )


class PlanRun:
    """One plan, from the start of its brokers to the end of the second phase."""

    def __init__(
        self, plan: Plan, fields: str = "", stabilization: StabilizationSettings = STABILIZATION
    ) -> None:
        self.plan = plan
        self.fields = fields
        """With what the fields begin that are spoilt; empty for all."""
        self.done: list[str] = []
        """What the fault did."""
        self.network = FaithfulNetwork(
            Random(plan.seed),
            kernel=BoundedKernel(STEPS_MAX),
            delay=plan.delay,
            config={
                "stabilization": stabilization,
                "tree": TREE,
                "client": CLIENT,
                "routing": plan.routing,
                "advertisements_required": plan.advertisements,
                "raises_faults": False,
                "settle_patience": PATIENCE_SECONDS,
                "restore_seconds": 3.0,
            },
        )

    @property
    def bound(self) -> float:
        """Within so many seconds everything has to be right again.

        A broker that has forgotten the secret of a client's session takes it in again only when
        the session it had is over.
        """
        network = network_of(len(self.plan.joins), delay_max=DELAY_SECONDS_MIN)
        periods = periods_of(
            STABILIZATION, TREE, REFRESH_SECONDS, has_advertisements=self.plan.advertisements
        )
        return bounds(network, periods).total_derived + CLIENT.grace_seconds

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        network, plan = self.network, self.plan
        for name, joins in plan.joins.items():
            network.add_broker(name, joins)
        for name in plan.joins:
            session = _session(name)
            network.connect(session, name)
            if plan.advertisements:
                network.advertise(session, "all", "n >= 0")
            for text in ("n >= 0", f"n >= {name[1:]} and m = 1"):
                network.subscribe(session, text, text)
        if not network.driver.run_until(lambda: not self.wrong(), FORM_SECONDS, step=0.5):
            return [f"before the fault: {one}" for one in self.wrong()]
        network.driver.run(plan.wait)
        self._spoil()
        began = network.kernel.now
        network.kernel.at(began, self._publish, began + self.bound)
        network.driver.run(self.bound)
        return [*self._stays_right(), *self._delivers(), *self._repeats()]

    def _spoil(self) -> None:
        random = Random(f"spoil {self.plan.seed}")
        for name in self.plan.spoilt:
            places = walk(self.network.nodes[name], ROM)
            chosen = [one for one in places if one.field.startswith(self.fields)]
            for place in chosen:
                if random.random() < self.plan.share:
                    line = perturb(place, random)
                    self.done += [] if line is None else [f"{name} {line}"]

    def _publish(self, until: float) -> None:
        """Every client publishes once a second while the network may be wrong."""
        network = self.network
        for session in network.clients:
            network.publish(session, {"n": 1, "m": 0})
        if network.kernel.now + 1.0 < until:
            network.kernel.at(network.kernel.now + 1.0, self._publish, until)

    def _stays_right(self) -> Iterator[str]:
        end = self.network.kernel.now + STAY_SECONDS
        while self.network.kernel.now < end:
            late = self.network.kernel.now - end + STAY_SECONDS
            yield from (f"{late:.1f} s after the bound: {one}" for one in self.wrong())
            self.network.driver.run(LOOK_SECONDS)
        # Brokers ask everybody something now and then, but nobody waits for ever for the answer.
        if not self.network.driver.run_until(self.network.has_no_waves, 3 * PATIENCE_SECONDS):
            yield "a wave never comes back"

    def _delivers(self) -> Iterator[str]:
        """What is published now comes to everybody who wants it, once."""
        network = self.network
        before = {name: len(client.deliveries) for name, client in network.clients.items()}
        count = len(network.clients)
        for session in network.clients:
            network.publish(session, {"n": 9, "m": 1})
        network.driver.run(3.0)
        for name, client in network.clients.items():
            got = [one.publisher for one in client.deliveries[before[name] :]]
            if sorted(got) != sorted(network.clients):
                yield f"{name} got {got}, not one from each of {count}"

    def _repeats(self) -> Iterator[str]:
        """While things were wrong, nothing came more often than it may."""
        for name, client in self.network.clients.items():
            copies = Counter((one.publisher, one.sequence) for one in client.deliveries)
            for (publisher, sequence), count in copies.most_common(1):
                if count > COPIES_MAX:
                    yield f"{publisher}:{sequence} came {count} times to {name}"

    # What must hold

    def wrong(self) -> list[str]:
        """What is not right now; state that cannot even be looked at is not."""
        try:
            found = [*self._tree_problems(), *self._client_problems()]
            found += [*self.network.problems(), *network_problems(self.network.brokers)]
        except Exception as problem:  # noqa: BLE001 - anything may be anywhere
            return [f"{type(problem).__name__}: {problem}"]
        return [one for one in found if ": a wave of " not in one]  # see `_stays_right`

    def _tree_problems(self) -> Iterator[str]:
        nodes = self.network.nodes
        joined = Groups(nodes)
        for name, other in combinations(nodes, 2):
            if self.network.is_joined(name, other) and not joined.join(name, other):
                yield f"the link {name}-{other} closes a circle"
        if len({joined.find(name) for name in nodes}) > 1:
            yield "the brokers are not one tree"
        roots = {node.broker.tree.root for node in nodes.values()}
        if roots != {min(nodes)}:
            yield f"the roots are {', '.join(sorted(map(str, roots)))}"

    def _client_problems(self) -> Iterator[str]:
        for name, node in self.network.nodes.items():
            broker, session = node.broker, _session(name)
            client = self.network.clients[session]
            if not client.is_connected:
                yield f"{session} is not connected"
            wanted = sorted(str(one.filter) for one in client.subscriptions.values())
            if list(broker.clients) != [session]:
                yield f"{name} has the clients {list(broker.clients)}"
                continue
            held = sorted(map(str, broker.clients.claims(session, SUBSCRIBED).values()))
            if held != wanted:
                yield f"{name} holds of {session} {held}, not {wanted}"


def _session(broker: str) -> str:
    return f"c{broker[1:]}.1"


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the plan of a seed; nothing if it is all right."""
    try:
        return PlanRun(draw_plan(seed)).run()
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


SEEDS: Final = Seeds(
    "python -m sapwood.testing.spoiling",
    __doc__,
    problems_of,
    lambda seed: draw_plan(seed).describe(),
)
command, failures, main = SEEDS.command, SEEDS.failures, SEEDS.main


if __name__ == "__main__":
    sys.exit(main())
