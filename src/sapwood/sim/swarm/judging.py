"""The swarm: random networks, random clients, and everything that must hold of them.

A seed makes a case (`sapwood.sim.swarm.case`). It runs under every algorithm it is meant for, and
under flooding. Phases in which everything changes come first (what is wrong must not happen), then
one in which nothing changes any more (what is right must happen): all is quiet by then, and what is
published is delivered exactly.

Each run is judged in four ways: by the checkers on its trace; by what the plan obliges the network
to deliver; by what flooding delivers; and by comparing traffic and tables of the algorithms.
``python -m sapwood.sim.swarm --seed K`` does one seed again and says what is wrong with it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from sapwood.routing.algorithms import FLOODING
from sapwood.sim.kernel import Action, Kernel
from sapwood.sim.network import Network
from sapwood.sim.run import Recorder, Sink
from sapwood.sim.swarm.case import PHASE_SECONDS, Case, Do, Oracle, Step, Variant, draw_case
from sapwood.trace.checkers import Checker
from sapwood.trace.schema import CLOCK, DELIVERED, Row, RunSettings
from sapwood.trace.verdict import LOST, UNEXPECTED, Verdict

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


class Run:
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


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the case of a seed; nothing if it is all right."""
    case = draw_case(seed)
    try:
        return list(_judge(case))
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


def _judge(case: Case) -> Iterator[str]:
    oracle = Oracle(case)
    expiring, moved = oracle.expiring(), oracle.moved()
    expected = oracle.expected()
    calm_from = (len(case.phases) - 1) * PHASE_SECONDS
    calm = oracle.expected(since=calm_from)
    outcomes = {
        algorithm: Run(case, algorithm, expiring).run()
        for algorithm in (FLOODING, *case.algorithms())
    }
    calm_keys = {pair[:2] for pair in calm_pairs(case, calm_from)}
    for algorithm, outcome in outcomes.items():
        for problem in _judge_alone(case, outcome, moved):
            yield f"{algorithm}: {problem}"
        got = set(outcome.delivered)
        yield from _listed(f"{algorithm}: lost", expected - got)
        extra = {pair for pair in got if pair[:2] in calm_keys} - calm
        yield from _listed(f"{algorithm}: delivered though all was quiet", extra)
        if case.delay.delay_min == case.delay.delay_max:
            # Delays are the same whatever the algorithm, so flooding delivers at the same times.
            more = got - set(outcomes[FLOODING].delivered)
            yield from _listed(f"{algorithm}: flooding does not deliver", more)
    yield from _compare(case, outcomes)
    if case.variant is Variant.PEER_TO_PEER:
        for algorithm, entries in oracle.entries_at_rest().items():
            if outcomes[algorithm].entries != entries:
                found = outcomes[algorithm].entries
                yield f"{algorithm}: {found} table entries at rest, where {entries} are needed"


def calm_pairs(case: Case, since: float) -> Iterator[tuple[str, int]]:
    """The publications of the last phase: its publishers are new, so they count from 1."""
    counts: Counter[str] = Counter()
    for step in case.phases[-1]:
        if step.do is Do.PUBLISH and step.at >= since:
            counts[step.client] += 1
            yield step.client, counts[step.client]


def _judge_alone(case: Case, outcome: Outcome, moved: set[tuple[str, int]]) -> Iterator[str]:
    """What can be said of a run by itself.

    The checkers do not know that a network may fall apart; what is lost then is for the oracle. Nor
    do they know what was under way when a link came back elsewhere: that may come twice, or late.
    """
    excused = {f"{publisher}:{sequence}" for publisher, sequence in moved}
    for violation in outcome.verdict.violations:
        if violation.kind == LOST:
            is_excused = case.is_cut
        else:
            is_excused = violation.kind != UNEXPECTED and violation.notification in excused
        if not is_excused:
            yield str(violation)
    twice = {pair for pair, count in outcome.delivered.items() if count > 1}
    yield from _listed(
        "delivered more than once", {pair for pair in twice if pair[:2] not in moved}
    )
    yield from (f"delivered after it expired: {late}" for late in outcome.late)
    if not outcome.is_quiet:
        yield "it does not come to rest"
    yield from outcome.broken


def _compare(case: Case, outcomes: dict[str, Outcome]) -> Iterator[str]:
    """What the thesis says of the algorithms beside each other, peer to peer."""
    if case.variant is not Variant.PEER_TO_PEER or case.advertisements_required:
        return
    hops = {algorithm: outcome.calm_hops for algorithm, outcome in outcomes.items()}
    filtering = [hops[algorithm] for algorithm in case.algorithms()]
    if len(set(filtering)) != 1 or filtering[0] > hops[FLOODING]:
        yield f"notification traffic at rest differs: {hops}"
    entries = {algorithm: outcome.entries for algorithm, outcome in outcomes.items()}
    # A merger may stick out of every filter that covers one of its parts further on; only where
    # all filters are about one attribute does this merge, too.
    ordered: tuple[str, ...] = ("merging", "covering", "identity", "simple")
    ordered = ordered if case.has_one_attribute else ordered[1:]
    if not _is_ascending(entries[name] for name in ordered):
        yield f"table sizes are out of order: {entries}"
    if case.is_cut or case.replaces:
        return  # what is under way on a cut link, and a filter replaced, count differently
    control = {algorithm: outcome.control_hops for algorithm, outcome in outcomes.items()}
    if control["identity"] > control["simple"]:
        yield f"identity sends more than simple: {control}"


def _is_ascending(numbers: Iterable[int]) -> bool:
    listed = list(numbers)
    return listed == sorted(listed)


def _listed(what: str, pairs: set[Pair]) -> list[str]:
    """One line about pairs, the first few named."""
    shown = ", ".join(f"{pair[0]}:{pair[1]} at {pair[2]}" for pair in sorted(pairs)[:3])
    return [f"{what}: {len(pairs)} pairs ({shown})"] if pairs else []


def command(seed: int) -> str:
    """What to type to see a seed again."""
    return f"python -m sapwood.sim.swarm --seed {seed}"


def failures(seeds: Iterable[int], check: Callable[[int], list[str]] = problems_of) -> list[str]:
    """One text for each seed with a problem: what is wrong, and how to see it again."""
    found = []
    for seed in seeds:
        problems = check(seed)
        if problems:
            lines = [f"seed {seed} ({draw_case(seed).describe()}):", *problems[:10]]
            found.append("\n  ".join(lines) + f"\n  again: {command(seed)}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on; 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m sapwood.sim.swarm", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, metavar="K", help="the first seed")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="how many seeds")
    options = parser.parse_args(arguments)
    wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        for text in failures([seed]):
            wrong += 1
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    sys.stderr.write(f"{options.count} seeds, {wrong} with problems\n")
    return 1 if wrong else 0
