"""Control messages as bytes: msgpack maps with a tag, in frames of their own.

Unknown fields are ignored and missing ones have defaults, so that a release understands the one
before it and the one after it. A message with an unknown tag is refused.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from sapwood.errors import FrameError
from sapwood.wire.frames import CONTROL, frame

Message = TypeVar("Message")


class ControlCodec(Generic[Message]):
    """Encodes and decodes one family of messages (a union of tagged structs)."""

    def __init__(self, family: Any, kind: int = CONTROL) -> None:
        self._kind = kind
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(family)

    def encode(self, message: Message) -> bytes:
        """The frame of a message."""
        try:
            body = self._encoder.encode(message)
        except (TypeError, OverflowError, UnicodeEncodeError) as problem:
            name = type(message).__name__
            raise FrameError(f"a control message {name} cannot be encoded: {problem}") from None
        return frame(self._kind, b"", body)

    def decode(self, body: bytes) -> Message:
        """The message in the body of a control frame."""
        try:
            return self._decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise FrameError(f"a control message does not decode: {problem}") from None
