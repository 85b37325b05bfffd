"""What is not known of a network is taken to be as bad as it can be."""

from __future__ import annotations

import pytest

from sapwood.analysis.stabilization import Network, network_of


@pytest.mark.parametrize(
    ("brokers", "given", "height", "diameter"),
    [
        (40, {"height": 6}, 6, 12),
        (40, {"height": 6, "diameter": 9}, 6, 9),
        (40, {}, 39, 39),
        (40, {"depth_max": 10}, 9, 18),
        (40, {"diameter": 12}, 12, 12),
        (4, {"height": 2}, 2, 3),
        (1, {}, 0, 0),
        (2, {}, 1, 1),
    ],
)
def test_what_is_not_given_is_at_its_worst(
    brokers: int, given: dict[str, int], height: int, diameter: int
) -> None:
    found = network_of(brokers, delay_max=0.1, **given)
    assert (found.height, found.diameter) == (height, diameter)


def test_the_rest_is_as_given() -> None:
    found = network_of(
        3, delay_max=0.4, delay_min=0.1, wait_max=2.0, depth_max=9, ring_max=5, height=1
    )
    assert found == Network(
        brokers=3,
        height=1,
        diameter=2,
        delay_max=0.4,
        delay_min=0.1,
        wait_max=2.0,
        depth_max=9,
        ring_max=5,
    )
    assert found.counted_delay_max == 2.4


def test_a_beacon_passes_no_more_brokers_than_there_are_nor_than_are_accepted() -> None:
    assert network_of(40, delay_max=0.1).reach == 40
    assert network_of(400, delay_max=0.1).reach == 64
