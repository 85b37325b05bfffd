"""AddBroker: two messages, nobody locked, nothing in the network that was there."""

from __future__ import annotations

import msgspec

from protocol.reconfigure.published.rings import ring_setting
from sapwood.protocol.reconfigure.published.add_broker import AddBroker
from sapwood.protocol.reconfigure.published.changes import Join
from sapwood.sim.reconfiguring.world import World


def test_several_join_at_once_and_nobody_else_hears_of_it() -> None:
    changes = (Join("Y1", "B2"), Join("Y2", "B2"), Join("Y3", "B4"))
    for seed in range(3):
        setting = msgspec.structs.replace(ring_setting(4, 2, seed), changes=changes)
        world = World(setting, AddBroker)
        outcome = world.run()
        assert outcome.is_right
        assert outcome.coordination == {"Connect": 3, "ConnectAck": 3}
        wanted = {filter for _, filter in setting.subscriptions}
        assert outcome.subscriptions == 3 * len(wanted)
        assert all(set(world.brokers[one.leaf].tables.told) == {one.neighbour} for one in changes)
