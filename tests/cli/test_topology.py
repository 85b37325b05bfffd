"""`sapwood topology show`: the tree as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from runtime.authority import Authority
from runtime.serving import chain_in_background
from sapwood.cli.main import run
from sapwood.cli.topology import _labels, _trees, as_object
from sapwood.protocol.messages import BrokerReport
from sapwood.runtime.admin.inspection import BrokerView, NetworkView

Captured = pytest.CaptureFixture[str]


def view(*reports: BrokerReport, unreachable: tuple[str, ...] = ()) -> NetworkView:
    return NetworkView(tuple(BrokerView(report, None) for report in reports), unreachable)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with chain_in_background(3) as servers:
        yield str(servers[1].address)


def test_the_tree_is_drawn(url: str, capsys: Captured) -> None:
    assert run(["topology", "show", "-s", url]) == 0
    assert capsys.readouterr().out == "B1  root\n└── B2  1 client\n    └── B3\n"


def test_as_json(url: str, capsys: Captured) -> None:
    assert run(["topology", "show", "-s", url, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["links"] == [["B1", "B2"], ["B2", "B3"]]
    assert [one["id"] for one in found["brokers"]] == ["B1", "B2", "B3"]
    assert found["brokers"][1]["neighbours"] == ["B1", "B3"]
    assert [one["root"] for one in found["brokers"]] == ["B1"] * 3
    assert [one["parent"] for one in found["brokers"]] == ["", "B1", "B2"]
    assert [one["away"] for one in found["brokers"]] == [[]] * 3
    assert found["missing"] == []


def test_who_cannot_be_reached_is_shown_as_such() -> None:
    one = BrokerReport("B1", 1, neighbours=("B2", "B10"), candidates=("B3",), clients=2)
    one = msgspec.structs.replace(one, away=("B10",))
    found = view(one, BrokerReport("B2", 1, neighbours=("B1",)))
    (tree,) = _trees(found)
    assert tree.label == "B1  2 clients  stands by: B3  away: B10"
    assert [child.label for child in tree.children] == ["B2", "B10  cannot be reached"]
    assert as_object(found)["missing"] == ["B10"]


def test_who_has_another_parent_is_not_shown_below_a_broker_that_is_gone() -> None:
    """All who had the hub for a neighbour keep its place; the tree goes on without it."""
    hub = BrokerReport("hub-b", 1, ("hub-a", "site-1", "site-2"), away=("hub-a",), root="hub-b")
    site = BrokerReport("site-1", 1, ("hub-a", "hub-b"), away=("hub-a",), root="hub-b")
    site = msgspec.structs.replace(site, parent="hub-b")
    found = view(hub, site, msgspec.structs.replace(site, id="site-2"))
    (tree,) = _trees(found)
    assert tree.label == "hub-b  root  away: hub-a"
    assert [child.label for child in tree.children] == [
        "hub-a  cannot be reached",
        "site-1  away: hub-a",
        "site-2  away: hub-a",
    ]
    assert [child.children for child in tree.children] == [[], [], []]


def test_parts_that_nothing_links_are_trees_of_their_own() -> None:
    found = view(BrokerReport("B1", 1), BrokerReport("B2", 1))
    assert [tree.label for tree in _trees(found)] == ["B1", "B2"]
    assert _labels(found) == {"B1": "B1", "B2": "B2"}


@pytest.mark.slow
def test_nobody_there_is_an_error_with_the_remedy(capsys: Captured) -> None:
    assert run(["topology", "show", "-s", "127.0.0.1:9"]) == 2
    _, err = capsys.readouterr()
    assert err.startswith("error: cannot reach sapwood://127.0.0.1:9: Connection refused; ")
    assert err.count("\n") == 1


def test_certificates_come_from_the_environment(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    mine = authority.settings("someone")
    with chain_in_background(1, tls=authority.settings("127.0.0.1", require=True)) as servers:
        url = str(servers[0].address)
        monkeypatch.setenv("SAPWOOD_AUTHORITY", authority.file)
        assert run(["topology", "show", "-s", url]) == 2
        assert "this broker asks for a certificate; set " in capsys.readouterr().err
        monkeypatch.setenv("SAPWOOD_CERTIFICATE", mine.certificate)
        monkeypatch.setenv("SAPWOOD_KEY", mine.key)
        assert run(["topology", "show", "-s", url]) == 0
        assert capsys.readouterr().out == "B1  root  1 client\n"
        monkeypatch.setenv("SAPWOOD_KEY", authority.file)
        assert run(["topology", "show", "-s", url]) == 2
        assert "wanted PEM files that belong together" in capsys.readouterr().err
