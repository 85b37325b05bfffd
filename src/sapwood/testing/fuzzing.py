"""A fuzzing run over all doors of a broker: ``python -m sapwood.testing.fuzzing --seconds 60``.

A real broker with accounts and an admin endpoint runs in this process. Strangers throw bytes at
its port, before and after a login, as a client and as a broker; requests at its admin endpoint;
texts at the parser of filters; and files at the readers of configuration and accounts. Beside them
a witness publishes to itself. All is well if the witness gets everything in order, no exception
leaves anything, the broker finds no fault in its state, and the process has not grown.

Everything thrown follows from the seed; what arrives together with what else does not.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.hashing import hash_token
from sapwood.protocol.link.handshake import BROKER, CLIENT, LINK_CODEC, Ack, Goodbye, Hello, Ping
from sapwood.protocol.messages import CODEC, Refresh, Subscribe, Survey, Unsubscribe, Whole
from sapwood.runtime.client import connect
from sapwood.runtime.config.accounts import read_accounts
from sapwood.runtime.config.configuration import load, to_toml
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.server import Server
from sapwood.wire.frames import CONTROL, LINK, NOTIFICATION, encode_head, encode_notification, frame

ACCOUNTS: Final = f"""
[accounts.witness]
secret = "{hash_token("witness-token")}"
publish = "witness = true"
subscribe = "witness = true"

[accounts.mallory]
secret = "{hash_token("mallory-token")}"
publish = "mallory = true"
subscribe = "mallory = true"

