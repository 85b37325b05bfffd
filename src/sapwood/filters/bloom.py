"""Bloom filters with explicit, seeded hashing.

Brokers use them to remember which notifications they have seen and to tell each other about it.
That only works if the same item sets the same bits on every machine and in every run; Python's
own ``hash`` does not promise that, so items are hashed with BLAKE2b, keyed with the seed. One
digest gives two numbers, and the positions are ``first + i * second`` (Kirsch and Mitzenmacher
2006): as good as independent hashes, and only one to compute.
"""

from __future__ import annotations

import math
import struct
from hashlib import blake2b

from sapwood.errors import BloomFormatError, BloomMismatchError, BloomParameterError

_HEADER = struct.Struct("<4sHHQQ")  # magic, version, hashes, seed, bits
_MAGIC = b"SWBF"
_VERSION = 1

BITS_MAX = 2**32
"""Largest size, half a gigabyte: beyond it a size is a mistake, or an attack."""

HASHES_MAX = 64
"""Largest number of hashes; with more, every rate of practical use is passed long since."""


class BloomFilter:
    """A set that may believe to hold what was never added, but never forgets what was.

    >>> seen = BloomFilter.with_capacity(1000, false_positive_rate=0.01)
    >>> seen.add("alice.3:17")
    >>> "alice.3:17" in seen, "alice.3:18" in seen
    (True, False)
    """

    __slots__ = ("_bits", "_data", "_hashes", "_key", "_seed")

    def __init__(self, bits: int, hashes: int, seed: int = 0) -> None:
        _check_range("bits", bits, 1, BITS_MAX)
        _check_range("hashes", hashes, 1, HASHES_MAX)
        _check_range("seed", seed, 0, 2**64 - 1)
        self._bits = bits
        self._hashes = hashes
        self._seed = seed
        self._key = seed.to_bytes(8, "little")
        self._data = bytearray((bits + 7) // 8)

    @classmethod
    def with_capacity(cls, count: int, false_positive_rate: float, seed: int = 0) -> BloomFilter:
        """The smallest filter that keeps the rate when `count` items are in it."""
        _check_range("count", count, 1, BITS_MAX)
        if not 0 < false_positive_rate < 1:
            raise BloomParameterError(
                f"the false positive rate is {false_positive_rate}; it lies between 0 and 1"
            )
        bits = math.ceil(-count * math.log(false_positive_rate) / math.log(2) ** 2)
        hashes = max(1, min(HASHES_MAX, round(bits / count * math.log(2))))
        return cls(bits, hashes, seed)

    @classmethod
    def from_bits(cls, data: bytes, bits: int, hashes: int, seed: int = 0) -> BloomFilter:
        """A filter with given bits, the first of them the lowest of the first byte."""
        header = _HEADER.pack(_MAGIC, _VERSION, hashes, seed, bits)
        return cls.from_bytes(header + data)

    @property
    def bits(self) -> int:
        """Size in bits."""
        return self._bits

    @property
    def hashes(self) -> int:
        """How many bits an item sets, at most."""
        return self._hashes

    @property
    def seed(self) -> int:
        """What the hashes are keyed with."""
        return self._seed

    @property
    def fill_ratio(self) -> float:
        """Which part of the bits is set."""
        return self._ones() / self._bits

    @property
    def false_positive_rate(self) -> float:
        """How probable it is now that an item never added is believed to be in."""
        return self.fill_ratio**self._hashes

    @property
    def estimated_count(self) -> float:
        """How many different items were probably added; infinite if all bits are set."""
        ratio = self.fill_ratio
        return math.inf if ratio == 1 else -self._bits / self._hashes * math.log1p(-ratio)

    def add(self, item: bytes | str) -> None:
        """Put an item in; a text counts as its UTF-8 bytes."""
        for position in self.positions(item):
            self._data[position >> 3] |= 1 << (position & 7)

    def __contains__(self, item: object) -> bool:
        """Whether the item was added; yes may be wrong, no is always right."""
        if not isinstance(item, bytes | str):
            return False
        return all(
            self._data[position >> 3] >> (position & 7) & 1 for position in self.positions(item)
        )

    def union(self, other: BloomFilter) -> BloomFilter:
        """The filter to which everything was added that was added to either."""
        self._check_same_shape(other)
        return self._with_number(self._number() | other._number())

    def intersection(self, other: BloomFilter) -> BloomFilter:
        """A filter that holds everything that is in both.

        It may hold more than a filter of the common items alone: bits can agree by chance.
        """
        self._check_same_shape(other)
        return self._with_number(self._number() & other._number())

    def to_bytes(self) -> bytes:
        """Header and bits; the same for equal filters everywhere."""
        header = _HEADER.pack(_MAGIC, _VERSION, self._hashes, self._seed, self._bits)
        return header + bytes(self._data)

    @classmethod
    def from_bytes(cls, data: bytes) -> BloomFilter:
        """Read what `to_bytes` writes; refuses anything else."""
        if len(data) < _HEADER.size:
            raise BloomFormatError(
                f"{len(data)} bytes are no Bloom filter; the header alone has {_HEADER.size}"
            )
        magic, version, hashes, seed, bits = _HEADER.unpack_from(data)
        if magic != _MAGIC:
            raise BloomFormatError(f"a Bloom filter begins with {_MAGIC!r}, not with {magic!r}")
        if version != _VERSION:
            raise BloomFormatError(f"the format has version {version}; known is {_VERSION}")
        size = (bits + 7) // 8
        if len(data) - _HEADER.size != size:
            raise BloomFormatError(
                f"a Bloom filter of {bits} bits has {size} bytes after its header, "
                f"not {len(data) - _HEADER.size}"
            )
        try:
            result = cls(bits, hashes, seed)
        except BloomParameterError as problem:
            raise BloomFormatError(f"impossible header: {problem}") from None
        result._data[:] = data[_HEADER.size :]
        if bits % 8 and result._data[-1] >> bits % 8:
            raise BloomFormatError(f"bits are set beyond the last of {bits}")
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BloomFilter):
            return NotImplemented
        return self._shape() == other._shape() and self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        shape = f"{self._bits} bits, {self._hashes} hashes, seed {self._seed}"
        return f"<BloomFilter of {shape}, {self.fill_ratio:.1%} full>"

    def positions(self, item: bytes | str) -> list[int]:
        """The bits that an item sets, in a fixed order; one may come twice."""
        data = item.encode() if isinstance(item, str) else item
        digest = blake2b(data, digest_size=16, key=self._key).digest()
        first = int.from_bytes(digest[:8], "little")
        second = int.from_bytes(digest[8:], "little") | 1  # odd: never stays in place
        return [(first + index * second) % self._bits for index in range(self._hashes)]

    def _shape(self) -> tuple[int, int, int]:
        return self._bits, self._hashes, self._seed

    def _check_same_shape(self, other: BloomFilter) -> None:
        if self._shape() != other._shape():
            raise BloomMismatchError(
                "only Bloom filters of one shape can be combined; these have (bits, hashes, seed) "
                f"= {self._shape()} and {other._shape()}"
            )

    def _ones(self) -> int:
        return self._number().bit_count()

    def _number(self) -> int:
        return int.from_bytes(self._data, "little")

    def _with_number(self, number: int) -> BloomFilter:
        result = BloomFilter(*self._shape())
        result._data[:] = number.to_bytes(len(self._data), "little")
        return result


def _check_range(what: str, value: int, minimum: int, maximum: int) -> None:
    if type(value) is not int or not minimum <= value <= maximum:
        raise BloomParameterError(
            f"{what} is {value!r}; it must be an integer from {minimum} to {maximum}"
        )
