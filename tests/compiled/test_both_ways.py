"""Every kernel gives the same answers as machine code and with Numba.

The tests of the kernels compare them with plain Python; here they run once more, the other way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import BuiltinFunctionType

import pytest

from machine.making import made
from sapwood.compiled import table

TESTS = Path(__file__).resolve().parents[1]
OF_KERNELS = (
    "compiled/test_table.py",
    "compiled/test_cpython.py",
    "fastpath/test_router.py",
    "fastpath/test_scanning.py",
    "matching/test_engine.py",
    "matching/test_segments.py",
    "matching/test_stores.py",
    "trace/columns/test_frames.py",
    "trace/columns/test_orders.py",
    "trace/runfile",
)

ALL = """
import sys
from importlib import import_module
from sapwood.compiled.state import why_numba
from sapwood.machine.store import machine_code
for name in ("sapwood.fastpath.warm", "sapwood.trace.columns.warm"):
    import_module(name).exercise()
names = machine_code().names
print(len(names), sorted(names) == sorted(machine_code().used), repr(why_numba()))
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


@pytest.mark.slow
def test_all_kernels_of_a_broker_and_of_its_traces_are_machine_code() -> None:
    made()
    done = subprocess.run(
        [sys.executable, "-c", ALL],
        env={**os.environ, "SAPWOOD_KERNELS": "machine"},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert done.stdout.splitlines() == ["17 True ''", "[]"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tests_of_kernels_pass_the_other_way_too() -> None:
    """As machine code if this process has Numba's, and with Numba if it has not."""
    made()
    kernels = "numba" if isinstance(table.remember, BuiltinFunctionType) else "machine"
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
            "-m", "not slow and not long", "--hypothesis-profile=quick",
            *(str(TESTS / name) for name in OF_KERNELS),
        ],
        cwd=TESTS.parent,
        env={**os.environ, "SAPWOOD_KERNELS": kernels},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
