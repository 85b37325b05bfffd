"""A random tree over long links makes itself cheaper, with real processes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from runtime.living import run
from sapwood.demo.optimizing import (
    ACT,
    Optimized,
    OptimizingRun,
    changes_of,
    cost_of,
    described,
    draw_topics,
    links_of,
)
from sapwood.trace import check, read

DECISION = {
    "outcome": "completed",
    "change": "B2.1/s1",
    "mover": "B1",
    "middle": "B2",
    "onto": "B3",
    "moved": 10.0,
    "alone": 4.0,
    "cost_old": 30.0,
    "cost_new": 2.0,
    "gain": 280.0,
    "sigma": 11.0,
}


def status(neighbours: dict[str, float], **optimization: Any) -> dict[str, Any]:
    """What a broker says, with frames a second from each neighbour."""
    return {
        "neighbours": [
            {"id": name, "in_tree": True, "state": "linked", "rate": {"frames_in": rate}}
            for name, rate in neighbours.items()
        ],
        "optimization": {"link_costs": {}, "decisions": [], **optimization},
    }


def test_cost_links_and_changes_are_read_from_what_brokers_say() -> None:
    statuses = {
        "B1": status({"B2": 10.0}, link_costs={"B2": 5.0}),
        "B2": status({"B1": 2.0, "B3": 100.0}, link_costs={"B1": 5.0}, decisions=[DECISION]),
    }
    assert cost_of(statuses) == 10.0 * 5.0 + 2.0 * 5.0
    assert links_of(statuses) == (("B1", "B2"),), "B3 does not say so"
    assert changes_of(statuses) == {
        "B2.1/s1": "B1 leaves B2 for B3: 10.0 notifications/s, 4.0 of them only between the two; "
        "link 30.0 → 2.0 ms, gain 280 ± 11 ms/s"
    }
    undone = status({}, decisions=[{**DECISION, "outcome": "undone"}])
    assert changes_of({"B2": undone}) == {}


def test_interest_is_skewed() -> None:
    topics = draw_topics(["B1", "B2", "B3", "B4"], Random(1), 25.0)
    assert [round(one.rate, 2) for one in topics] == [12.0, 6.0, 4.0, 3.0]
    assert all(len({one.at, *one.wanted_at}) == 3 for one in topics)


def test_what_became_of_it_in_words() -> None:
    found = Optimized(
        cost_before=2000.0, cost_after=500.0, latency_before=80.0, latency_after=10.0,
        links_before=(("B1", "B2"), ("B2", "B3")), links_after=(("B1", "B3"), ("B2", "B3")),
        changes=("one",), published=100, delivered=200, gaps=0,
    )  # fmt: skip
    assert found.is_cheaper
    assert described(found) == [
        "before  B1–B2, B2–B3",
        "after   B1–B3, B2–B3",
        "cost    2,000 → 500 ms of links a second (0.25 of it)",
        "p50     80.0 → 10.0 ms from publisher to subscriber",
        "1 links moved; 100 published, 200 delivered, 0 gaps reported",
    ]


@pytest.mark.long
@pytest.mark.timeout(400)
def test_the_tree_gets_cheaper_and_nobody_notices(tmp_path: Path) -> None:
    said: list[str] = []
    shown = OptimizingRun(4, tmp_path, said.append, 1, 60.0, ACT)
    found = run(shown.run(), seconds=350.0)
    assert found.is_cheaper, found
    assert found.changes
    assert found.gaps == 0
    assert [text.split()[0] for text in said] == ["TREE", *["SWAP"] * len(found.changes)]
    assert check(read(shown.trace_directory)).violations == []
