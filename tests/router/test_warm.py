"""What a broker needs compiled is compiled before it listens."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.router import keys, routing, scanning, warm


def test_all_kernels_of_the_router_are_exercised() -> None:
    warm.exercise()
    kernels: list[Any] = [keys.remember, routing.route, scanning._scan]
    for kernel in kernels:
        assert len(kernel.signatures) == 1, kernel.__name__


def test_the_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    warm.main()
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("s)")
    assert said[1] == "the kernels of sapwood.router: ready"
