"""Random changes of the tree, one after the other: exchanges, swaps and brokers that leave.

Links are exchanged and swapped at random, and every so often a broker at the edge leaves; its
process ends, is started again, and joins. Meanwhile the others go on changing. Whoever is asked is
drawn, too: it may be the broker that is to leave.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from itertools import permutations
from random import Random
from typing import Final, NamedTuple

from sapwood.bench.live.clients import Clients
from sapwood.bench.live.network import LiveNetwork
from sapwood.errors import BenchmarkError, ClosedError, RefusedError
from sapwood.protocol.reconfigure.asking import EXCHANGE, REMOVE, SWAP, TreeChangeEnded, Wish
from sapwood.protocol.reconfigure.messages import COMPLETED
from sapwood.protocol.reconfigure.surveyed import tree_of
from sapwood.protocol.tree import Link, Topology
from sapwood.runtime.client import Bus

WEIGHTS: Final[dict[Wish, float]] = {EXCHANGE: 0.57, SWAP: 0.38, REMOVE: 0.05}
"""How often each kind is drawn."""

MOVES: Final[dict[Wish, float]] = {EXCHANGE: 0.6, SWAP: 0.4}
"""The same without brokers that leave: a process that starts disturbs what is measured."""

_ATTEMPTS_MAX: Final = 20
"""How often in a row something may be refused before it is a failure."""

_BROKERS_MIN: Final = 3
"""Two links that exchange places have three ends at least."""

_PAIRS: Final = 100
"""Pairs of brokers that are drawn before all are tried in turn."""

_PAUSE_SECONDS: Final = 0.5
"""After a survey that did not find enough brokers."""

_ANSWER_SECONDS: Final = 600.0
"""How long an answer may take: longer than any broker waits before it says no."""


class Wanted(NamedTuple):
    """What is asked for."""

    wish: Wish
    links: tuple[Link, ...] = ()
    broker: str = ""

    def __str__(self) -> str:
        what = self.broker or " → ".join(f"{one}-{other}" for one, other in self.links)
        return f"{self.wish} {what}"


class Change(NamedTuple):
    """What was asked for, when it happened, and the trees before and after it."""

    wanted: Wanted
    outcome: str
    reason: str
    asked: float
    """When somebody began to look at the tree, to ask for it: until then nothing was going on."""
    began: float
    """When the change itself began: what is looked at and planned before stops nobody."""
    ended: float
    messages: int
    before: Topology
    after: Topology
    """As far as it follows from what was asked."""
    names: tuple[str, ...] = ()
    """Under which brokers know its steps."""


class Changes:
    """Changes the tree of a network with clients at work."""

    def __init__(self, network: LiveNetwork, clients: Clients, random: Random) -> None:
        self.network = network
        self.clients = clients
        self.done: list[Change] = []
        """Those that were completed."""
        self.refusals: Counter[str] = Counter()
        """Reasons why something was not done, and how often."""
        self.returns = 0
        """How often a broker has joined again."""
        self._random = random
        self._returning: asyncio.Task[None] | None = None
        self._stage = ""
        """What is waited for of the broker that is to come back."""

    async def run(self, count: int, weights: dict[Wish, float]) -> None:
        """Carry out so many changes."""
        wanted = len(self.done) + count
        failures = 0
        while len(self.done) < wanted:
            change = await self.one(weights)
            if change.outcome == COMPLETED:
                failures = 0
                continue
            failures += 1
            if failures > _ATTEMPTS_MAX:
                raise BenchmarkError(f"{change.wanted}, {failures} times: {change.reason}")
        await self.all_back()

    async def all_back(self) -> None:
        """Wait until everybody has joined again, with clients."""
        if self._returning is None:
            return
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self._returning
        except TimeoutError:
            raise BenchmarkError(f"{self._stage}: not within {_ANSWER_SECONDS:.0f} s") from None
        self._returning = None

    async def one(self, weights: dict[Wish, float]) -> Change:
        """Ask for one change, and let a broker that has left come back."""
        (wish,) = self._random.choices(list(weights), list(weights.values()))
        if wish == REMOVE:
            await self.all_back()  # one is away at a time: another may be the one it joins
        asked = time.time()
        tree = await self.tree()
        wanted = draw(tree, wish, self._random)
        if wanted is None:
            await asyncio.sleep(_PAUSE_SECONDS)
            return self._not_asked(wish, tree)
        if wish == REMOVE:
            self.clients.gone(wanted.broker)
        answer = await self._answer(wanted)
        change = _change(wanted, answer, tree, asked)
        if change.outcome == COMPLETED:
            self.done.append(change)
        else:
            self.refusals[f"{wanted.wish}: {change.outcome}: {change.reason}"] += 1
        if wanted.wish == REMOVE and change.outcome == "refused":
            self.clients.stayed(wanted.broker)
        elif wanted.wish == REMOVE:
            self._returning = asyncio.create_task(self._come_back(wanted.broker))
        return change

    def _not_asked(self, wish: Wish, tree: Topology) -> Change:
        """Nothing of a kind can be changed: links were lost, and somebody is away."""
        reason = f"a survey found {', '.join(tree.brokers)} only"
        self.refusals[f"{wish}: {reason}"] += 1
        now = time.time()
        return Change(Wanted(wish), "refused", reason, now, now, now, 0, tree, tree)

    async def _answer(self, wanted: Wanted) -> TreeChangeEnded:
        """Ask somebody. If that one is replaced meanwhile, nobody is told how it ends."""
        bus = self._bus()
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await bus.change_tree(wanted.wish, wanted.links, wanted.broker)
        except TimeoutError:
            said = f"{bus} was not answered within {_ANSWER_SECONDS:.0f} s"
            raise BenchmarkError(f"{wanted}: {said}") from None
        except (RefusedError, ClosedError) as problem:
            return TreeChangeEnded(0, "refused", str(problem))

    def _bus(self) -> Bus:
        return self._random.choice([one.bus for one in self.clients.publishers.values()])

    async def _come_back(self, broker: str) -> None:
        """A broker has left, or was to leave: let it come back with clients of its own."""
        self._stage = f"broker {broker} ends"
        status = await self.network.ended(broker)
        if status:
            words = self.network[broker].last_words
            raise BenchmarkError(f"broker {broker} ended with {status}; it said: {words}")
        self._stage = f"broker {broker} starts and joins"
        await self.network.restart(broker)
        self._stage = f"new clients take the place of those of broker {broker}"
        await self.clients.renew(broker)
        self.returns += 1

    async def tree(self) -> Topology:
        """The tree as it is."""
        for _ in range(_ATTEMPTS_MAX):
            bus = self._bus()
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    return tree_of((await bus.survey()).brokers)
            except TimeoutError:
                said = f"{bus} was not answered within {_ANSWER_SECONDS:.0f} s"
                raise BenchmarkError(f"survey: {said}") from None
            except (RefusedError, ClosedError) as problem:
                reason = str(problem)
                self.refusals[f"survey: {reason}"] += 1
        raise BenchmarkError(f"survey, {_ATTEMPTS_MAX} times: {reason}")


def draw(tree: Topology, wish: Wish, random: Random) -> Wanted | None:
    """Something of a kind that a tree allows; None if it allows nothing of that kind.

    A survey may find two brokers only, or one, while links are away.
    """
    if len(tree.brokers) < _BROKERS_MIN:
        return None
    if wish == REMOVE:
        return Wanted(wish, broker=random.choice(tree.leaves()))
    pairs = [random.sample(tree.brokers, 2) for _ in range(_PAIRS)]
    pairs += [list(pair) for pair in permutations(tree.brokers, 2)]
    for left, right in pairs:
        path = tree.path(left, right)
        if wish == SWAP and len(path) == _BROKERS_MIN:
            return Wanted(wish, ((path[0], path[1]), (path[0], path[2])))
        if wish == EXCHANGE and len(path) >= _BROKERS_MIN:
            place = random.randrange(len(path) - 1)
            return Wanted(wish, ((path[place], path[place + 1]), (left, right)))
    return None


def _change(wanted: Wanted, answer: TreeChangeEnded, before: Topology, asked: float) -> Change:
    ended = time.time()
    after = before
    if answer.outcome == COMPLETED and wanted.links:
        old, new = wanted.links
        kept = [link for link in before.links if set(link) != set(old)]
        after = Topology(before.brokers, (*kept, new))
    return Change(
        wanted,
        answer.outcome,
        answer.reason,
        asked,
        ended - sum(step.seconds for step in answer.steps),
        ended,
        sum(step.messages for step in answer.steps),
        before,
        after,
        tuple(step.change for step in answer.steps),
    )
