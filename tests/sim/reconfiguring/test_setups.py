"""The papers' networks: rings of the length that is asked for, the same for the same seed."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.sim.reconfiguring.setups import (
    S003_PRINTED,
    S44_PRINTED,
    DrawnDelays,
    JobSetup,
    TopicSetup,
)


@pytest.mark.parametrize("setup", [JobSetup(), TopicSetup()])
@pytest.mark.parametrize("ring", [3, 7])
def test_a_seed_gives_a_ring_of_the_wanted_length(setup: JobSetup | TopicSetup, ring: int) -> None:
    setting, again = setup.setting(ring, 4), setup.setting(ring, 4)
    assert setting.changes[0].n == ring
    assert setting.tree.path(setting.changes[0].ring[0], setting.changes[0].ring[-1])
    assert (setting.tree, setting.changes, setting.publications) == (
        again.tree,
        again.changes,
        again.publications,
    )
    assert setup.setting(ring, 5).publications != setting.publications
    times = [one.at for one in setting.publications]
    assert times == sorted(times)
    assert times[0] < setting.change_at < times[-1] < setting.until


def test_jobs_have_subscribers_of_their_own() -> None:
    setting = S44_PRINTED.setting(5, 1)
    assert len(setting.tree.brokers) == 100
    assert len(setting.clients) == 500
    assert len(setting.subscriptions) == 450
    rate = len(setting.publications) / setting.publications[-1].at
    assert rate == pytest.approx(1000, rel=0.1)


def test_half_of_the_brokers_only_forward() -> None:
    setting = S003_PRINTED.setting(3, 1)
    assert len(setting.subscriptions) == 1000
    assert len(set(setting.clients.values())) <= 50


def test_each_pair_keeps_its_delay() -> None:
    delays = DrawnDelays(1, 0.01, 0.1)
    assert delays.link("A", "B") is delays.link("B", "A")
    assert delays.link("A", "B") == DrawnDelays(1, 0.01, 0.1).link("B", "A")
    assert delays.link("A", "C") != delays.link("A", "B")
    assert 0.01 <= delays.link("A", "C").delay <= 0.1


def test_a_ring_longer_than_any_way_is_refused() -> None:
    with pytest.raises(ParameterError, match="ring: is 9; no tree of 6 brokers drawn"):
        JobSetup(brokers=6).setting(9, 1)
    with pytest.raises(ParameterError, match="ring"):
        JobSetup().setting(2, 1)