[accounts.site]
role = "broker"
secret = "{hash_token("site-token")}"
"""

WORDS: Final = (
    *("a", "b", "x.y", "like", "in", "not", "and", "or", "true", "false", "is", "null", "exists"),
    *("(", ")", "=", "<>", "<", ">=", "between", "prefix", "contains", "escape", "'", "''", "%"),
    *("1", "-1e308", "9223372036854775808", "1e400", "'x'", "'%a%b%'", '"', "\0", "\ud7ff", ","),
)

VALUES: Final[tuple[Value, ...]] = (True, 1, "x" * 5_000)

GROWTH_BYTES_MAX: Final = 200 * 2**20
"""What the process may grow by: its budgets for strangers, and what the allocator keeps."""

READ_SECONDS: Final = 0.05
"""How long a stranger listens to what the broker says."""

ANSWER_SECONDS: Final = 20.0


class Fuzzing:
    """One run."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.chance = Random(seed)
        self.thrown: Counter[str] = Counter()
        self.problems: list[str] = []
        self._directory = directory
        self._accounts = directory / "accounts.toml"
        self._accounts.write_text(ACCOUNTS)
        self._session = 0

    async def run(self, seconds: float) -> None:
        """Throw everything for some time."""
        asyncio.get_running_loop().set_exception_handler(self._escaped)
        server = Server(
            Settings(
                id="B1",
                listen="127.0.0.1:0",
                admin="127.0.0.1:0",
                accounts=str(self._accounts),
            )
        )
        await server.start()
        try:
            await self._all(server, time.monotonic() + seconds)
        finally:
            await server.stop()
        found = {kind: count for kind, count in server.node.broker.faults.items() if count}
        if found or server.node.counts["impossible"]:
            self.problems.append(f"the broker found faults in its state: {found}")

    async def _all(self, server: Server, until: float) -> None:
        assert server.address is not None
        assert server.admin is not None
        assert server.admin.address is not None
        port, admin = server.address.port, server.admin.address.port
        throws: list[Callable[[], Awaitable[None]]] = [
            lambda: self._connect(port, self._garbage),
            lambda: self._connect(port, self._logged_in),
            lambda: self._connect(port, self._as_broker),
            lambda: self._connect(admin, self._request),
            self._filter,
            self._files,
        ]
        await self._witness(str(server.address))  # what is loaded at first is no growth
        before = _resident()
        doors = [asyncio.create_task(self._repeat(one, until)) for one in throws]
        while time.monotonic() < until:
            await self._witness(str(server.address))
        await asyncio.gather(*doors)
        await self._witness(str(server.address))
        grown = _resident() - before
        if grown > GROWTH_BYTES_MAX:
            self.problems.append(f"the process has grown by {grown} bytes")

    async def _repeat(self, throw: Callable[[], Awaitable[None]], until: float) -> None:
        while time.monotonic() < until:
            await throw()
            await asyncio.sleep(0)

    def _escaped(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if not isinstance(problem, ConnectionError | TimeoutError):
            self.problems.append(f"{context['message']}: {problem!r}")

    async def _witness(self, address: str) -> None:
        """See that somebody else is served as ever."""
        numbers: list[Value] = []
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                async with (
                    connect(address, account="witness", secret="witness-token") as bus,  # noqa: S106 - of this test
                    bus.subscribe("witness = true") as got,
                ):
                    for number in range(20):
                        await bus.publish({"witness": True, "n": number})
                    while len(numbers) < 20:
                        item = await anext(got)
                        if isinstance(item, Delivered):  # a broker that is lost leaves a gap
                            numbers.append(item["n"])
        except (SapwoodError, TimeoutError) as problem:
            self.problems.append(f"the witness: {type(problem).__name__}: {problem}")
            return
        if numbers != list(range(20)):
            self.problems.append(f"the witness got {numbers}")
        self.thrown["witnessed"] += 1

    # Connections

    async def _connect(self, port: int, data: Callable[[], bytes]) -> None:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                async with asyncio.timeout(READ_SECONDS):
                    writer.write(data())
                    await writer.drain()
                    await reader.read(4096)
            except TimeoutError:
                pass  # it may have nothing to say
            finally:
                writer.transport.abort()
                await writer.wait_closed()

    def _garbage(self) -> bytes:
        self.thrown["bytes"] += 1
        hello = LINK_CODEC.encode(self._hello(CLIENT, "mallory"))
        return self._spoilt(self.chance.choice([hello, self.chance.randbytes(300), b"GET / \r\n"]))

    def _logged_in(self) -> bytes:
        """A right login, and then frames of which some are spoilt."""
        self.thrown["client frames"] += 1
        hello = LINK_CODEC.encode(self._hello(CLIENT, "mallory"))
        frames = [self._frame() for _ in range(self.chance.randint(1, 40))]
        return hello + b"".join(
            self._spoilt(one) if self.chance.random() < 0.1 else one for one in frames
        )

    def _as_broker(self) -> bytes:
        """As a broker, with the login of one or of a client.

        A broker answers for its clients, so what it brings is believed to be theirs.
        """
        self.thrown["broker frames"] += 1
        hello = LINK_CODEC.encode(self._hello(BROKER, self.chance.choice(["site", "mallory"])))
        return hello + b"".join(self._frame("n") for _ in range(self.chance.randint(0, 20)))

    def _hello(self, role: str, account: str) -> Hello:
        self._session += 1
        return Hello(
            role=role,
            id=self.chance.choice([account, f"{account}/x", "witness", "B1"]),
            session=self._session,
            network="sapwood",
            credit=self.chance.choice([0, 2**20, 2**62]),
            credentials={"account": account, "secret": f"{account}-token"},
        )

    def _frame(self, name: str = "witness") -> bytes:
        chance = self.chance
        number = chance.choice([0, 1, 2**31, 2**62])
        value: Value = chance.choice(VALUES)
        head = encode_head(
            chance.choice(["mallory.1", f"mallory.{self._session}", "witness.1"]),
            {chance.choice(["mallory", name, "n"]): value},
        )
        return chance.choice(
            [
                encode_notification(head, chance.choice([1, 2, 2**62]), 0.0, b"payload"),
                CODEC.encode(Subscribe(str(chance.randrange(9)), self._text(), number)),
                CODEC.encode(Subscribe("wide", "mallory = true")),
                CODEC.encode(Unsubscribe(str(chance.randrange(9)), number)),
                CODEC.encode(Survey(number)),
                CODEC.encode(Whole("s", (("1", self._text()),), chance.randbytes(8))),
                CODEC.encode(Refresh()),
                LINK_CODEC.encode(Ack(number, 2**40)),
                LINK_CODEC.encode(Ping(number)),
                LINK_CODEC.encode(Goodbye("no code", "no reason")),
                frame(chance.choice([CONTROL, LINK, NOTIFICATION, 200]), b"", chance.randbytes(40)),
            ]
        )

    def _request(self) -> bytes:
        self.thrown["requests"] += 1
        chance = self.chance
        method = chance.choice(["GET", "POST", "PUT", "\x00", "OPTIONS"])
        path = chance.choice(
            ["/status", "/metrics", "/faults", "/healthz", "/%00", "/" + "a" * 9000]
        )
        host = chance.choice(["127.0.0.1", "evil.example", "", "x" * 70_000])
        login = chance.choice(["", "Authorization: Basic !!!\r\n", "Content-Length: -1\r\n"])
        text = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{login}\r\n"
        return self._spoilt(text.encode()) if chance.random() < 0.3 else text.encode()

    def _spoilt(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.chance.randint(1, 4)):
            changed[self.chance.randrange(len(changed))] = self.chance.randrange(256)
        return bytes(changed[: self.chance.randint(1, len(changed))])

    # Texts and files

    def _text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 12)))

    async def _filter(self) -> None:
        self.thrown["filters"] += 1
        text = self._text()
        self._only_ours("filter", text, lambda: Filter(text).matches({"a": 1}))

    async def _files(self) -> None:
        """What is wrong with a file is an error of ours, whatever is in it."""
        self.thrown["files"] += 1
        text = self.chance.choice([ACCOUNTS, to_toml(Settings(id="B1"))]).encode()
        file = self._directory / "spoilt.toml"
        file.write_bytes(self._spoilt(text))
        said = file.read_bytes()
        self._only_ours("accounts", said, lambda: read_accounts(str(file)))
        self._only_ours("configuration", said, lambda: load(file, {}, {}, default_id="B1"))

    def _only_ours(self, what: str, given: object, act: Callable[[], object]) -> None:
        try:
            act()
        except SapwoodError:
            pass
        except Exception as problem:  # noqa: BLE001 - that is what is looked for
            self.problems.append(f"{what} {given!r:.300}: {type(problem).__name__}: {problem}")


def _resident() -> int:
    """Memory of this process, in bytes; zero where that cannot be read."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def fuzz(seed: int, seconds: float) -> Fuzzing:
    """Throw everything for some time; what came of it."""
    with tempfile.TemporaryDirectory() as directory:
        fuzzing = Fuzzing(seed, Path(directory))
        asyncio.run(fuzzing.run(seconds))
    return fuzzing


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m sapwood.testing.fuzzing")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--seed", type=int, default=1, help="what is thrown follows from it")
    asked = parser.parse_args(arguments)
    fuzzing = fuzz(asked.seed, asked.seconds)
    thrown = ", ".join(f"{count} {what}" for what, count in sorted(fuzzing.thrown.items()))
    lines = [thrown, *dict.fromkeys(fuzzing.problems), f"{len(fuzzing.problems)} problems"]
    sys.stdout.write("\n".join([*lines, ""]))
    return 1 if fuzzing.problems else 0


if __name__ == "__main__":
    sys.exit(main())
