"""Make machine code of kernels that Numba has compiled, with a face that Python can call.

Numba's own face of a function needs Numba's library at run time. The one made here needs nothing
but the interpreter: it takes its arguments as an array of objects (METH_FASTCALL), converts them,
calls the kernel, and converts what it returns. Integers, floats and truth values are taken as
Python's C interface takes them; arrays through the buffer protocol, so that NumPy's own interface
does not matter, and checked: the type of the items, the number of dimensions, their order, and that
what may be written to may be written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.np import arrayobj

from sapwood.compiled.compiling import machine_stamp
from sapwood.machine.image import Entry, Image, Manifest
from sapwood.machine.linking import Linker
from sapwood.machine.mapping import address_of
from sapwood.machine.processor import this_host

_OBJECT = ir.IntType(8).as_pointer()
_LONG, _INT, _REAL = ir.IntType(64), ir.IntType(32), ir.DoubleType()
_VOID = ir.VoidType()

_BUFFER_WORDS = 10
"""Py_buffer: the address, the owner, bytes, bytes of an item, two small numbers, and addresses of
the format, the shape, the strides, and two more."""
_ADDRESS_WORD, _DIMENSIONS_INT, _FORMAT_WORD, _SHAPE_WORD, _STRIDES_WORD = 0, 9, 5, 6, 7

_WRITABLE, _WITH_FORMAT, _STRIDED, _IN_ORDER = 0x1, 0x4, 0x18, 0x38
"""What is asked of a buffer."""

_FORMATS = {
    types.int64: "lq",
    types.uint64: "LQ",
    types.int32: "i",
    types.uint32: "I",
    types.uint8: "B",
    types.float64: "d",
}
"""By which letters the buffer protocol calls the types of items."""


class Face:
    """The function through which Python calls one kernel, while it is written."""

    def __init__(self, name: str, compiled: Any, *, nogil: bool) -> None:
        self._name = name
        self._compiled = compiled
        self._nogil = nogil
        self._context = compiled.target_context
        self.module = self._context.codegen()._create_empty_module(name)  # noqa: SLF001
        kind = ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT.as_pointer(), _LONG])
        self._function = ir.Function(self.module, kind, name)
        self._builder = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._failed = self._function.append_basic_block("failed")
        self._leave = self._function.append_basic_block("leave")
        self._buffers: list[Any] = []
        self._result = self._builder.alloca(_OBJECT)
        self._builder.store(_OBJECT(None), self._result)

    def write(self) -> None:
        """Write all of it."""
        signature, builder = self._compiled.signature, self._builder
        for kind in signature.args:
            if isinstance(kind, types.Array):
                self._buffers.append(builder.alloca(_LONG, _BUFFER_WORDS))
                builder.store(_LONG(0), self._word(self._buffers[-1], 1))
        count = len(signature.args)
        text = f"{self._name} takes {count} arguments"
        given = builder.icmp_signed("==", self._function.args[2], _LONG(count))
        self._refuse_unless(given, "PyExc_TypeError", text)
        waiting = iter(self._buffers)
        arguments = [
            self._taken(kind, self._argument(number), number, waiting)
            for number, kind in enumerate(signature.args)
        ]
        value = self._call(arguments)
        builder.store(self._given(signature.return_type, value), self._result)
        builder.branch(self._leave)
        builder.position_at_end(self._failed)
        builder.branch(self._leave)
        builder.position_at_end(self._leave)
        for buffer in self._buffers:
            self._c("PyBuffer_Release", _VOID, builder.bitcast(buffer, _OBJECT))
        builder.ret(builder.load(self._result))

        self._write_destructor()

    def _write_destructor(self) -> None:
        """What frees an array that nobody refers to any more: those given here have an owner."""
        kind = ir.FunctionType(_VOID, [_OBJECT])
        function = ir.Function(self.module, kind, "NRT_MemInfo_call_dtor")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        trap = ir.Function(self.module, ir.FunctionType(_VOID, []), "llvm.trap")
        builder.call(trap, [])
        builder.unreachable()

    def _call(self, arguments: list[Any]) -> Any:
        """Call the kernel; what it returned."""
        builder, context, signature = self._builder, self._context, self._compiled.signature
        native = context.declare_function(self.module, self._compiled.fndesc)
        state = self._c("PyEval_SaveThread", _OBJECT) if self._nogil else None
        status, value = context.call_conv.call_function(
            builder, native, signature.return_type, signature.args, arguments
        )
        if state is not None:
            self._c("PyEval_RestoreThread", _VOID, state)
        self._refuse_unless(status.is_ok, "PyExc_SystemError", f"{self._name} failed")
        return value

    # --- arguments --------------------------------------------------------------------------

    def _argument(self, number: int) -> Any:
        place = self._builder.gep(self._function.args[1], [_LONG(number)])
        return self._builder.load(place)

    def _taken(self, kind: Any, value: Any, number: int, buffers: Any) -> Any:
        """An object as the kernel wants it."""
        builder = self._builder
        if isinstance(kind, types.Array):
            return self._taken_array(kind, value, number, next(buffers))
        if isinstance(kind, types.UniTuple):
            return self._taken_tuple(kind, value)
        if kind == types.int64:
            taken = self._c("PyLong_AsLongLong", _LONG, value)
            self._check_error(builder.icmp_signed("==", taken, _LONG(-1)))
        elif kind == types.float64:
            taken = self._c("PyFloat_AsDouble", _REAL, value)
            self._check_error(builder.fcmp_ordered("==", taken, _REAL(-1.0)))
        elif kind == types.boolean:
            found = self._c("PyObject_IsTrue", _INT, value)
            self._check_error(builder.icmp_signed("==", found, _INT(-1)))
            taken = builder.icmp_signed("==", found, _INT(1))
        else:
            raise TypeError(f"{self._name} takes {kind}, which machine code cannot be given")
        return taken

    def _taken_tuple(self, kind: Any, value: Any) -> Any:
        builder = self._builder
        size = self._c("PyTuple_Size", _LONG, value)
        self._check_error(builder.icmp_signed("==", size, _LONG(-1)))
        fits = builder.icmp_signed("==", size, _LONG(len(kind)))
        self._refuse_unless(fits, "PyExc_TypeError", f"{self._name} takes a tuple of {len(kind)}")
        items = [
            self._taken(kind.dtype, self._c("PyTuple_GetItem", _OBJECT, value, _LONG(at)), at, None)
            for at in range(len(kind))
        ]
        return self._context.make_tuple(builder, kind, items)

    def _taken_array(self, kind: Any, value: Any, number: int, buffer: Any) -> Any:
        """An array, by its buffer; it is released at the end."""
        builder = self._builder
        wanted = _WITH_FORMAT | (_IN_ORDER if kind.layout == "C" else _STRIDED)
        wanted |= _WRITABLE if kind.mutable else 0
        view = builder.bitcast(buffer, _OBJECT)
        got = self._c("PyObject_GetBuffer", _INT, value, view, _INT(wanted))
        self._fail_if(builder.icmp_signed("!=", got, _INT(0)))
        ints = builder.bitcast(buffer, _INT.as_pointer())
        dimensions = builder.load(builder.gep(ints, [_LONG(_DIMENSIONS_INT)]))
        fits = builder.icmp_signed("==", dimensions, _INT(kind.ndim))
        text = f"{self._name}: argument {number + 1} is to be an array of {kind.dtype}"
        self._refuse_unless(fits, "PyExc_TypeError", f"{text}, of {kind.ndim} dimensions")
        self._refuse_unless(self._is_of(kind.dtype, buffer), "PyExc_TypeError", text)
        array = self._context.make_array(kind)(self._context, builder)
        item = self._context.get_data_type(kind.dtype)
        shape, strides = (
            builder.inttoptr(builder.load(self._word(buffer, word)), _LONG.as_pointer())
            for word in (_SHAPE_WORD, _STRIDES_WORD)
        )
        address = builder.load(self._word(buffer, _ADDRESS_WORD))
        populate: Any = arrayobj.populate_array
        populate(
            array,
            data=builder.inttoptr(address, item.as_pointer()),
            shape=[builder.load(self._word(shape, at)) for at in range(kind.ndim)],
            strides=[builder.load(self._word(strides, at)) for at in range(kind.ndim)],
            itemsize=_LONG(kind.dtype.bitwidth // 8),
            meminfo=None,
        )
        return array._getvalue()  # noqa: SLF001 - Numba's name for it

    def _is_of(self, item: Any, buffer: Any) -> Any:
        """Whether the format of a buffer is one letter that stands for the type of items."""
        builder = self._builder
        byte = ir.IntType(8)
        text = builder.inttoptr(builder.load(self._word(buffer, _FORMAT_WORD)), _OBJECT)
        letter = builder.load(text)
        end = builder.load(builder.gep(text, [_LONG(1)]))
        fits = ir.Constant(ir.IntType(1), 0)
        for known in _FORMATS[item]:
            fits = builder.or_(fits, builder.icmp_signed("==", letter, byte(ord(known))))
        return builder.and_(fits, builder.icmp_signed("==", end, byte(0)))

    # --- the result -------------------------------------------------------------------------

    def _given(self, kind: Any, value: Any) -> Any:
        """What the kernel returned, as an object."""
        builder = self._builder
        if kind == types.none:
            nothing = self._function.args[0]  # which is None: see `sapwood.machine.mapping`
            self._c("Py_IncRef", _VOID, nothing)
            return nothing
        if isinstance(kind, (types.UniTuple, types.Tuple)):
            made = self._c("PyTuple_New", _OBJECT, _LONG(len(kind)))
            self._fail_if(builder.icmp_unsigned("==", made, _OBJECT(None)))
            for at, item in enumerate(kind.types):
                given = self._given(item, builder.extract_value(value, at))
                self._c("PyTuple_SetItem", _INT, made, _LONG(at), given)
            return made
        if kind == types.int64:
            return self._c("PyLong_FromLongLong", _OBJECT, value)
        if kind == types.float64:
            return self._c("PyFloat_FromDouble", _OBJECT, value)
        if kind == types.boolean:
            return self._c("PyBool_FromLong", _OBJECT, builder.zext(value, _LONG))
        raise TypeError(f"{self._name} returns {kind}, which machine code cannot give")

    # --- small things -----------------------------------------------------------------------

    def _word(self, words: Any, number: int) -> Any:
        return self._builder.gep(words, [_LONG(number)])

    def _c(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call a function of the interpreter."""
        function = self.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(result, [one.type for one in arguments])
            function = ir.Function(self.module, kind, name)
        return self._builder.call(function, arguments)

    def _fail_if(self, condition: Any) -> None:
        """Leave with the error that is set."""
        following = self._function.append_basic_block("following")
        self._builder.cbranch(condition, self._failed, following)
        self._builder.position_at_end(following)

    def _check_error(self, is_suspect: Any) -> None:
        """Leave if a conversion failed: it has given what it gives then, and an error is set."""
        builder = self._builder
        with builder.if_then(is_suspect, likely=False):
            error = self._c("PyErr_Occurred", _OBJECT)
            self._fail_if(builder.icmp_unsigned("!=", error, _OBJECT(None)))

    def _refuse_unless(self, condition: Any, error: str, text: str) -> None:
        """Set an error and leave."""
        builder = self._builder
        refused = self._function.append_basic_block("refused")
        following = self._function.append_basic_block("following")
        builder.cbranch(condition, following, refused)
        builder.position_at_end(refused)
        kind = self.module.globals.get(error)
        if kind is None:
            kind = ir.GlobalVariable(self.module, _OBJECT, error)
        self._c("PyErr_SetString", _VOID, builder.load(kind), self._text(text))
        builder.branch(self._failed)
        builder.position_at_end(following)

    def _text(self, text: str) -> Any:
        data = bytearray(text.encode() + b"\0")
        kind = ir.ArrayType(ir.IntType(8), len(data))
        name = self.module.get_unique_name("text")
        constant = ir.GlobalVariable(self.module, kind, name)
        constant.initializer = ir.Constant(kind, data)
        constant.global_constant = True
        constant.linkage = "internal"
        return self._builder.bitcast(constant, _OBJECT)


