"""Crashes of brokers that keep a journal: what was confirmed is delivered once, and in order.

A case is made from one number: a tree of brokers, publishers and readers of durable subscriptions
at some of them, and brokers that die at any moment and come back, with what their disks kept. To
replay one: ``python -m sapwood.sim.faithful.durable --seed K``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.protocol.client.outputs import RequestRefused
from sapwood.protocol.client.requests import ASK_AGAIN
from sapwood.protocol.durable.messages import Mailbox, MailboxAnswer
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.sim.faithful.client import Delivery, FaithfulClient
from sapwood.sim.faithful.driver import Crash
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.seeds import Seeds
from sapwood.wire.frames import decode_envelope, decode_head, split

FORM_SECONDS: Final = 120.0
DRAIN_SECONDS: Final = 600.0
WAIT_SECONDS: Final = 2.0
NOWHERE: Final = 2**62
"""A position that nothing comes to: whoever waits for that waits."""
SIZES: Final = (40, 40, 400, 40)
"""How long the payload of a notification is, by its value."""
SIZE: Final = 512
"""About how many bytes a reader asks for at a time."""

SEGMENT_BYTES: Final = (2**12, 2**16)
"""Short, so that segments are begun and removed all the time."""

MEMORY_BYTES: Final = (2**10, 2**23)
"""Little, so that most is read back from disk, or much."""


class Reader(FaithfulClient):
    """A client that reads a durable subscription, and keeps its own offset."""

    def __init__(self, *given: Any, name: str, least: int, **options: Any) -> None:
        super().__init__(*given, **options)
        self.mailbox = name
        self.least = least
        """It wants what has this value or a larger one."""
        self.epoch = 0
        self.position = 0
        self.read: list[Delivery] = []
        self.is_open = False
        self.is_away = False
        """Whether it reads nothing for now."""
        self.gaps = 0
        self.problems: list[str] = []

    def open(self, now: float) -> Sequence[object]:
        """Begin to look for a broker, and open the subscription there."""
        effects = super().open(now)
        self._ask()
        return [*effects, *self.session.flush(now)]

    def _ask(self) -> None:
        if not self.epoch:
            wanted = f"x >= {self.least}"
            asked = Mailbox(request=0, action="open", name=self.mailbox, filter=wanted)
        elif self.is_away:
            asked = Mailbox(
                request=0,
                action="status",
                name=self.mailbox,
                epoch=self.epoch,
                position=NOWHERE,
                wait=WAIT_SECONDS,
            )
        else:
            asked = Mailbox(
                request=0,
                action="read",
                name=self.mailbox,
                epoch=self.epoch,
                position=self.position,
                committed=self.position,
                size=SIZE,
                wait=WAIT_SECONDS,
            )
        self.session.mailbox(asked)

    def _after(self, effects: Sequence[object], now: float) -> list[object]:
        for effect in effects:
            if isinstance(effect, MailboxAnswer):
                self._take(effect)
                self._ask()
            elif isinstance(effect, RequestRefused):
                if effect.reason != ASK_AGAIN:
                    self.problems.append(f"{self.name} was refused: {effect.reason}")
                self._ask()
        return super()._after(effects, now)

    def _take(self, answer: MailboxAnswer) -> None:
        state = answer.mailboxes[0]
        if not self.epoch:
            self.epoch, self.position, self.is_open = state.epoch, state.committed, True
            return
        if state.epoch != self.epoch:
            self.problems.append(f"{self.name}: epoch {state.epoch} after {self.epoch}")
        if answer.first == NOWHERE:
            return
        self.gaps += answer.first - self.position
        self.position = answer.first + answer.count
        for _, head, body in split(answer.data):
            publisher, _ = decode_head(head)
            self.read.append(Delivery(self.now, publisher, decode_envelope(body).sequence))


class Outcome(NamedTuple):
    """How a case went."""

    confirmed: int
    delivered: int
    crashes: int
    problems: list[str]


class DurableCase:
    """One case, from its number."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.crashes = 0
        settings = DurabilitySettings(
            spool="disk",
            segment_bytes=random.choice(SEGMENT_BYTES),
            memory_bytes=random.choice(MEMORY_BYTES),
            sync_bytes=random.choice((1024, 2**20)),
            sync_seconds=random.choice((0.01, 0.05)),
        )
        self.network = FaithfulNetwork(
            Random(random.getrandbits(64)), config={"durability": settings}
        )
        count = random.choice((1, 2, 2, 3, 4))
        self.brokers = [f"B{number}" for number in range(1, count + 1)]
        for at, name in enumerate(self.brokers):
            joins = (random.choice(self.brokers[:at]),) if at else ()
            self.network.add_broker(name, joins)
        self.publishers: list[FaithfulClient] = []
        self.readers: list[Reader] = []

    def run(self) -> Outcome:
        """Play it and judge it."""
        if not self._form():
            return Outcome(0, 0, 0, ["the network was never formed"])
        self._play()
        problems = self._settle()
        problems += [one for reader in self.readers for one in reader.problems]
        problems += [one for reader in self.readers for one in self._judged(reader)]
        confirmed = sum(one.session.publishing.accepted for one in self.publishers)
        delivered = sum(len(reader.read) for reader in self.readers)
        return Outcome(confirmed, delivered, self.crashes, problems)

    def _form(self) -> bool:
        network, random = self.network, self.random
        driver = network.driver
        links = len(self.brokers) - 1
        if not driver.run_until(lambda: len(network.joined_links()) == links, FORM_SECONDS):
            return False
        for number in range(random.randint(1, 2)):
            home = random.choice(self.brokers)
            least = random.choice((1, 1, 3))
            reader = network.connect_as(
                Reader, f"reader{number}.1", home, name=f"d{number}", least=least
            )
            self.readers.append(reader)
        is_open = driver.run_until(lambda: all(one.is_open for one in self.readers), FORM_SECONDS)
        for number in range(random.randint(1, 3)):
            home = random.choice(self.brokers)
            self.publishers.append(network.connect(f"publisher{number}.1", home))
        return is_open and driver.run_until(
            lambda: all(one.is_connected for one in self.publishers), FORM_SECONDS
        )

    def _play(self) -> None:
        """Publish, while brokers die and come back."""
        network, random = self.network, self.random
        for _ in range(random.randint(10, 40)):
            for publisher in self.publishers:
                for _ in range(random.randint(0, 8)):
                    value = random.choice((0, 1, 2, 2, 2, 3))
                    network.publish(publisher.name, {"x": value}, b"p" * SIZES[value])
            network.driver.run(random.choice((0.001, 0.01, 0.05, 0.3)))
            draw = random.random()
            if draw < 0.2:
                self.crashes += 1
                network.crash(random.choice(self.brokers), random.choice(tuple(Crash)))
            elif draw < 0.25 and len(self.brokers) > 1:
                network.cut(*random.sample(self.brokers, 2))
            if random.random() < 0.3:
                network.restart(random.choice(self.brokers))
            if random.random() < 0.1:
                reader = random.choice(self.readers)
                reader.is_away = not reader.is_away

    def _settle(self) -> list[str]:
        """Bring everybody back, and wait until everything was read."""
        for name in self.brokers:
            self.network.restart(name)
        for reader in self.readers:
            reader.is_away = False
        if not self.network.driver.run_until(self._is_done, DRAIN_SECONDS, step=1.0):
            return ["something was never delivered, or never acknowledged"]
        self.network.driver.run(5.0)
        return self.network.problems()

    def _is_done(self) -> bool:
        """Whether all publications were confirmed, and all that was confirmed was read."""
        wanted = sum(one.sequence for one in map(_publishing, self.publishers))
        accepted = sum(one.accepted for one in map(_publishing, self.publishers))
        return accepted == wanted and all(
            len(one.read) >= len(list(self._expected(one))) for one in self.readers
        )

    def _expected(self, reader: Reader) -> Iterator[tuple[str, int]]:
        """What a reader has to get, publisher by publisher in order."""
        for publisher in self.publishers:
            for one in publisher.publications:
                lost = one.sequence in publisher.unconfirmed
                if not lost and int(one.attributes["x"]) >= reader.least:
                    yield publisher.name, one.sequence

    def _judged(self, reader: Reader) -> Iterator[str]:
        """What is wrong with what a reader got."""
        got = [(one.publisher, one.sequence) for one in reader.read]
        expected = list(self._expected(reader))
        may_come = {
            (publisher.name, one.sequence)
            for publisher in self.publishers
            for one in publisher.publications
        }
        if reader.gaps:
            yield f"{reader.name} was told of {reader.gaps} given up"
        for one in sorted({*expected} - {*got}):
            yield f"{reader.name} never got {one}, which was confirmed"
        for one in sorted({one for one in got if got.count(one) > 1}):
            yield f"{reader.name} got {one} {got.count(one)} times"
        for one in sorted({*got} - may_come):
            yield f"{reader.name} got {one}, which nobody published"
        last: dict[str, int] = {}
        for publisher, sequence in got:
            if sequence < last.get(publisher, 0):
                yield f"{reader.name} got {publisher} {sequence} behind {last[publisher]}"
            last[publisher] = sequence


def _publishing(client: FaithfulClient) -> Any:
    return client.session.publishing


def problems_of(seed: int, tally: Counter[str] | None = None) -> list[str]:
    """Everything that is wrong with a case; nothing if it is all right."""
    outcome = DurableCase(seed).run()
    if tally is not None:
        tally.update(
            crashes=outcome.crashes, confirmed=outcome.confirmed, delivered=outcome.delivered
        )
    return outcome.problems


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.durable",
    __doc__,
    problems_of,
    lambda seed: f"{len(DurableCase(seed).brokers)} brokers",
)
command, failures = SEEDS.command, SEEDS.failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""
    return SEEDS.main_counting(
        problems_of, "{crashes} crashes, {confirmed} confirmed, {delivered} delivered", arguments
    )


if __name__ == "__main__":
    sys.exit(main())
