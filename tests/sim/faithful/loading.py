"""Load for tests of links in virtual time: a line of brokers, a publisher, and what arrived."""

from __future__ import annotations

from random import Random
from typing import Any

from sapwood.filters.values import Value
from sapwood.protocol.link.limits import LinkLimits
from sapwood.sim.faithful.client import FaithfulClient
from sapwood.sim.faithful.network import FaithfulNetwork

PAYLOAD = bytes(100)

QUICK_LINK = LinkLimits(
    silence_seconds=1.0, retry_first_seconds=0.02, retry_max_seconds=0.1, slow_seconds=5.0
)


def line(
    count: int, seed: int = 1, link: LinkLimits = QUICK_LINK, **config: Any
) -> FaithfulNetwork:
    """Brokers B1, B2 … each of which has joined the one before."""
    network = FaithfulNetwork(Random(seed), config={"link": link, **config}, delay=(0.001, 0.003))
    for number in range(1, count + 1):
        network.add_broker(f"B{number}", (f"B{number - 1}",) if number > 1 else ())
    linked = [(f"B{number - 1}", f"B{number}") for number in range(2, count + 1)]
    assert network.driver.run_until(lambda: all(network.is_joined(*one) for one in linked), 5)
    return network


def client(
    network: FaithfulNetwork, session: str, broker: str, *filters: str, **options: Any
) -> FaithfulClient:
    """A client whose subscriptions have settled."""
    made = network.connect(session, broker, **options)
    for filter in filters:
        network.subscribe(session, filter, filter)
    assert network.driver.run_until(
        lambda: (
            made.is_connected
            and len(made.subscriptions) == len(filters)
            and all(one.is_settled for one in made.subscriptions.values())
        ),
        10,
    )
    return made


class Publisher:
    """Lets a client publish at a steady rate, a number of notifications or until it is stopped.

    With someone to stay near, it runs ahead of what they got by so many only.
    """

    def __init__(
        self,
        network: FaithfulNetwork,
        session: str,
        *,
        rate: float = 1000.0,
        count: int | None = None,
        near: FaithfulClient | None = None,
        ahead_max: int = 200,
        **attributes: Value,
    ) -> None:
        self.count = 0
        """How many it wanted to publish so far."""
        self._network = network
        self._session = session
        self._seconds = 1 / rate
        self._most = count
        self._near = near
        self._ahead_max = ahead_max
        self._attributes = attributes
        self._is_stopped = False
        self._publish()

    @property
    def is_done(self) -> bool:
        """Whether it has published as much as it should, and the network has taken it."""
        return self.count == self._most and self._network.clients[self._session].is_idle

    def stop(self) -> None:
        self._is_stopped = True

    def _publish(self) -> None:
        if self._is_stopped or self.count == self._most:
            return
        if self._near is None or self.count - got(self._near, self._session) < self._ahead_max:
            attributes = {**self._attributes, "n": self.count}
            self._network.publish(self._session, attributes, PAYLOAD)
            self.count += 1
        kernel = self._network.kernel
        kernel.at(kernel.now + self._seconds, self._publish)


def got(client: FaithfulClient, publisher: str) -> int:
    """How much of a publisher a client has got."""
    return client.received[publisher]


def sequences(client: FaithfulClient, publisher: str) -> list[int]:
    """What of a publisher a client has got, in order."""
    return [one.sequence for one in client.deliveries if one.publisher == publisher]


def missed(client: FaithfulClient) -> int:
    """How many notifications a client was told that it missed."""
    return sum(report.lost for report in client.reports)
