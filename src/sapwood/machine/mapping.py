"""Put an image into the memory of this process, and make functions of it that Python calls.

No page is ever both writable and executable. Where the image will lie is reserved first, without
any access; addresses are filled in outside; the result goes into a sealed file in memory, which
nobody can write any more, and that is mapped, readable and executable. So it also works in a
service that may not make written memory executable (systemd's ``MemoryDenyWriteExecute``). Pages
are executable from the moment they appear, so that the kernel keeps the caches of an arm64
processor right.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
from collections.abc import Iterable
from typing import Any

from sapwood.machine.image import INSIDE, Fill, Image, ImageError, Relocation

_WORD = struct.Struct("<Q")
_INSTRUCTION = struct.Struct("<I")
_MOVE_SHIFT = 5
"""Where an arm64 instruction that moves 16 bits has them."""

_NOTHING = 0
_FIXED = 0x10
_FAILED = ctypes.c_void_p(-1).value
_SEALS = (
    fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    if hasattr(fcntl, "F_SEAL_SEAL")
    else 0
)
_FAST_CALL = 0x80
"""METH_FASTCALL: arguments come as an array, without a tuple."""


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_kept: list[_Method] = []
"""A function of Python points to its definition for as long as it lives."""


def functions(image: Image) -> dict[str, Any]:
    """The functions of an image, mapped, by name; ImageError where that is not possible."""
    symbols = [address_of(name) for name in image.manifest.symbols]
    base = _mapped(image, symbols)
    return {
        name: _function(name, base + entry.offset) for name, entry in image.manifest.entries.items()
    }


def address_of(symbol: str) -> int:
    """Where a function of the interpreter or of the C library is, or a variable."""
    try:
        found = getattr(ctypes.pythonapi, symbol)
    except AttributeError as problem:
        raise ImageError(f"it needs {symbol}, which this Python has not got") from problem
    return ctypes.cast(found, ctypes.c_void_p).value or 0


def filled(
    code: bytes, relocations: Iterable[Relocation], symbols: list[int], base: int
) -> bytearray:
    """The code as it has to be at an address."""
    content = bytearray(code)
    for one in relocations:
        target = base if one.symbol == INSIDE else symbols[one.symbol]
        address = (target + one.addend) & 0xFFFFFFFFFFFFFFFF
        if one.fill == Fill.WORD:
            _WORD.pack_into(content, one.place, address)
        else:
            bits = address >> 16 * (one.fill - Fill.MOVE_0) & 0xFFFF
            instruction = _INSTRUCTION.unpack_from(content, one.place)[0]
            instruction = instruction & ~(0xFFFF << _MOVE_SHIFT) | bits << _MOVE_SHIFT
            _INSTRUCTION.pack_into(content, one.place, instruction)
    return content


def _mapped(image: Image, symbols: list[int]) -> int:
    """Where an image was mapped, for as long as the process lives."""
    size = -(-len(image.code) // mmap.PAGESIZE) * mmap.PAGESIZE
    try:
        base = _map(0, size, _NOTHING, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        content = filled(image.code, image.relocations, symbols, base)
        file = os.memfd_create("sapwood-kernels", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with os.fdopen(os.dup(file), "wb") as writing:
                writing.write(content.ljust(size, b"\0"))
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
            access = mmap.PROT_READ | mmap.PROT_EXEC
            return _map(base, size, access, mmap.MAP_PRIVATE | _FIXED, file)
        finally:
            os.close(file)
    except (OSError, AttributeError, struct.error, IndexError) as problem:
        raise ImageError(f"it cannot be mapped: {problem}") from problem


def _map(address: int, size: int, access: int, flags: int, file: int) -> int:
    """mmap(2): that of Python does not say where it is, nor lets one choose."""
    library = ctypes.CDLL(None, use_errno=True)
    call = library.mmap
    call.restype = ctypes.c_void_p
    call.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    )
    found: int | None = call(address, size, access, flags, file, 0)
    if found is None or found == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


def _function(name: str, address: int) -> Any:
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.POINTER(_Method), ctypes.py_object, ctypes.py_object)
    module, _, short = name.rpartition(".")
    method = _Method(short.encode(), address, _FAST_CALL, None)
    _kept.append(method)
    return make(ctypes.byref(method), None, module)


__all__ = ["address_of", "filled", "functions"]
