"""For which types a kernel was compiled, whoever runs it."""

from __future__ import annotations

from typing import Any

from sapwood.machine.store import machine_code


def forms(kernel: Any) -> list[str]:
    """The signatures of a kernel: one for machine code, as many as were met for Numba."""
    if hasattr(kernel, "signatures"):
        return [str(signature) for signature in kernel.signatures]
    return [machine_code().signature(f"{kernel.__module__}.{kernel.__name__}")]


def kernels_of(*modules: Any) -> dict[str, Any]:
    """All kernels that modules define, by name."""
    known = {*machine_code().used, *machine_code().why_not}
    return {
        name: function
        for module in modules
        for short, function in vars(module).items()
        if (name := f"{module.__name__}.{short}") in known
    }


__all__ = ["forms", "kernels_of"]
