"""Random traces of a network that does everything wrong now and then."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from sapwood.trace.schema import Row
from tracing.making import Recorder

FILTERS = ["true", "x = 1", "x = 2", "x > 1", "x < 3 and y = 1", "y = 1", "false"]
CLIENTS = ["a.1", "b.1", "c.1", "d.1", "d.2", "e.1"]


@dataclass
class Faulty:
    """A network of one instant, which loses, repeats, reorders and forgets."""

    random: Random
    trace: Recorder
    orderly: bool = False
    """Whether clients stay at their brokers and no two things happen at once."""

    now: float = 0.0
    sequences: dict[str, int] = field(default_factory=dict)
    under_way: list[tuple[str, str, int]] = field(default_factory=list)

    def broker(self, client: str) -> str:
        return f"B{CLIENTS.index(client) % 3 + 1}"

    def step(self) -> None:
        # Quarters of a second: times coincide, and sums of them are exact.
        pauses = [0.25, 0.5] if self.orderly else [0, 0, 0.25, 0.25, 0.5, 1]
        self.now += self.random.choice(pauses)
        client = self.random.choice(CLIENTS)
        where = {"broker": self.broker(client)}
        if not self.orderly and self.random.random() < 0.15:
            where = {"broker": self.random.choice(["B1", "B2", "B3"])}
        draw = self.random.random()
        if draw < 0.35:
            self.publish(client, where)
        elif draw < 0.75:
            self.deliver(where)
        else:
            self.declaration(client, where)

    def publish(self, client: str, where: dict[str, str]) -> None:
        sequence = self.sequences[client] = self.sequences.get(client, 0) + 1
        text = self.random.choice(['{"x": 1}', '{"x": 2}', '{"x": 2, "y": 1}', '{"y": 1}', "{}"])
        attributes = None if self.random.random() < 0.03 else text
        if self.random.random() > 0.04:
            self.trace.publish(self.now, client, sequence, attributes, **where)
        receivers = self.random.sample(CLIENTS, self.random.randint(0, len(CLIENTS)))
        self.under_way += [(receiver, client, sequence) for receiver in receivers]

    def deliver(self, where: dict[str, str]) -> None:
        if not self.under_way:
            return
        index = 0 if self.random.random() < 0.4 else self.random.randrange(len(self.under_way))
        receiver, publisher, sequence = self.under_way[index]
        if self.random.random() > 0.1:
            del self.under_way[index]
        self.trace.deliver(self.now, receiver, publisher, sequence, broker=self.broker(receiver))

    def declaration(self, client: str, where: dict[str, str]) -> None:
        kinds = ["subscribed"] * 4 + ["unsubscribed", "settled", "settled"]
        kinds += ["advertised", "advertised", "unadvertised"]
        kind = self.random.choice(kinds)
        message = None
        if kind == "settled":
            message = self.random.choice([None, "subscribed", "advertised", "unsubscribed"])
        filter = self.random.choice(FILTERS)
        self.trace.add(self.now, kind, client=client, filter=filter, message=message, **where)


def random_trace(
    random: Random, steps: int = 60, gaps: bool = False, orderly: bool = False
) -> list[Row]:
    """The rows of a random run, in the order in which they happened."""
    network = Faulty(random, Recorder(counts=random.random() < 0.7), orderly)
    for _ in range(random.randint(1, steps)):
        network.step()
        if gaps and random.random() < 0.05:
            broker = random.choice(["B1", "B2", "B3"])
            network.trace.add(network.now, "trace_gap", broker=broker)
    network.trace.clock(network.now + random.choice([0, 0.5, 3]))
    return network.trace.rows
