"""A rolling upgrade: one broker after the other is moved out, stopped, started and moved back.

Each broker is made a leaf by exchanges and is then stopped by SIGTERM, so that it hands its clients
over to its neighbour. Its process is started again, which is where an operator would start another
release, and when it has joined the tree is made again what it was. Clients stay where they were
handed over to, and go on with the next one that leaves.
"""

from __future__ import annotations

import asyncio

from sapwood.bench.live.network import LiveNetwork
from sapwood.errors import BenchmarkError
from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.reconfigure.asking import EXCHANGE, PLAN, Wish
from sapwood.protocol.reconfigure.messages import COMPLETED
from sapwood.protocol.reconfigure.planning import moving_out
from sapwood.protocol.reconfigure.surveyed import dialling_of, tree_of
from sapwood.protocol.tree import Link, Topology
from sapwood.runtime.client import Bus

_ATTEMPTS_MAX = 20
_SECONDS_BETWEEN = 0.5


async def upgrade(network: LiveNetwork, bus: Bus) -> list[str]:
    """Upgrade all brokers, asking at the one that a bus is connected to; what was done."""
    done = []
    for broker in network.processes:
        done += await _upgrade_one(network, bus, broker)
    return done


async def _upgrade_one(network: LiveNetwork, bus: Bus, broker: str) -> list[str]:
    """Move a broker to the edge, stop it, start it, and move it back."""
    reports = await _reports(bus)
    tree = tree_of(reports)
    done = []
    for step in moving_out(tree, broker, can_dial=dialling_of(reports)):
        await _change(bus, EXCHANGE, [step.old, step.new])
        done.append(str(step))
    status = await asyncio.to_thread(network[broker].stop)
    if status:
        words = network[broker].last_words
        raise BenchmarkError(f"broker {broker} ended with {status}; it said: {words}")
    done.append(f"{broker} stopped")
    await network.restart(broker)
    await _until_known(bus, tree.brokers)
    await _change(bus, PLAN, list(tree.links))
    done.append(f"{broker} back")
    return done


async def _reports(bus: Bus) -> list[BrokerReport]:
    return list((await bus.survey()).brokers)


async def _until_known(bus: Bus, brokers: tuple[str, ...]) -> Topology:
    """Wait until everybody is part of one tree."""
    for _ in range(_ATTEMPTS_MAX):
        tree = tree_of(await _reports(bus))
        if set(tree.brokers) == set(brokers):
            return tree
        await asyncio.sleep(_SECONDS_BETWEEN)
    raise BenchmarkError(f"only {', '.join(tree.brokers)} are in the tree")


async def _change(bus: Bus, wish: Wish, links: list[Link]) -> None:
    """Ask until it is done: who has just joined may not have settled yet."""
    for _ in range(_ATTEMPTS_MAX):
        answer = await bus.change_tree(wish, links)
        if answer.outcome == COMPLETED:
            return
        await asyncio.sleep(_SECONDS_BETWEEN)
    raise BenchmarkError(f"{wish} {links}: {answer.outcome}: {answer.reason}")
