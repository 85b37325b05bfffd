"""What is wrong with settings is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.protocol.optimize.edges.settings import FIXED, EdgeRoutingSettings


def test_by_default_nothing_is_measured_or_switched() -> None:
    assert not FIXED.is_looking
    assert not FIXED.is_auto
    assert EdgeRoutingSettings(choice="observe").is_looking


@pytest.mark.parametrize(
    "wrong",
    [
        {"choice": "sometimes"},
        {"telling": ["flooding"]},
        {"telling": []},
        {"window_seconds": 0},
        {"period_seconds": -1},
        {"threshold": 1.0},
        {"deviations": -1},
        {"payback_seconds": 0},
        {"flood_max_share": 1.1},
        {"unit": "miles"},
        {"tresholt": 0.1},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, EdgeRoutingSettings)
