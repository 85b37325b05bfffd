"""The faithful swarm: random networks whose connections and processes fail, and what must hold.

A seed makes a case (`sapwood.sim.faithful.case`). In the phase of faults, nothing may be repeated
or come in the wrong order, and every loss must be reported to whom it concerns. Then the faults
end: within a stated time all links and clients are back, the links that carry form one tree, and
what is published from then on is delivered exactly once.

Mostly it is the tree that there was. But brokers that have not heard of the root for A look for
others whose addresses they have heard of, and parents are sticky: any correct tree is kept (rules
T2, T4 and T6 of the specification).

``python -m sapwood.sim.faithful.swarm --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from random import Random
from typing import Any, Final

import msgspec

from sapwood.protocol.link.handshake import SLOW_CONSUMER
from sapwood.protocol.optimize.edges.settings import FIXED, EdgeRoutingSettings
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.protocol.tree import Groups
from sapwood.routing.algorithms import PEER_TO_PEER
from sapwood.sim.faithful.case import Case, Do, Step, draw_case
from sapwood.sim.faithful.driver import StuckError
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.oracle import Oracle, Tree
from sapwood.sim.kernel import Action, Kernel
from sapwood.sim.seeds import Seeds

RECOVER_SECONDS: Final = 60.0
"""Within so long after the last fault everything is back."""

DRAIN_SECONDS: Final = 120.0
"""Within so long after that everything is delivered that had waited: some links are slow."""

DELIVER_SECONDS: Final = 10.0
"""Within so long what is published in the calm is delivered."""

CALM: Final = "calm"
"""What every client subscribes to when the faults are over."""

TREE_SECONDS: Final = 3.0
"""Within so long after a broker has joined, everybody knows what is wanted on the other side."""

LOOK_SECONDS: Final = 0.2
"""How often it is noted who takes whom for a neighbour."""

LOOKS_PER_CHECK: Final = 10
"""How many of these looks there are between two checks of what must hold of nodes."""

REFRESH_SECONDS: Final = 2.0
"""How often tables and streams are compared: often, so that every case has many comparisons."""

IMPOSSIBLE: Final = ("mismatch", "expired", "strays")
"""What brokers count and must never happen: connections and processes fail here, but nobody spoils
a table, and a stream that ends is told anew from its beginning."""

STEPS_MAX: Final = 200_000
"""Far more than any case needs: beyond it, something goes on for ever."""

SHOWN_MAX: Final = 3

LOOKS_OFTEN: Final = StabilizationSettings(refresh_seconds=2.0, audit_seconds=4.0)
"""Without a fault in a broker's state, no audit of it changes anything: so there are many."""


class RunawayError(Exception):
    """A network does not come to rest."""


class BoundedKernel(Kernel):
    """Virtual time that ends when too much happens in it."""

    def __init__(self, steps_max: int | None = None) -> None:
        super().__init__()
        self._steps_max = STEPS_MAX if steps_max is None else steps_max

    def at(self, time: float, action: Action, *arguments: Any) -> None:
        """Let an action happen at a time, unless there were too many."""
        if self._order > self._steps_max and self.steps > self._steps_max:
            raise RunawayError(f"more than {self._steps_max} events")
        super().at(time, action, *arguments)


