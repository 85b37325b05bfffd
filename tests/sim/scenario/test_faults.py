"""Faults of a scenario: what is refused, and whom they strike."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from sapwood.errors import ScenarioError
from sapwood.sim.scenario import Scenario, from_mapping
from sapwood.sim.scenario.faults import CrashFault, MessageFault, TableFault

BROKERS = ["B1", "B2", "B3", "B4"]


def scenario(*faults: dict[str, Any], **more: Any) -> Scenario:
    return from_mapping(
        {
            "topology": {"shape": "chain", "brokers": 4},
            "workload": {
                "type": "classes",
                "arrival_rate": 1.0,
                "departure_rate": 0.1,
                "publication_rate": 1.0,
            },
            "faults": list(faults),
            **more,
        }
    )


def test_faults_are_read() -> None:
    described = scenario(
        {"type": "tables", "at": 1, "share": 0.5},
        {"type": "crash", "at": 9, "brokers": ["B2"], "state": "stale", "age": 3},
        {"type": "messages", "at": 2, "seconds": 4, "late": 0.1, "late_seconds": 5},
    )
    assert described.faults == (
        TableFault(at=1.0, share=0.5),
        CrashFault(at=9.0, brokers=["B2"], state="stale", age=3.0),
        MessageFault(at=2.0, seconds=4.0, late=0.1, late_seconds=5.0),
    )
    assert [fault.ends_at for fault in described.faults] == [1.0, 9.0, 11.0]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"type": "table", "at": 1}, "did you mean 'tables'"),
        ({"type": "tables"}, "at"),
        ({"type": "tables", "at": -1}, "0 or more"),
        ({"type": "tables", "at": 1, "share": 1.5}, "from 0 to 1"),
        ({"type": "tables", "at": 1, "entries": 1.5}, "from 0 to 1"),
        ({"type": "tables", "at": 1, "brokers": ["B7"]}, "names 'B7'"),
        ({"type": "crash", "at": 1, "state": "stale", "age": 2}, "nothing before the start"),
        ({"type": "crash", "at": 1, "state": "old"}, "state"),
        ({"type": "messages", "at": 1, "loss": 2}, "from 0 to 1"),
        ({"type": "messages", "at": 1, "seconds": 0}, "above 0"),
        ({"type": "messages", "at": 1, "insertion": -1}, "0 or more"),
        ({"type": "messages", "at": 1, "losses": 1}, "is no key here"),
    ],
)
def test_what_cannot_be_is_refused(fault: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match="faults") as caught:
        scenario(fault)
    assert said in str(caught.value)


def test_faults_and_schemes_go_with_perfect_links() -> None:
    with pytest.raises(ScenarioError, match="faults goes with links = 'perfect' only"):
        scenario({"type": "tables", "at": 1}, links="faithful")
    with pytest.raises(ScenarioError, match=r"stabilization\.scheme goes with links = 'perfect'"):
        scenario(links="faithful", stabilization={"scheme": "rebuild"})


def test_a_share_strikes_at_least_one_and_none_strikes_nobody() -> None:
    for seed in range(20):
        few = TableFault(at=1.0, share=0.01).chosen(BROKERS, Random(seed))
        assert len(few) >= 1
    assert TableFault(at=1.0).chosen(BROKERS, Random(1)) == BROKERS
    assert TableFault(at=1.0, share=0.0).chosen(BROKERS, Random(1)) == []
    assert CrashFault(at=1.0, brokers=["B3"]).chosen(BROKERS, Random(1)) == ["B3"]
