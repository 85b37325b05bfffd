"""Random reads for the router: repeating and unusual heads, control frames, and what is wrong."""

from __future__ import annotations

import math
import struct
from random import Random

import msgspec

from sapwood.filters.values import INTEGER_MAX, INTEGER_MIN, Value
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.events import ClientUp, ControlReceived, LinkUp
from sapwood.protocol.messages import CODEC, Subscribe, Unsubscribe
from sapwood.wire.frames import (
    EXPIRES,
    GRAY,
    LINK,
    NOTIFICATION,
    encode_head,
    encode_notification,
    frame,
)

SOURCES = ["N", "M", "F", "c.1", "d.1", "stranger"]
PUBLISHERS = ["c.1", "d.1", "p.1", "q" * 40, "ü.1"]
NAMES = ["a", "b", "class", "größe", "x", "y"]
VALUES: list[Value] = [
    *[0, 1, 2, -1, -33, 127, 128, 255, 256, 65_535, 65_536, 2**32, -(2**31), -(2**31) - 1],
    *[INTEGER_MAX, INTEGER_MIN, 2**53, 2**53 + 1, 0.0, -0.0, 0.5, 1.0, 2.0**53, 1e300],
    *[True, False],
    *["", "a", "abc", "ab" * 20, "x" * 300, "ä", "\n"],
]
FILTERS = [
    *["x = 1", "x = 2", "x > 0", "x < 0.5", "x = 1 and a = 'abc'", "a = 'abc'", "a prefix 'a'"],
    *["b = true", "b is not null", "class in (1, 2, 'abc')", "a <> 'ä'", "x between 0 and 300"],
    *["y is null", "true", "a = ''", "größe > 0", "x = 9007199254740993", "a like '%b%'"],
]


def new_broker(**config: object) -> Broker:
    """Neighbours N, M and F, which gets everything; clients c and d, and more that only listen."""
    broker = Broker(BrokerConfig(id="B", **config))  # type: ignore[arg-type]
    for name in ("N", "M"):
        broker.handle(LinkUp(name), 0.0)
    broker.handle(LinkUp("F", receives="flooding"), 0.0)
    for name in ("c.1", "d.1", *listeners(20)):
        broker.handle(ClientUp(name), 0.0)
    reader = broker._reader  # publishers come from all sides here, and nobody is to wonder
    reader._admission = reader._admission._replace(crossed=lambda: None)
    return broker


def listeners(count: int) -> list[str]:
    return [f"l{number}.1" for number in range(count)]


def subscribe(random: Random, source: str) -> ControlReceived:
    return ControlReceived(source, Subscribe(str(random.randrange(3)), random.choice(FILTERS)))


def attributes(random: Random) -> dict[str, Value]:
    names = random.sample(NAMES, random.randint(0, 3))
    return {name: random.choice(VALUES) for name in names}


def packed(value: object) -> bytes:
    return msgspec.msgpack.encode(value)


ODD_ATTRIBUTES = {
    "names not in order": b"\x82\xa1x\x01\xa1a\xa3abc",
    "a name twice": b"\x82\xa1x\x01\xa1x\x02",
    "too short": b"\x81\xa1x",
    "shorter": b"\x81\xa1",
    "too long": b"\x81\xa1x\x01\xc0",
    "no map": b"\x91\x01",
    "too many": b"\xde\x04\x01\xa1x\x01",
    "an empty name": b"\x81\xa0\x01",
    "a name that is none": b"\x81\xa1\x01\x01",
    "a name that is no text": b"\x81\x01\x01",
    "a name beyond ASCII": b"\x81\xa2\xc3\xbc\x01",
    "a short float": b"\x81\xa1x\xca\x3f\x80\x00\x00",
    "no number": b"\x81\xa1x\xcb" + struct.pack(">d", math.nan),
    "infinite": b"\x81\xa1x\xcb" + struct.pack(">d", math.inf),
    "half a float": b"\x81\xa1x\xcb\x00\x00",
    "too large": b"\x81\xa1x\xcf" + b"\xff" * 8,
    "half an integer": b"\x81\xa1x\xcf" + b"\xff" * 4,
    "nothing": b"\x81\xa1x\xc0",
    "a list": b"\x81\xa1x\x91\x01",
    "bytes": b"\x81\xa1x\xc4\x01\x01",
    "no UTF-8": b"\x81\xa1x\xa1\xff",
    "a text beyond ASCII": b"\x81\xa1x\xa2\xc3\xbc",
    "half a text": b"\x81\xa1x\xa5ab",
    "half a long text": b"\x81\xa1x\xda\x00",
    "a very long form": b"\x81\xa1x\xdb\x00\x00\x00\x01a",
}
"""What compiled code leaves to the decoder: some of it is right, most is not."""

PLAIN_ATTRIBUTES: dict[str, tuple[bytes, dict[str, Value]]] = {
    "a map of a longer form": (b"\xde\x00\x01\xa1x\x01", {"x": 1}),
    "an integer of a longer form": (b"\x81\xa1x\xd3" + b"\xff" * 8, {"x": -1}),
    "small integers": (b"\x82\xa1x\xd0\x80\xa1y\xcc\xff", {"x": -128, "y": 255}),
    "integers": (b"\x82\xa1x\xd1\x80\x00\xa1y\xcd\xff\xfe", {"x": -32768, "y": 65534}),
    "a text of a longer form": (b"\x81\xa1x\xd9\x01a", {"x": "a"}),
    "a text of the longest form": (b"\x81\xa1x\xda\x00\x01a", {"x": "a"}),
    "a name of a longer form": (b"\x81\xd9\x01x\x01", {"x": 1}),
}


def odd_head(random: Random) -> bytes:
    """A head of a form that no encoder of ours writes, right or wrong."""
    publisher = packed(random.choice(PUBLISHERS))
    rest = random.choice([*ODD_ATTRIBUTES.values(), *(one for one, _ in PLAIN_ATTRIBUTES.values())])
    return random.choice(
        [
            b"\x92" + publisher + rest,
            b"\x93" + publisher + rest + b"\x01",
            b"\x92\xda\x00\x03p.1" + rest,
            random.randbytes(random.randint(0, 12)),
        ]
    )


def any_frame(random: Random, heads: list[bytes]) -> bytes:
    """Mostly notifications, mostly of heads that come again."""
    choice = random.random()
    if choice < 0.75:
        head = random.choice(heads)
        expires = random.choice([0.0, 0.0, 0.0, 0.5, 2.0])
        return encode_notification(head, random.randrange(9), 0.0, b"payload", expires)
    if choice < 0.85:
        kind = NOTIFICATION | random.choice([0, GRAY]) | random.choice([0, EXPIRES])
        return frame(kind, odd_head(random), random.randbytes(random.choice([25, 30, 3])))
    if choice < 0.95:
        number = str(random.randrange(3))
        if random.random() < 0.5:
            return CODEC.encode(Unsubscribe(number))
        return CODEC.encode(Subscribe(number, random.choice(FILTERS)))
    kind = random.choice([LINK, 0x00, 0x7F, 0x82])
    return frame(kind, random.randbytes(4), random.randbytes(30))


def any_read(random: Random) -> bytes:
    heads = [
        encode_head(random.choice(PUBLISHERS), attributes(random))
        for _ in range(random.randint(1, 12))
    ]
    data = b"".join(any_frame(random, heads) for _ in range(random.randint(2, 60)))
    return data[: -random.randint(1, 9)] if random.random() < 0.1 else data
