"""Read and write memory by address in compiled code, and work on masks there.

Numba's arrays carry a reference count and a shape. In code that hops through thirty of them at
every step, keeping those up costs several times what the loads cost. The kernels therefore work on
plain addresses: item ``index`` of an array of a given width that begins at ``address``. What is
read may begin at any byte, as numbers in frames do; what is written is aligned.

A mask is one word or several, as many as ``lanes``, a tuple, has items: its length is part of its
type, so every function is compiled once per width, and a mask of four words is one register of the
processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.compiled.compiling import part
from sapwood.compiled.late import Intrinsic, Late

intrinsic: Any = Intrinsic  # callers in compiled code leave out the typing context
ir, types = Late("llvmlite.ir"), Late("numba.types")


def _word() -> Any:
    return ir.IntType(64)


def _int() -> Any:
    return ir.IntType(32)


def _byte() -> Any:
    return ir.IntType(8)


def _real() -> Any:
    return ir.DoubleType()


def _pointer(builder: Any, address: Any, index: Any, item: Any) -> Any:
    return builder.gep(builder.inttoptr(address, item.as_pointer()), [index])


def _reader(result: str, item: Callable[[], Any]) -> Any:
    """What reads an item, given by its type in LLVM, and has a result of a type of Numba."""

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_pointer(builder, arguments[0], arguments[1], item()), align=1)

        return getattr(types, result)(types.int64, types.int64), generate

    return read


def _writer(value: str, item: Callable[[], Any]) -> Any:
    """What writes an item, given by its type in LLVM, of a value of a type of Numba."""

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing_context: Any, address: Any, index: Any, written: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[2], _pointer(builder, arguments[0], arguments[1], item()))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, getattr(types, value)), generate

    return write


word_at = _reader("uint64", _word)
long_at = _reader("int64", _word)
int_at = _reader("int32", _int)
byte_at = _reader("uint8", _byte)
float_at = _reader("float64", _real)

set_word = _writer("uint64", _word)
set_long = _writer("int64", _word)
set_int = _writer("int32", _int)
set_byte = _writer("uint8", _byte)


@part
def little_endian(address: Any, size: Any) -> Any:
    """The little-endian number of some bytes."""
    number = np.int64(0)
    for at in range(size):
        number |= np.int64(byte_at(address, at)) << (8 * at)
    return number


@part
def big_endian(address: Any, size: Any) -> Any:
    """The big-endian number of some bytes, without a sign."""
    number = np.uint64(0)
    for at in range(size):
        number = number << np.uint64(8) | np.uint64(byte_at(address, at))
    return number


@part
def is_equal(left: Any, right: Any, length: Any) -> Any:
    """Whether the bytes at two addresses are the same."""
    at = 0
    while at + 8 <= length:
        if word_at(left + at, 0) != word_at(right + at, 0):
            return False
        at += 8
    while at < length:
        if byte_at(left, at) != byte_at(right, at):
            return False
        at += 1
    return True


def _load(builder: Any, address: Any, vector: Any) -> Any:
    return builder.load(builder.inttoptr(address, vector.as_pointer()), align=8)


def _without(builder: Any, mask: Any, high: Any, low: Any, vector: Any) -> Any:
    """Mask and high and not low, the last two given by address."""
    kept = builder.and_(mask, _load(builder, high, vector))
    return builder.and_(kept, builder.not_(_load(builder, low, vector)))


def _is_any(builder: Any, mask: Any, vector: Any) -> Any:
    """Whether any bit of a mask is set."""
    found = builder.extract_element(mask, ir.Constant(ir.IntType(32), 0))
    for lane in range(1, vector.count):
        word = builder.extract_element(mask, ir.Constant(ir.IntType(32), lane))
        found = builder.or_(found, word)
    return builder.icmp_unsigned("!=", found, ir.Constant(_word(), 0))


@intrinsic  # type: ignore[untyped-decorator]
def narrow(typing_context: Any, lanes: Any, target: Any, source: Any, high: Any, low: Any) -> Any:
    """Write to ``target`` the mask at ``source`` and high and not low; whether any bit is left."""
    count = len(lanes)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(_word(), count)
        mask = _load(builder, arguments[2], vector)
        mask = _without(builder, mask, arguments[3], arguments[4], vector)
        pointer = builder.inttoptr(arguments[1], vector.as_pointer())
        builder.store(mask, pointer, align=8)
        return _is_any(builder, mask, vector)

    address = types.int64
    return types.boolean(lanes, address, address, address, address), generate


@intrinsic  # type: ignore[untyped-decorator]
def meets(
    typing_context: Any, lanes: Any, source: Any, high: Any, low: Any, high2: Any, low2: Any
) -> Any:
    """Whether any bit of the mask at ``source`` passes two predicates."""
    count = len(lanes)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(_word(), count)
        mask = _load(builder, arguments[1], vector)
        mask = _without(builder, mask, arguments[2], arguments[3], vector)
        mask = _without(builder, mask, arguments[4], arguments[5], vector)
        return _is_any(builder, mask, vector)

    address = types.int64
    return types.boolean(lanes, address, address, address, address, address), generate


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """The number of the lowest bit set in a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def bit_count(typing_context: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing_context: Any, address: Any) -> Any:
    """Tell the processor that what lies at an address will be written soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, flag = _byte().as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        write, keep, data = (ir.Constant(flag, value) for value in (1, 3, 1))
        builder.call(function, [builder.inttoptr(arguments[0], pointer), write, keep, data])
        return context.get_dummy_value()

    return types.void(types.int64), generate
