"""`sapwood status`: all brokers, one a line; what an admin endpoint knows, where it answers."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import msgspec
import pytest
from rich.console import Console

from runtime.serving import chain_in_background, free_port
from runtime.statuses import CLIENT, NEIGHBOUR, STATUS
from sapwood.cli.main import run
from sapwood.cli.status import _size, changing, healing, standing_by, table
from sapwood.protocol.messages import BrokerReport, LoadReport
from sapwood.protocol.tree import Topology
from sapwood.runtime.admin.inspection import BrokerView, NetworkView
from sapwood.runtime.admin.status import ChangeStatus
from sapwood.runtime.local.local_network import LocalNetwork

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """B1 alone, with an admin endpoint on a port that is known before."""
    with chain_in_background(1, admin=f"127.0.0.1:{free_port()}") as servers:
        yield str(servers[0].address)


def drawn(view: NetworkView) -> list[list[str]]:
    """The words of each line of the table."""
    text = io.StringIO()
    Console(width=100, file=text).print(table(view))
    return [line.split() for line in text.getvalue().splitlines() if line.split()]


def test_a_broker_is_shown_with_what_its_admin_endpoint_knows(url: str, capsys: Captured) -> None:
    assert run(["status", "-s", url]) == 0
    out = capsys.readouterr().out
    assert "broker" in out
    assert "·" not in out
    assert run(["status", "-s", url, "--json"]) == 0
    (broker,) = json.loads(capsys.readouterr().out)["brokers"]
    assert broker["id"] == broker["status"]["id"] == "B1"
    assert broker["clients"] == 1
    status = broker["status"]
    assert (status["tree"]["root"], status["tree"]["parent"], status["tree"]["kept"]) == (
        "B1",
        "",
        [],
    )
    assert set(status["faults"].values()) == {0}
    assert status["healing"]["bounds"]["tree"] > 0
    assert f"any tree {status['healing']['bounds']['tree']:,.1f} s" in out


def test_figures_are_those_of_all_streams() -> None:
    slow = msgspec.structs.replace(CLIENT, is_slow=True)
    status = msgspec.structs.replace(STATUS, neighbours=(NEIGHBOUR,), clients=(CLIENT, slow))
    report = BrokerReport("B1", 1, neighbours=("B2", "B3"), away=("B3",), clients=2)
    view = NetworkView((BrokerView(report, status), BrokerView(BrokerReport("B2", 1), None)), ())
    lines = drawn(view)
    words = "B1 · B2 B3(away) 2 0 8 12 39 B 45 1 75"
    assert lines[-3] == words.split(" ")
    assert lines[-2] == ["B2", "·", "0", "0", *"······"]
    assert lines[-1] == ["B3", "cannot", "be", "reached"]


def test_the_place_in_the_tree_is_shown() -> None:
    root = BrokerReport("B1", 1, neighbours=("B2",), root="B1")
    child = BrokerReport("B2", 1, neighbours=("B1",), candidates=("B10",), root="B1", parent="B1")
    other = BrokerReport("B10", 1, candidates=("B2", "B9"))
    view = NetworkView(tuple(BrokerView(one, None) for one in (root, child, other)), ())
    lines = drawn(view)
    assert [line[:3] for line in lines[-3:-1]] == [["B1", "(root)", "B2"], ["B2", "B1", "B1"]]
    assert standing_by(view) == ["links that stand by: B2–B10, B9–B10"]
    assert standing_by(NetworkView((BrokerView(root, None),), ())) == []


def test_of_many_links_that_stand_by_the_first_are_named() -> None:
    names = tuple(f"B{number}" for number in range(2, 16))
    view = NetworkView((BrokerView(BrokerReport("B1", 1, candidates=names), None),), ())
    (line,) = standing_by(view)
    assert line.startswith("links that stand by: B1–B2, B1–B3, ")
    assert line.endswith(", B1–B13 and 2 more")


def test_faults_and_the_time_until_one_is_healed_are_said() -> None:
    """The slowest broker counts; what never heals at one of them never heals."""
    assert STATUS.healing is not None
    slower = msgspec.structs.replace(
        STATUS,
        id="B2",
        faults={"mismatch": 0},
        healing=msgspec.structs.replace(
            STATUS.healing,
            bounds=dict.fromkeys(STATUS.healing.bounds, 1049.0),
            problem="20 s is not kept",
        ),
    )
    views = [BrokerView(BrokerReport(one.id, 1), one) for one in (STATUS, slower)]
    assert healing(NetworkView(tuple(views), ())) == [
        "faults found by B1 since its start: mismatch 31, rebirth_changed 44",
        "stabilization.seconds of B2: 20 s is not kept",
        "healed within (bounds): a parent gone for good 1,049.0 s, any tree 1,049.0 s, "
        "then any tables never, any fault never, any fault of derived state never",
    ]
    assert healing(NetworkView((BrokerView(BrokerReport("B1", 1), None),), ())) == []


def test_changes_of_the_tree_are_said_once_though_all_of_a_ring_tell_of_them() -> None:
    ring = ("B1", "B2", "B3")
    ended = {"B1.1/1": "completed", "B1.1/2": "undone"}
    views = [
        BrokerView(
            BrokerReport(name, 1, plan="plan for ann" if name == "B2" else ""),
            msgspec.structs.replace(
                STATUS, id=name, changes=ChangeStatus(change="B3.1/1", ring=ring, finished=ended)
            ),
        )
        for name in ring
    ]
    assert changing(NetworkView(tuple(views), ())) == [
        "B2 changes the tree: plan for ann",
        "change B3.1/1 is under way: B1 B2 B3",
        "last changes of the tree: 1 completed, 1 undone",
    ]
    assert changing(NetworkView((BrokerView(BrokerReport("B1", 1), None),), ())) == []


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (16_777_216, "17 MB"), (5 * 10**9, "5.0 GB")],
)
def test_sizes_are_for_people(count: int, text: str) -> None:
    assert _size(count) == text


def test_the_secret_comes_from_the_environment(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chain_in_background(1, token="right", network="sites") as servers:
        url = str(servers[0].address)
        monkeypatch.setenv("SAPWOOD_NETWORK", "sites")
        monkeypatch.setenv("SAPWOOD_TOKEN", "wrong")
        assert run(["status", "-s", url]) == 2
        assert capsys.readouterr().err == (
            "error: the token is missing or wrong; give this network's token\n"
        )
        monkeypatch.setenv("SAPWOOD_TOKEN", "right")
        assert run(["status", "-s", url]) == 0
        monkeypatch.setenv("SAPWOOD_NETWORK", "other")
        assert run(["status", "-s", url]) == 2
        assert "this is network 'sites', not 'other'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_broker_that_cannot_be_reached_is_a_no(capsys: Captured) -> None:
    with LocalNetwork(Topology(("B1", "B2"), (("B1", "B2"),))) as network:
        network["B2"].kill()
        for command in (["status"], ["status", "--json"], ["topology", "show"]):
            assert run([*command, "-s", network["B1"].url]) == 1
            out, err = capsys.readouterr()
            assert "B2" in out
            assert err == "cannot be reached: B2\n"


def test_a_broker_without_admin_endpoint_is_seen_through_the_network(capsys: Captured) -> None:
    """B2 has none, and whoever looks is at B1: rates, queues and losses come with the survey."""
    load = LoadReport(frames_in=1200.4, frames_out=7.0, queued_bytes=39, given_up=4, slow=1)
    view = NetworkView((BrokerView(BrokerReport("B2", 1, load=load), None),), ())
    assert drawn(view)[-1] == ["B2", "·", "0", "0", "1,200", "7", "39", "B", "4", "1", "0"]
    with chain_in_background(2) as servers:
        brokers: list[dict[str, object]] = [{}]
        while not all("load" in one for one in brokers):  # after the first tick of both
            assert run(["status", "-s", str(servers[0].address), "--json"]) == 0
            brokers = json.loads(capsys.readouterr().out)["brokers"]
        assert [one["id"] for one in brokers] == ["B1", "B2"]
        assert [one["status"] for one in brokers] == [None, None]
