"""What a broker frees and needs again at once is not fetched from the system each time."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from sapwood.runtime.heap import keep_freed_memory

FAULTS = """
import resource, sys
from sapwood.runtime.heap import keep_freed_memory

if sys.argv[1] == "kept":
    assert keep_freed_memory({})
source = memoryview(bytes(2**20))
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for size in range(60_000, 250_000, 10_000):  # as reads are: of any length
    bytes(source[:size])
before = faults()
for round in range(300):
    blocks = [bytes(source[:100_000 + 997 * (round * 7 + n) % 150_000]) for n in range(4)]
    del blocks
print(faults() - before)
"""


def faults(how: str) -> int:
    """Pages that the system had to give, while blocks are made and freed."""
    command = [sys.executable, "-c", FAULTS, how]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout)


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt"),
    reason="only glibc has mallopt; elsewhere a broker leaves memory to the C library as it is",
)
def test_blocks_that_are_freed_are_used_again() -> None:
    assert faults("kept") < faults("by default") / 10


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_what_the_operator_chose_stays(name: str) -> None:
    assert not keep_freed_memory({name: "1"})
