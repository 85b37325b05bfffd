"""Costs of trees and the bounds beside them, by hand and against all trees there are."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sapwood.errors import PipelineError
from sapwood.pipeline.loads.costs import (
    Costs,
    _Model,
    as_topology,
    current_tree,
    load_costs,
    ordered,
)
from sapwood.protocol.tree import Groups

NAMES = ("A", "B", "C", "D", "E")
CHAIN = (("A", "B"), ("B", "C"), ("C", "D"))


def test_the_delivery_tree_is_what_joins_the_brokers_concerned() -> None:
    costs = Costs(links={("A", "B"): 3.0, ("B", "C"): 4.0}, brokers={"B": 10.0, "D": 1.0})
    model = _Model(NAMES, CHAIN, costs)
    cost, spanning, least, unreached = model.costs(np.array([0, 2]))
    assert (cost, unreached) == (3.0 + 4.0 + 10.0, 0)
    assert (spanning, least) == (1.0, 1.0)  # a direct link would cost the default
    assert model.costs(np.array([3])) == (1.0, 1.0, 1.0, 0)
    assert model.costs(np.array([0, 4]))[0::3] == (0.0, 1)  # nothing leads to E


@pytest.mark.slow
def test_no_tree_is_cheaper_than_the_least() -> None:
    """All spanning trees of five brokers on a plane, and all sets of brokers."""
    random = np.random.default_rng(3)
    for _ in range(4):
        places = random.uniform(0, 10, (5, 2))
        links = {
            (NAMES[a], NAMES[b]): float(np.linalg.norm(places[a] - places[b]))
            for a, b in combinations(range(5), 2)
        }
        costs = Costs(links=links)
        for count in range(1, 6):
            for chosen in combinations(range(5), count):
                concerned = np.array(chosen)
                best = min(
                    _Model(NAMES, tree, costs).costs(concerned)[0] for tree in _trees(list(links))
                )
                _, spanning, least, _ = _Model(NAMES, (), costs).costs(concerned)
                assert least <= best + 1e-9
                assert best <= spanning + 1e-9


def _trees(links: list[tuple[str, str]]) -> list[tuple[tuple[str, str], ...]]:
    found: list[tuple[tuple[str, str], ...]] = []
    for chosen in combinations(links, 4):
        groups = Groups(NAMES)
        if sum(groups.join(*link) for link in chosen) == len(chosen):
            found.append(chosen)
    return found


def test_the_newest_links_are_the_tree() -> None:
    used = {("A", "B"): 9.0, ("B", "C"): 5.0, ("A", "C"): 8.0, ("C", "D"): 1.0}
    assert current_tree(("A", "B", "C", "D"), used) == (("A", "B"), ("A", "C"), ("C", "D"))
    assert as_topology(("A", "B"), [("A", "B")]) is not None
    assert as_topology(("A", "B", "C"), [("A", "B")]) is None
    assert ordered("B", "A") == ("A", "B")


def test_costs_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_text('default = 2\n[links]\n"B2-B1" = 3.5\n[brokers]\nB1 = 0.5\n')
    costs = load_costs(path)
    assert costs == Costs(links={("B1", "B2"): 3.5}, brokers={"B1": 0.5}, default=2.0)
    assert (costs.link("B1", "B2"), costs.link("B1", "B9")) == (3.5, 2.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default = -1", "default is -1; a cost is a number from 0 up"),
        ("default = true", "default is True"),
        ("[links]\nB1 = 1", "no pair"),
        ("[brokers]\nB1 = 'x'", "brokers.B1 is 'x'"),
        ("speed = 1", "'speed' is none of default, links, brokers"),
        ("=", "cannot be read as costs"),
    ],
)
def test_a_wrong_file_of_costs_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "costs.toml"
    path.write_text(text)
    with pytest.raises(PipelineError, match=message):
        load_costs(path)
    with pytest.raises(PipelineError, match=r"gone.toml cannot be read"):
        load_costs(tmp_path / "gone.toml")
