"""Whole networks: recursion against closed form, locality, correct mixes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.traffic.strategies import SEVEN, random_rates, trees
from sapwood.analysis.traffic import complete
from sapwood.analysis.traffic.arrays import Floats
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.predicting import (
    HIERARCHICAL,
    PEER_TO_PEER,
    Traffic,
    check_edges,
    flooded_edges,
    predict,
)
from sapwood.analysis.traffic.rates import Rates, rates, uniform_rates
from sapwood.analysis.traffic.tree import RootedTree, complete_tree, rooted_tree
from sapwood.errors import ParameterError, RoutingError


@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.floats(1e-9, 1e9),
    st.sampled_from([60.0, 600.0]),
    st.booleans(),
)
def test_recursion_and_closed_form_agree(
    arity: int, levels: int, subscriptions: float, refresh: float, at_root: bool
) -> None:
    setting = CompleteSetting(arity=arity, levels=levels, classes=10, refresh_period=refresh)
    given_rates = uniform_rates(
        complete_tree(arity, levels),
        subscriptions=subscriptions,
        lifetime=setting.lifetime,
        publication_rate=setting.publication_rate,
        classes=setting.classes,
        publishers_at_root=at_root,
    )
    found = predict(given_rates, "identity", HIERARCHICAL, refresh_period=refresh)

    def is_near(value: float, formula: Floats) -> bool:
        return value == pytest.approx(float(formula), rel=1e-9, abs=1e-300)

    assert is_near(found.entries, complete.entries(setting, subscriptions))
    assert is_near(found.leasing, complete.leasing(setting, subscriptions))
    assert is_near(found.changes, complete.toggling(setting, subscriptions))
    extra = 0 if at_root else complete.publishing(setting, subscriptions)
    assert is_near(found.notifications, complete.notifications(setting, subscriptions) + extra)
    flooded = predict(given_rates, "flooding").total
    gain = complete.gain(setting, subscriptions, publishers_at_root=at_root)
    assert flooded - found.total == pytest.approx(float(gain), rel=1e-9, abs=1e-9 * flooded)


def thesis_traffic(tree: RootedTree, seed: int) -> tuple[float, float, float]:
    """Entries, notifications and toggles by Eq. 3.35 to 3.53 as they are written, broker by broker.

    As corrected: every broker's way to the root counts, and the root sends no toggles.
    """
    found = random_rates(tree, seed)
    entries = sent = told = 0.0
    for index in range(found.interests.filters):
        live, arrivals = found.live[:, index], found.arrival_rate[:, index]
        published = found.publication_rate[:, index]

        def nobody(broker: int, live: Floats = live) -> float:
            chance = float(np.exp(-live[broker]))
            for kid in tree.children[broker]:
                chance *= nobody(kid, live)
            return chance

        def arriving(broker: int, arrivals: Floats = arrivals) -> float:
            return float(arrivals[broker]) + sum(
                arriving(k, arrivals) for k in tree.children[broker]
            )

        for broker in range(1, len(tree.brokers)):
            entries += 1 - nobody(broker)
            sent += float(published.sum()) * (1 - nobody(broker))
            told += 2 * arriving(broker) * nobody(broker)
        for broker in range(len(tree.brokers)):
            at = broker
            while at:
                sent += float(published[broker]) * nobody(at)
                at = tree.parents[at]
    return entries, sent, told


@given(trees(), st.integers(0, 1000))
def test_the_recursion_of_the_thesis_on_any_tree(tree: RootedTree, seed: int) -> None:
    found = predict(random_rates(tree, seed), "identity", HIERARCHICAL)
    assert (found.entries, found.notifications, found.changes) == pytest.approx(
        thesis_traffic(tree, seed), rel=1e-9
    )


@given(trees(), st.integers(0, 1000))
def test_peer_to_peer_sends_fewer_notifications_and_more_changes(
    tree: RootedTree, seed: int
) -> None:
    found = random_rates(tree, seed)
    hierarchical, peer = (predict(found, "identity", v) for v in (HIERARCHICAL, PEER_TO_PEER))
    assert peer.notifications <= hierarchical.notifications * (1 + 1e-12)
    assert peer.changes >= hierarchical.changes * (1 - 1e-12)


def test_the_result_is_the_same_seen_from_any_root() -> None:
    links = [("A", "B"), ("B", "C"), ("C", "D"), ("B", "E")]
    totals = []
    for root in "ABCDE":
        tree = rooted_tree(links, root)
        number = np.array([[ord(name) - 64.0] for name in tree.brokers])
        found = rates(tree, arrival_rate=number / 9, departure_rate=1.5, publication_rate=number)
        totals.append(predict(found, "identity").total)
    assert totals == pytest.approx([totals[0]] * 5)


def test_every_broker_wants_everything() -> None:
    """Then filtering saves nothing (004, section 4; thesis 9021)."""
    found = rates(SEVEN, arrival_rate=100, departure_rate=1, publication_rate=1, copies=9)
    traffic = predict(found, "identity", HIERARCHICAL, refresh_period=60)
    assert traffic.entries == pytest.approx(6 * 9)
    assert traffic.notifications == pytest.approx(predict(found, "flooding").notifications)


def test_a_class_at_home_in_a_third_of_the_leaves() -> None:
    """P1, section 4.3: then filtering pays with any number of subscriptions (T3.19)."""
    tree = complete_tree(3, 5)
    third = np.zeros((len(tree.brokers), 3))
    for index, kid in enumerate(tree.children[0]):
        inside = [kid]
        for broker in inside:
            inside += list(tree.children[broker])
        leaves = [broker for broker in inside if tree.is_leaf[broker]]
        third[leaves, index] = 1
    published = np.array(tree.is_leaf, dtype=float)[:, None] / 81 / 1000 * [1, 1, 1]
    for omega, lifetime, limit in ((1000.0, 600.0, 76_667), (100.0, 60.0, 7_067)):
        found = rates(
            tree,
            arrival_rate=third * 60 / lifetime,
            departure_rate=1 / lifetime,
            publication_rate=published * omega,
        )
        # A third of the classes each: per-class figures times 1000 / 3.
        filtered = predict(found, "identity", HIERARCHICAL, refresh_period=60)
        flooded = predict(found, "flooding")
        assert (flooded.total - filtered.total) * 1000 / 3 == pytest.approx(limit, abs=1)


def test_clients_at_the_leaves_are_the_worst_case() -> None:
    """With subscribers anywhere filtering saves more, though it toggles more (T3.20)."""
    tree = complete_tree(3, 5)

    def clients(subscriptions: float, at_leaves: bool) -> Rates:
        return uniform_rates(
            tree, subscriptions=subscriptions, lifetime=600, publication_rate=1000, classes=1000,
            clients_at_leaves=at_leaves,
        )  # fmt: skip

    def traffic(subscriptions: float, at_leaves: bool) -> Traffic:
        published = clients(subscriptions, at_leaves=True).publication_rate
        found = replace(clients(subscriptions, at_leaves), publication_rate=published)
        return predict(found, "identity", HIERARCHICAL, refresh_period=60)

    gains = [120_000 - traffic(100_000, where).total for where in (True, False)]
    assert [round(gain) for gain in gains] == [22_216, 34_460]
    assert [round(traffic(300_000, where).changes) for where in (True, False)] == [25, 56]


def test_mixes_that_lose_nothing() -> None:
    nowhere, everywhere = np.zeros((2, 6), dtype=bool), np.ones((2, 6), dtype=bool)
    for floods in (nowhere, everywhere, flooded_edges(SEVEN, HIERARCHICAL)):
        check_edges(SEVEN, floods)
    wrong = nowhere.copy()
    wrong[DOWN, SEVEN.position["B5"] - 1] = True
    with pytest.raises(RoutingError, match=r"edge .* filters, but behind it B3 -> B5 floods"):
        check_edges(SEVEN, wrong)
    with pytest.raises(RoutingError):
        predict(random_rates(SEVEN, 1), "identity", floods=wrong)
    alone = nowhere.copy()
    alone[UP, SEVEN.position["B6"] - 1] = True
    check_edges(SEVEN, alone)


def test_what_is_refused() -> None:
    found = random_rates(SEVEN, 1)
    with pytest.raises(ParameterError, match="variant: is 'flat'; there are hierarchical, peer"):
        predict(found, "identity", "flat")
    with pytest.raises(ParameterError, match="refresh_period: is 0; wanted a finite number above"):
        predict(found, "identity", refresh_period=0)
    with pytest.raises(ParameterError, match=r"floods: has the shape .1, 6.; wanted .2, 6."):
        predict(found, "identity", floods=np.zeros((1, 6), dtype=bool))
