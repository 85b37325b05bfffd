"""Every network that a test wires is checked when the test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from protocol.wiring import Line

MakeLine = Callable[..., Line]


@pytest.fixture
def make_line() -> Iterator[MakeLine]:
    """Makes lines of brokers; what must hold of each is checked at the end."""
    made: list[Line] = []

    def make(n: int, **options: Any) -> Line:
        made.append(Line(n, **options))
        return made[-1]

    yield make
    for network in made:
        network.check()
