"""Read Python objects from compiled code.

A notification arrives as a dictionary. Walking it in the interpreter costs more than matching it
does, so the kernels walk it themselves, through the functions of CPython's stable C interface.
They are declared by name: the linker finds them in the running interpreter, and compiled code
stays cacheable on disk (an address baked in would not be).

An object is passed as its address, ``id(object)``; whoever calls a kernel keeps it alive for the
call. The kernels hold the interpreter lock throughout, and none of the functions used here runs
Python code for the exact types the kernels accept.
"""

from __future__ import annotations

import ctypes
from typing import Any

from sapwood.compiled.late import External

_ADDRESS = "int64"


def _function(name: str, result: str, *arguments: str) -> Any:
    return External(name, result, *arguments)


dict_size = _function("PyDict_Size", "intp", _ADDRESS)
dict_next = _function("PyDict_Next", "int32", _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS)
dict_get = _function("PyDict_GetItem", _ADDRESS, _ADDRESS, _ADDRESS)
list_get = _function("PyList_GetItem", _ADDRESS, _ADDRESS, "intp")
list_append = _function("PyList_Append", "int32", _ADDRESS, _ADDRESS)
int_value = _function("PyLong_AsLongLongAndOverflow", "int64", _ADDRESS, _ADDRESS)
float_value = _function("PyFloat_AsDouble", "float64", _ADDRESS)
text_bytes = _function("PyUnicode_AsUTF8AndSize", _ADDRESS, _ADDRESS, _ADDRESS)
clear_error = _function("PyErr_Clear", "void")
new_int = _function("PyLong_FromLongLong", _ADDRESS, "int64")
new_float = _function("PyFloat_FromDouble", _ADDRESS, "float64")
new_text = _function("PyUnicode_FromStringAndSize", _ADDRESS, _ADDRESS, "intp")
release = _function("Py_DecRef", "void", _ADDRESS)


TYPE_OFFSET = 8
"""Where an object keeps the address of its type, behind its reference count."""


ITEMS_OFFSET = 24
"""Where a list keeps the address of the addresses of its items."""


BYTES_OFFSET = 32
"""Where a bytes object keeps its bytes."""


def check_object_layout() -> None:
    """Refuse to run on an interpreter whose objects look different (a free-threaded build)."""
    probe = "sapwood"
    kind = ctypes.c_size_t.from_address(id(probe) + TYPE_OFFSET).value
    holder = [probe]
    items = ctypes.c_size_t.from_address(id(holder) + ITEMS_OFFSET).value
    data = probe.encode()
    if (
        kind != id(str)
        or ctypes.c_size_t.from_address(items).value != id(probe)
        or ctypes.string_at(id(data) + BYTES_OFFSET, len(data)) != data
    ):
        raise ImportError(
            "compiled code of sapwood needs a CPython with a global interpreter lock: "
            "it reads Python objects in place"
        )


check_object_layout()
