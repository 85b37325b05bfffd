"""The arithmetic of the published heuristics, over plain sequences of numbers.

Written so that it can be compiled as it stands (loops and indices, nothing else): brokers run it as
Python, the flow simulator (`sapwood.sim.flow`) compiles these very functions. So there is one
definition of each rule. None of them calls another one, as a compiled function could not.

A ring has as many links as brokers; link k joins the brokers k and k + 1, the new one is the last.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

Numbers = Sequence[float]
Sums = MutableSequence[float]


def costs_round(
    place: int,
    direction: int,
    links: Numbers,
    processing: Numbers,
    shared: Numbers,
    shared_pairs: Numbers,
    costs: Sums,
) -> None:
    """What a notification costs to each other broker of a ring, going round one way (Eq. 5.11).

    `shared` is what the broker at `place` shares with each, `shared_pairs` what it shares with each
    and the next one, by the link between them. Fills `costs` by broker.
    """
    size = len(links)
    here = place
    cost = 0.0
    for step in range(size - 1):
        there = (here + direction) % size
        link = here if direction > 0 else there
        if step == 0:
            cost = links[link]
        else:
            common = shared[there]
            both = min(common, shared_pairs[link])
            detour = (common - both) / common if common > 0 else 1.0
            cost = detour * (cost + processing[here]) + links[link]
        costs[there] = cost
        here = there


def add_ring_costs(place: int, direction: int, shared: Numbers, costs: Numbers, sums: Sums) -> None:
    """Add, by link, what is met going round one way before that link is met (Eq. 5.12)."""
    size = len(sums)
    here = place
    met = 0.0
    for _ in range(size - 1):
        there = (here + direction) % size
        sums[here if direction > 0 else there] += met
        met += shared[there] * costs[there]
        here = there
    sums[here if direction > 0 else (here - 1) % size] += met


def is_cheaper_than_dearest(links: Numbers) -> bool:
    """LMST: whether the new link is cheaper than the dearest of the path."""
    for link in range(len(links) - 1):
        if links[-1] < links[link]:
            return True
    return False


def add_kept_link(place: int, links: Numbers, sums: Sums) -> None:
    """LMST: a broker's own link of the ring costs what it costs, unless it is the one that goes."""
    for link in range(len(sums)):
        if link != place:
            sums[link] += links[place]


def add_lost_interest(place: int, shared_with_next: float, sums: Sums) -> None:
    """LMIT: what is shared over a broker's own link goes lost with it."""
    sums[place] += shared_with_next


def least_link(sums: Numbers, hysteresis: float) -> int:
    """Which link of the path goes for the new one, the last; -1 if it had better not come."""
    best = 0
    for link in range(1, len(sums) - 1):
        if sums[link] < sums[best]:
            best = link
    if sums[best] < (1 - hysteresis) * sums[len(sums) - 1]:
        return best
    return -1
