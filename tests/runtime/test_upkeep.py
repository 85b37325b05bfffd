"""How often a broker looks around."""

from __future__ import annotations

from sapwood.runtime.node import Node
from sapwood.runtime.upkeep import TICK_SECONDS_MIN, Upkeep

from sapwood.runtime.config.settings import LinkSettings, Settings


def seconds(*silences: float) -> float:
    upkeep = Upkeep(Node(Settings(id="B1"), 1))
    for silence in silences:
        upkeep.heed(silence)
    return upkeep.seconds


def test_it_looks_often_enough_for_whoever_stands_least_silence() -> None:
    assert seconds() == 0.5
    assert seconds(0.0, 8.0, 1.2, 60.0) == 0.3
    assert seconds(1e-3) == TICK_SECONDS_MIN


def test_its_own_links_are_among_them() -> None:
    node = Node(Settings(id="B1", link=LinkSettings(silence_seconds=0.8)), 1)
    assert Upkeep(node).seconds == 0.2
