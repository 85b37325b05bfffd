"""What an outcome says of itself."""

from __future__ import annotations

import msgspec

from sapwood.sim.reconfiguring.setting import Outcome
from sapwood.trace.judge.verdict import Verdict

GOOD = Outcome(
    coordination={"Lock": 3, "Unlock": 2},
    subscriptions=4,
    subscriptions_off_ring=1,
    detours=2,
    notifications=9,
    holds=(0.5, 2.0),
    stuck=(),
    problems=(),
    verdict=Verdict(),
)


def test_messages_are_those_that_coordinate_and_subscriptions() -> None:
    assert GOOD.messages == 9
    assert GOOD.hold_max == 2.0
    assert msgspec.structs.replace(GOOD, holds=()).hold_max == 0.0


def test_right_is_done_with_right_tables_and_deliveries() -> None:
    assert GOOD.is_right
    for wrong in ({"stuck": ("B1",)}, {"problems": ("x",)}, {"verdict": Verdict(lost=1)}):
        assert not msgspec.structs.replace(GOOD, **wrong).is_right
