"""Kill brokers and clients under load: ``python -m sapwood.testing.killing --kills 200 --out DIR``.

A chain of broker processes keeps journals. At both of its ends a process publishes, and waits
until each group is confirmed durable; another reads a durable subscription, and writes down what it
got together with its place. Any of them is killed (SIGKILL) at any moment, and started again.

What the clients have written down by themselves becomes a trace, below ``DIR/clients``: what was
confirmed, and what was read. Beside it, below ``DIR/brokers``, are the traces of the brokers. Both
can be judged by ``sapwood audit``: nothing confirmed may be lost, read twice or out of order.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from sapwood.errors import NetworkError, SapwoodError
from sapwood.protocol.tree import Topology
from sapwood.runtime.client import Gap, Offset, connect
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.trace import Row, RunSettings, TraceWriter
from sapwood.trace.schema import CLOCK, DELIVERED, PUBLISHED, SETTLED, SUBSCRIBED

FILTER: Final = "n >= 0"
NAME: Final = "kept"
"""Of the durable subscriptions: one at each end."""

GROUP: Final = 20
"""Publications that are confirmed together."""

SETTLE_SECONDS: Final = 2.0
PATIENCE_SECONDS: Final = 300.0
"""How long anything may take: the machine may be busy."""

_MODULE: Final = "sapwood.testing.killing"
_LOOK_SECONDS: Final = 0.01
_OFFERED, _CONFIRMED, _OPENED, _READ = "offered", "confirmed", "opened", "read"


class KillingError(SapwoodError):
    """The run could not be made: something ended by itself, or never came."""


# --- what clients write down -------------------------------------------------------------------


class Diary:
    """What one client has written down, line by line; a kill may leave half a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = -1

    def write(self, *lines: tuple[object, ...]) -> None:
        """Add lines, at once: what is written outlives the process."""
        if self._file < 0:
            with self.path.open("ab+") as file:
                file.truncate(self._bytes().rfind(b"\n"))
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
        os.write(self._file, text.encode())

    def read(self) -> Iterator[list[str]]:
        """All lines that are whole."""
        data = self._bytes()
        for line in data[1 : data.rfind(b"\n") + 1].decode().splitlines():
            yield line.split(" ")

    def count(self, kind: str) -> int:
        """How many lines of one kind there are."""
        return self._bytes().count(b"\n" + kind.encode())

    def _bytes(self) -> bytes:
        """All of it, behind the end of a line."""
        return b"\n" + self.path.read_bytes() if self.path.exists() else b"\n"


async def publish(url: str, name: str, diary: Diary, stop: Path) -> None:
    """Publish groups and wait for each, until there is a file that says stop."""
    number = sum(int(line[4]) for line in diary.read() if line[0] == _OFFERED)
    async with connect(url, id=name, connect_seconds=PATIENCE_SECONDS) as bus:
        sequence, is_last = 1, False
        while not is_last:
            is_last = os.path.exists(stop)  # noqa: ASYNC240, PTH110 - it takes no time
            count = GROUP
            diary.write((_OFFERED, time.time(), bus.name, sequence, count, number))
            group = [
                bus.publish(
                    {"n": number + place, "last": is_last and place == count - 1},
                    b"p" * 60,
                    confirm="durable",
                )
                for place in range(count)
            ]
            found = await asyncio.gather(*group)
            if [one.sequence for one in found] != [*range(sequence, sequence + count)]:
                raise KillingError(f"{bus.name} counted {found[0]} as {sequence}")
            diary.write((_CONFIRMED, bus.name, sequence, count))
            sequence, number = sequence + count, number + count


async def read(url: str, name: str, diary: Diary, publishers: Sequence[str]) -> None:
    """Read on behind what was written down, until every publisher has said its last."""
    start, last = None, set()
    for line in diary.read():
        if line[0] == _READ:
            start = Offset(int(line[5]), int(line[6]))
            last |= {line[2].rpartition(".")[0]} if line[4] == "True" else set()
    async with (
        connect(url, id=name, connect_seconds=PATIENCE_SECONDS) as bus,
        bus.subscribe(FILTER, durable=NAME, start=start) as kept,
    ):
        diary.write((_OPENED, time.time()))
        while not last.issuperset(publishers):
            item = await kept.get(PATIENCE_SECONDS)
            if isinstance(item, Gap):
                raise KillingError(f"{name} was told of a gap: {item.reason}")
            said = (item.id.publisher, item.id.sequence, item["last"])
            diary.write((_READ, time.time(), *said, *kept.offset))
            if item["last"]:
                last.add(item.id.publisher.rpartition(".")[0])


