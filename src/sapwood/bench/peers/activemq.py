"""ActiveMQ, spoken to in STOMP 1.2, with selectors; messages are not stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sapwood.bench.network_load import Interest, Message
from sapwood.bench.peers.peer import Client, Network, Peer
from sapwood.bench.peers.server import HOST, Cores, Server, find_program, free_port
from sapwood.errors import BenchmarkError

_HOME = Path("/usr/share/activemq")
_JAR = _HOME / "bin" / "activemq.jar"
_TOPIC = "/topic/quotes"
_END = b"\x00"


class StompClient(Client):
    """A connection in STOMP."""

    delimiter = _END

    def greet(self) -> None:
        """CONNECT, CONNECTED."""
        self.say(_frame("CONNECT", ["accept-version:1.2", "host:localhost", "heart-beat:0,0"]))
        self._expect(b"CONNECTED")

    def subscribe(self, interests: Sequence[Interest]) -> None:
        """SUBSCRIBE with a selector; the last one asks for a receipt.

        Headers are texts; ActiveMQ takes them for numbers where selectors compare numbers.
        """
        frames = []
        for number, interest in enumerate(interests):
            headers = [
                f"id:{number}",
                f"destination:{_TOPIC}",
                "ack:auto",
                f"selector:{interest.filter}",
            ]
            if number == len(interests) - 1:
                headers.append("receipt:subscribed")
            frames.append(_frame("SUBSCRIBE", headers))
        self.say(b"".join(frames))
        self._expect(b"RECEIPT")

    def _expect(self, command: bytes) -> None:
        answer = self.hear_until(_END).strip()
        if not answer.startswith(command):
            said = answer.decode(errors="replace").splitlines()
            raise BenchmarkError(f"ActiveMQ says {' / '.join(said[:3])}")

    def encode(self, message: Message) -> bytes:
        """SEND; attributes are headers."""
        headers = [f"{name}:{value}" for name, value in message.attributes.items()]
        body = message.payload.decode()
        return _frame("SEND", [f"destination:{_TOPIC}", *headers], body)

    def delivery_bytes(self, message: Message) -> int:
        """Not told: a MESSAGE has numbers that grow. They are counted by their ends."""
        return 0

    def read(self, data: bytes) -> tuple[list[bytes], int]:
        """The payloads of MESSAGE frames."""
        payloads: list[bytes] = []
        at = 0
        while (end := data.find(_END, at)) >= 0:
            head, _, payload = data[at:end].lstrip(b"\n").partition(b"\n\n")
            if not head.startswith(b"MESSAGE"):
                raise BenchmarkError(f"ActiveMQ says {head.decode(errors='replace')[:200]}")
            payloads.append(payload)
            at = end + 1
        return payloads, at


def _frame(command: str, headers: list[str], body: str = "") -> bytes:
    return ("\n".join([command, *headers]) + f"\n\n{body}\x00").encode()


class ActiveMQ(Peer):
    """Apache ActiveMQ Classic."""

    name = "ActiveMQ"

    def missing(self) -> str:
        """The library and Java."""
        if _JAR.exists() and find_program("java"):
            return ""
        return "ActiveMQ (Debian package activemq)"

    def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
        """One broker that stores nothing."""
        if brokers != 1:
            raise BenchmarkError("chains of ActiveMQ are not measured")
        java = find_program("java")
        assert java is not None
        port = network.first_port = network.last_port = free_port()
        folder = directory / "activemq"
        command = [
            java,
            "-Xmx1g",
            f"-Dactivemq.home={_HOME}",
            f"-Dactivemq.base={folder}",
            f"-Dactivemq.data={folder / 'data'}",
            "-jar",
            str(_JAR),
            "start",
            f"broker:(stomp+nio://{HOST}:{port})?persistent=false&useJmx=false",
        ]
        network.servers.append(Server(command, folder, cores.broker))
        network.servers[-1].wait_for_port(port)

    def connect(self, port: int, name: str) -> Client:
        """A client."""
        return StompClient(port, name)
