"""What goes through the door between a driver and a machine is plain values."""

from __future__ import annotations

import gc

import pytest

from sapwood.protocol.ports import Abort, Connected, Data, Disconnected, Unsent, Write


@pytest.mark.parametrize(
    "value",
    [
        Connected(1),
        Data(1, b""),
        Disconnected(1),
        Unsent(1, 2),
        Write(1, b""),
        Abort(1),
        Dial(1, ""),
    ],
)
def test_it_is_a_value_that_the_collector_need_not_follow(value: object) -> None:
    with pytest.raises(AttributeError):
        value.connection = 2  # type: ignore[attr-defined]
    assert not gc.is_tracked(value)


def test_who_was_dialled_by_somebody_else_has_no_attempt() -> None:
    assert Connected(1) == Connected(1, dial=0, address="", certificate=None)
