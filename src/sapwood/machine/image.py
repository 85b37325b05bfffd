"""The file of machine code: a manifest, the code, and what has to be filled in where it lies.

A file is one line that says what it is, the length of the manifest, the manifest (JSON), the image,
the relocations, and a digest of all before it. The image holds code and constants, linked among
themselves (`sapwood.machine.linking`). What is left to fill in depends on where it will lie in
memory: addresses inside it, and those of functions of the interpreter and of the C library.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from enum import IntEnum

import msgspec

from sapwood.machine.processor import Host

_MAGIC = b"sapwood machine code 1\n"
_LENGTH = struct.Struct("<Q")
_RELOCATION = struct.Struct("<QiIq")
_DIGEST_BYTES = 32

INSIDE = -1
"""In place of a symbol: the address is one of the image itself."""


class Fill(IntEnum):
    """How an address is filled in."""

    WORD = 0
    """All 64 bits, one behind the other."""
    MOVE_0 = 1
    """Bits 0 to 15, into the number of an arm64 instruction that moves them; and so on."""
    MOVE_1 = 2
    MOVE_2 = 3
    MOVE_3 = 4


class Relocation(msgspec.Struct, frozen=True, array_like=True):
    """A place in an image, and the address that belongs there."""

    place: int
    symbol: int
    """The number of a symbol, or `INSIDE`."""
    fill: int
    addend: int


class Entry(msgspec.Struct, frozen=True):
    """A function that Python can call."""

    offset: int
    stamp: str
    """The digest of the sources it was compiled from."""
    signature: str
    """For which types, in Numba's words."""


class Manifest(msgspec.Struct, frozen=True):
    """What is in an image, and where it can run."""

    host: Host
    made_with: dict[str, str]
    """Versions of what compiled it, for people."""
    entries: dict[str, Entry]
    symbols: tuple[str, ...]
    image_bytes: int
    relocations: int


class ImageError(Exception):
    """A file of machine code that cannot be used; the message says why."""


class Image(msgspec.Struct, frozen=True):
    """Machine code, ready to be put somewhere."""

    manifest: Manifest
    code: bytes
    relocations: Sequence[Relocation]


def encoded(image: Image) -> bytes:
    """An image as a file."""
    manifest = msgspec.json.encode(image.manifest)
    parts = [_MAGIC, _LENGTH.pack(len(manifest)), manifest, image.code]
    parts += [_RELOCATION.pack(*msgspec.structs.astuple(one)) for one in image.relocations]
    data = b"".join(parts)
    return data + _digest(data)


def decoded(data: bytes) -> Image:
    """The image of a file; ImageError if it is none, or not as it was written."""
    if not data.startswith(_MAGIC):
        raise ImageError("it is no machine code of this version of Sapwood")
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if _digest(body) != digest:
        raise ImageError("it is damaged: its digest is not that of its content")
    start = len(_MAGIC) + _LENGTH.size
    length = _LENGTH.unpack_from(body, len(_MAGIC))[0]
    try:
        manifest = msgspec.json.decode(body[start : start + length], type=Manifest)
    except msgspec.MsgspecError as problem:
        raise ImageError(f"its manifest is wrong: {problem}") from problem
    code = start + length
    end = code + manifest.image_bytes
    if len(body) != end + _RELOCATION.size * manifest.relocations:
        raise ImageError("it is damaged: its length is not the one its manifest states")
    relocations = [Relocation(*fields) for fields in _RELOCATION.iter_unpack(body[end:])]
    return Image(manifest, body[code:end], relocations)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
