"""Whether the kernels of this installation run as machine code; and if not, why."""

from __future__ import annotations

from pathlib import Path

from sapwood.compiled.compiling import machine_stamp
from sapwood.machine.store import machine_code

_ROOT = Path(__file__).parents[2]


def kernels_line() -> str:
    """How a broker that starts now would run its kernels, in one line."""
    found = machine_code()
    reason, paths = found.why_none, set()
    for name in found.names:
        source = _ROOT.joinpath(*name.split(".")[:-1]).with_suffix(".py")
        file = found.file_with(name, machine_stamp(source))
        if file is None:
            reason = f"the source of {name} has changed; run: python -m sapwood.compiled.warm"
            break
        paths.add(str(file.path))
    if reason:
        return f"Numba, not machine code: {reason}"
    return f"machine code, {', '.join(sorted(paths))}"


def why_numba() -> str:
    """Why kernels that this process has asked for are Numba's; empty if none is."""
    return next(iter(machine_code().why_not.values()), "")
