"""Order over a change of the tree with three colours (T4.19)."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from sapwood.protocol.stabilize.published.colour_messages import Deliver
from sapwood.protocol.stabilize.published.ordered_colours import (
    CausalColours,
    FifoColours,
    OrderedColours,
)
from sapwood.sim.recolouring.settings import RecolouringSettings
from sapwood.sim.recolouring.world import ColouredWorld
from sapwood.trace.judge.checkers import Checker
from sapwood.trace.judge.verdict import Verdict
from sapwood.trace.recorder import Recorder
from sapwood.trace.schema import CLOCK, DELIVERED, PUBLISHED, SUBSCRIBED, RunSettings

CHAIN = {"B1": "", "B2": "B1", "B3": "B2", "B4": "B3"}
QUICK = {("B4", "B1"), ("B1", "B4")}


class Answering(ColouredWorld):
    """Records for the checkers, and lets a client answer whatever it gets that is no answer."""

    def __init__(self, settings: RecolouringSettings) -> None:
        self.checker = Checker(settings={"run": RunSettings(settle_seconds=40.0)})
        self.record = Recorder("run", [self.checker.add])
        self.orders: dict[str, int] = {}
        self.answers: set[tuple[str, int]] = set()
        super().__init__(
            settings,
            CHAIN,
            lambda source, target, random: 0.01 if (source, target) in QUICK else 1.0,
        )
        self.record.now = lambda: self.now

    def next_order(self, client: str) -> int:
        self.orders[client] = self.orders.get(client, 0) + 1
        return self.orders[client]

    def subscribe(self, broker: str, topic: int, name: str = "") -> str:
        self.record(broker, SUBSCRIBED, client=broker, filter=f"topic = {topic}")
        return super().subscribe(broker, topic, name)

    def publish(self, broker: str, topic: int) -> int:
        self.record(
            broker,
            PUBLISHED,
            publisher=broker,
            sequence=self._sequences.get(broker, 0) + 1,
            client=broker,
            client_order=self.next_order(broker),
            attributes=msgspec.json.encode({"topic": topic}).decode(),
        )
        return super().publish(broker, topic)

    def _effect(self, name: str, effect: Any) -> None:
        super()._effect(name, effect)
        if not isinstance(effect, Deliver):
            return
        key = (effect.notification.publisher, effect.notification.sequence)
        self.record(
            name,
            DELIVERED,
            publisher=key[0],
            sequence=key[1],
            client=name,
            client_order=self.next_order(name),
        )
        if name == "B4" and key[0] == "B3":
            self.underlay.kernel.at(self.now, self.publish, name, 1)

    def verdict(self) -> Verdict:
        for name in self.names:
            self.record(name, CLOCK)
        return self.checker.verdict()


def moved(variant: str) -> tuple[Answering, Verdict]:
    """B4 is moved from the end of a slow chain to the root, by a quick link, under load."""
    settings = RecolouringSettings(
        variant=variant, delay_min=0.01, delay_max=1.0, recolor_period=30, refresh_period=10
    )
    world = Answering(settings)
    for name in world.names:
        world.subscribe(name, 1)
    world.run(60)
    world.request("B4", "B1")
    for _ in range(400):
        for name in world.names[:3]:
            world.publish(name, 1)
        world.run(0.25)
    world.run(100)
    return world, world.verdict()


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return {variant: moved(variant)[1] for variant in ("corrected", "fifo", "causal")}


@pytest.mark.slow
def test_without_holding_back_a_change_disorders(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["corrected"].out_of_order_fifo
    assert verdicts["corrected"].out_of_order_causal


@pytest.mark.slow
def test_fifo_order_is_kept_by_what_waits_at_added_links(verdicts: dict[str, Verdict]) -> None:
    assert not verdicts["fifo"].out_of_order_fifo


def test_causal_order_is_kept_by_what_waits_at_its_publisher(
    verdicts: dict[str, Verdict],
) -> None:
    assert not verdicts["causal"].out_of_order_fifo
    assert not verdicts["causal"].out_of_order_causal


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["fifo", "causal"])
def test_nothing_is_lost_repeated_or_held_for_ever(variant: str) -> None:
    world, _ = moved(variant)
    outcome = world.judge.outcome()
    assert outcome.expected
    assert (outcome.lost, outcome.duplicated, outcome.unexpected) == (0, 0, 0)
    for name in world.names:
        machine = world.machine(name)
        assert isinstance(machine, FifoColours | CausalColours)
        assert not machine.held
        assert machine.wait < world.settings.recolor_period


@pytest.mark.slow
def test_with_fifo_order_only_added_links_wait() -> None:
    world, _ = moved("fifo")
    joined = [world.machine(name) for name in ("B1", "B4")]
    assert all(isinstance(one, FifoColours) and one.held_until for one in joined)


@pytest.mark.slow
@pytest.mark.parametrize(("wait", "is_enough"), [(3.0, False), (6.0, True)])
def test_the_longest_way_alone_is_not_enough(
    monkeypatch: pytest.MonkeyPatch, wait: float, is_enough: bool
) -> None:
    """d·δmax is 3 s here; brokers turn one after the other, the last 3 s after the root."""
    monkeypatch.setattr(OrderedColours, "wait", wait)
    _, verdict = moved("causal")
    assert (verdict.out_of_order_causal == 0) == is_enough


@pytest.mark.slow
def test_a_spoilt_time_holds_nothing_for_ever() -> None:
    world, _ = moved("causal")
    machine = world.machine("B2")
    assert isinstance(machine, CausalColours)
    machine.held_until = math.inf
    assert not machine.is_holding
