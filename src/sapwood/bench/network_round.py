"""One broker under one workload: it settles, has rounds against the clock, and each is checked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from sapwood.bench.network_drive import Receiver, in_pieces, latencies, transfer, wait_for
from sapwood.bench.network_load import Workload
from sapwood.bench.peers.peer import Client, Network
from sapwood.errors import BenchmarkError

_PROBES_MAX = 200
_PROBE_SECONDS = 0.1
_QUIET_SECONDS = 0.2
_LATE_SECONDS = 5.0
_FIRST_COUNT = 100
_COUNT_MIN, COUNT_MAX = 50, 300_000
_TRIES = 4


class Round(NamedTuple):
    """What a round gave."""

    rate: float
    """Messages published, and delivered to each subscriber, a second."""
    processor_ns: float | None
    """Processor time of all brokers for each message."""


class Contender:
    """Clients of one network of brokers, for one workload."""

    def __init__(self, name: str, network: Network, workload: Workload) -> None:
        self.name = name
        self.workload = workload
        self._network = network
        self._number = 0
        self.receivers: list[Receiver] = []
        self._publisher: Client | None = None
        try:
            for _ in range(workload.subscribers):
                self.receivers.append(Receiver(network.subscriber()))
                self.receivers[-1].client.subscribe(workload.interests)
            self._publisher = network.publisher()
            self._settle()
        except BaseException:
            self.close()
            raise

    @property
    def published(self) -> int:
        """How many messages were published so far."""
        return self._number

    @property
    def publisher(self) -> Client:
        """The client that publishes."""
        assert self._publisher is not None
        return self._publisher

    def _settle(self) -> None:
        """Publish until something arrives everywhere, and then until nothing is on its way."""
        for receiver in self.receivers:
            receiver.prepare(self.workload.message(0), _PROBES_MAX)
        for _ in range(_PROBES_MAX):
            self._probe()
            while wait_for(self.receivers, _PROBE_SECONDS):
                pass
            if all(receiver.messages for receiver in self.receivers):
                while wait_for(self.receivers, _QUIET_SECONDS):
                    pass
                self._finish()
                return
        raise BenchmarkError(f"{self.name}: nothing arrives in {self.workload.name}")

    def _probe(self) -> None:
        data = self._encoded(1)[0]
        self.publisher.socket.setblocking(True)
        self.publisher.say(data)
        self.publisher.sent(len(data))

    def _finish(self) -> None:
        for receiver in self.receivers:
            receiver.finish()

    def _encoded(self, count: int) -> list[bytes]:
        numbers = range(self._number, self._number + count)
        self._number += count
        return [self.publisher.encode(self.workload.message(number)) for number in numbers]

    def fitting_count(self, seconds: float) -> int:
        """How many messages take about so long. Brokers get warm on the way."""
        count = _FIRST_COUNT
        for _ in range(_TRIES):
            rate = self.round(count).rate
            count = int(min(max(rate * seconds, _COUNT_MIN), COUNT_MAX))
        return count

    def round(self, count: int) -> Round:
        """Publish so many messages; all have to arrive, each once and in order."""
        begin = self._number
        pieces = in_pieces(self._encoded(count), is_batched=self.workload.is_batched)
        self._prepare(count)
        before = self._network.processor_seconds()
        seconds = transfer(
            self.publisher, pieces, self.receivers, is_batched=self.workload.is_batched
        )
        after = self._network.processor_seconds()
        self._check(begin, count)
        used = None if before is None or after is None else (after - before) / count * 1e9
        return Round(count / seconds, used)

    def latencies(self, count: int, rate: float) -> list[float]:
        """Microseconds from a publisher to a subscriber, at a steady rate."""
        begin = self._number
        encoded = self._encoded(count)
        self._prepare(count)
        found = latencies(self.publisher, encoded, self.receivers[0], rate)
        self._check(begin, count)
        return found

    def _prepare(self, count: int) -> None:
        for receiver in self.receivers:
            receiver.prepare(self.workload.message(0), count)

    def _check(self, begin: int, count: int) -> None:
        """Every subscriber has got every message, as it was published."""
        expected = [self.workload.message(number).payload for number in range(begin, begin + count)]
        for receiver in self.receivers:
            payloads = receiver.payloads()
            while len(payloads) < count and wait_for([receiver], _LATE_SECONDS):
                payloads = receiver.payloads()
            if payloads != expected:
                raise BenchmarkError(_difference(self.name, self.workload.name, payloads, expected))
        self._finish()

    def close(self) -> None:
        """Disconnect all clients."""
        for client in self._clients():
            with suppress(OSError):
                client.close()

    def _clients(self) -> list[Client]:
        clients = [receiver.client for receiver in self.receivers]
        return clients if self._publisher is None else [*clients, self._publisher]


def _difference(
    name: str, workload: str, payloads: Sequence[bytes], expected: Sequence[bytes]
) -> str:
    """What is wrong with what arrived."""
    got, wanted = set(payloads), set(expected)
    return (
        f"{name}, {workload}: of {len(expected)} messages {len(wanted - got)} are lost, "
        f"{len(payloads) - len(got)} came twice, {len(got - wanted)} are not what was published"
        + ("" if got != wanted else "; or they are out of order")
    )
