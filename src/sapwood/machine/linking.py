"""Link object files to an image: everything that does not depend on where it will lie.

There is an object file for each function, which refers to the interpreter and the C library, but
not to the others. Constants and code lie in one piece, so whatever is relative inside it is settled
here; what is left are addresses, which are filled in when the image is mapped.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from sapwood.machine import elf
from sapwood.machine.elf import AARCH64, UNDEFINED, X86_64, ObjectFile, Reference
from sapwood.machine.image import INSIDE, Fill, ImageError, Relocation

_ALIGNMENT = 64
_LEFT_OUT = ".eh_frame"
"""How to unwind the stack: nothing here raises."""
_WRITTEN_ONCE = ".data.rel.ro"
"""Constants that hold addresses."""

_SAME = {"numba_nextafter": "nextafter"}
"""Functions of Numba's library that only call one of C."""

_ABSOLUTE = {
    (X86_64, 1): Fill.WORD,  # R_X86_64_64
    (AARCH64, 257): Fill.WORD,  # R_AARCH64_ABS64
    (AARCH64, 263): Fill.MOVE_0,  # R_AARCH64_MOVW_UABS_G0
    (AARCH64, 264): Fill.MOVE_0,  # …_G0_NC
    (AARCH64, 265): Fill.MOVE_1,
    (AARCH64, 266): Fill.MOVE_1,
    (AARCH64, 267): Fill.MOVE_2,
    (AARCH64, 268): Fill.MOVE_2,
    (AARCH64, 269): Fill.MOVE_3,
}
"""Addresses, which are filled in when the image is mapped."""

_CALLS = {(X86_64, 4), (AARCH64, 282), (AARCH64, 283)}
"""Calls by distance, also of functions outside: R_X86_64_PLT32, R_AARCH64_JUMP26 and …_CALL26."""

_BRIDGES = {
    X86_64: bytes.fromhex("ff2500000000"),  # jmp [rip]
    AARCH64: struct.pack("<II", 0x58000050, 0xD61F0200),  # ldr x16, #8; br x16
}
"""Jump to the address that follows."""


class Linked(NamedTuple):
    """An image and what is left to be filled in."""

    code: bytes
    relocations: list[Relocation]
    symbols: list[str]
    offsets: dict[str, int]
    """Where the functions are that were asked for."""


class Linker:
    """Takes object files, one after the other."""

    def __init__(self) -> None:
        self._code = bytearray()
        self._relocations: list[Relocation] = []
        self._symbols: dict[str, int] = {}
        self._offsets: dict[str, int] = {}
        self._bridges: dict[int, int] = {}
        self._slots: dict[tuple[int, int], int] = {}

    def add(self, data: bytes, wanted: str) -> None:
        """Put a file in, and remember where the function wanted is."""
        file = elf.parsed(data)
        bases = self._placed(file)
        for reference in file.references:
            if reference.section in bases:
                self._refer(file, bases, reference)
        for symbol in file.symbols:
            if symbol.name == wanted and symbol.section in bases:
                self._offsets[wanted] = bases[symbol.section] + symbol.value
                return
        raise ImageError(f"no object file defines {wanted}")

    def finished(self) -> Linked:
        """All that was put in."""
        return Linked(bytes(self._code), self._relocations, [*self._symbols], self._offsets)

    def _placed(self, file: ObjectFile) -> dict[int, int]:
        """Where the sections of a file go, by their numbers."""
        bases: dict[int, int] = {}
        for number, section in file.sections.items():
            if section.name == _LEFT_OUT or not section.content:
                continue
            if section.is_writable and not section.name.startswith(_WRITTEN_ONCE):
                raise ImageError(f"{section.name} has variables, and code is not writable")
            alignment = max(section.alignment, _ALIGNMENT)
            self._code += bytes(-len(self._code) % alignment)
            bases[number] = len(self._code)
            self._code += section.content
        return bases

    def _refer(self, file: ObjectFile, bases: dict[int, int], reference: Reference) -> None:
        """Settle a reference, or leave it to be filled in."""
        symbol = file.symbols[reference.symbol]
        what = symbol.name or "a section"
        place = bases[reference.section] + reference.place
        target: int | None = None
        if symbol.section in bases:
            target = bases[symbol.section] + symbol.value
        elif symbol.section != UNDEFINED:
            raise ImageError(f"{what} is a variable, and code is not writable")
        kind = (file.machine, reference.kind)
        number = self._number(symbol.name) if target is None else INSIDE
        if kind in _ABSOLUTE:
            addend = (target or 0) + reference.addend
            self._relocations.append(Relocation(place, number, _ABSOLUTE[kind], addend))
            return
        if kind in _BY_SLOT:
            slot = self._slot(number, target or 0)
            _BY_SLOT[kind](self._code, place, slot + reference.addend)
            return
        if target is None and kind in _CALLS:
            target = self._bridge(file.machine, number)
        if kind not in _RELATIVE or target is None:
            raise ImageError(f"relocation {reference.kind} to {what} is not known")
        _RELATIVE[kind](self._code, place, target + reference.addend)

    def _number(self, symbol: str) -> int:
        """The number of a symbol that is not in the image."""
        return self._symbols.setdefault(_SAME.get(symbol, symbol), len(self._symbols))

    def _bridge(self, machine: int, symbol: int) -> int:
        """Where to jump to a function that may be farther away than a call reaches."""
        if symbol not in self._bridges:
            jump = _BRIDGES[machine]
            self._bridges[symbol] = place = self._extended(jump + bytes(8))
            self._relocations.append(Relocation(place + len(jump), symbol, Fill.WORD, 0))
        return self._bridges[symbol]

    def _slot(self, symbol: int, addend: int) -> int:
        """Where the address of something is kept, for code that reads it there."""
        if (symbol, addend) not in self._slots:
            self._slots[symbol, addend] = place = self._extended(bytes(8))
            self._relocations.append(Relocation(place, symbol, Fill.WORD, addend))
        return self._slots[symbol, addend]

    def _extended(self, content: bytes) -> int:
        """Put something in behind all the rest; where."""
        self._code += bytes(-len(self._code) % _ALIGNMENT)
        place = len(self._code)
        self._code += content
        return place


