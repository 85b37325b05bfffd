"""Frames: how messages lie one behind the other in a stream of bytes.

A frame is a type, two lengths, a head and a body::

    type      1 byte    what it is, and flags that every broker on the way has to see
    body      4 bytes   length of the body
    head      2 bytes   length of the head
    head …    of a notification: its publisher and attributes
    body …    of a notification: sequence, time, expiry, flags, payload; else the whole message

The lengths cannot contradict each other: a frame ends where they say. A broker decides where a
notification goes from the raw bytes of its head, which repeat; it forwards the frame as it came.
What changes from link to link has its place in the type: the colour of a notification during a
reconfiguration, and that it can expire, so that nobody looks for an expiry where there is none.
Numbers are little-endian. A head is a msgpack array of the publisher and a map of the attributes,
sorted by name; a later release may append to the array, and this one ignores what is behind.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from sapwood.errors import FrameError, InvalidNotificationError
from sapwood.filters.limits import DEFAULT_LIMITS
from sapwood.filters.values import INTEGER_MAX, INTEGER_MIN, Value, check_name
from sapwood.wire.markers import ARRAY_32

HEADER = struct.Struct("<BIH")
HEADER_SIZE = HEADER.size

CONTROL = 0x01
NOTIFICATION = 0x02
LINK = 0x03
"""Between the two ends of one connection: never counted, never passed on."""
GRAY = 0x10
"""Flag of a notification: its colour, during a reconfiguration of the tree."""
EXPIRES = 0x20
"""Flag of a notification: it has an expiry."""

NOTIFICATION_TYPES = frozenset(
    NOTIFICATION | gray | expires for gray in (0, GRAY) for expires in (0, EXPIRES)
)
KNOWN_TYPES = NOTIFICATION_TYPES | {CONTROL, LINK}

BODY_BYTES_MAX = 16 * 1024 * 1024
"""Longest body that is sent or taken: 16 MiB."""

HEAD_BYTES_MAX = 0xFFFF
"""Longest head there can be."""

SEQUENCE_MAX = 2**64 - 1

_ENVELOPE = struct.Struct("<QddB")
ENVELOPE_SIZE = _ENVELOPE.size
"""What the body of a notification has before its payload."""


_Name = Annotated[str, Meta(min_length=1, max_length=DEFAULT_LIMITS.attribute_name_chars_max)]
_Integer = Annotated[int, Meta(ge=INTEGER_MIN, le=INTEGER_MAX)]
_Float = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
_Attributes = Annotated[
    dict[_Name, bool | _Integer | _Float | str], Meta(max_length=DEFAULT_LIMITS.attributes_max)
]


class _Head(msgspec.Struct, array_like=True, frozen=True):
    """An array: what a later release appends is ignored.

    The bounds are those of `sapwood.filters.values`, checked while decoding: that costs a third
    of checking afterwards. No text can be too long in a head.
    """

    publisher: str
    attributes: _Attributes


_encoder = msgspec.msgpack.Encoder(order="sorted")
_head_decoder = msgspec.msgpack.Decoder(_Head)
_attributes_decoder = msgspec.msgpack.Decoder(list[_Attributes | bytes])


class Envelope(NamedTuple):
    """What the body of a notification holds."""

    sequence: int
    published_at: float
    expires_at: float
    """Zero if it does not expire."""
    flags: int
    payload: bytes


def frame(kind: int, head: bytes, body: bytes) -> bytes:
    """One frame."""
    if len(body) > BODY_BYTES_MAX:
        raise FrameError(f"a body of {len(body)} bytes; at most {BODY_BYTES_MAX} are sent")
    if len(head) > HEAD_BYTES_MAX:
        raise FrameError(f"a head of {len(head)} bytes; at most {HEAD_BYTES_MAX} fit")
    return HEADER.pack(kind, len(body), len(head)) + head + body


def encode_head(publisher: str, attributes: Mapping[str, Value]) -> bytes:
    """The head of a notification; equal attributes give equal bytes, in whatever order they come.

    The attributes are expected to be checked already, as those of a `Notification` are.
    """
    try:
        head = _encoder.encode((publisher, dict(attributes)))
    except (TypeError, OverflowError, UnicodeEncodeError) as problem:
        raise FrameError(f"publisher and attributes cannot be encoded: {problem}") from None
    if len(head) > HEAD_BYTES_MAX:
        raise FrameError(
            f"publisher and attributes take {len(head)} bytes; at most {HEAD_BYTES_MAX} fit "
            "(larger data belongs into the payload)"
        )
    return head


def encode_notification(
    head: bytes, sequence: int, published_at: float, payload: bytes = b"", expires_at: float = 0.0
) -> bytes:
    """The frame of a notification. An expiry of zero means that it does not expire."""
    if not 0 <= sequence <= SEQUENCE_MAX:
        raise FrameError(f"the sequence {sequence} is not within 0 and {SEQUENCE_MAX}")
    if not (isfinite(published_at) and isfinite(expires_at)):
        raise FrameError(f"published at {published_at}, expires at {expires_at}: not a time")
    kind = NOTIFICATION | EXPIRES if expires_at else NOTIFICATION
    return frame(kind, head, _ENVELOPE.pack(sequence, published_at, expires_at, 0) + payload)


def decode_head(head: bytes) -> tuple[str, dict[str, Value]]:
    """Publisher and attributes of a notification; only what a notification may have."""
    try:
        decoded = _head_decoder.decode(head)
        for name in decoded.attributes:
            if not name.isidentifier():  # identifiers, the usual case, hold nothing unfit
                check_name(name)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise FrameError(f"the head of a notification does not decode: {problem}") from None
    except InvalidNotificationError as problem:
        raise FrameError(f"the head of a notification: {problem}") from None
    return decoded.publisher, decoded.attributes


def decode_attributes(maps: Sequence[bytes], separator: bytes) -> list[dict[str, Value]]:
    """The attributes of many notifications at once; a FrameError if those of one are not fit.

    Each is what a head has behind its publisher. They are read in one go, and one that is not whole
    could take the beginning of the next for its own end. Therefore a separator comes behind each:
    some bytes that whoever has made the maps cannot know.
    """
    between = _encoder.encode(separator)
    parts = [bytes([ARRAY_32]), (2 * len(maps)).to_bytes(4, "big")]
    for one in maps:
        parts += (one, between)
    try:
        decoded = _attributes_decoder.decode(b"".join(parts))
        attributes: list[Any] = decoded[::2]
        if set(map(type, attributes)) - {dict} or decoded[1::2].count(separator) != len(maps):
            raise FrameError("attributes do not end where they should")
        for name in set().union(*attributes):
            check_name(name)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise FrameError(f"attributes do not decode: {problem}") from None
    except InvalidNotificationError as problem:
        raise FrameError(f"attributes: {problem}") from None
    return attributes


def decode_envelope(body: bytes) -> Envelope:
    """What the body of a notification holds."""
    if len(body) < ENVELOPE_SIZE:
        raise FrameError(
            f"the body of a notification has {len(body)} bytes; it has at least {ENVELOPE_SIZE}"
        )
    sequence, published_at, expires_at, flags = _ENVELOPE.unpack_from(body)
    if not (isfinite(published_at) and isfinite(expires_at)):
        raise FrameError(f"published at {published_at}, expires at {expires_at}: not a time")
    return Envelope(sequence, published_at, expires_at, flags, body[ENVELOPE_SIZE:])


def published_at(data: bytes, body_at: int) -> float | None:
    """When a notification was published whose body begins at a place; None if that is no time."""
    try:
        said: float = _ENVELOPE.unpack_from(data, body_at)[1]
    except struct.error:
        return None
    return said if isfinite(said) else None


def expiry_of(data: bytes, body_at: int) -> float:
    """The expiry in the body that begins at a place, in frames that ``scan`` accepts."""
    try:
        expires_at: float = _ENVELOPE.unpack_from(data, body_at)[2]
    except struct.error:
        raise FrameError(f"the data ends before the expiry at byte {body_at}") from None
    return expires_at


def walk(data: bytes, at: int = 0) -> Iterator[tuple[int, int, int, int, int]]:
    """The whole frames from a place on: type, and where frame, head and body begin and it ends.

    What comes behind the last of them is cut off.
    """
    size = len(data)
    while at + HEADER_SIZE <= size:
        kind, body, head = HEADER.unpack_from(data, at)
        head_at = at + HEADER_SIZE
        body_at = head_at + head
        end = body_at + body
        if end > size:
            return
        yield kind, at, head_at, body_at, end
        at = end


def split(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The frames of a run of whole ones: type, head, body."""
    at = 0
    for kind, _, head_at, body_at, at in walk(data):
        yield kind, data[head_at:body_at], data[body_at:at]
    if at < len(data):
        raise FrameError(
            f"a frame is cut off: it begins at byte {at}, the data ends at {len(data)}"
        )
