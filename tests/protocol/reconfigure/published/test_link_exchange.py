"""Link exchange by algorithms 2 to 8: where the print fails, and what mends it."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import msgspec
import pytest

from protocol.reconfigure.published.rings import (
    ALL,
    INNER,
    SHARED_LEFT,
    UNIT,
    kinds,
    ring_setting,
    rings,
    sweep,
    with_churn,
)
from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.link_exchange import (
    CAUSAL,
    CORRECTED,
    FIFO,
    NONE,
    PRINTED,
    Correction,
    LinkExchange,
    Lock,
)
from sapwood.protocol.reconfigure.published.messages import ChangeAsked, Received, Send
from sapwood.protocol.tree import Topology
from sapwood.sim.reconfiguring.setting import Setting
from sapwood.sim.reconfiguring.world import MakeBroker, World
from sapwood.sim.topology import chain
from sapwood.sim.topology.delays import ConstantDelay

SEEDS = 4


def exchanging(*left_out: Correction, order: str = CAUSAL) -> MakeBroker:
    """The corrected form without some corrections."""
    return partial(LinkExchange, order=order, corrections=CORRECTED - set(left_out))


printed = partial(LinkExchange, corrections=PRINTED)


# As printed


def test_as_printed_every_ring_of_three_is_stuck() -> None:
    found = sweep(printed, rings(((3, 1), (3, 2)), SEEDS))
    assert found["stuck"] == found["runs"] == 2 * SEEDS
    assert found["lost"]


@pytest.mark.slow
def test_as_printed_rings_with_four_ends_are_stuck_now_and_then() -> None:
    found = sweep(printed, rings(INNER, 2 * SEEDS))
    assert 0 < found["stuck"] < found["runs"]
    assert found.keys() == {"runs", "stuck"}


# Corrected


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), ALL)
def test_corrected_nothing_is_lost_repeated_or_reordered(n: int, k: int) -> None:
    found = sweep(exchanging(), rings([(n, k)], SEEDS))
    assert found == {"runs": SEEDS}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["identity", "simple"])
def test_so_it_is_with_slow_ways_past_the_links_and_every_algorithm(algorithm: str) -> None:
    make = partial(LinkExchange, algorithm=algorithm)
    settings = rings(ALL, 2, detour=6.0)
    assert sweep(make, settings) == {"runs": len(settings)}


@pytest.mark.slow
def test_who_subscribes_meanwhile_is_served_and_tables_are_right() -> None:
    settings = [with_churn(one, one.seed) for one in rings(ALL, 3, share=0.2)]
    assert sweep(exchanging(), settings) == {"runs": len(settings)}


@pytest.mark.parametrize(
    ("n", "k", "messages", "routed"),
    [(3, 2, 16, 16), (4, 2, 24, 25), (5, 2, 30, 33), (6, 3, 36, 43), (8, 4, 48, 61)],
)
def test_six_messages_for_every_broker(n: int, k: int, messages: int, routed: int) -> None:
    """One for each past the links, or as many as the way round the ring is long."""
    setting = ring_setting(n, k, delays=UNIT, off_ring=0, publishing=False, share=0.0)
    outcome = World(setting, exchanging()).run()
    assert outcome.is_right
    assert outcome.messages == messages
    assert outcome.messages + outcome.detours == routed


@pytest.mark.slow
def test_order_costs_waiting_and_no_message() -> None:
    found = {
        order: [World(one, exchanging(order=order)).run() for one in rings(INNER, 3)]
        for order in (NONE, FIFO, CAUSAL)
    }
    messages = [[outcome.messages for outcome in outcomes] for outcomes in found.values()]
    assert messages[0] == messages[1] == messages[2]
    assert not any(outcome.holds for outcome in found[NONE])
    waited = {order: sum(sum(one.holds) for one in outcomes) for order, outcomes in found.items()}
    assert 0 < waited[FIFO] < waited[CAUSAL]


@pytest.mark.slow
def test_without_order_and_with_fifo_only_that_is_kept() -> None:
    settings = rings(ALL, SEEDS)
    without = sweep(exchanging(order=NONE), settings)
    assert without["out_of_order_fifo"]
    assert without.keys() == {"runs", "out_of_order_fifo", "out_of_order_causal"}
    fifo = sweep(exchanging(order=FIFO), settings)
    assert fifo["out_of_order_causal"]
    assert fifo.keys() == {"runs", "out_of_order_causal"}


@pytest.mark.slow
def test_nothing_leaves_the_ring() -> None:
    outcomes = [World(one, exchanging()).run() for one in rings(INNER, SEEDS)]
    assert sum(outcome.subscriptions for outcome in outcomes)
    assert not sum(outcome.subscriptions_off_ring for outcome in outcomes)


# What each correction is for


@pytest.mark.slow
def test_1_an_unlock_that_came_late_is_acknowledged() -> None:
    found = sweep(exchanging(Correction.ACKNOWLEDGE), rings(INNER, SEEDS))
    assert found["stuck"]


class SlowFromTo:
    """One direction between two brokers is slow."""

    def __init__(self, source: str, target: str) -> None:
        self._slow = (source, target)

    def link(self, left: str, right: str) -> ConstantDelay:
        return ConstantDelay(30.0 if (left, right) == self._slow else 1.0)


def slow_begin(n: int, k: int) -> Setting:
    """The word to begin takes long to the right end of the old link."""
    delays = SlowFromTo("B1", f"B{k + 1}")
    return msgspec.structs.replace(ring_setting(n, k, delays=delays), until=400.0)


def test_2_a_separator_before_begin_does_not_end_relaying() -> None:
    assert World(slow_begin(5, 2), exchanging()).run().is_right
    outcome = World(slow_begin(5, 2), exchanging(Correction.BEGIN_FIRST)).run()
    assert outcome.stuck
    assert outcome.verdict.lost


@pytest.mark.slow
def test_3_the_other_sides_separator_colours_nobody() -> None:
    settings = rings([(4, 2)], 12, detour=6.0)
    found = sweep(exchanging(Correction.COLOUR_BY_SIDE), settings)
    assert found["lost"]
    assert sweep(exchanging(), settings) == {"runs": 12}


def test_4_one_broker_may_be_an_end_of_both_links() -> None:
    found = sweep(exchanging(Correction.SHARED_ROLES), rings(SHARED_LEFT, 2))
    assert found["stuck"] == found["lost"] == found["runs"] == 6


@pytest.mark.slow
def test_5_subscriptions_from_off_the_ring_wait() -> None:
    settings = [with_churn(one, one.seed) for one in rings(ALL, 6, share=0.1)]
    found = sweep(exchanging(Correction.HOLD_SUBSCRIPTIONS), settings)
    assert found["problems"]


def test_7_the_shared_end_on_the_right_is_asked_before() -> None:
    """All rings with k = n − 1, if the other side is quick enough."""
    for n in (3, 4, 5):
        outcome = World(slow_begin(n, n - 1), exchanging(Correction.ASK_BEFORE)).run()
        assert outcome.stuck
        assert World(slow_begin(n, n - 1), exchanging()).run().is_right


# Locks


@pytest.mark.slow
def test_6_overlapping_changes_are_refused_and_nobody_stays_locked() -> None:
    """Either one of them is made or none, and what there is is a tree."""
    tree = chain(6)
    pairs = [
        (Exchange(tree.brokers[:4], 2), Exchange(tree.brokers[2:], 2)),
        (Exchange(tree.brokers[:5], 2), Exchange(tree.brokers[5:1:-1], 1)),
    ]
    made = []
    for changes in pairs:
        for seed in range(6):
            setting = msgspec.structs.replace(ring_setting(6, 3, seed, off_ring=0), changes=changes)
            world = World(setting, exchanging())
            outcome = world.run()
            assert not outcome.stuck
            assert outcome.verdict.is_correct, kinds(outcome)
            made.append(links_of(world) != tree.links)
    assert any(made)


def test_6_an_initiator_that_finds_the_tree_changed_does_not_ask_itself_for_ever() -> None:
    change = Exchange(("B1", "B9", "B3"), 2)
    asking = LinkExchange("B1", ("B2",), Filter, corrections=CORRECTED - {Correction.OWN_CHANGE})
    assert asking.handle(ChangeAsked(change), 0) == [Send("B1", Lock(change))]
    assert asking.handle(Received("B1", Lock(change)), 0) == [Send("B1", Lock(change))]
    assert LinkExchange("B1", ("B2",), Filter).handle(ChangeAsked(change), 0) == []


def test_6_a_lock_of_another_change_is_sent_back_and_the_own_one_stands() -> None:
    """It comes from the right, where the own one would come back from if it had failed."""
    own, other = Exchange(("B1", "B2", "B3", "B4"), 2), Exchange(("B4", "B3", "B2", "B9"), 2)
    for corrections, is_locked in ((CORRECTED, True), (CORRECTED - {Correction.OWN_CHANGE}, False)):
        broker = LinkExchange("B2", ("B1", "B3", "B9"), Filter, corrections=corrections)
        broker.handle(Received("B1", Lock(own)), 0)
        broker.handle(Received("B3", Lock(other)), 0)
        assert broker.is_busy == is_locked


def links_of(world: World) -> tuple[tuple[str, str], ...]:
    """The links both ends of which know each other; refused if they are no tree."""
    known = {name: set(broker.neighbours) for name, broker in world.brokers.items()}
    links = [(a, b) for a, b in combinations(known, 2) if b in known[a]]
    assert all(a in known[b] for a, b in links)
    return Topology(tuple(known), tuple(links)).links


def test_changes_that_share_no_broker_run_at_the_same_time() -> None:
    tree = chain(6)
    changes = (Exchange(tree.brokers[:3], 2), Exchange(tree.brokers[3:], 1))
    setting = msgspec.structs.replace(ring_setting(6, 3, off_ring=0), changes=changes)
    assert World(setting, exchanging()).run().is_right


def test_an_order_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match="order: is 'total'; wanted one of none, fifo, causal"):
        LinkExchange("B1", (), Filter, order="total")
