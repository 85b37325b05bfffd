"""Turning waves on the settings of the published ways: right, and with fewer messages."""

from __future__ import annotations

import msgspec
import pytest

from protocol.reconfigure.published.rings import ring_setting
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.changes import Leave
from sapwood.sim.reconfiguring.methods import PUBLISHED
from sapwood.sim.reconfiguring.setups import JobSetup, TopicSetup
from sapwood.sim.reconfiguring.turning import TurningMethod, TurningWorld


@pytest.mark.parametrize("ring", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_nothing_goes_wrong_and_it_takes_fewer_messages_than_published(ring: int) -> None:
    setting = JobSetup().setting(ring, 1)
    (change,) = setting.changes
    assert isinstance(change, Exchange)
    outcome = TurningMethod()(setting)
    assert outcome.is_right
    assert outcome.verdict.expected > 100
    paints = outcome.coordination.get("Paint", 0)
    assert sum(outcome.coordination.values()) - paints == 3 * ring + change.k - 2
    published = PUBLISHED["exchange-causal"](setting)
    assert sum(outcome.coordination.values()) < sum(published.coordination.values())
    assert outcome.subscriptions_off_ring == 0
    assert outcome.holds, "what crosses the new link waits"


def test_answers_come_behind_what_they_answer() -> None:
    outcome = TurningMethod()(TopicSetup().setting(3, 1))
    assert outcome.is_right
    assert outcome.verdict.out_of_order_causal == 0


def test_links_that_stay_as_they_were_are_a_problem() -> None:
    world = TurningWorld(JobSetup().setting(3, 1), "identity")
    assert any("is linked to" in one for one in world.problems())


def test_only_links_are_exchanged() -> None:
    setting = msgspec.structs.replace(ring_setting(3, 2), changes=(Leave("B3", "B2"),))
    with pytest.raises(TypeError, match="exchange links"):
        TurningWorld(setting, "identity")._change()
