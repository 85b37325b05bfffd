"""Read object files in the ELF format, as far as LLVM writes them for one function and its parts.

See the System V ABI, chapter "Object files", and its supplements for x86-64 and for arm64.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from sapwood.machine.image import ImageError

X86_64 = 62
AARCH64 = 183
"""Kinds of processors, as the header has them."""

UNDEFINED = 0
"""In place of the number of a section: the symbol is defined elsewhere."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_RELOCATABLE = 1
_TABLE_OF_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8
_WRITABLE, _ALLOCATED = 1, 2
_SECTION_SYMBOL = 3


class Section(NamedTuple):
    """A piece of an object file that is to lie in memory."""

    name: str
    content: bytes
    alignment: int
    is_writable: bool


class Symbol(NamedTuple):
    """A place with a name; a symbol that stands for a whole section has that one's."""

    name: str
    section: int
    value: int
    size: int


class Reference(NamedTuple):
    """A place in a section that refers to a symbol."""

    section: int
    place: int
    kind: int
    symbol: int
    addend: int


class ObjectFile(NamedTuple):
    """What an object file holds; sections by their number in it."""

    machine: int
    sections: dict[int, Section]
    symbols: list[Symbol]
    references: list[Reference]


def parsed(data: bytes) -> ObjectFile:
    """Take an object file apart; ImageError if it is none."""
    try:
        return _parsed(data)
    except (struct.error, IndexError, UnicodeDecodeError) as problem:
        raise ImageError(f"an object file is damaged: {problem}") from problem


def _parsed(data: bytes) -> ObjectFile:
    header = _HEADER.unpack_from(data)
    if not header[0].startswith(b"\x7fELF\x02\x01") or header[1] != _RELOCATABLE:
        raise ImageError("an object file is not ELF of 64 bits, little endian, relocatable")
    machine, at, count, names = header[2], header[6], header[12], header[13]
    rows = [_SECTION.unpack_from(data, at + _SECTION.size * number) for number in range(count)]
    titles = _content(data, rows[names])
    kept: dict[int, Section] = {}
    symbols: list[Symbol] = []
    for number, row in enumerate(rows):
        if row[1] == _TABLE_OF_SYMBOLS:
            symbols = _symbols(_content(data, row), _content(data, rows[row[6]]))
        elif row[2] & _ALLOCATED:
            content = bytes(row[5]) if row[1] == _NO_BITS else _content(data, row)
            is_writable = bool(row[2] & _WRITABLE)
            kept[number] = Section(_text(titles, row[0]), content, max(row[8], 1), is_writable)
    references = [
        Reference(row[7], place, info & 0xFFFFFFFF, info >> 32, addend)
        for row in rows
        if row[1] == _RELOCATIONS
        for place, info, addend in _RELOCATION.iter_unpack(_content(data, row))
    ]
    return ObjectFile(machine, kept, symbols, references)


def _content(data: bytes, row: tuple[int, ...]) -> bytes:
    return data[row[4] : row[4] + row[5]]


def _symbols(table: bytes, names: bytes) -> list[Symbol]:
    return [
        Symbol("" if info & 0xF == _SECTION_SYMBOL else _text(names, name), section, value, size)
        for name, info, _, section, value, size in _SYMBOL.iter_unpack(table)
    ]


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()
