"""SwapLink: thirteen messages, FIFO order, and what causal order takes."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import msgspec
import pytest

from protocol.reconfigure.published.rings import UNIT, ring_setting, rings, sweep
from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.swap_link import SwapLink, roles
from sapwood.sim.reconfiguring.setting import Publication, Setting
from sapwood.sim.reconfiguring.setups import DrawnDelays
from sapwood.sim.reconfiguring.world import MakeBroker, World
from sapwood.sim.topology import chain
from sapwood.sim.topology.delays import ConstantDelay
from sapwood.trace.schema import DELIVERED, PUBLISHED, Row

SWAPS = ((3, 1), (3, 2))
causal = partial(SwapLink, is_causal=True)


def test_who_is_a_b_and_c() -> None:
    assert roles(Exchange(("C", "B", "A"), 2)) == ("A", "B", "C")
    assert roles(Exchange(("A", "B", "C"), 1)) == ("A", "B", "C")
    with pytest.raises(ParameterError, match="has 4 brokers; a swap has three"):
        roles(Exchange(("A", "B", "C", "D"), 1))


@pytest.mark.parametrize("is_causal", [False, True])
def test_thirteen_messages(is_causal: bool) -> None:
    setting = ring_setting(3, 2, delays=UNIT, publishing=False)
    outcome = World(setting, partial(SwapLink, is_causal=is_causal)).run()
    assert outcome.is_right
    assert outcome.coordination == {"Close": 4, "LockAck": 2, "LockSwap": 2, "Open": 1, "Swap": 4}
    assert outcome.messages == 13


@pytest.mark.slow
@pytest.mark.parametrize("is_filtering", [False, True])
def test_as_published_only_causal_order_breaks(is_filtering: bool) -> None:
    found = sweep(partial(SwapLink, is_filtering=is_filtering), rings(SWAPS, 25))
    assert found["out_of_order_causal"]
    assert found.keys() == {"runs", "out_of_order_causal"}


@pytest.mark.slow
def test_with_counts_and_waiting_causal_order_holds() -> None:
    assert sweep(causal, rings(SWAPS, 25)) == {"runs": 50}


class Triangle:
    """From B3 (a) to B2 (b) and on it is quick; by way of B2 the swap takes long to B1 (c)."""

    def link(self, left: str, right: str) -> ConstantDelay:
        return ConstantDelay(8.0 if (left, right) == ("B3", "B2") else 1.0)


def answered() -> Setting:
    """What a floods and b answers before the path a → b → c is closed."""
    setting = ring_setting(3, 2, delays=Triangle(), off_ring=0, share=1.0, answer_share=1.0)
    publications = tuple(Publication(6.0 + number / 2, "CB3", {"topic": 0}) for number in range(60))
    return msgspec.structs.replace(setting, publications=publications, until=80.0)


def test_the_run_that_breaks_causal_order_and_what_mending_it_costs() -> None:
    broken, mended = World(answered(), SwapLink).run(), World(answered(), causal).run()
    assert broken.verdict.out_of_order_causal
    assert mended.is_right
    assert sum(mended.holds) > sum(broken.holds)


def latest(setting: Setting, make: MakeBroker) -> float:
    """By how much something took longer than its way ever takes before and after the change."""
    rows: list[Row] = []
    World(setting, make, [rows.append]).run()
    published = {row.notification: row for row in rows if row.kind == PUBLISHED}
    tree = setting.tree
    after = setting.changes[0].applied(tree)
    late = 0.0
    for row in rows:
        if row.kind == DELIVERED:
            start = published[row.notification]
            ways = [one.path(start.broker, row.broker) for one in (tree, after)]
            usual = max(
                sum(setting.delays.link(*pair).delay_max for pair in pairwise(way)) for way in ways
            )
            late = max(late, row.at - start.at - usual)
    return late


@pytest.mark.slow
def test_minimal_delay_is_kept_as_published_and_given_up_for_causal_order() -> None:
    """003 promises both: nothing takes longer than before or after, and causal order."""
    settings = [
        msgspec.structs.replace(one, delays=DrawnDelays(one.seed, 0.1, 2.0), answer_share=0.8)
        for one in rings(SWAPS, 12, off_ring=0)
    ]
    assert max(latest(one, SwapLink) for one in settings) == pytest.approx(0, abs=1e-9)
    assert max(latest(one, causal) for one in settings) > 0.01


def test_filtering_sends_less_into_the_triangle() -> None:
    settings = rings(SWAPS, 4, share=0.2)
    hops = [
        sum(
            World(one, partial(SwapLink, is_filtering=flag)).run().notifications for one in settings
        )
        for flag in (False, True)
    ]
    assert hops[1] < hops[0]


def test_a_broker_that_takes_part_elsewhere_says_no_and_all_are_free_again() -> None:
    tree = chain(4)
    changes = (Exchange(tree.brokers[:3], 2), Exchange(tree.brokers[1:], 2))
    setting = msgspec.structs.replace(ring_setting(4, 2, off_ring=0), changes=changes)
    world = World(setting, SwapLink)
    outcome = world.run()
    assert not outcome.stuck
    assert outcome.coordination["LockNack"]
    assert not outcome.verdict.lost + outcome.verdict.duplicated


def test_counting_needs_all_that_is_flooded() -> None:
    with pytest.raises(ParameterError, match="is_filtering"):
        SwapLink("B1", (), Filter, is_causal=True, is_filtering=True)