def _relative_32(code: bytearray, place: int, target: int) -> None:
    struct.pack_into("<i", code, place, target - place)


def _relative_64(code: bytearray, place: int, target: int) -> None:
    struct.pack_into("<q", code, place, target - place)


def _insert(code: bytearray, place: int, mask: int, bits: int) -> None:
    """Set some bits of an arm64 instruction."""
    instruction = struct.unpack_from("<I", code, place)[0]
    struct.pack_into("<I", code, place, instruction & ~mask | bits & mask)


def _branch_26(code: bytearray, place: int, target: int) -> None:
    _insert(code, place, 0x03FFFFFF, (target - place) >> 2)


def _page_21(code: bytearray, place: int, target: int) -> None:
    """The distance in pages of 4 KiB; an image begins at one."""
    pages = (target >> 12) - (place >> 12)
    _insert(code, place, 0x60FFFFE0, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)


def _low_12(shift: int) -> Callable[[bytearray, int, int], None]:
    """The place in its page, counted in items of so many bits' shift."""

    def settle(code: bytearray, place: int, target: int) -> None:
        _insert(code, place, 0x003FFC00, (target & 0xFFF) >> shift << 10)

    return settle


_RELATIVE: dict[tuple[int, int], Callable[[bytearray, int, int], None]] = {
    (X86_64, 2): _relative_32,  # R_X86_64_PC32
    (X86_64, 4): _relative_32,  # R_X86_64_PLT32
    (X86_64, 24): _relative_64,  # R_X86_64_PC64
    (AARCH64, 260): _relative_64,  # R_AARCH64_PREL64
    (AARCH64, 261): _relative_32,  # R_AARCH64_PREL32
    (AARCH64, 275): _page_21,  # R_AARCH64_ADR_PREL_PG_HI21
    (AARCH64, 277): _low_12(0),  # R_AARCH64_ADD_ABS_LO12_NC
    (AARCH64, 278): _low_12(0),  # R_AARCH64_LDST8_ABS_LO12_NC, and so on
    (AARCH64, 282): _branch_26,  # R_AARCH64_JUMP26
    (AARCH64, 283): _branch_26,  # R_AARCH64_CALL26
    (AARCH64, 284): _low_12(1),
    (AARCH64, 285): _low_12(2),
    (AARCH64, 286): _low_12(3),
    (AARCH64, 299): _low_12(4),
}
"""What only depends on how far one thing in the image is from another."""

_BY_SLOT: dict[tuple[int, int], Callable[[bytearray, int, int], None]] = {
    (X86_64, 9): _relative_32,  # R_X86_64_GOTPCREL
    (X86_64, 41): _relative_32,  # R_X86_64_GOTPCRELX
    (X86_64, 42): _relative_32,  # R_X86_64_REX_GOTPCRELX
    (AARCH64, 311): _page_21,  # R_AARCH64_ADR_GOT_PAGE
    (AARCH64, 312): _low_12(3),  # R_AARCH64_LD64_GOT_LO12_NC
}
"""How far it is to where an address is kept: what linkers call the global offset table."""
