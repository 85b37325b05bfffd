"""Changes of the tree in volume, over perfect links: a swarm of the brokers that run live.

Links are queues of bytes; which of them brings its next message is drawn, so that links are as fast
and as slow as can be while each keeps its order. Many exchanges, swaps and plans, some of them at
the same time, while clients publish, subscribe, unsubscribe, and go on at other brokers whose old
ones still have something of them. Nothing may be lost, repeated or reordered, not even causally; in
the end the tables are exact, the tree is one, and every request is answered. Brokers keep no
beacons here and compare no tables: nothing is mended behind the back of a change.

``python -m sapwood.sim.reconfiguring.perfect --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Final

from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import CloseLink, Dismiss, Effect, Forward, OpenLink, Send
from sapwood.protocol.events import (
    ChangeRequested,
    ClientArrived,
    ClientDown,
    ClientUp,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    Tick,
)
from sapwood.protocol.invariants import broker_problems, network_problems
from sapwood.protocol.messages import CODEC, Advertise, Message, Subscribe, Unsubscribe
from sapwood.protocol.reconfigure.asking import PLAN, ChangeTree, TreeChangeEnded
from sapwood.protocol.reconfigure.messages import COMPLETED, ChangeEnded
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.protocol.tree import Groups
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.seeds import Seeds
from sapwood.wire.frames import (
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    split,
)

BROKERS: Final = (3, 9)
CHANGES: Final = (8, 16)
"""That are asked for in one run."""

STEP_SECONDS: Final = 0.002
"""By how much time goes on with every deed: no change may take so long that it is undone."""

STEPS_MAX: Final = 400_000
VALUES: Final = 10
"""Notifications have an attribute from zero to below this."""

FILTERS: Final = ("x < 5", "x between 3 and 7", "x = 4", "true", "x > 6")
PLAIN: Final = (StabilizationSettings(refresh="off"), TreeSettings(protocol="off"))

parse = lru_cache(1000)(Filter)


class Reader:
    """What a client wants all the time, and what it has got, as bits of publications."""

    def __init__(self, below: int) -> None:
        self.below = below
        """It wants all with a smaller attribute."""
        self.got = 0
        self.late = 0
        """Those that must not come any more: something that follows them is there."""
        self.standing: list[str] = []
        """Ids of what it wants for a while."""


class PerfectRun:
    """One run, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(f"perfect {seed}")
        self.routing = random.choice(sorted(ALGORITHMS))
        self.advertising = random.choice(("", "", "", "simple", "identity", "covering"))
        self.brokers: dict[str, Broker] = {}
        self.queues: dict[tuple[str, str], deque[bytes]] = {}
        self.waiting: list[tuple[str, str]] = []
        """A link for each message under way."""
        self.now = 0.0
        self.asked = self.moved = 0
        self.at_a_time = random.choice((1, 2, 4))
        """Changes that are asked for before others are answered."""
        self.outcomes: Counter[str] = Counter()
        self.answers = 0
        self.problems: list[str] = []
        self.values: list[int] = []
        """By publication: its attribute."""
        self.pasts: list[int] = []
        """By publication: bits of what its publisher knew."""
        self.unsure = 0
        """Bits of what clients had published where they were before: where the report of a move is
        faster it is stale, and given up."""
        self.bits: dict[tuple[str, int], int] = {}
        self.sequences: Counter[str] = Counter()
        self.streams: Counter[str] = Counter()
        self.own: Counter[str] = Counter()
        """By client: bits of what it has published."""
        self.left: list[tuple[str, str, bytes]] = []
        """What old brokers still have of clients that moved."""
        self.at: dict[str, str] = {}
        self.readers: dict[str, Reader] = {}
        for number in range(random.randint(*BROKERS)):
            self._add_broker(f"B{number + 1}")
        self.names = list(self.brokers)
        for at, name in enumerate(self.names[1:], 1):
            self._link(random.choice(self.names[:at]), name, in_tree=True)
        edges = list(self.queues)
        self.slow = set(random.sample(edges, random.randrange(len(edges) // 2 + 1)))
        """Links that seldom bring something."""

    def _add_broker(self, name: str) -> None:
        stabilization, tree = PLAIN
        config = BrokerConfig(
            id=name,
            routing=self.routing,
            addresses=(f"perfect://{name}",),
            stabilization=stabilization,
            tree=tree,
            advertisements_required=bool(self.advertising),
            advertisement_routing=self.advertising or "simple",
        )
        self.brokers[name] = Broker(config, parse=parse)

    def describe(self) -> str:
        """One line about it."""
        advertising = f", advertisements {self.advertising}" if self.advertising else ""
        return f"{len(self.names)} brokers, {self.routing}{advertising}"

    # Links

    def _link(self, a: str, b: str, *, in_tree: bool) -> None:
        for here, there in ((a, b), (b, a)):
            self.queues[here, there] = deque()
        for here, there in ((a, b), (b, a)):
            self._handle(here, LinkUp(there, in_tree=in_tree))

    def _close(self, a: str, b: str) -> None:
        for edge in ((a, b), (b, a)):
            self.queues.pop(edge, None)
        for here, there in ((a, b), (b, a)):
            if there in self.brokers[here].neighbours:
                self._handle(here, LinkDown(there))

    def _handle(self, name: str, event: Event) -> None:
        for effect in self.brokers[name].handle(event, self.now):
            self._do(name, effect)

    def _do(self, name: str, effect: Effect) -> None:
        if isinstance(effect, Forward):
            for destination in effect.destinations:
                if destination in self.readers:
                    self._got(destination, effect.data)
                else:
                    self._send(name, destination, effect.data)
        elif isinstance(effect, Send):
            if effect.destination in self.brokers and effect.destination != name:
                self._send(name, effect.destination, CODEC.encode(effect.message))
            else:
                self._answered(effect.message)
        elif isinstance(effect, OpenLink):
            if (name, effect.broker) not in self.queues:
                self._link(name, effect.broker, in_tree=False)
        elif isinstance(effect, CloseLink):
            self._close(name, effect.neighbour)
        elif isinstance(effect, Dismiss):
            self._handle(name, ClientDown(effect.client))

    def _send(self, here: str, there: str, data: bytes) -> None:
        queue = self.queues.get((here, there))
        if queue is not None:
            queue.append(data)
            self.waiting.append((here, there))

    def _answered(self, message: Message) -> None:
        if isinstance(message, ChangeEnded | TreeChangeEnded):
            self.answers += 1
            steps = message.steps if isinstance(message, TreeChangeEnded) else (message,)
            self.outcomes.update(one.outcome for one in steps)
            self.problems += [one.reason for one in steps if "it took longer" in one.reason]

    def step(self) -> bool:
        """Let a link bring its next message; False if nothing is under way."""
        waiting, random = self.waiting, self.random
        while waiting:
            at = random.randrange(len(waiting))
            edge = waiting[at]
            if edge in self.slow and random.random() < 0.8 and any(self.queues.values()):
                at = random.randrange(len(waiting))
                edge = waiting[at]
            waiting[at] = waiting[-1]
            waiting.pop()
            queue = self.queues.get(edge)
            if queue:
                self._handle(edge[1], FramesReceived(edge[0], queue.popleft()))
                return True
        return False

    def _rest(self) -> None:
        """Carry everything over, and let time pass until no broker waits for anything."""
        for _ in range(STEPS_MAX):
            if self.step():
                continue
            wanted = [(one.next_at, name) for name, one in self.brokers.items()]
            due = [(at, name) for at, name in wanted if at is not None]
            if not due:
                return
            at, name = min(due)
            self.now = max(self.now, at)
            self._handle(name, Tick())
        self.problems.append(f"no rest after {STEPS_MAX} steps")

    # What clients get

    def _got(self, client: str, data: bytes) -> None:
        reader = self.readers[client]
        for _, head, body in split(data):
            name = decode_head(head)[0], decode_envelope(body).sequence
            number = self.bits[name]
            bit = 1 << number
            if reader.got & bit:
                self.problems.append(f"{name} came twice to {client}")
            elif reader.late & bit:
                self.problems.append(f"{name} came late to {client}")
            reader.late |= self.pasts[number] & ~reader.got & self._wants(reader)
            reader.got |= bit

    def _wants(self, reader: Reader) -> int:
        found = 0
        for number, value in enumerate(self.values):
            found |= (value < reader.below) << number
        return found

    # What happens

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        random = self.random
        for number, name in enumerate(self.names):
            self._connect(f"C{number + 1}", name)
            if not self.advertising and random.random() < 0.3:
                self._connect(f"M{number + 1}.1", name, below=0)
        self._rest()
        changes = random.randint(*CHANGES)
        publications = random.randint(20, 60)
        deeds = [self._exchange] * changes + [self._publish] * publications
        deeds += [self._subscribe] * random.randint(0, 12) + [self._move] * random.randint(0, 8)
        deeds += [self._bring_left] * 6 + [self._plan] * random.choice((0, 0, 1))
        random.shuffle(deeds)
        pace = random.choice((3, 10, 30))
        for deed in deeds:
            for _ in range(random.randrange(2 * pace)):
                self.step()
            self.now += STEP_SECONDS
            if random.random() < 0.3:
                self._handle(random.choice(self.names), Tick())
            deed()
        while self.left:
            self._bring_left()
        self._rest()
        return [*islice(self.problems, 5), *islice(self._judge(), 10)]

    def _connect(self, client: str, name: str, below: int | None = None) -> None:
        if below is None:
            below = self.random.choice((VALUES, VALUES, 5, 2))
        self.readers[client] = Reader(below)
        self.at[client] = name
        self.streams[client] = 1
        self._handle(name, ClientUp(client))
        if self.advertising:
            self._ask(client, Advertise("all", "x >= 0"))
        if below:
            self._ask(client, Subscribe("fixed", f"x < {below}"))

    def _ask(self, client: str, message: Message) -> None:
        self._handle(self.at[client], FramesReceived(client, CODEC.encode(message)))

    def _publication(self, client: str) -> bytes:
        """A notification of a client, whose past is all that the client has got or published."""
        self.sequences[client] += 1
        number, value = len(self.values), self.random.randrange(VALUES)
        past = self.readers[client].got | self.own[client]
        for one in range(number):
            if past >> one & 1:
                past |= self.pasts[one]
        self.values.append(value)
        self.pasts.append(past)
        self.own[client] |= 1 << number
        self.bits[client, self.sequences[client]] = number
        return encode_notification(
            encode_head(client, {"x": value}), self.sequences[client], 0.0, b""
        )

    def _publish(self) -> None:
        client = self.random.choice(list(self.readers))
        data = self._publication(client)
        self._handle(self.at[client], FramesReceived(client, data))

    def _subscribe(self) -> None:
        client = self.random.choice([one for one in self.readers if one.startswith("C")])
        standing = self.readers[client].standing
        if standing and self.random.random() < 0.5:
            self._ask(client, Unsubscribe(standing.pop()))
            return
        entry_id = self.random.choice("abc")
        if entry_id not in standing:
            standing.append(entry_id)
        self._ask(client, Subscribe(entry_id, self.random.choice(FILTERS)))

    def _move(self) -> None:
        """A client goes on at another broker; the old one may still have something of it."""
        movers = [one for one in self.readers if one.startswith("M")]
        if not movers:
            return
        client = self.random.choice(movers)
        old = self.at[client]
        new = self.random.choice([name for name in self.names if name != old])
        if client in self.brokers[new].clients:
            return  # that one has not heard yet that the client had left it
        for _ in range(self.random.randrange(3)):
            self.left.append((old, client, self._publication(client)))
        self.left = [one for one in self.left if one[:2] != (new, client)]  # its stream goes on
        self.unsure |= self.own[client]
        self.moved += 1
        self.at[client] = new
        self.streams[client] += 1
        self._handle(new, ClientUp(client))
        self._handle(new, ClientArrived(client, self.streams[client]))

    def _bring_left(self) -> None:
        """An old broker reads what a client had sent it, behind what it has read of it."""
        if self.left:
            at = self.random.randrange(len(self.left))
            old, client, _ = self.left[at]
            first = next(one for one in self.left if one[:2] == (old, client))
            self.left.remove(first)
            if client in self.brokers[old].clients:
                self._handle(old, FramesReceived(client, first[2]))

    # Changes

    def tree(self) -> list[tuple[str, str]]:
        """The links that both ends take for part of the tree."""
        return [
            (name, other)
            for name, broker in self.brokers.items()
            for other in broker.neighbours.tree()
            if name < other and self.brokers[other].neighbours.is_in_tree(name)
        ]

    def _exchange(self) -> None:
        """Ask for one link in the place of another; it may be a swap, or impossible by then."""
        while self.asked - self.answers >= self.at_a_time and self.step():
            pass
        random, tree = self.random, self.tree()
        old = random.choice(tree)
        sides = Groups(self.names)
        for left, right in tree:
            if (left, right) != old:
                sides.join(left, right)
        near, far = (
            [name for name in self.names if sides.find(name) == sides.find(end)] for end in old
        )
        pairs = [(one, other) for one in near for other in far if {one, other} != {*old}]
        if not pairs:
            return  # a link is neither here nor there at the moment
        new = random.choice(pairs)
        self.asked += 1
        self._handle(random.choice(self.names), ChangeRequested(self.asked, old, new))

    def _plan(self) -> None:
        """Ask for another tree."""
        random = self.random
        names = random.sample(self.names, len(self.names))
        links = tuple((random.choice(names[:at]), name) for at, name in enumerate(names) if at)
        self.asked += 1
        client = random.choice([one for one in self.readers if one.startswith("C")])
        self._ask(client, ChangeTree(self.asked, PLAN, links))

    # What must hold

    def _judge(self) -> Iterator[str]:
        yield from network_problems(self.brokers)
        for broker in self.brokers.values():
            yield from broker_problems(broker)
            if broker.turning.ring is not None:
                yield f"{broker.id} is still locked by {broker.turning.ring.change}"
        if self.answers != self.asked:
            yield f"{self.asked} changes asked for, {self.answers} answered"
        if len(self.tree()) != len(self.names) - 1:
            yield f"the tree is {self.tree()}"
        everything = (1 << len(self.values)) - 1
        for client, reader in self.readers.items():
            wanted = self._wants(reader) & everything & ~self.unsure & ~self.own[client]
            lost = wanted & ~reader.got
            if lost:
                yield f"{client} has lost {lost.bit_count()}, the first is {lost & -lost:b}"


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the run of a seed; nothing if it is all right."""
    return PerfectRun(seed).run()


SEEDS: Final = Seeds(
    "python -m sapwood.sim.reconfiguring.perfect",
    __doc__,
    problems_of,
    lambda seed: PerfectRun(seed).describe(),
)
command = SEEDS.command


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""

    def counted(seed: int, tally: Counter[str]) -> list[str]:
        run = PerfectRun(seed)
        problems = run.run()
        tally.update(asked=run.outcomes.total(), completed=run.outcomes[COMPLETED])
        tally.update(published=len(run.values), moved=run.moved)
        return problems

    return SEEDS.main_counting(
        counted,
        "{asked} changes asked for, {completed} completed, "
        "{published} publications, {moved} moves of clients",
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
