"""The face of a kernel takes what the kernel takes, refuses the rest, and keeps nothing."""

from __future__ import annotations

import os
import sys
from array import array
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit

from sapwood.compiled.exporting import exported, object_file
from sapwood.machine import elf
from sapwood.machine.linking import Linker
from sapwood.machine.mapping import functions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.uname().sysname != "Linux", reason="machine code is mapped on Linux"),
]


def _combined(numbers: Any, table: Any, start: Any, factor: Any, is_negative: Any) -> Any:
    total = start[0]
    for at in range(len(numbers)):
        numbers[at] += start[1]
        total += numbers[at] + table[at, 0]
    real = total * factor
    return (-total if is_negative else total), real, is_negative


def _shared(value: Any, divisor: Any) -> Any:
    return value // divisor


def _nothing(number: Any) -> None:
    pass


NUMBERS = np.arange(3)
TABLE = np.arange(12).reshape(3, 4)[:, ::2]


@pytest.fixture(scope="module")
def dispatchers() -> dict[str, Any]:
    combined, shared, nothing = njit(_combined), njit(_shared), njit(_nothing)
    combined(NUMBERS.copy(), TABLE, (1, 2), 0.5, True)
    shared(1, 1)
    nothing(1)
    freely = njit(nogil=True)(_shared)
    freely(1, 1)
    return {"m.combined": combined, "m.shared": shared, "m.nothing": nothing, "m.freely": freely}


@pytest.fixture(scope="module")
def made(dispatchers: dict[str, Any]) -> dict[str, Any]:
    return functions(exported(dispatchers))


def test_it_answers_as_numba_does(dispatchers: dict[str, Any], made: dict[str, Any]) -> None:
    for is_negative in (False, True):
        one, other = NUMBERS.copy(), NUMBERS.copy()
        arguments = (TABLE, (10**12, -7), 0.25, is_negative)
        expected = dispatchers["m.combined"](one, *arguments)
        assert made["m.combined"](other, *arguments) == expected
        assert one.tolist() == other.tolist()
    assert made["m.shared"](-(2**63), 3) == -(2**63) // 3
    assert made["m.shared"](np.int64(7), True) == 7
    assert made["m.nothing"](1) is None
    assert made["m.freely"](9, 2) == 4


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({0: NUMBERS.astype(np.int32)}, TypeError, "argument 1 is to be an array of int64"),
        ({0: NUMBERS.astype(">i8")}, TypeError, "argument 1 is to be an array of int64"),
        ({0: TABLE.copy()}, TypeError, "an array of int64, of 1 dimensions"),
        ({0: np.arange(6)[::2]}, ValueError, "not C-contiguous"),
        ({0: b"12345678"}, BufferError, "not writable"),
        ({0: object()}, TypeError, "bytes-like"),
        ({1: NUMBERS}, TypeError, "argument 2 is to be an array of int64, of 2 dimensions"),
        ({2: (1, 2, 3)}, TypeError, "takes a tuple of 2"),
        ({2: [1, 2]}, SystemError, "bad argument"),
        ({2: (1, "2")}, TypeError, "str"),
        ({2: (1, 2**63)}, OverflowError, "too"),
        ({3: "0.5"}, TypeError, "real number"),
    ],
)
def test_what_it_cannot_take_is_refused(
    made: dict[str, Any], change: dict[int, Any], error: type[Exception], text: str
) -> None:
    arguments = [NUMBERS.copy(), TABLE, (1, 2), 0.5, True]
    for place, value in change.items():
        arguments[place] = value
    before = [sys.getrefcount(one) for one in arguments[:2]]
    with pytest.raises(error, match=text):
        made["m.combined"](*arguments)
    assert [sys.getrefcount(one) for one in arguments[:2]] == before


def test_too_few_and_too_many_arguments_are_refused(made: dict[str, Any]) -> None:
    for arguments in ((), (1,), (1, 2, 3)):
        with pytest.raises(TypeError, match=r"m\.shared takes 2 arguments"):
            made["m.shared"](*arguments)


def test_a_kernel_that_fails_is_an_error(made: dict[str, Any]) -> None:
    with pytest.raises(SystemError, match=r"m\.shared failed"):
        made["m.shared"](1, 0)


def test_memory_is_let_go(made: dict[str, Any]) -> None:
    """An array of Python can grow only if nobody holds its memory."""
    numbers = array("q", [1, 2, 3])
    made["m.combined"](numbers, TABLE, (0, 1), 1.0, False)
    numbers.append(4)
    assert numbers.tolist() == [2, 3, 4, 4]


def test_only_a_nogil_kernel_lets_go_of_the_lock(dispatchers: dict[str, Any]) -> None:
    for name, dispatcher in dispatchers.items():
        symbols = {symbol.name for symbol in elf.parsed(object_file(name, dispatcher)[0]).symbols}
        for call in ("PyEval_SaveThread", "PyEval_RestoreThread"):
            assert (call in symbols) == (name == "m.freely"), name


def test_what_has_no_form_for_machine_code_is_refused() -> None:
    text = njit(_nothing)
    text("text")
    with pytest.raises(TypeError, match="takes unicode_type, which machine code cannot be given"):
        exported({"m.text": text})


def test_the_kernels_can_be_linked_for_arm_too(dispatchers: dict[str, Any]) -> None:
    """There is no such processor here; that every reference is known can be seen all the same."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    machine = target.create_target_machine(opt=3, codemodel="jitdefault", jit=True)
    linker = Linker()
    for name, dispatcher in dispatchers.items():
        data, _ = object_file(name, dispatcher, machine)
        assert elf.parsed(data).machine == elf.AARCH64
        linker.add(data, name)
    found = linker.finished()
    assert found.offsets.keys() == dispatchers.keys()
    assert "PyLong_FromLongLong" in found.symbols
