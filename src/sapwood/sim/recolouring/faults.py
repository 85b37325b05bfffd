"""Transient faults of coloured trees: anything may stand in a variable, or be under way.

The configuration, the roles and the clients are left alone: they are in ROM, or are not the
broker's (thesis 4.5.3, self-stabilization).
"""

from __future__ import annotations

import math
from random import Random

from sapwood.protocol.stabilize.published.colour_messages import (
    COLORS,
    Acknowledge,
    AskForPlace,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Connect,
    Message,
    NoPlace,
    Place,
    Recolor,
    Reign,
    Removed,
    TryThere,
)
from sapwood.protocol.stabilize.published.coloured_routing import CLIENT
from sapwood.sim.recolouring.world import TOPICS, ColouredWorld

GHOST = "B99"
"""A broker that does not exist."""


def cause(world: ColouredWorld, fault: str, share: float) -> None:
    """Let a fault happen now."""
    random, names = world.random, world.names
    if fault == "perturbed":
        perturb(world, share)
        disturb_messages(world)
    elif fault == "messages":
        disturb_messages(world)
    elif fault == "forgotten":
        forget_child(world, random.choice(names[1:]))
    elif fault == "lost":
        world.underlay.lose(random.choice(names[world.settings.root_group :] or names[1:]))
    elif fault == "root lost":
        world.underlay.lose(names[0])
    elif fault == "cut":
        cut_some_wire(world)


def forget_child(world: ColouredWorld, child: str) -> None:
    """The parent of a broker does not know it any more."""
    state = world.state(child)
    world.state(state.parent[state.current]).forget_child(child)


def cut_some_wire(world: ColouredWorld) -> None:
    """A broker and its parent cannot talk any more, for good.

    Not the root: who cannot reach it cannot join. In a star it is any wire beside the tree.
    """
    links = [(child, parent) for child, parent in world.parents().items() if parent != world.root]
    world.underlay.cut_wire(*world.random.choice(links or [(world.names[-2], world.names[-1])]))


def perturb(world: ColouredWorld, share: float) -> None:
    """Every variable of some brokers gets any value."""
    for name in world.names:
        if name not in world.underlay.lost and world.random.random() < share:
            perturb_broker(world, name, world.random)
            world.underlay.plan(name)


def perturb_broker(world: ColouredWorld, name: str, random: Random) -> None:
    """Every variable of a broker gets any value."""
    state, names = world.state(name), [*world.names, GHOST]
    period, now = world.settings.recolor_period, world.now
    times = (now, now + random.uniform(0, period), now - 1e6, now + 1e6, math.nan)
    state.old, state.current, state.new = (random.randrange(COLORS) for _ in range(3))
    state.children = [_some(random, names, 0.25) for _ in range(COLORS)]
    state.parent = [random.choice(["", *names]) for _ in range(COLORS)]
    state.flags = _some(random, names, 0.5)
    state.tables[:] = [_table(random, names) for _ in range(COLORS)]
    state.timer_at, state.retry_at = random.choice(times), random.choice(times)
    state.heard_at = random.choice(times)
    state.asked = random.choice(["", *names])
    state.path = _path(random, names)
    state.attempt = random.randrange(10)
    state.reigns = random.random() < 0.5
    state.requests = []


def _some(random: Random, names: list[str], chance: float) -> set[str]:
    return {name for name in names if random.random() < chance}


def _path(random: Random, names: list[str]) -> tuple[str, ...]:
    return tuple(random.sample(names, random.randrange(len(names))))


def _table(random: Random, names: list[str]) -> dict[str, dict[str, str]]:
    destinations = [*names, *(CLIENT + name for name in names)]
    return {
        name: {f"{random.choice(names)}/{random.randrange(9)}": f"topic = {random.randrange(9)}"}
        for name in destinations
        if random.random() < 0.3
    }


def disturb_messages(world: ColouredWorld) -> None:
    """Of the messages under way some are lost, some doubled; others come out of nowhere."""
    random, underlay = world.random, world.underlay
    for (source, target), messages in underlay.under_way.items():
        for number, message in list(messages.items()):
            fate = random.random()
            if fate < 0.3:
                del messages[number]
            elif fate < 0.5:
                underlay.send(source, target, message)
    for source in world.names:
        for target in world.names:
            if source != target and random.random() < 0.1:
                underlay.send(source, target, bogus_message(world, source, random))


def bogus_message(world: ColouredWorld, source: str, random: Random) -> Message:
    """A message that nobody sent."""
    names = [*world.names, GHOST]
    color = random.randrange(COLORS)
    path = (world.names[0], *_path(random, list(world.names[1:])), source)
    old, current, new = (random.randrange(COLORS) for _ in range(3))
    subscription = f"{random.choice(names)}/{random.randrange(TOPICS)}"
    messages: list[Message] = [
        Recolor(color, (), path),
        Acknowledge(),
        AskForPlace(),
        Place(old, current, new, path),
        TryThere(random.choice(names)),
        NoPlace(),
        Connect(),
        Removed(),
        Reign(),
        ColoredSubscribe(color, subscription, f"topic = {random.randrange(TOPICS)}"),
        ColoredUnsubscribe(color, subscription),
    ]
    return random.choice(messages)
