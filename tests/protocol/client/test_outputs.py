"""Outputs are plain values."""

from __future__ import annotations

import gc

import pytest

from sapwood.protocol.client.outputs import Accepted, Failed, Online, Readable


@pytest.mark.parametrize("output", [Accepted(3), Failed("why"), Online("B1"), Readable("1")])
def test_an_output_is_a_value_that_the_collector_need_not_follow(output: object) -> None:
    with pytest.raises(AttributeError):
        output.reason = "other"  # type: ignore[attr-defined]
    assert not gc.is_tracked(output)