def object_file(name: str, dispatcher: Any, target: Any = None) -> tuple[bytes, str]:
    """A kernel and its face as an object file, and the signature it was compiled for.

    The target is this machine, unless another is given.
    """
    ((_, compiled),) = dispatcher.overloads.items()
    face = Face(name, compiled, nogil=bool(dispatcher.targetoptions.get("nogil")))
    face.write()
    library = compiled.library
    module = llvm.parse_bitcode(library._get_module_for_linking().as_bitcode())  # noqa: SLF001
    module.link_in(llvm.parse_assembly(str(face.module)))
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
    module.verify()
    machine = target or compiled.target_context.codegen()._tm  # noqa: SLF001
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return bytes(machine.emit_object(module)), str(compiled.signature)


def exported(kernels: Mapping[str, Any]) -> Image:
    """The image of kernels that Numba has compiled, by name, each in one form."""
    linker = Linker()
    signatures = {}
    for name, dispatcher in kernels.items():
        data, signatures[name] = object_file(name, dispatcher)
        linker.add(data, name)
    linked = linker.finished()
    for symbol in linked.symbols:
        address_of(symbol)
    entries = {
        name: Entry(
            linked.offsets[name],
            machine_stamp(Path(dispatcher.py_func.__code__.co_filename)),
            signatures[name],
        )
        for name, dispatcher in kernels.items()
    }
    manifest = Manifest(
        host=this_host(),
        made_with={name: version(name) for name in ("sapwood", "numba", "llvmlite")},
        entries=entries,
        symbols=tuple(linked.symbols),
        image_bytes=len(linked.code),
        relocations=len(linked.relocations),
    )
    return Image(manifest, linked.code, linked.relocations)
