"""Shortest paths against all paths, on small networks."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sim.topology.shortest import shortest_paths

Link = tuple[int, int, float, float]
NODES = 6
LINKS = st.lists(
    st.tuples(
        st.integers(0, NODES - 1),
        st.integers(0, NODES - 1),
        st.floats(0.125, 8.0),
        st.sampled_from([1.0, 2.0, 4.0]),
    ),
    max_size=12,
)


def every_path(
    links: list[Link], source: int, target: int, seen: tuple[int, ...] = ()
) -> list[tuple[float, float, int]]:
    """Length, narrowest width and hops of every path without a cycle."""
    if source == target:
        return [(0.0, math.inf, 0)]
    found = []
    for left, right, length, width in links:
        for here, there in ((left, right), (right, left)):
            if here == source and there not in seen:
                for rest in every_path(links, there, target, (*seen, source)):
                    found.append((length + rest[0], min(width, rest[1]), 1 + rest[2]))
    return found


@given(LINKS)
def test_no_path_is_shorter(links: list[Link]) -> None:
    chosen = [4, 0, 3]
    paths = shortest_paths(NODES, links, chosen)
    for row, source in enumerate(chosen):
        for column, target in enumerate(chosen):
            entry = [float(matrix[row, column]) for matrix in paths]
            assert entry == [float(matrix[column, row]) for matrix in paths]
            every = every_path(links, source, target)
            if not every:
                assert entry[0] == math.inf
                continue
            assert math.isclose(entry[0], min(every)[0])
            assert any(
                math.isclose(entry[0], length) and entry[1:] == [narrowest, hops]
                for length, narrowest, hops in every
            )


def test_a_network_without_links() -> None:
    paths = shortest_paths(3, [], [0, 2])
    assert np.array_equal(paths.length, [[0, math.inf], [math.inf, 0]])
