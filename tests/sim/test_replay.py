"""The story of a violation: every hop, and what every table on the way said."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sapwood.protocol.forwarding import Forwarding
from sapwood.sim.replay import Watcher, explain
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario, from_mapping
from sapwood.trace.schema import Row


def scenario(algorithm: str) -> Scenario:
    return from_mapping(
        {
            "name": "chain",
            "duration": 5.0,
            "topology": {"shape": "chain", "brokers": 3},
            "routing": {"algorithm": algorithm},
            "workload": {
                "type": "narrowing",
                "subscriptions": 3,
                "arrival_rate": 3.0,
                "publication_rate": 5.0,
            },
        }
    )


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker in the middle sends nothing on, whatever its table says."""
    plan = Forwarding._plan

    def no_plan(self: Forwarding, wanted: list[str]) -> Any:
        made = plan(self, wanted)
        return made._replace(everyone=(), without={}) if len(self.neighbours) == 2 else made

    monkeypatch.setattr(Forwarding, "_plan", no_plan)


def story_of_a_loss(algorithm: str) -> list[str]:
    """The lines about what is lost on its way from one end to the other."""
    result = Simulation(scenario(algorithm), 3).run()
    for lost in result.verdict.violations:
        lines = explain(scenario(algorithm), 3, lost).splitlines()
        assert lines[:2] == [str(lost), f"Notification {lost.notification} in run 'chain-3':"]
        if any("forwarded" in line for line in lines):
            return lines[2:]
    raise AssertionError("nothing is lost between brokers")


@pytest.mark.usefixtures("fault")
def test_the_story_shows_where_it_went_wrong() -> None:
    lines = story_of_a_loss("simple")
    kinds = [line.split()[3] for line in lines if "settled" not in line]
    assert kinds == ["subscribed", "published", "table", "forwarded", "table"]
    met, last = [line for line in lines if " table " in line]
    assert re.search(r"B[13]\.1 .* table .* B2 wants value between \d+ and \d+", met)
    assert re.search(r"B2\.1 .* table .* from B[13] \S+ wants value between \d+ and \d+", last)


@pytest.mark.usefixtures("fault")
def test_a_flooded_edge_is_named() -> None:
    met = [line for line in story_of_a_loss("flooding") if " table " in line]
    assert len(met) == 2
    assert met[0].endswith("B2 is flooded")
    assert "B1 is flooded; B3 is flooded" in met[1]


def test_a_watcher_keeps_what_is_about_one_notification_or_none() -> None:
    watcher = Watcher("P.1:2")
    base: dict[str, Any] = {"run": "r", "broker": "B1", "session": 1, "at": 0.0}
    rows = [
        Row(**base, step=1, kind="published", publisher="P.1", sequence=1),
        Row(**base, step=2, kind="published", publisher="P.1", sequence=2),
        Row(**base, step=3, kind="subscribed", client="S.1", filter="true"),
    ]
    for row in rows:
        watcher.add(row)
    assert watcher.rows == rows[1:]
