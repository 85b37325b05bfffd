"""What a broker needs compiled is compiled before it listens."""

from __future__ import annotations

from typing import Any

from compiled.forms import forms
from sapwood.compiled.table import remember
from sapwood.fastpath import kernel, scanning, warm


def test_all_kernels_of_the_fast_path_are_exercised() -> None:
    warm.exercise()
    kernels: list[Any] = [remember, kernel.route, scanning._scan]
    for compiled in kernels:
        assert len(forms(compiled)) == 1, compiled.__name__
