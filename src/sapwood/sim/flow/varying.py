"""Compiled: clients whose rate changes, on a tree whose edges are routed each in its own way.

All classes are looked at together, second by second. Of every edge it is known what flooding,
simple routing and identity-based routing would take, whatever it does now: that is what brokers
measure that may decide about it.
"""

# ruff: noqa: PLR0913, PLR0917 - kernels take arrays one by one
from __future__ import annotations

from typing import Any, Final

from sapwood.compiled.compiling import kernel, part
from sapwood.sim.flow.tables import DOWN, UP

FLOOD: Final = 0
SIMPLE: Final = 1
IDENTITY: Final = 2

CARRIED: Final = 0
BY_SIMPLE: Final = 1
BY_FLOODING: Final = 2
BY_IDENTITY: Final = 3


@part
def toggle(
    kind: int,
    broker: int,
    on: bool,
    parents: Any,
    first_child: Any,
    last_child: Any,
    modes: Any,
    sources: Any,
    single: Any,
    asked: Any,
    filters: Any,
    below: Any,
    filtering: Any,
    published: Any,
    toggles: Any,
    wanted: Any,
    stack: Any,
    out: Any,
) -> None:
    """The clients of a broker begin or cease to want a class: as `spread`, for all edges."""
    sign = 1 if on else -1
    stack[0, 0], stack[0, 1] = broker, len(parents)
    top = 1
    while top:
        top -= 1
        here, came = stack[top, 0], stack[top, 1]
        before = sources[kind, here]
        sources[kind, here] = before + sign
        if on:
            only = single[kind, here] if before == 1 else -1
            single[kind, here] += came
            everybody = before == 0
        else:
            single[kind, here] -= came
            only = single[kind, here] if before == 2 else -1
            everybody = before == 1
        if everybody:
            low, high = first_child[here] - 1, last_child[here]
        elif 0 <= only < len(parents):
            low, high = only, only + 1
        else:
            continue
        for place in range(low, high):
            there = parents[here] if everybody and place == low else place
            if there < 0 or there == came:
                continue
            way, link = (DOWN, here) if there == parents[here] else (UP, there)
            asked[kind, way, link] = on
            filters[way, link] += sign
            toggles[way, link] += 1
            out[BY_IDENTITY] += 1
            if modes[way, link] == IDENTITY:
                out[CARRIED] += 1
            if way == DOWN:
                wanted[way, link] -= sign * published[kind]
                below[kind] += sign
                if modes[way, link] != FLOOD:
                    filtering[kind] += sign
            stack[top, 0], stack[top, 1] = there, here
            top += 1


@part
def notify(
    broker: int,
    kind: int,
    parents: Any,
    modes: Any,
    flooding_down: int,
    asked: Any,
    below: Any,
    filtering: Any,
    wanted: Any,
    out: Any,
) -> None:
    """Count what one notification takes, now and under each algorithm."""
    simple = below[kind]
    carried = filtering[kind] + flooding_down
    here = broker
    while here > 0:
        down, up = asked[kind, DOWN, here], asked[kind, UP, here]
        if down:
            simple -= 1
            wanted[DOWN, here] -= 1
        if up:
            simple += 1
            wanted[UP, here] += 1
        if down or modes[DOWN, here] == FLOOD:
            carried -= 1
        if up or modes[UP, here] == FLOOD:
            carried += 1
        here = parents[here]
    out[CARRIED] += carried
    out[BY_SIMPLE] += simple
    out[BY_FLOODING] += len(parents) - 1
    out[BY_IDENTITY] += simple


@part
def told_simply(broker: int, parents: Any, modes: Any, simple_up: int) -> int:
    """How many edges are told each subscription at a broker."""
    number = simple_up
    here = broker
    while here > 0:
        number += int(modes[DOWN, here] == SIMPLE) - int(modes[UP, here] == SIMPLE)
        here = parents[here]
    return number


