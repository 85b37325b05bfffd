"""Limits: documented defaults that cannot be changed by accident."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.filters.limits import DEFAULT_LIMITS, Limits


def test_defaults() -> None:
    assert msgspec.structs.asdict(DEFAULT_LIMITS) == {
        "filter_text_bytes_max": 65536,
        "filter_nesting_max": 64,
        "filter_boxes_max": 1024,
        "filter_patterns_max": 64,
        "filter_work_max": 16_000,
        "attribute_name_chars_max": 255,
        "text_bytes_max": 65536,
        "attributes_max": 1024,
    }


def test_limits_are_values() -> None:
    assert Limits(attributes_max=5) == Limits(attributes_max=5)
    assert hash(Limits()) == hash(DEFAULT_LIMITS)
    with pytest.raises(AttributeError):
        DEFAULT_LIMITS.attributes_max = 5  # type: ignore[misc]
