"""Random trees, changes, publications and subscriptions, over links as fast and slow as can be.

The order in which links bring what is under way is drawn; all routing algorithms, with and without
advertisements. Nothing is lost, repeated or reordered, and the tables are exact in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from marking import many
from protocol.reconfigure.rings import Ringed
from protocol.wiring import random_links
from sapwood.protocol.invariants import network_problems
from sapwood.protocol.tree import Groups

ALGORITHMS = ("flooding", "simple", "identity", "covering", "merging")
FILTERS = ("x < 5", "x between 3 and 7", "x = 4", "true", "x > 6")

Name = tuple[str, int]


class RandomRun:
    """One run."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(f"changes {seed}")
        options = {}
        self.has_advertisements = random.random() < 0.3
        if self.has_advertisements:
            options = {
                "advertisements_required": True,
                "advertisement_routing": random.choice(("simple", "identity", "covering")),
            }
        self.brokers = Ringed(
            random_links(random.randint(3, 8), random),
            algorithm=random.choice(ALGORITHMS),
            random=random,
            **options,
        )
        self.names = list(self.brokers.brokers)
        self.clients = [f"C{number}" for number in range(1, len(self.names) + 1)]
        self.published: list[Name] = []
        self.pasts: dict[Name, set[Name]] = {}
        """What the publisher knew when it published."""
        self.known: dict[str, set[Name]] = {client: set() for client in self.clients}
        self.standing: dict[str, list[str]] = {client: [] for client in self.clients}
        self.asked = 0

    def run(self) -> list[str]:
        """Everything that is wrong."""
        brokers, random = self.brokers, self.random
        for client, name in zip(self.clients, self.names, strict=True):
            brokers.connect(client, name)
            brokers.subscribe(client, "all", "x >= 0")
            if self.has_advertisements:
                brokers.advertise(client, "all", "x >= 0")
        brokers.run()
        deeds = [self.publish] * random.randint(5, 40) + [self.subscribe] * random.randint(0, 8)
        deeds += [self.exchange] * random.randint(1, 4)
        random.shuffle(deeds)
        for deed in deeds:
            for _ in range(random.choice((0, 0, 1, 2, 3, 5, 8, 13))):
                brokers.step()
            deed()
        brokers.run_ticks()
        return list(self.judge())

    def publish(self) -> None:
        client = self.random.choice(self.clients)
        known = self.known[client]
        for one in self.brokers.got[client]:
            known |= {one, *self.pasts[one]}
        name = self.brokers._sequences.get(client, 0) + 1
        self.pasts[client, name] = set(known)
        known.add((client, name))
        self.published.append(self.brokers.publish(client, {"x": self.random.randrange(10)}))

    def subscribe(self) -> None:
        client = self.random.choice(self.clients)
        own = self.standing[client]
        if own and self.random.random() < 0.5:
            self.brokers.unsubscribe(client, own.pop())
            return
        entry_id = self.random.choice("abc")
        if entry_id not in own:
            own.append(entry_id)
        settle = self.random.random() < 0.2
        self.brokers.subscribe(client, entry_id, self.random.choice(FILTERS), settle=settle)

    def exchange(self) -> None:
        tree = sorted(self.brokers.tree)
        old = self.random.choice(tree)
        sides = Groups(self.names)
        for left, right in tree:
            if (left, right) != old:
                sides.join(left, right)
        near, far = (
            [name for name in self.names if sides.find(name) == sides.find(end)] for end in old
        )
        self.asked += 1
        new = (self.random.choice(near), self.random.choice(far))
        self.brokers.exchange(self.random.choice(self.names), old, new, request=self.asked)

    def judge(self) -> Iterator[str]:
        brokers = self.brokers
        yield from network_problems(brokers.brokers)
        ended = sum(len(brokers.ended(name)) for name in self.names)
        if ended != self.asked:
            yield f"{self.asked} changes asked for, {ended} answered"
        if len(brokers.tree) != len(self.names) - 1:
            yield f"the tree is {sorted(brokers.tree)}"
        for client in self.clients:
            got = brokers.got[client]
            places = {one: place for place, one in enumerate(got)}
            if len(places) != len(got):
                yield f"something came twice to {client}"
            for one in self.published:
                if one not in places:
                    yield f"{one} is lost for {client}"
            for one, place in places.items():
                for before in self.pasts[one]:
                    if places.get(before, -1) > place:
                        yield f"{before} comes behind {one} at {client}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_random_changes(seed: int) -> None:
    assert RandomRun(seed).run() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", many(range(100, 300), slow=60))
def test_more_random_changes(seed: int) -> None:
    assert RandomRun(seed).run() == []
