"""Options that cannot be meant are refused when connecting, before anything is dialled."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

import sapwood.sync
from sapwood.errors import ParameterError
from sapwood.runtime.client import BusOptions, ConnectOptions, connect
from sapwood.runtime.client.options import check_options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"id": "x" * 236}, "id: has 236 bytes in UTF-8; at most 235"),
        ({"id": "é" * 118}, "id: has 236 bytes"),
        ({"slow_policy": "wait"}, "slow_policy: is 'wait'; choose from drop_oldest"),
        ({"connect_seconds": 0.0}, "connect_seconds: is 0.0; it must be above zero"),
        ({"close_seconds": -1.0}, "close_seconds: is -1.0"),
        ({"silence_seconds": float("nan")}, "silence_seconds: is nan"),
        ({"buffer_bytes": 0}, "buffer_bytes: is 0"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        connect(**options)


def test_the_longest_id_is_taken() -> None:
    check_options(BusOptions(id="x" * 235, slow_policy="block"))
    assert connect(id="x" * 235).id == "x" * 235


def test_keywords_are_typed_as_the_options_are() -> None:
    assert get_type_hints(ConnectOptions) == get_type_hints(BusOptions)
    for one in (connect, sapwood.sync.connect):
        assert "ConnectOptions" in str(one.__annotations__["options"])


def test_type_checkers_see_what_cannot_be_meant() -> None:
    """An unneeded ``type: ignore`` is an error of mypy: that is how this test fails there."""
    with pytest.raises(ParameterError, match="colour"):
        connect(colour="red")  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="colour"):
        sapwood.sync.connect(colour="red")  # type: ignore[call-arg]