class Client:
    """A process that publishes or reads, which can be killed and started again."""

    def __init__(self, role: str, url: str, name: str, folder: Path, others: Sequence[str]) -> None:
        self.name = name
        self.is_reader = role == "read"
        self.diary = Diary(folder / name)
        self._errors = folder / f"{name}.errors"
        last = others if self.is_reader else [str(folder / "stop")]
        self._command = [
            *(sys.executable, "-m", _MODULE, role),
            *("--url", url, "--name", name, "--diary", str(self.diary.path), *last),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process."""
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(self._command, stderr=errors)  # noqa: S603 - our own

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def finish(self) -> None:
        """Wait until it has done all; an error if that was none."""
        assert self._process is not None
        self._process.wait(PATIENCE_SECONDS)
        self.check()

    def check(self) -> None:
        """A KillingError if the process has failed by itself."""
        if self._process is not None and self._process.poll():
            said = self._errors.read_text().strip().splitlines()[-1:]
            raise KillingError(f"{self.name} has failed: {' '.join(said)}; see {self._errors}")


# --- killing -----------------------------------------------------------------------------------


class Killed(NamedTuple):
    """What a run came to."""

    confirmed: int
    read: int
    brokers_killed: int
    clients_killed: int


def chain(count: int) -> Topology:
    """Brokers in a row."""
    names = tuple(f"B{number}" for number in range(1, count + 1))
    return Topology(names, tuple(pairwise(names)))


class Killing:
    """One run, below a folder."""

    def __init__(
        self, topology: Topology, folder: Path, seed: int, options: Sequence[str] = ()
    ) -> None:
        """`options` are further ones of all brokers."""
        self.random = Random(seed)
        self.clients_trace = folder / "clients"
        self.brokers_trace = folder / "brokers"
        self._notes = folder / "diaries"
        self._notes.mkdir(parents=True)
        own = ["--spool=disk", f"--trace={self.brokers_trace}", *options]
        self.data = folder / "data"
        self.network = LocalNetwork(topology, own, data=self.data)
        ends = list(dict.fromkeys((topology.brokers[0], topology.brokers[-1])))
        self.publishers = [
            self._client("publish", end, f"P{number}") for number, end in enumerate(ends, 1)
        ]
        names = tuple(one.name for one in self.publishers)
        self.readers = [
            self._client("read", end, f"R{number}", names) for number, end in enumerate(ends, 1)
        ]
        self._killed = {"broker": 0, "client": 0}

    def _client(self, role: str, broker: str, name: str, others: Sequence[str] = ()) -> Client:
        return Client(role, self.network[broker].url, name, self._notes, others)

    def run(self, kills: int) -> Killed:
        """Kill so many times, and let everything be delivered in the end."""
        with self.network:
            self.play(lambda: self._kill(kills))
        self.write_trace()
        return self.killed()

    def play(self, disturb: Callable[[], object]) -> None:
        """Let clients publish and read while something is done, and all be delivered then."""
        everybody = [*self.publishers, *self.readers]
        try:
            for reader in self.readers:
                reader.start()
            self._await(lambda: all(one.diary.count(_OPENED) for one in self.readers))
            for publisher in self.publishers:
                publisher.start()
            disturb()
            self._bring_back()
            (self._notes / "stop").touch()
            for client in everybody:
                client.finish()
        finally:
            for client in everybody:
                client.kill()

    def killed(self) -> Killed:
        """What the run came to."""
        return Killed(
            self._count(_CONFIRMED), self._count(_READ), self._killed["broker"],
            self._killed["client"],
        )  # fmt: skip

    def _count(self, kind: str) -> int:
        clients = [*self.publishers, *self.readers]
        lines = [line for one in clients for line in one.diary.read() if line[0] == kind]
        return sum(int(line[3]) for line in lines) if kind == _CONFIRMED else len(lines)

    def _await(self, is_there: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_there():
            self.check()
            if time.monotonic() > until:
                raise KillingError(f"nothing happens for {PATIENCE_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)

    def check(self) -> None:
        """A KillingError if a process has ended by itself."""
        for client in (*self.publishers, *self.readers):
            client.check()
        for broker in self.network.died:
            raise KillingError(f"broker {broker.id} has ended: {broker.last_words}")

    def _kill(self, times: int) -> None:
        for _ in range(times):
            self._kill_one()

    def _kill_one(self) -> None:
        """Let something be confirmed, perhaps, and kill somebody."""
        random = self.random
        if random.random() < 0.7:  # else while somebody is still coming back
            wanted = self._groups() + random.randrange(1, 8)
            self._await(lambda: self._groups() >= wanted)
        time.sleep(random.uniform(0.0, 0.1))  # at any moment, not just behind a confirmation
        if random.random() < 0.7:
            broker = self.network[random.choice(self.network.topology.brokers)]
            broker.kill()
            broker.launch()
            self._killed["broker"] += 1
        else:
            client = random.choice([*self.publishers, *self.readers])
            client.kill()
            client.start()
            self._killed["client"] += 1

    def _groups(self) -> int:
        return sum(one.diary.count(_CONFIRMED) for one in self.publishers)

    def _bring_back(self) -> None:
        for broker in self.network.values():
            broker.wait_until_joined()

    # The trace of the clients

    def write_trace(self) -> None:
        """What clients have written down, as rows: what may be expected is what was confirmed.

        What was offered and not confirmed, since its publisher was killed, may have come or not:
        it counts as published if somebody got it.
        """
        rows = sorted(self._rows(), key=lambda row: row[0])
        settings = RunSettings(settle_seconds=SETTLE_SECONDS)
        here = {"run": "kills", "broker": "clients", "session": 1}
        with TraceWriter(self.clients_trace, "kills", "clients", 1, settings=settings) as writer:
            step = 0
            for step, (at, kind, fields) in enumerate(rows, 1):
                writer.write(Row(**here, step=step, at=at, kind=kind, **fields))  # type: ignore[arg-type]
            end = rows[-1][0] + 2 * SETTLE_SECONDS
            writer.write(Row(**here, step=step + 1, at=end, kind=CLOCK))  # type: ignore[arg-type]

    def _rows(self) -> Iterator[tuple[float, str, dict[str, object]]]:
        got: set[tuple[str, int]] = set()
        for reader in self.readers:
            order = 0
            for line in reader.diary.read():
                client = {"client": reader.name}
                if line[0] == _OPENED and not order:
                    yield float(line[1]), SUBSCRIBED, {**client, "filter": FILTER}
                    yield float(line[1]), SETTLED, {**client, "filter": FILTER}
                elif line[0] == _READ:
                    order += 1
                    one = (line[2], int(line[3]))
                    got.add(one)
                    fields = {"publisher": one[0], "sequence": one[1], "client_order": order}
                    yield float(line[1]), DELIVERED, {**client, **fields}
        for publisher in self.publishers:
            yield from _published(publisher.diary, got)


def _published(
    diary: Diary, got: set[tuple[str, int]]
) -> Iterator[tuple[float, str, dict[str, object]]]:
    lines = list(diary.read())
    confirmed = {(line[1], int(line[2])) for line in lines if line[0] == _CONFIRMED}
    for line in lines:
        if line[0] != _OFFERED:
            continue
        at, name, first, count, number = float(line[1]), line[2], *map(int, line[3:6])
        for place in range(count):
            one = (name, first + place)
            if (name, first) in confirmed or one in got:
                yield at, PUBLISHED, {
                    "client": name, "publisher": name, "sequence": one[1], "client_order": one[1],
                    "attributes": f'{{"n": {number + place}}}',
                }  # fmt: skip


# --- from the command line ---------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a run, or be one of its clients."""
    parser = argparse.ArgumentParser(prog="python -m sapwood.testing.killing")
    parser.add_argument("role", nargs="?", default="kill", choices=["kill", "publish", "read"])
    parser.add_argument("--kills", type=int, default=20, help="how many")
    parser.add_argument("--brokers", type=int, default=3, help="a chain of so many")
    parser.add_argument("--seed", type=int, default=1, help="who is killed follows from it")
    parser.add_argument("--out", type=Path, help="where traces and journals are left")
    for name in ("--url", "--name"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--diary", type=Path, help=argparse.SUPPRESS)
    asked, others = parser.parse_known_args(arguments)
    if asked.role == "kill":
        if asked.out is None:
            parser.error("--out says where traces and journals are left")
        killing = Killing(chain(asked.brokers), asked.out, asked.seed)
        sys.stdout.write(f"{killing.run(asked.kills)}\nsapwood audit {killing.clients_trace}\n")
        return 0
    diary = Diary(asked.diary)
    with suppress(KeyboardInterrupt):
        if asked.role == "publish":
            asyncio.run(publish(asked.url, asked.name, diary, Path(others[0])))
        else:
            asyncio.run(read(asked.url, asked.name, diary, others))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KillingError, NetworkError) as problem:
        sys.exit(f"{type(problem).__name__}: {problem}")
