"""One run: a coloured tree in a right state, a fault, and how long until all is right again."""

from __future__ import annotations

from typing import Any

from sapwood.protocol.stabilize.published.colour_messages import (
    ColoredNotification,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Received,
)
from sapwood.sim.recolouring.faults import cause
from sapwood.sim.recolouring.settings import RecolouringResult, RecolouringSettings
from sapwood.sim.recolouring.world import TOPICS, ColouredWorld

_ROUTED = (ColoredNotification, ColoredSubscribe, ColoredUnsubscribe)


class TreeWatch:
    """Looks at the tree after everything that may change it; notes when it was wrong last."""

    def __init__(self, world: ColouredWorld) -> None:
        self._world = world
        self.problems: list[str] = world.problems()
        self.changed = False
        """Whether the tree was ever another than at the start, or wrong."""
        self.wrong_until = world.now
        world.underlay.after = self._look

    def _look(self, name: str, event: Any) -> None:
        if isinstance(event, Received) and isinstance(event.message, _ROUTED):
            return
        before, self.problems = self.problems, self._world.problems()
        if before or self.problems:
            self.wrong_until = self._world.now
            self.changed = True


def run(settings: RecolouringSettings) -> RecolouringResult:
    """Warm up, let the fault happen, watch."""
    world = ColouredWorld(settings)
    for broker in world.names:
        world.subscribe(broker, world.random.randrange(TOPICS))
    before = TreeWatch(world)
    world.run(2 * settings.recolor_period)
    world.publish_for_ever()
    world.run(settings.warm_up * settings.recolor_period)
    disturbed = tuple(before.problems) or (("the tree was wrong for a while",) * before.changed)
    return _watched(world, disturbed)


def _watched(world: ColouredWorld, disturbed: tuple[str, ...]) -> RecolouringResult:
    settings, count = world.settings, len(world.names)
    bound, fault_at = settings.bound(count), world.now
    asked = world.underlay.sent["AskForPlace"]
    cause(world, settings.fault, settings.share)
    watch = TreeWatch(world)
    world.run(settings.watched * bound)
    problems = tuple(world.problems())
    arrived = world.now - 2 * count * settings.delay_max
    outcome = world.judge.outcome(until=arrived)
    return RecolouringResult(
        seed=settings.seed,
        variant=settings.variant,
        fault=settings.fault,
        brokers=count,
        bound=bound,
        bound_printed=settings.bound_printed(count),
        recovered_after=None if problems else watch.wrong_until - fault_at,
        served_after=world.judge.last_wrong(fault_at, arrived) - fault_at,
        problems=problems,
        disturbed_before=disturbed,
        messages=dict(sorted(world.underlay.sent.items())),
        published=outcome.published,
        expected=outcome.expected,
        lost=outcome.lost,
        duplicated=outcome.duplicated,
        unexpected=outcome.unexpected,
        disordered=outcome.disordered,
        joins=world.underlay.sent["AskForPlace"] - asked,
    )
