"""Which notifications concern a broker, remembered and told in little room.

A broker remembers the last few thousand notifications in a ring (`Recent`) and tells others a
summary of it: a Bloom filter, as in the thesis (5.5.1, Algorithm 16 with the loop run k times, not
k + 1), or a sketch: all brokers take the same small share of all notifications, those whose hash is
small, and tell the hashes. How many notifications two brokers share is then an unbiased estimate,
where a Bloom filter counts what it believes by mistake as well.

What a broker has in common with others is found from its own ring and their summaries. Of several
others it is what is in all their summaries: for Bloom filters the same as in the AND of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sapwood.errors import BloomFormatError
from sapwood.filters.bloom import BloomFilter
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.wire.frames import NOTIFICATION_TYPES, decode_envelope, decode_head, split

Keys: TypeAlias = NDArray[Any]
"""What is remembered of notifications, one column each."""

GOLDEN: Final = 0x9E3779B97F4A7C15
MASK: Final = 2**64 - 1
SHIFT_MAX: Final = 60
"""A sketch takes one of 2^60 notifications at the least."""


class Members(NamedTuple):
    """Which of a broker's own notifications another one's summary holds."""

    held: NDArray[np.bool_]
    shift: int = 0
    """The summary was made of one in 2^shift notifications."""


def shared(*others: Members) -> float:
    """How many notifications a broker shares with all of the others (I_ij, I_ikj)."""
    held = others[0].held
    for other in others[1:]:
        held = held & other.held
    return float(np.count_nonzero(held)) * 2.0 ** max(other.shift for other in others)


class Summary(Protocol):
    """A way to summarise what a broker remembers."""

    def keys_of(self, data: bytes) -> Keys:
        """What is remembered of the notifications in a run of frames."""

    def encode(self, keys: Keys) -> bytes:
        """The summary of what is remembered."""

    def members(self, keys: Keys, encoded: bytes) -> Members:
        """Which of these notifications another summary holds; raises `BloomFormatError`."""


def summary_of(settings: HeuristicSettings) -> Summary:
    """The way that is set."""
    if settings.summary == "sketch":
        return SketchSummary(settings.sketch_size)
    return BloomSummary(settings.filter_bits, settings.hashes)


@lru_cache(4096)
def names_in(data: bytes) -> tuple[tuple[str, int], ...]:
    """Publisher and sequence of the notifications in a run of frames.

    Remembered, as many brokers of one process see the same run.
    """
    return tuple(
        (decode_head(head)[0], decode_envelope(body).sequence)
        for kind, head, body in split(data)
        if kind in NOTIFICATION_TYPES
    )


class BloomSummary:
    """Bloom filters of one shape."""

    def __init__(self, bits: int, hashes: int) -> None:
        self.bits, self.hashes = bits, hashes

    def keys_of(self, data: bytes) -> Keys:
        """The positions of each, one column a notification."""
        return _positions(data, self.bits, self.hashes)

    def encode(self, keys: Keys) -> bytes:
        """The bytes of the filter."""
        bits = np.zeros(self.bits, dtype=np.bool_)
        bits[keys.ravel()] = True
        packed = np.packbits(bits, bitorder="little").tobytes()
        return BloomFilter.from_bits(packed, self.bits, self.hashes).to_bytes()

    def members(self, keys: Keys, encoded: bytes) -> Members:
        """Those all of whose positions are set. Most fail at the first few."""
        bits = _bits_of(encoded, self.bits, self.hashes)
        left = np.flatnonzero(bits[keys[0]])
        for row in keys[1:]:
            left = left[bits[row[left]]]
        held = np.zeros(keys.shape[1], dtype=np.bool_)
        held[left] = True
        return Members(held)


@lru_cache(4096)
def _positions(data: bytes, bits: int, hashes: int) -> Keys:
    shape = BloomFilter(bits, hashes)
    found = [shape.positions(f"{publisher}:{sequence}") for publisher, sequence in names_in(data)]
    return np.array(found, dtype=np.int32).reshape(-1, hashes).T


@lru_cache(512)
def _bits_of(encoded: bytes, bits: int, hashes: int) -> NDArray[np.bool_]:
    found = BloomFilter.from_bytes(encoded)
    if (found.bits, found.hashes) != (bits, hashes):
        raise BloomFormatError(
            f"a filter of {found.bits} bits and {found.hashes} hashes; "
            f"this network has {bits} and {hashes}"
        )
    packed = np.frombuffer(found.to_bytes()[-((bits + 7) // 8) :], dtype=np.uint8)
    return np.unpackbits(packed, count=bits, bitorder="little").astype(np.bool_)


class SketchSummary:
    """Samples that all brokers draw alike (OPTIMIZATION.md, C2)."""

    def __init__(self, size: int) -> None:
        self.size = size

    def keys_of(self, data: bytes) -> Keys:
        """The hash of each, the same at every broker."""
        found = [
            mix64(publisher_hash(publisher) ^ (sequence * GOLDEN & MASK))
            for publisher, sequence in names_in(data)
        ]
        return np.array(found, dtype=np.uint64).reshape(1, -1)

    def encode(self, keys: Keys) -> bytes:
        """The shift, and the hashes below 2^(64 − shift), as many as there is room for."""
        hashes = np.unique(keys[0])
        shift = 0
        while shift < SHIFT_MAX and np.count_nonzero(hashes <= _below(shift)) > self.size:
            shift += 1
        kept = hashes[hashes <= _below(shift)]
        return bytes([shift]) + kept.astype("<u8").tobytes()

    def members(self, keys: Keys, encoded: bytes) -> Members:
        """Those that the other one has sampled."""
        if not encoded or encoded[0] > SHIFT_MAX or len(encoded) % 8 != 1:
            raise BloomFormatError(f"{len(encoded)} bytes are no sketch")
        return Members(np.isin(keys[0], np.frombuffer(encoded[1:], dtype="<u8")), encoded[0])


@lru_cache(4096)
def publisher_hash(publisher: str) -> int:
    """The same in the whole network, and for ever."""
    number = int.from_bytes(publisher.encode()[:512].ljust(8, b"\0"), "little")
    mixed = 0
    while number:
        mixed = mix64(mixed ^ number & MASK)
        number >>= 64
    return mixed


def mix64(number: int) -> int:
    """The finaliser of splitmix64: every bit of the result depends on every bit given."""
    number = (number + GOLDEN) & MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
    return number ^ number >> 31


def _below(shift: int) -> np.uint64:
    """The largest hash that a sketch with this shift takes."""
    return np.uint64(MASK >> shift)


class Recent:
    """The last notifications that concern a broker, in a ring: of more the oldest are forgotten."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.total = 0
        """How many were ever added."""
        self._ring: Keys | None = None

    def add(self, keys: Keys) -> None:
        """Remember some more, in the order of their columns."""
        if not keys.shape[1]:
            return
        left_out = max(0, keys.shape[1] - self.size)
        self.total += left_out
        keys = keys[:, left_out:]
        count = keys.shape[1]
        if self._ring is None:
            self._ring = np.zeros((keys.shape[0], self.size), dtype=keys.dtype)
        at = self.total % self.size
        first = min(count, self.size - at)
        self._ring[:, at : at + first] = keys[:, :first]
        self._ring[:, : count - first] = keys[:, first:]
        self.total += count

    def __len__(self) -> int:
        """How many are remembered now."""
        return min(self.total, self.size)

    def keys(self) -> Keys | None:
        """All that are remembered; None if there are none."""
        return None if self._ring is None else self._ring[:, : len(self)]
