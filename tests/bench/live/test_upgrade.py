"""A rolling upgrade asks again where somebody has not settled yet, and says where it stops."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.live.living import BEFORE
from sapwood.bench.live import upgrade as module
from sapwood.bench.live.upgrade import upgrade
from sapwood.errors import BenchmarkError
from sapwood.protocol.messages import BrokerReport, Surveyed
from sapwood.protocol.reconfigure.asking import TreeChangeEnded


class Operator:
    """A bus whose first answers are no; and processes that stop and start."""

    def __init__(self, refusals: int = 0, status: int = 0) -> None:
        self.refusals = refusals
        self.done: list[str] = []
        process = SimpleNamespace(stop=lambda: status, last_words="nothing")
        self.processes = dict.fromkeys(BEFORE.brokers, process)

    def __getitem__(self, broker: str) -> Any:
        self.done.append(f"stop {broker}")
        return self.processes[broker]

    async def restart(self, broker: str) -> None:
        self.done.append(f"start {broker}")

    async def survey(self) -> Surveyed:
        reports = [
            BrokerReport(name, 1, neighbours=BEFORE.neighbours(name), addresses=(f"{name}:1",))
            for name in BEFORE.brokers
        ]
        return Surveyed(1, tuple(reports))

    async def change_tree(self, wish: str, links: Any) -> TreeChangeEnded:
        self.refusals -= 1
        if self.refusals >= 0:
            return TreeChangeEnded(1, "refused", "not settled")
        self.done.append(wish)
        return TreeChangeEnded(1, "completed")


def upgraded(operator: Operator) -> list[str]:
    return asyncio.run(upgrade(cast("Any", operator), cast("Any", operator)))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS_BETWEEN", 0.0)


def test_each_broker_is_moved_out_stopped_started_and_moved_back() -> None:
    operator = Operator(refusals=3)
    assert [text for text in upgraded(operator) if "B" not in text] == [
        "A stopped", "A back", "C stopped", "C back"
    ]  # fmt: skip
    assert operator.done == [
        "stop A", "start A", "plan", "exchange", "stop B", "start B", "plan", "stop C", "start C",
        "plan",
    ]  # fmt: skip


def test_it_stops_where_something_is_wrong() -> None:
    with pytest.raises(BenchmarkError, match="refused: not settled"):
        upgraded(Operator(refusals=100))
    with pytest.raises(BenchmarkError, match="broker A ended with 3"):
        upgraded(Operator(status=3))