class CaseRun:
    """One case, from its start to the end of the calm."""

    def __init__(
        self,
        case: Case,
        *,
        routing_variant: str = PEER_TO_PEER,
        edges: EdgeRoutingSettings = FIXED,
    ) -> None:
        self.case = case
        self.tree = Tree(case.edges, TREE_SECONDS)
        self._looks = 0
        self._unsound: list[str] = []
        self.network = FaithfulNetwork(
            Random(case.seed),
            config={
                "routing": case.routing,
                "routing_variant": routing_variant,
                "edges": edges,
                "restore_seconds": case.restore_seconds,
                "link": case.link,
                "client": msgspec.structs.replace(case.client, refresh_seconds=REFRESH_SECONDS),
                "leave_seconds": 1.0,
                "stabilization": LOOKS_OFTEN,
            },
            kernel=BoundedKernel(),
            delay=case.delay,
        )
        self._begin: dict[Do, Callable[[Step], None]] = {
            Do.SUBSCRIBE: lambda step: self.network.subscribe(step.who, step.name, step.filter),
            Do.UNSUBSCRIBE: lambda step: self.network.unsubscribe(step.who, step.name),
            Do.PUBLISH: self._publish,
            Do.CUT: lambda step: self.network.cut(step.who, step.other),
            Do.CUT_AFTER: self._cut_after,
            Do.FREEZE: lambda step: self.network.freeze(step.who, step.other),
            Do.FREEZE_ONE_WAY: lambda step: self.network.driver.freeze(step.who, step.other),
            Do.REFUSE: self._refuse,
            Do.SLOW: lambda step: self.network.slow(step.who, step.other, step.size),
            Do.HANG: self._hang,
            Do.CRASH: lambda step: self.network.crash(step.who, step.crash),
            Do.STOP: lambda step: self.network.stop(step.who),
        }
        self._end: dict[Do, Callable[[Step], object]] = {
            Do.FREEZE: lambda step: self.network.thaw(step.who, step.other),
            Do.FREEZE_ONE_WAY: lambda step: self.network.driver.thaw(step.who, step.other),
            Do.REFUSE: lambda step: self.network.refuse(step.who, step.other, is_refused=False),
            Do.SLOW: lambda step: self.network.slow(step.who, step.other, 0),
            Do.HANG: self._resume,
            Do.CRASH: lambda step: self.network.restart(step.who),
            Do.STOP: lambda step: self.network.restart(step.who),
        }
        self._build()

    def _oracle(self) -> Oracle:
        return Oracle(self.network.clients, self.tree)

    def _calm_oracle(self) -> Oracle:
        """Judges by the tree there is, if the faults have led to another one."""
        links = self.network.joined_links()
        if set(links) == {(min(edge), max(edge)) for edge in self.case.edges}:
            return self._oracle()
        return Oracle(self.network.clients, Tree(links, TREE_SECONDS))

    def _look(self) -> None:
        """Note who takes whom for a neighbour, and now and then whether all nodes are sound."""
        kernel = self.network.kernel
        self.tree.look(self.network.is_formed, kernel.now)
        self._looks += 1
        if self._looks % LOOKS_PER_CHECK == 0:
            found = [*self.network.problems(), *self._impossible()]
            self._unsound += [f"at {kernel.now}: {one}" for one in found]
        kernel.at(kernel.now + LOOK_SECONDS, self._look)

    def _impossible(self) -> Iterator[str]:
        """What brokers have found wrong with tables though nobody spoilt them."""
        for name, node in self.network.nodes.items():
            counts = node.broker.reports()["refresh"]
            for what in IMPOSSIBLE:
                if counts[what]:
                    yield f"{name}: {counts[what]} times {what}"

    def _build(self) -> None:
        case, network = self.case, self.network
        for name in case.brokers:
            network.add_broker(
                name, case.joins[name], clock=case.clocks[name], is_hidden=name in case.hidden
            )
        for plan in case.clients:
            network.connect(
                plan.session,
                *plan.brokers,
                clock=case.clocks[plan.session],
                silence_seconds=plan.silence_seconds,
                buffer_bytes=plan.buffer_bytes,
                slow_policy=plan.slow_policy,
                check_seconds=REFRESH_SECONDS,
            )

    # Steps

    def _publish(self, step: Step) -> None:
        self.tree.look(self.network.is_formed, self.network.kernel.now)
        self.network.publish(step.who, step.attributes, bytes(step.size))

    def _cut_after(self, step: Step) -> None:
        self.network.driver.cut_after(step.who, step.other, step.size)

    def _refuse(self, step: Step) -> None:
        self.network.refuse(step.who, step.other)
        self.network.cut(step.who, step.other)

    def _hang(self, step: Step) -> None:
        self.network.driver.hang(self.network.driver.hosts[step.who])

    def _resume(self, step: Step) -> None:
        self.network.driver.resume(self.network.driver.hosts[step.who])

    # Phases

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        kernel = self.network.kernel
        if not self.network.driver.run_until(self._is_whole, RECOVER_SECONDS):
            return [f"the tree has not formed within {RECOVER_SECONDS} s"]
        start = kernel.now
        self._look()
        for step in self.case.steps:
            kernel.at(start + step.at, self._begin[step.do], step)
            end = self._end.get(step.do)
            if end is not None:
                seconds = min(step.at + step.seconds, self.case.calm_at)
                kernel.at(start + seconds, end, step)
        kernel.run(start + self.case.calm_at)
        problems = list(self._recover())
        if not problems:
            problems = list(self._calm())
        problems += self._judge()
        return problems

    def _recover(self) -> Iterator[str]:
        """The faults are over: everything comes back."""
        network, case = self.network, self.case
        for name in case.brokers:  # one that was asked to end may have taken longer than planned
            network.driver.run_until(partial(self._is_not_stopping, name), 20.0)
            network.restart(name)
        if network.driver.run_until(self._is_whole, RECOVER_SECONDS):
            if not network.driver.run_until(network.is_drained, DRAIN_SECONDS):
                yield f"what had waited is not delivered within {DRAIN_SECONDS} s"
            return
        for left, right in case.edges:
            if not network.is_linked(left, right):
                yield f"{left} and {right} are not linked {RECOVER_SECONDS} s after the last fault"
        if not self._is_tree():
            links = ", ".join("-".join(link) for link in network.joined_links())
            yield f"no tree carries {RECOVER_SECONDS} s after the last fault: {links}"
        for name, client in network.clients.items():
            if not client.is_connected and not client.failed:
                yield f"client {name} has no connection"

    def _is_not_stopping(self, name: str) -> bool:
        return name not in self.network.nodes or not self.network.nodes[name].ending.is_begun

    def _is_whole(self) -> bool:
        network = self.network
        return (
            all(network.is_linked(*edge) for edge in self.case.edges)
            and self._is_tree()
            and all(client.is_connected or client.failed for client in network.clients.values())
        )

    def _is_tree(self) -> bool:
        """Whether the links that carry form one tree of all brokers."""
        links, groups = self.network.joined_links(), Groups(self.case.brokers)
        return len(links) == len(self.case.brokers) - 1 and all(
            groups.join(left, right) for left, right in links
        )

    def _calm(self) -> Iterator[str]:
        """Nothing fails any more: what is asked and published has its effect."""
        network, kernel = self.network, self.network.kernel
        until = kernel.now + RECOVER_SECONDS
        while unsettled := self._ask_all(until):
            if kernel.now >= until:
                yield f"what {', '.join(unsettled)} asked in the calm does not settle"
                return
        network.driver.run(1.0)  # reports of what was lost before may still be under way
        start = kernel.now
        oracle = self._calm_oracle()
        for step in self.case.calm:
            kernel.at(start + step.at, self._publish, step)
        network.driver.run(1.0)
        network.driver.run_until(lambda: not list(oracle.lost(start)), DELIVER_SECONDS, step=1.0)
        network.driver.run(1.0)
        network.driver.run_until(network.has_no_waves, RECOVER_SECONDS)  # some links are slow
        yield from self.network.problems_at_rest()
        late = [str(pair) for pair in oracle.lost(start)]
        yield from _listed("published in the calm and not delivered", late)
        for name, client in network.clients.items():
            if any(report.at >= start for report in client.reports):
                yield f"client {name} is told of a loss in the calm"

    def _ask_all(self, until: float) -> list[str]:
        """Let every client subscribe; those of them that are not told that it has settled."""
        network = self.network
        clients = {name: one for name, one in network.clients.items() if one.failed is None}
        for name in clients:
            network.subscribe(name, CALM, "calm = true")

        def unsettled(answer: bool | None) -> list[str]:
            return [
                name
                for name, client in clients.items()
                if client.failed is None and client.subscriptions[CALM].is_settled is answer
            ]

        network.driver.run_until(lambda: not unsettled(None), until - network.kernel.now)
        return unsettled(None) + unsettled(False)

    def _judge(self) -> Iterator[str]:
        """What applications saw, from the beginning, and what must hold of nodes."""
        yield from self._unsound[:SHOWN_MAX]
        yield from self.network.problems()
        yield from self._impossible()
        faults = self.network.faults()
        if faults:
            yield f"taken for faults in memory, though there were none: {faults}"
        clients = self.network.clients
        oracle = self._oracle()
        yield from oracle.order()
        yield from islice(oracle.unexpected(), SHOWN_MAX)
        lost = list(oracle.lost())
        silent = [str(pair) for pair in lost if not oracle.is_reported(pair)]
        yield from _listed("lost, and nobody was told", silent)
        if self.case.is_lossless:
            yield from _listed("lost though nothing had to be", [str(pair) for pair in lost])
            told = [name for name, client in clients.items() if client.reports]
            yield from _listed("told of a loss though nothing had to be lost", told)
        for name, client in clients.items():
            yield from (f"refused: {reason}" for reason in client.refused[:SHOWN_MAX])
            if client.failed is not None and client.failed.code != SLOW_CONSUMER:
                yield f"client {name} has failed: {client.failed.reason}"


def _listed(what: str, found: list[str]) -> list[str]:
    """One line about some things, the first few named."""
    return [f"{what}: {len(found)} ({'; '.join(found[:SHOWN_MAX])})"] if found else []


def problems_of(seed: int, *, routing_variant: str = PEER_TO_PEER) -> list[str]:
    """Everything that is wrong with the case of a seed; nothing if it is all right."""
    try:
        return CaseRun(draw_case(seed), routing_variant=routing_variant).run()
    except (RunawayError, StuckError) as problem:
        return [f"it does not come to rest: {problem}"]


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.swarm",
    __doc__,
    problems_of,
    lambda seed: draw_case(seed).describe(),
)
command, failures, main = SEEDS.command, SEEDS.failures, SEEDS.main


if __name__ == "__main__":
    sys.exit(main())
