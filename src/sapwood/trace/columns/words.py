"""Texts that rows of a trace repeat: each is kept once, and rows have its place."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from sapwood.compiled.table import ByteTable
from sapwood.errors import FrameError
from sapwood.wire.frames import decode_attributes, decode_head

_LEARNED_AT_ONCE: Final = 512
"""Decoding holds the interpreter, which others want, too."""

_NOBODY: Final = b"\x92\xa0"
"""The beginning of a head, up to its attributes, with an empty publisher."""

_TEXT_BYTES: Final = 100
"""About what a text takes in memory beside its characters."""

_encoder = msgspec.json.Encoder()


class Vocabulary:
    """Texts, each with its place."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}
        self.size = 0

    def place(self, text: str | None) -> int:
        """The place of a text; -1 for none."""
        if text is None:
            return -1
        place = self._places.get(text)
        if place is None:
            (place,) = self.extend([text])
            self._places[text] = place
        return place

    def extend(self, texts: Sequence[str]) -> range:
        """Give texts places of their own, even if they have one; those places."""
        first = len(self.texts)
        self.texts += texts
        self.size += len(texts) * _TEXT_BYTES + sum(map(len, texts))
        return range(first, len(self.texts))


class Publishers:
    """Places of the publishers that were found in frames, by their numbers."""

    def __init__(self, words: Vocabulary) -> None:
        self.found = ByteTable()
        self._words = words
        self._places = np.array([-1], np.int64)
        """Last that of no publisher, which has the number -1."""

    def places(self, numbers: Any) -> Any:
        """The places of publishers."""
        if len(self._places) <= self.found.count:
            # A publisher that is no text is nobody's: the broker has refused it.
            new = [
                self._words.place(piece.decode(errors="replace"))
                for piece in self.found.keys(len(self._places) - 1, self.found.count)
            ]
            self._places = np.concatenate([self._places[:-1], np.array([*new, -1], np.int64)])
        return self._places[numbers]


class Attributes:
    """Places of the attributes that were found in frames, by their numbers."""

    def __init__(self, words: Vocabulary) -> None:
        self.found = ByteTable()
        self._words = words
        self._places = np.array([-1], np.int64)
        """-1 for those that do not decode; last that of those that were not asked for."""

    def places(self, numbers: Any) -> Any:
        """The places of attributes."""
        if len(self._places) <= self.found.count:
            self._learn()
        return self._places[numbers]

    def _learn(self) -> None:
        """Look at those that were not seen before."""
        new: list[int] = []
        for start in range(len(self._places) - 1, self.found.count, _LEARNED_AT_ONCE):
            end = min(start + _LEARNED_AT_ONCE, self.found.count)
            texts = texts_of(self.found.keys(start, end))
            fit = [text for text in texts if text is not None]
            found = self._words.extend(fit)
            if len(fit) == len(texts):
                new += found
            else:
                rest = iter(found)
                new += [-1 if text is None else next(rest) for text in texts]
        self._places = np.concatenate([self._places[:-1], np.array([*new, -1], np.int64)])


def texts_of(attributes: Sequence[bytes]) -> list[str | None]:
    """Attributes as JSON, from msgpack maps; None for those that a broker refuses.

    All at once if they are all fit, which they nearly always are; else one by one.
    """
    try:
        decoded = decode_attributes(attributes, secrets.token_bytes(8))
    except FrameError:
        return [_as_json(one) for one in attributes]
    return [*_encoder.encode_lines(decoded).decode().split("\n")[:-1]]


def _as_json(attributes: bytes) -> str | None:
    """Attributes as JSON; None for those that a broker refuses."""
    try:
        return msgspec.json.encode(decode_head(_NOBODY + attributes)[1]).decode()
    except FrameError:
        return None
