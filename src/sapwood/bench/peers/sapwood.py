"""Sapwood itself, spoken to over raw sockets like all others, with acknowledgements and credit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from sapwood.bench.network_load import Interest, Message
from sapwood.bench.network_outcome import BEFORE, OWN, TRACED
from sapwood.bench.peers.peer import Client, Network, Peer
from sapwood.bench.peers.server import HOST, Cores, Server, free_port
from sapwood.errors import BenchmarkError
from sapwood.protocol.link.channel import ACK_FRAMES
from sapwood.protocol.link.handshake import (
    CLIENT,
    LEAVING,
    LINK_CODEC,
    Ack,
    Goodbye,
    Hello,
    LinkMessage,
    Welcome,
)
from sapwood.protocol.messages import CODEC, Refused, Settled, Subscribe
from sapwood.wire.frames import (
    CONTROL,
    ENVELOPE_SIZE,
    HEADER,
    HEADER_SIZE,
    LINK,
    encode_head,
    encode_notification,
    split,
)
from sapwood.wire.scan import scan

_UNLIMITED = 1 << 50
"""Credit that lasts for a benchmark: the driver takes whatever comes."""

_REQUEST = 1
_SESSION = 1
_CONFIGURATION = "[client]\nsilence_seconds = 3600.0\nbuffer_bytes = 67108864\n"
"""As for all brokers: a client that has its turn later may say nothing meanwhile, and nothing is
dropped because a queue is short."""


class SapwoodClient(Client):
    """A connection in Sapwood's protocol, version 1."""

    def greet(self) -> None:
        """Hello, Welcome."""
        self.session = f"{self.name}.{_SESSION}"
        self._sequence = 0
        self._credit = self._spent = 0
        self._received = 0
        """Counted frames that came before this round."""
        self._acknowledged = 0
        self._said = b""
        hello = Hello(
            role=CLIENT, network="sapwood", id=self.name, session=_SESSION, credit=_UNLIMITED
        )
        self.say(LINK_CODEC.encode(hello))
        kind, body = self._hear_frame()
        answer = LINK_CODEC.decode(body)
        if kind != LINK or not isinstance(answer, Welcome):
            raise BenchmarkError(f"Sapwood answers a hello with {answer}")
        self._credit = answer.credit

    def close(self) -> None:
        """Say goodbye first: else the broker would keep everything for a return."""
        self.say(LINK_CODEC.encode(Goodbye(LEAVING)))
        super().close()

    def subscribe(self, interests: Sequence[Interest]) -> None:
        """Subscribe; the last one asks to be told when it has settled."""
        for number, interest in enumerate(interests, start=1):
            request = _REQUEST if number == len(interests) else 0
            self.say(CODEC.encode(Subscribe(str(number), interest.filter, request)))
        while True:
            kind, body = self._hear_frame()
            if kind == LINK:
                self._heed(LINK_CODEC.decode(body))
                continue
            self._received += 1
            answer = CODEC.decode(body)
            if not isinstance(answer, Settled) or not answer.settled:
                raise BenchmarkError(f"Sapwood answers a subscription with {answer}")
            return

    def _hear_frame(self) -> tuple[int, bytes]:
        kind, body, head = HEADER.unpack(self.hear(HEADER_SIZE))
        return kind, self.hear(head + body)[head:]

    def _heed(self, message: LinkMessage) -> None:
        if isinstance(message, Ack):
            self._credit = max(self._credit, message.credit)
        elif isinstance(message, Goodbye):
            raise BenchmarkError(f"Sapwood says goodbye: {message.reason or message.code}")

    def encode(self, message: Message) -> bytes:
        """A notification."""
        self._sequence += 1
        head = encode_head(self.session, message.attributes)
        return encode_notification(head, self._sequence, 0.0, message.payload)

    def delivery_bytes(self, message: Message) -> int:
        """As published, by a publisher whose name is as long."""
        head = encode_head(self.session.replace("subscriber", "publisher"), message.attributes)
        return len(encode_notification(head, 1, 0.0, message.payload))

    def read(self, data: bytes) -> tuple[list[bytes], int]:
        """The payloads of notifications; what else there is only concerns the connection."""
        end = scan(data).end
        payloads: list[bytes] = []
        for kind, _, body in split(data[:end]):
            if kind == LINK:
                self._heed(LINK_CODEC.decode(body))
            elif kind == CONTROL:
                raise BenchmarkError(f"Sapwood says {CODEC.decode(body)}")
            else:
                payloads.append(body[ENVELOPE_SIZE:])
        return payloads, end

    # Acknowledgements and credit

    def arrived(self, messages: int) -> None:
        """Acknowledge as often as any client does, and not the last frame.

        Lengths do not tell it from frames of the connection.
        """
        if self._received + messages - self._acknowledged > ACK_FRAMES:
            self._acknowledge(self._received + messages - 1)

    def finish(self, data: bytes) -> None:
        """Acknowledge all of a round."""
        super().finish(data)
        self._received += scan(data).frames
        self._acknowledge(self._received)

    def _acknowledge(self, frames: int) -> None:
        self._acknowledged = frames
        self.socket.send(LINK_CODEC.encode(Ack(frames, _UNLIMITED)))

    def sendable(self) -> int:
        """The credit that is left."""
        return self._credit - self._spent

    def sent(self, size: int) -> None:
        """Credit is spent."""
        self._spent += size

    def told(self, data: bytes) -> None:
        """Take more credit."""
        data = self._said + data
        end = scan(data).end
        self._said = data[end:]
        for kind, _, body in split(data[:end]):
            if kind == LINK:
                self._heed(LINK_CODEC.decode(body))
            else:
                answer = CODEC.decode(body)
                if isinstance(answer, Refused):
                    raise BenchmarkError(f"Sapwood refuses a notification: {answer.reason}")


class Sapwood(Peer):
    """Brokers as a user starts them; of another release if its sources are given."""

    def __init__(self, *, traced: bool = False, sources: str = "") -> None:
        self.name = BEFORE if sources else TRACED if traced else OWN
        self._traced = traced
        self._environment = {"PYTHONPATH": sources} if sources else {}

    def missing(self) -> str:
        """Nothing, except for a trace."""
        if self._traced and find_spec("pyarrow") is None:
            return "pyarrow, for traces (sapwood[trace])"
        return ""

    def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
        """Each broker joins the one before."""
        for number in range(1, brokers + 1):
            folder = directory / f"sapwood{number}"
            folder.mkdir(parents=True)
            configuration = folder / "broker.toml"
            configuration.write_text(_CONFIGURATION)
            port = free_port()
            command = [sys.executable, "-m", "sapwood", "broker", "--id", f"B{number}"]
            command += ["--listen", f"{HOST}:{port}", "--config", str(configuration)]
            if network.last_port:
                command += ["--join", f"sapwood://{HOST}:{network.last_port}"]
            if self._traced:
                command += ["--trace", str(folder / "trace")]
            network.servers.append(Server(command, folder, cores.broker, self._environment))
            network.servers[-1].wait_for_port(port)
            network.first_port = network.first_port or port
            network.last_port = port

    def connect(self, port: int, name: str) -> Client:
        """A client."""
        return SapwoodClient(port, name)
