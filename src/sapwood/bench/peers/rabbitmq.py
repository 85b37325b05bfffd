"""RabbitMQ, spoken to in AMQP 0-9-1, with a headers exchange and one queue in memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from sapwood.bench.network_load import Interest, Message
from sapwood.bench.peers.peer import Client, Network, Peer
from sapwood.bench.peers.server import HOST, Cores, Server, find_program, free_port
from sapwood.errors import BenchmarkError

_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""Behind the one in the path, which insists on a certain user and on the system's folders."""

_METHOD, _HEADER, _BODY = 1, 2, 3
_FRAME = struct.Struct(">BHI")
_FRAME_END = b"\xce"
_FRAME_OVERHEAD = _FRAME.size + 1
_BASIC = 60
_DELIVER = (60, 60)
_HEADERS_PRESENT = 0x2000
_EXCHANGE = "quotes"
_CONSUMER = "c"
_NOWAIT = 1
_NO_ACK_BITS = 0b0010
_EXCLUSIVE_QUEUE_BITS = 0b0100


class AmqpClient(Client):
    """A connection in AMQP with one channel."""

    def greet(self) -> None:
        """Connection and channel."""
        self.say(b"AMQP\x00\x00\x09\x01")
        self._expect(10, 10)
        login = _table({}) + _short("PLAIN") + _long("\0guest\0guest") + _short("en_US")
        self.say(_method(0, 10, 11, login))
        tune = self._expect(10, 30)
        self.say(_method(0, 10, 31, tune[:6] + struct.pack(">H", 0)))
        self.say(_method(0, 10, 40, _short("/") + _short("") + b"\0"))
        self._expect(10, 41)
        self.say(_method(1, 20, 10, _short("")))
        self._expect(20, 11)
        declare = b"\0\0" + _short(_EXCHANGE) + _short("headers") + b"\0" + _table({})
        self.say(_method(1, 40, 10, declare))
        self._expect(40, 11)

    def subscribe(self, interests: Sequence[Interest]) -> None:
        """One queue, bound once for each interest."""
        exclusive = bytes((_EXCLUSIVE_QUEUE_BITS,))
        self.say(_method(1, 50, 10, b"\0\0" + _short("") + exclusive + _table({})))
        declared = self._expect(50, 11)
        queue = declared[1 : 1 + declared[0]].decode()
        for number, interest in enumerate(interests, start=1):
            is_last = number == len(interests)
            self.say(_method(1, 50, 20, _binding(queue, interest, nowait=not is_last)))
        self._expect(50, 21)
        consume = b"\0\0" + _short(queue) + _short(_CONSUMER) + bytes((_NO_ACK_BITS,)) + _table({})
        self.say(_method(1, 60, 20, consume))
        self._expect(60, 21)

    def _expect(self, class_id: int, method_id: int) -> bytes:
        """The arguments of the method that has to come now."""
        kind, _, size = _FRAME.unpack(self.hear(_FRAME.size))
        body = self.hear(size + 1)[:-1]
        if kind != _METHOD or struct.unpack_from(">HH", body) != (class_id, method_id):
            raise BenchmarkError(f"RabbitMQ says {body.decode(errors='replace')[:200]!r}")
        return body[4:]

    def encode(self, message: Message) -> bytes:
        """A method, a header and a body."""
        publish = b"\0\0" + _short(_EXCHANGE) + _short("") + b"\0"
        return _method(1, _BASIC, 40, publish) + _content(message)

    def delivery_bytes(self, message: Message) -> int:
        """A method, a header and a body."""
        deliver = _short(_CONSUMER) + bytes(9) + _short(_EXCHANGE) + _short("")
        return len(_method(1, *_DELIVER, deliver) + _content(message))

    def read(self, data: bytes) -> tuple[list[bytes], int]:
        """The bodies; each message is small enough for one."""
        payloads: list[bytes] = []
        at = whole = 0
        while at + _FRAME_OVERHEAD <= len(data):
            kind, _, size = _FRAME.unpack_from(data, at)
            begin = at + _FRAME.size
            at = begin + size + 1
            if at > len(data):
                break
            if kind == _METHOD and struct.unpack_from(">HH", data, begin) != _DELIVER:
                raise BenchmarkError(f"RabbitMQ says {data[begin : at - 1]!r}")
            if kind == _BODY:
                payloads.append(data[begin : at - 1])
                whole = at
        return payloads, whole


def _binding(queue: str, interest: Interest, *, nowait: bool) -> bytes:
    arguments = _table({"x-match": "all", **interest.headers})
    names = _short(queue) + _short(_EXCHANGE) + _short("")
    return b"\0\0" + names + bytes((_NOWAIT if nowait else 0,)) + arguments


def _content(message: Message) -> bytes:
    """Header and body of a message; not to be stored."""
    properties = struct.pack(">HHQH", _BASIC, 0, len(message.payload), _HEADERS_PRESENT)
    return _frame(_HEADER, 1, properties + _table(message.headers)) + _frame(
        _BODY, 1, message.payload
    )


def _short(text: str) -> bytes:
    data = text.encode()
    return bytes((len(data),)) + data


def _long(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">I", len(data)) + data


def _table(entries: dict[str, str]) -> bytes:
    data = b"".join(_short(name) + b"S" + _long(value) for name, value in entries.items())
    return struct.pack(">I", len(data)) + data


def _frame(kind: int, channel: int, body: bytes) -> bytes:
    return _FRAME.pack(kind, channel, len(body)) + body + _FRAME_END


def _method(channel: int, class_id: int, method_id: int, arguments: bytes) -> bytes:
    return _frame(_METHOD, channel, struct.pack(">HH", class_id, method_id) + arguments)


class RabbitMQ(Peer):
    """RabbitMQ, with the daemon that Erlang needs beside it."""

    name = "RabbitMQ"

    def missing(self) -> str:
        """The script and Erlang's daemon."""
        if _SCRIPT.exists() and find_program("epmd"):
            return ""
        return "RabbitMQ (Debian package rabbitmq-server)"

    def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
        """One broker in folders of its own."""
        if brokers != 1:
            raise BenchmarkError("chains of RabbitMQ are not measured")
        daemon = find_program("epmd")
        assert daemon is not None
        folder = directory / "rabbitmq"
        folder.mkdir(parents=True)
        daemon_port, port = free_port(), free_port()
        names = Server(
            [daemon, "-port", str(daemon_port), "-address", HOST], directory / "epmd", cores.broker
        )
        network.servers.append(names)
        names.wait_for_port(daemon_port)
        environment = _environment(folder, port, daemon_port)
        network.servers.append(Server([str(_SCRIPT)], folder, cores.broker, environment))
        network.servers[-1].wait_for_port(port)
        network.first_port = network.last_port = port

    def connect(self, port: int, name: str) -> Client:
        """A client."""
        return AmqpClient(port, name)


def _environment(folder: Path, port: int, daemon_port: int) -> dict[str, str]:
    plugins, configuration = folder / "plugins", folder / "rabbitmq.conf"
    plugins.write_text("[].\n")
    configuration.write_text("heartbeat = 0\n")
    return {
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(daemon_port),
        "RABBITMQ_NODENAME": f"bench{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": HOST,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(folder / "database"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_CONFIG_FILE": str(configuration),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
