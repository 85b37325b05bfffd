"""Write structures in Thrift's compact protocol: how Parquet describes pages and files.

Only what headers of pages and footers of files need: integers, texts, truths, lists, structures.
A structure is a mapping from field numbers to values, in ascending order; fields that are None are
left out. A value is encoded when it is made and knows its type; so what holds others only joins.

>>> struct({1: i32(-1), 2: None, 3: text("at")}).data.hex()
'15012802617400'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

_TRUE, _FALSE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 4, 5, 6, 8, 9, 12
_STOP: Final = b"\x00"
_ONE_BYTE: Final = tuple(bytes([number]) for number in range(0x80))
_HALF_BYTE: Final = 15
"""Largest step between field numbers that shares a byte with a type; in a list, it says that the
length follows."""


class Value(NamedTuple):
    """An encoded value and the number of its type."""

    type: int
    data: bytes


def varint(number: int) -> bytes:
    """A number from 0 up: seven bits a byte, the lowest first.

    >>> varint(300).hex()
    'ac02'
    """
    if number <= 0x7F:
        return _ONE_BYTE[number]
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def zigzag(number: int) -> int:
    """A number of either sign as one from 0 up, small if it is near zero."""
    return number << 1 if number >= 0 else (-number << 1) - 1


def i16(number: int) -> Value:
    """A short integer."""
    return Value(_I16, varint(zigzag(number)))


def i32(number: int) -> Value:
    """An integer."""
    return Value(_I32, varint(zigzag(number)))


def i64(number: int) -> Value:
    """A long integer."""
    return Value(_I64, varint(zigzag(number)))


def truth(value: bool) -> Value:
    """True or false: as a field it is in the type, and takes no bytes."""
    return Value(_TRUE if value else _FALSE, b"")


def binary(data: bytes) -> Value:
    """Bytes."""
    return Value(_BINARY, varint(len(data)) + data)


def text(value: str) -> Value:
    """A text."""
    return binary(value.encode())


def sequence(values: Sequence[Value]) -> Value:
    """A list of values of one type; truths cannot be listed."""
    kind = values[0].type if values else _STRUCT
    count = len(values)
    begin = (
        bytes([count << 4 | kind]) if count < _HALF_BYTE else bytes([0xF0 | kind]) + varint(count)
    )
    return Value(_LIST, begin + b"".join([value.data for value in values]))


def struct(fields: Mapping[int, Value | None]) -> Value:
    """A structure."""
    found = bytearray()
    last = 0
    for number, value in fields.items():
        if value is None:
            continue
        step = number - last
        if step <= _HALF_BYTE:
            found.append(step << 4 | value.type)
        else:
            found.append(value.type)
            found += varint(zigzag(number))
        found += value.data
        last = number
    return Value(_STRUCT, bytes(found) + _STOP)
