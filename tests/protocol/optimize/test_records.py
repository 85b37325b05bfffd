"""What a broker remembers of swaps is plain data."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.optimize.middle import decision
from sapwood.protocol.optimize.messages import SwapPropose
from sapwood.protocol.optimize.records import Backoff, Promise, Proposal, Watched

PROPOSED = SwapPropose("v.1/s1", "a", "b")


@pytest.mark.parametrize(
    "record",
    [
        Proposal(decision(), -1_000_001, 5.0, ["a"], is_begun=True),
        Promise(PROPOSED, "v", 60.0),
        Watched(PROPOSED, "v", 3.0),
        Backoff(20.0, 2),
    ],
)
def test_it_can_be_written_down_and_read(record: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(record), type=type(record)) == record
