"""Read and write memory by address in compiled code.

Numba's arrays carry a reference count and a shape. In code that hops through thirty of them at
every step, keeping those up costs several times what the loads cost. The kernels therefore work on
plain addresses: item ``index`` of an array of a given width that begins at ``address``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD, _INT, _BYTE, _REAL = ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.DoubleType()


def _pointer(builder: Any, address: Any, index: Any, item: Any) -> Any:
    return builder.gep(builder.inttoptr(address, item.as_pointer()), [index])


def _reader(result: Any, item: Any) -> Any:
    @intrinsic
    def read(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_pointer(builder, arguments[0], arguments[1], item))

        return result(types.int64, types.int64), generate

    return read


def _writer(value_type: Any, item: Any) -> Any:
    @intrinsic
    def write(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[2], _pointer(builder, arguments[0], arguments[1], item))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, value_type), generate

    return write


word_at = _reader(types.uint64, _WORD)
long_at = _reader(types.int64, _WORD)
int_at = _reader(types.int32, _INT)
byte_at = _reader(types.uint8, _BYTE)
float_at = _reader(types.float64, _REAL)

set_word = _writer(types.uint64, _WORD)
set_long = _writer(types.int64, _WORD)
set_int = _writer(types.int32, _INT)
set_byte = _writer(types.uint8, _BYTE)
