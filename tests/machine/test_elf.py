"""Object files are taken apart as LLVM writes them, for both kinds of processors."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from sapwood.machine import elf
from sapwood.machine.image import ImageError

SOURCE = """
@words = internal constant [2 x i64] [i64 1, i64 2], align 16
declare i64 @outside(i64)
define i64 @inside(i64 %at) {
  %place = getelementptr [2 x i64], [2 x i64]* @words, i64 0, i64 %at
  %word = load i64, i64* %place
  %result = call i64 @outside(i64 %word)
  ret i64 %result
}
"""


def object_of(source: str, triple: str) -> bytes:
    """What LLVM makes of a piece of its language."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(opt=2, reloc="static", codemodel="large", jit=True)
    return bytes(machine.emit_object(llvm.parse_assembly(source)))


@pytest.mark.parametrize(
    ("triple", "machine"),
    [("x86_64-unknown-linux-gnu", elf.X86_64), ("aarch64-unknown-linux-gnu", elf.AARCH64)],
)
def test_sections_symbols_and_references_are_found(triple: str, machine: int) -> None:
    found = elf.parsed(object_of(SOURCE, triple))
    assert found.machine == machine
    symbols = {symbol.name: symbol for symbol in found.symbols}
    inside = symbols["inside"]
    code = found.sections[inside.section]
    assert not code.is_writable
    assert 0 < inside.size <= len(code.content)
    assert symbols["outside"].section == elf.UNDEFINED
    contents = [section.content for section in found.sections.values()]
    assert (1).to_bytes(8, "little") + (2).to_bytes(8, "little") in contents
    referred = {found.symbols[reference.symbol].name for reference in found.references}
    assert "outside" in referred
    assert all(reference.section in found.sections for reference in found.references)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", bytes(64), b"\x7fELF\x02\x01" + bytes(58)])
def test_what_is_no_object_file_is_refused(data: bytes) -> None:
    with pytest.raises(ImageError, match="an object file is"):
        elf.parsed(data)
