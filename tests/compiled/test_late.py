"""What is Numba's is made when Numba asks, and not before."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from sapwood.compiled import cpython, raw
from sapwood.compiled.compiling import kernel
from sapwood.compiled.late import External, Late, Part

WITHOUT = """
import sys
import sapwood.compiled.cpython, sapwood.compiled.raw
from sapwood.compiled.compiling import part
part(len)
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


def test_nothing_of_numba_is_loaded_by_what_defines_parts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


def test_a_late_module_is_the_module() -> None:
    assert Late("math").inf == math.inf
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = Late("math").no_such_name


@pytest.mark.parametrize("only", [raw.word_at, cpython.dict_size])
def test_what_only_compiled_code_can_call_says_so(only: object) -> None:
    assert callable(only)
    with pytest.raises(NotImplementedError, match="can be called by compiled code only"):
        only(1, 2)


def _halved(number: int) -> int:
    """Half of it."""
    return number // 2


halved = Part(_halved)
absolute = External("labs", "int64", "int64")


@pytest.mark.slow
def test_compiled_code_uses_parts_and_functions_of_c() -> None:
    def both(number: int) -> int:
        found: int = halved(absolute(number))
        return found

    assert (halved.__name__, halved.__doc__, halved(9)) == ("_halved", "Half of it.", 4)
    assert kernel(both)(-10) == 5
