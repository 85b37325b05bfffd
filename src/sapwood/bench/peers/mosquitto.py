"""Mosquitto, spoken to in MQTT 3.1.1 at quality of service 0; chains are made of bridges."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

from sapwood.bench.network_load import Interest, Message
from sapwood.bench.peers.peer import Client, Network, Peer
from sapwood.bench.peers.server import HOST, Cores, Server, find_program, free_port
from sapwood.errors import BenchmarkError

_CONNECT, _SUBSCRIBE, _PUBLISH = 0x10, 0x82, 0x30
_CLEAN_SESSION = 0x02
_PROTOCOL_LEVEL = 4
_SUBACK_HEAD = 4
_MORE = 0x80


class MqttClient(Client):
    """A connection in MQTT."""

    def greet(self) -> None:
        """CONNECT, CONNACK."""
        variable = _text("MQTT") + struct.pack(">BBH", _PROTOCOL_LEVEL, _CLEAN_SESSION, 0)
        self.say(_packet(_CONNECT, variable + _text(self.name)))
        answer = self.hear(4)
        if answer[3] != 0:
            raise BenchmarkError(f"mosquitto refuses the connection with code {answer[3]}")

    def subscribe(self, interests: Sequence[Interest]) -> None:
        """SUBSCRIBE, SUBACK."""
        for number, interest in enumerate(interests, start=1):
            body = struct.pack(">H", number % 0xFFFF + 1) + _text(interest.topic) + b"\x00"
            self.say(_packet(_SUBSCRIBE, body))
            if self.hear(_SUBACK_HEAD + 1)[-1] == 0x80:
                raise BenchmarkError(f"mosquitto refuses to subscribe to {interest.topic}")

    def encode(self, message: Message) -> bytes:
        """PUBLISH."""
        return _packet(_PUBLISH, _text(message.topic) + message.payload)

    def delivery_bytes(self, message: Message) -> int:
        """As published."""
        return len(self.encode(message))

    def read(self, data: bytes) -> tuple[list[bytes], int]:
        """The payloads of PUBLISH packets; there are no others."""
        payloads: list[bytes] = []
        at, end = 0, len(data)
        while at + 2 <= end:
            length, begin = data[at + 1], at + 2
            if length & _MORE:
                if begin >= end:
                    break
                length, begin = (length & 0x7F) | data[begin] << 7, begin + 1
            if begin + length > end:
                break
            if data[at] != _PUBLISH:
                raise BenchmarkError(f"mosquitto sent a packet of type {data[at]:#x}")
            topic = data[begin] << 8 | data[begin + 1]
            at = begin + length
            payloads.append(data[begin + 2 + topic : at])
        return payloads, at


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def _packet(kind: int, body: bytes) -> bytes:
    """Lengths below 16,384 are all that is needed here."""
    length = len(body)
    if length < _MORE:
        return bytes((kind, length)) + body
    return bytes((kind, length & 0x7F | _MORE, length >> 7)) + body


class Mosquitto(Peer):
    """Eclipse Mosquitto; one process, one thread."""

    name = "mosquitto"

    def missing(self) -> str:
        """The program."""
        return "" if find_program("mosquitto") else "mosquitto (Debian package mosquitto)"

    def launch(self, network: Network, brokers: int, directory: Path, cores: Cores) -> None:
        """Each broker hands all on to the next."""
        program = find_program("mosquitto")
        assert program is not None
        ports = [free_port() for _ in range(brokers)]
        network.first_port, network.last_port = ports[0], ports[-1]
        for number in reversed(range(brokers)):
            folder = directory / f"mosquitto{number + 1}"
            folder.mkdir(parents=True)
            following = ports[number + 1] if number + 1 < brokers else None
            configuration = folder / "mosquitto.conf"
            configuration.write_text(_configuration(ports[number], following))
            server = Server([program, "-c", str(configuration)], folder, cores.broker)
            network.servers.append(server)
            server.wait_for_port(ports[number])

    def connect(self, port: int, name: str) -> Client:
        """A client."""
        return MqttClient(port, name)


def _configuration(port: int, following: int | None) -> str:
    """Nothing is stored, nothing logged, and no queue is so short that messages are dropped."""
    lines = [
        f"listener {port} {HOST}",
        "allow_anonymous true",
        "persistence false",
        "log_dest none",
        "sys_interval 0",
        "set_tcp_nodelay true",
        "max_queued_messages 0",
        "max_queued_bytes 0",
    ]
    if os.getuid() == 0:
        lines.append("user root")
    if following is not None:
        lines += [
            f"connection to{following}",
            f"address {HOST}:{following}",
            "topic # out 0",
            "notifications false",
            "restart_timeout 1",
        ]
    return "\n".join(lines) + "\n"
