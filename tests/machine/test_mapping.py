"""Machine code is put where it can be run, and is never writable there."""

from __future__ import annotations

import ctypes
import struct
import sys
from pathlib import Path

import pytest

from machine.making import on_x86, small_image
from sapwood.machine.image import INSIDE, Fill, ImageError, Relocation
from sapwood.machine.mapping import address_of, filled, functions


@on_x86
def test_a_function_can_be_called_and_touches_only_what_it_says() -> None:
    nothing = functions(small_image())["some.module.nothing"]
    assert (nothing.__name__, nothing.__module__) == ("nothing", "some.module")
    before = sys.getrefcount(None)
    assert [nothing(), nothing(1, 2)] == [None, None]
    assert abs(sys.getrefcount(None) - before) < 10


@on_x86
def test_no_page_is_writable_and_executable() -> None:
    functions(small_image())
    lines = Path("/proc/self/maps").read_text().splitlines()
    mine = [line for line in lines if "sapwood-kernels" in line]
    assert mine
    assert {line.split()[1] for line in mine} == {"r-xp"}


def test_what_the_interpreter_has_not_got_is_refused() -> None:
    with pytest.raises(ImageError, match="it needs no_such_function, which this Python"):
        functions(small_image(symbol="no_such_function"))


def test_the_address_of_a_function_is_that_of_the_interpreter() -> None:
    call = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_longlong)(address_of("PyLong_FromLongLong"))
    assert call(12345678901) == 12345678901


def test_addresses_are_filled_in_where_they_belong() -> None:
    code = bytes(8) + struct.pack("<4I", 0xD2800000, 0xF2A00000, 0xF2C00000, 0xF2E00000)
    places = [Relocation(8 + 4 * at, 0, Fill.MOVE_0 + at, 0x10) for at in range(4)]
    places.append(Relocation(0, INSIDE, Fill.WORD, 5))
    found = filled(code, places, [0x1122334455667700], 0x7F0000000000)
    word, *moves = struct.unpack("<Q4I", found)
    assert word == 0x7F0000000005
    assert [move >> 5 & 0xFFFF for move in moves] == [0x7710, 0x5566, 0x3344, 0x1122]
    assert [move & ~(0xFFFF << 5) for move in moves] == [
        0xD2800000, 0xF2A00000, 0xF2C00000, 0xF2E00000
    ]  # fmt: skip
