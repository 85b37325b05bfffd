"""The markers are those that msgpack writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.wire import markers


@pytest.mark.parametrize(
    ("value", "marker"),
    [
        ({}, markers.SHORT_MAP),
        ({str(number): 1 for number in range(15)}, markers.SHORT_MAP_END - 1),
        ({str(number): 1 for number in range(16)}, markers.MAP_16),
        ([1, 2], markers.PAIR),
        ([0] * 2**16, markers.ARRAY_32),
        ("", markers.SHORT_TEXT),
        ("x" * 31, markers.SHORT_TEXT_END - 1),
        ("x" * 32, markers.TEXT_8),
        ("x" * 256, markers.TEXT_16),
        (False, markers.FALSE),
        (True, markers.TRUE),
        (0.5, markers.FLOAT_64),
        (127, markers.SHORT_MAP - 1),
        (128, markers.UNSIGNED_8),
        (2**63, markers.UNSIGNED_64),
        (-33, markers.SIGNED_8),
        (-(2**63), markers.SIGNED_64),
        (-32, markers.NEGATIVE),
    ],
)
def test_a_value_begins_with_its_marker(value: Any, marker: int) -> None:
    assert msgspec.msgpack.encode(value)[0] == marker
