"""Every rule by which changes and beacons get along, broken once: random changes find each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sapwood.protocol.broker import Broker
from sapwood.protocol.effects import Effect
from sapwood.protocol.reconfigure.messages import Collect
from sapwood.protocol.reconfigure.rooting import Rooting
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.reconfigure.turning import Turning
from sapwood.protocol.stabilize.refresh import Refreshing
from sapwood.sim.faithful.turning import has_faults, problems_of

Break = Callable[[pytest.MonkeyPatch], None]

SEEDS = [seed for seed in range(30) if not has_faults(seed)]


def beacons_without_mark(patch: pytest.MonkeyPatch) -> None:
    """What somebody in a change says is believed like anything else."""
    patch.setattr(Broker, "knows_change", lambda self, change: False)


def no_child_written(patch: pytest.MonkeyPatch) -> None:
    """Nobody notes that the neighbour below is a child from now on."""
    patch.setattr(Rooting, "_write_child", lambda self, name, now: None)


def nothing_stands_still(patch: pytest.MonkeyPatch) -> None:
    """Beacons go on to judge links on the ring."""

    def changed(self: Rooting, ring: Ring) -> None:
        self._tree.change = ring.change

    patch.setattr(Rooting, "lock_again", changed)


def no_root_in_collect(patch: pytest.MonkeyPatch) -> None:
    """Those left of the old link guess on which side the root is."""
    collected = Turning._collected

    def changed(
        self: Turning, ring: Ring, source: str, message: Collect, now: float
    ) -> list[Effect]:
        wrong = Collect(message.change, message.tables, is_root_left=True)
        return collected(self, ring, source, wrong, now)

    patch.setattr(Turning, "_collected", changed)


def refresh_goes_on(patch: pytest.MonkeyPatch) -> None:
    """Tables are compared over edges that are told nothing."""

    def changed(self: Refreshing, neighbour: str) -> bool:
        one = self.core.neighbours.get(neighbour)
        return one is None or one.is_away

    patch.setattr(Refreshing, "is_resting", changed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        beacons_without_mark,
        no_child_written,
        nothing_stands_still,
        no_root_in_collect,
        refresh_goes_on,
    ],
    ids=lambda rule: rule.__name__,
)
def test_a_rule_that_is_broken_is_found(rule: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    rule(monkeypatch)
    assert any(_problems(seed) for seed in SEEDS)


def _problems(seed: int) -> Any:
    try:
        return problems_of(seed)
    except Exception as problem:  # noqa: BLE001 - whatever it is, the broken rule has shown
        return [str(problem)]
