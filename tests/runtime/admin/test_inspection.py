"""Looking at a network from outside: the survey, admin endpoints, and who is missing."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.serving import free_port, run, serving
from runtime.statuses import STATUS
from sapwood.protocol.messages import BrokerReport
from sapwood.runtime.admin.inspection import (
    BrokerView,
    NetworkView,
    fetch_status,
    inspect,
    natural,
)
from sapwood.runtime.client import connect


def view(*reports: BrokerReport, unreachable: tuple[str, ...] = ()) -> NetworkView:
    return NetworkView(tuple(BrokerView(report, None) for report in reports), unreachable)


def test_a_survey_is_completed_by_the_admin_endpoints_that_answer() -> None:
    async def check() -> None:
        admin = f"127.0.0.1:{free_port()}"
        async with (
            serving("B1", admin=admin) as first,
            serving("B2", join=(str(first.address),)) as second,
            connect(str(second.address)) as bus,
        ):
            found = await inspect(bus)
            assert [one.report.id for one in found.brokers] == ["B1", "B2"]
            assert found.brokers[0].status is not None
            assert found.brokers[0].status.id == "B1"
            assert found.brokers[1].status is None
            assert found.links == [("B1", "B2")]
            assert found.missing == []
            plain = await inspect(bus, with_status=False)
            assert [one.status for one in plain.brokers] == [None, None]

    run(check())


def test_another_broker_at_the_same_address_is_not_believed() -> None:
    async def check() -> None:
        admin = f"127.0.0.1:{free_port()}"
        async with (
            serving("B1", admin=admin) as first,
            serving("B2", join=(str(first.address),)) as second,
        ):
            config = msgspec.structs.replace(second.node.broker.config, admin=admin)
            second.node.broker.config = config
            async with connect(str(second.address)) as bus:
                found = await inspect(bus)
            assert [one.report.admin for one in found.brokers] == [admin, admin]
            assert [one.status is None for one in found.brokers] == [False, True]

    run(check())


def test_where_nobody_answers_there_is_no_status() -> None:
    assert fetch_status(f"http://127.0.0.1:{free_port()}", seconds=1.0) is None


def test_who_is_missing_is_known_by_others() -> None:
    one = BrokerReport("B1", 1, neighbours=("B2", "B10"))
    two = BrokerReport("B2", 1, neighbours=("B1",))
    found = view(one, two, unreachable=("B11",))
    assert found.missing == ["B10", "B11"]
    assert found.links == [("B1", "B2"), ("B1", "B10")]


def test_views_of_healthy_networks_miss_nobody() -> None:
    assert view(BrokerReport("B1", 1)).missing == []
    assert BrokerView(BrokerReport("B1", 1), STATUS).status is STATUS


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["B10", "B9"], ["B9", "B10"]),
        (["b", "a1b2", "a1b10"], ["a1b2", "a1b10", "b"]),
        (["2", "10", "x"], ["x", "2", "10"]),
    ],
)
def test_names_are_in_natural_order(names: list[str], ordered: list[str]) -> None:
    assert sorted(names, key=natural) == ordered


@given(st.lists(st.text(max_size=6), max_size=6))
def test_all_names_can_be_ordered(names: list[str]) -> None:
    assert sorted(sorted(names, key=natural)) == sorted(names)


READERS = """
import io, sys, threading
from unittest.mock import patch
from sapwood.runtime.admin import inspection

sys.setswitchinterval(1e-6)
data = sys.stdin.buffer.read()
start = threading.Barrier(16)

def read():
    start.wait()
    assert inspection.fetch_status("http://127.0.0.1:1") is not None

with patch.object(inspection, "urlopen", lambda *args, **options: io.BytesIO(data)):
    threads = [threading.Thread(target=read) for _ in range(16)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
"""


@pytest.mark.slow
def test_many_may_be_read_at_the_same_time_from_the_first_on() -> None:
    """What msgspec finds out about a type when it first decodes one is not safe for threads."""
    data = msgspec.json.encode(STATUS)
    for _ in range(3):
        read = subprocess.run([sys.executable, "-c", READERS], input=data, check=False)
        assert read.returncode == 0
