"""Linking leaves nothing open but addresses, and refuses what it does not know."""

from __future__ import annotations

import ctypes
import struct

import llvmlite.binding as llvm
import pytest

from machine.making import on_x86
from machine.test_elf import SOURCE, object_of
from sapwood.machine import elf, linking
from sapwood.machine.image import INSIDE, Fill, ImageError
from sapwood.machine.linking import Linker
from sapwood.machine.mapping import filled

X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("triple", "fills"),
    [(X86, {Fill.WORD}), (ARM, set(Fill))],
)
def test_what_is_left_are_addresses(triple: str, fills: set[Fill]) -> None:
    linker = Linker()
    linker.add(object_of(SOURCE, triple), "inside")
    linker.add(object_of(SOURCE.replace("inside", "second"), triple), "second")
    found = linker.finished()
    assert found.symbols == ["outside"]
    assert {one.fill for one in found.relocations} == fills
    assert {one.symbol for one in found.relocations} == {INSIDE, 0}
    assert found.offsets["inside"] < found.offsets["second"] < len(found.code)
    assert all(0 <= one.place < len(found.code) for one in found.relocations)


def test_an_arm_instruction_gets_an_address_piece_by_piece() -> None:
    linker = Linker()
    linker.add(object_of(SOURCE, ARM), "inside")
    found = linker.finished()
    words = found.code.index(struct.pack("<QQ", 1, 2))
    code = filled(found.code, found.relocations, [0], 0x1122334455667700)
    moved = 0
    for one in found.relocations:
        if one.symbol == INSIDE:
            bits = struct.unpack_from("<I", code, one.place)[0] >> 5 & 0xFFFF
            moved |= bits << 16 * (one.fill - Fill.MOVE_0)
    assert moved == 0x1122334455667700 + words


def test_a_call_that_may_be_far_goes_over_a_bridge() -> None:
    linker = Linker()
    linker.add(object_of(SOURCE, ARM), "inside")
    linker.add(object_of(SOURCE.replace("inside", "second"), ARM), "second")
    found = linker.finished()
    (bridged,) = [one for one in found.relocations if one.symbol == 0]
    bridge = bridged.place - 8
    assert struct.unpack_from("<II", found.code, bridge) == (0x58000050, 0xD61F0200)
    jumps = {
        place + 4 * (ctypes.c_int32(word << 6).value >> 6)
        for place in range(0, len(found.code) - 3, 4)
        if (word := struct.unpack_from("<I", found.code, place)[0]) >> 26 in (0x05, 0x25)
    }
    assert jumps == {bridge}


@on_x86
def test_a_bridge_leads_to_the_function() -> None:
    linker = Linker()
    bridge = linker._bridge(62, 0)
    assert linker._bridge(62, 0) == bridge
    code = filled(linker.finished().code, linker.finished().relocations, [0x1122], 0)
    assert code[bridge:] == bytes.fromhex("ff2500000000 2211000000000000")


@pytest.mark.parametrize(("triple", "kinds"), [(X86, {9, 41, 42}), (ARM, {311, 312})])
def test_an_address_can_be_read_from_its_slot(triple: str, kinds: set[int]) -> None:
    """Code that may lie anywhere reads the addresses of what is outside from a table."""
    source = "@far = external global i64\ndefine i64* @inside() {\n  ret i64* @far\n}\n"
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(opt=2, reloc="pic", codemodel="small")
    data = bytes(machine.emit_object(llvm.parse_assembly(source)))
    assert {one.kind for one in elf.parsed(data).references} & kinds
    linker = Linker()
    linker.add(data, "inside")
    found = linker.finished()
    (slot,) = found.relocations
    assert (found.symbols, slot.symbol, slot.fill, slot.addend) == (["far"], 0, Fill.WORD, 0)
    if triple == X86:
        (at,) = [one.place for one in elf.parsed(data).references if one.kind in kinds]
        place = found.offsets["inside"] + at
        assert place + 4 + struct.unpack_from("<i", found.code, place)[0] == slot.place


@on_x86
def test_what_was_linked_finds_its_constants() -> None:
    linker = Linker()
    linker.add(object_of(SOURCE, X86), "inside")
    found = linker.finished()
    words = found.code.index(struct.pack("<QQ", 1, 2))
    assert words in {one.addend for one in found.relocations if one.symbol == INSIDE}


@pytest.mark.parametrize("triple", [X86, ARM])
def test_variables_and_missing_functions_are_refused(triple: str) -> None:
    source = SOURCE.replace("internal constant", "internal global") + (
        "define void @change() {\n"
        "  store i64 7, i64* getelementptr ([2 x i64], [2 x i64]* @words, i64 0, i64 1)\n"
        "  ret void\n}\n"
    )
    with pytest.raises(ImageError, match="has variables, and code is not writable"):
        Linker().add(object_of(source, triple), "inside")
    with pytest.raises(ImageError, match="no object file defines other"):
        Linker().add(object_of(SOURCE, triple), "other")


def test_an_unknown_relocation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "_ABSOLUTE", {})
    with pytest.raises(ImageError, match=r"relocation \d+ to .* is not known"):
        Linker().add(object_of(SOURCE, X86), "inside")


@pytest.mark.parametrize("distance", [-4096 * 5 - 12, -16, 16, 4096 * 7 + 8])
def test_arm_distances_are_written_as_its_instructions_have_them(distance: int) -> None:
    place = 4096 * 10 + 4
    target = place + distance
    code = bytearray(4096 * 20)
    code[place : place + 4] = struct.pack("<I", 0x94000000)
    linking._branch_26(code, place, target)
    bits = struct.unpack_from("<I", code, place)[0] & 0x03FFFFFF
    assert ctypes.c_int32(bits << 6).value >> 6 == distance // 4
    code[place : place + 4] = struct.pack("<I", 0x90000000)
    linking._page_21(code, place, target)
    word = struct.unpack_from("<I", code, place)[0]
    pages = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
    assert ctypes.c_int32(pages << 11).value >> 11 == (target >> 12) - (place >> 12)
    code[place : place + 4] = struct.pack("<I", 0xF9400000)
    linking._low_12(2)(code, place, target)
    assert struct.unpack_from("<I", code, place)[0] >> 10 & 0xFFF == (target & 0xFFF) >> 2