@kernel
def begin(
    count: int, alive: Any, random: Any, parents: Any, first_child: Any, last_child: Any,
    modes: Any, local: Any, sources: Any, single: Any, asked: Any, filters: Any, below: Any,
    filtering: Any, published: Any, toggles: Any, wanted: Any, stack: Any, out: Any,
) -> None:  # fmt: skip
    """So many subscriptions are there from the beginning, anywhere."""
    kinds, brokers = local.shape
    for at in range(count):
        place = int(random.random() * brokers * kinds)
        alive[at] = place
        kind, broker = place // brokers, place % brokers
        local[kind, broker] += 1
        if local[kind, broker] == 1:
            toggle(
                kind, broker, True, parents, first_child, last_child, modes, sources, single, asked,
                filters, below, filtering, published, toggles, wanted, stack, out,
            )  # fmt: skip


@kernel
def run_seconds(
    births: Any, death_rate: float, publication_rate: float, count: int, alive: Any, random: Any,
    parents: Any, first_child: Any, last_child: Any, modes: Any, local: Any, sources: Any,
    single: Any, asked: Any, filters: Any, below: Any, filtering: Any, published: Any,
    published_at: Any, moved: Any, toggles: Any, wanted: Any, stack: Any, out: Any,
) -> int:  # fmt: skip
    """Some seconds, with a rate of arrivals for each; how many subscriptions are live then.

    `alive` has to have room for all that can come.
    """
    kinds, brokers = local.shape
    flooding_down = simple_up = 0
    for link in range(1, brokers):
        flooding_down += int(modes[DOWN, link] == FLOOD)
        simple_up += int(modes[UP, link] == SIMPLE)
    for second in range(len(births)):
        row = out[second]
        now = 0.0
        while True:
            total = births[second] + death_rate * count + publication_rate
            now += random.exponential() / total
            if not now < 1.0:
                break
            choice = random.random() * total
            if choice < publication_rate:
                place = int(random.random() * brokers * kinds)
                kind, broker = place // brokers, place % brokers
                published[kind] += 1
                published_at[broker] += 1
                notify(
                    broker, kind, parents, modes, flooding_down, asked, below, filtering, wanted,
                    row,
                )  # fmt: skip
                continue
            on = choice < publication_rate + births[second]
            if on:
                if count == len(alive):
                    continue
                place = int(random.random() * brokers * kinds)
                alive[count] = place
                count += 1
            else:
                at = int(random.random() * count)
                place = alive[at]
                count -= 1
                alive[at] = alive[count]
            kind, broker = place // brokers, place % brokers
            moved[broker] += 1
            row[BY_SIMPLE] += brokers - 1
            row[CARRIED] += told_simply(broker, parents, modes, simple_up)
            local[kind, broker] += 1 if on else -1
            if local[kind, broker] == (1 if on else 0):
                toggle(
                    kind, broker, on, parents, first_child, last_child, modes, sources, single,
                    asked, filters, below, filtering, published, toggles, wanted, stack, row,
                )  # fmt: skip
    return count


@kernel
def close(asked: Any, published: Any, wanted: Any) -> None:
    """Bring what was wanted of every edge up to now; then `published` has to begin anew."""
    for kind in range(len(published)):
        if published[kind]:
            for link in range(1, asked.shape[2]):
                wanted[DOWN, link] += published[kind] * asked[kind, DOWN, link]


@kernel
def follow(asked: Any, modes: Any, filtering: Any) -> None:
    """Edges are routed in another way from now on."""
    filtering[:] = 0
    for kind in range(len(filtering)):
        for link in range(1, asked.shape[2]):
            filtering[kind] += asked[kind, DOWN, link] and modes[DOWN, link] != FLOOD


@kernel
def sum_below(parents: Any, own: Any, below: Any) -> None:
    """Sums over the subtree of each broker, itself included."""
    below[:] = own
    for broker in range(len(parents) - 1, 0, -1):
        below[parents[broker]] += below[broker]
