"""Who is asked for what, against tables that are worked out anew after every step."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sapwood.analysis.traffic.tree import RootedTree, rooted_tree
from sapwood.compiled.compiling import kernel
from sapwood.sim.flow.tables import (
    COVERING,
    DOWN,
    IDENTITY,
    MERGING,
    UP,
    Tables,
    new_tables,
    spread,
)
from sapwood.sim.flow.traffic import shape_of
from sapwood.sim.topology import random_tree

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""

COVERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
"""Filter 0 covers 1 and 2, and 1 covers 2."""


@kernel
def step(tables: Any, filter: int, broker: int, source: int, on: bool) -> None:
    spread(tables, filter, broker, source, on, 0.0)


def empty_tables(tree: RootedTree, algorithm: int, covers: np.ndarray) -> Tables:
    shape = shape_of(tree)
    floods = np.zeros((2, len(tree.brokers)), dtype=bool)
    return new_tables(
        (shape.parents, shape.first_child, shape.last_child), floods, algorithm,
        (covers, np.zeros((0, 0), dtype=bool)), (len(tree.brokers), 3, 3),
    )  # fmt: skip


def wanted_behind(tree: RootedTree, wanted: np.ndarray) -> np.ndarray:
    """By direction, broker below the link, and filter: whether anybody there wants it."""
    found = np.zeros((2, *wanted.shape), dtype=bool)
    for link in range(1, len(tree.brokers)):
        below = {link}
        for broker in range(link + 1, len(tree.brokers)):
            if tree.parents[broker] in below:
                below.add(broker)
        is_below = np.array([at in below for at in range(len(tree.brokers))])
        found[DOWN, link] = wanted[is_below].any(axis=0)
        found[UP, link] = wanted[~is_below].any(axis=0)
    return found


def told(asked: np.ndarray, algorithm: int, covers: np.ndarray) -> list[list[frozenset[int]]]:
    """What is told over every edge: filters, those that no other covers, or one merger."""
    rows = []
    for way in (DOWN, UP):
        row = []
        for flags in asked[way]:
            there = frozenset(int(one) for one in np.flatnonzero(flags))
            if algorithm == COVERING:
                there = frozenset(f for f in there if not any(covers[f, g] for g in there))
            elif algorithm == MERGING and there:
                there = frozenset({hash(there)})
            row.append(there)
        rows.append(row)
    return rows


@pytest.mark.parametrize("algorithm", [IDENTITY, COVERING, MERGING])
@pytest.mark.parametrize("seed", range(3))
def test_tables_and_messages_are_those_worked_out_anew(seed: int, algorithm: int) -> None:
    random = Random(seed)
    tree = rooted_tree(random_tree(9, random).links)
    tables = empty_tables(
        tree, algorithm, COVERS if algorithm == COVERING else COVERS[:0, :0].copy()
    )
    wanted = np.zeros((9, 3), dtype=bool)
    messages = np.zeros((2, 9), np.int64)
    for _ in range(120):
        broker, filter = random.randrange(9), random.randrange(3)
        before = told(tables.asked, algorithm, COVERS)
        wanted[broker, filter] ^= True
        step(tables, filter, broker, 9, bool(wanted[broker, filter]))
        assert np.array_equal(tables.asked, wanted_behind(tree, wanted))
        after = told(tables.asked, algorithm, COVERS)
        for way in (DOWN, UP):
            for link in range(9):
                messages[way, link] += len(before[way][link] ^ after[way][link])
        assert np.array_equal(tables.changes, messages)
