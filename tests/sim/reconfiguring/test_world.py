"""The world of published ways: the same for the same seed, and wrong where something is wrong."""

from __future__ import annotations

from protocol.reconfigure.published.rings import ring_setting
from sapwood.protocol.reconfigure.published.link_exchange import LinkExchange
from sapwood.protocol.reconfigure.published.messages import ChangeAsked
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.sim.reconfiguring.world import World


class Unmoved(PlainBroker):
    """Routes, and does not change anything."""

    def _asked(self, event: ChangeAsked) -> None:
        pass


def test_a_setting_gives_one_run() -> None:
    setting = ring_setting(4, 2, 1)
    assert World(setting, LinkExchange).run() == World(setting, LinkExchange).run()


def test_brokers_that_only_route_deliver_everything_in_order() -> None:
    outcome = World(ring_setting(5, 2, off_ring=0), Unmoved).run()
    verdict = outcome.verdict
    assert verdict.is_correct
    assert verdict.expected == verdict.delivered > 100
    assert outcome.problems == (
        "B1 is linked to B2",
        "B2 is linked to B1, B3",
        "B3 is linked to B2, B4",
        "B5 is linked to B4",
    )


class Forgetful(LinkExchange):
    """Loses an entry at the end."""

    def _free(self) -> None:
        super()._free()
        self.tables.entries[next(iter(self.neighbours))].clear()


class Hoarding(LinkExchange):
    """Keeps an entry of the new link that nobody wants."""

    def _free(self) -> None:
        neighbour = next(iter(self.neighbours))
        super()._free()
        self.tables.add(neighbour, "stale", "topic = 99")


def test_wrong_tables_are_found() -> None:
    forgetful = World(ring_setting(4, 2, share=1.0), Forgetful).run()
    assert any(" misses 2 entries of " in problem for problem in forgetful.problems)
    hoarding = World(ring_setting(4, 2), Hoarding).run()
    assert any(" has 1 entries of " in problem for problem in hoarding.problems)


def test_ways_past_the_links_are_slower_by_the_detour() -> None:
    quick, slow = (
        World(ring_setting(5, 2, detour=detour, publishing=False), LinkExchange)
        for detour in (1.0, 9.0)
    )
    assert quick.run().is_right
    assert slow.run().is_right
    assert slow.kernel.now > quick.kernel.now
