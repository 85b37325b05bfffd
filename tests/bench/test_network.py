"""`sapwood bench network`: what is measured, who is left out, and whose faults count."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.echo_broker import EchoPeer, dropping
from sapwood.bench import network, network_round
from sapwood.bench.network import Benchmark, Group, Size, groups, run
from sapwood.bench.network_load import one_to_one
from sapwood.bench.network_outcome import BEFORE, LATENCY, OWN, P50, P99, RATE, TARGETS, TRACING
from sapwood.bench.registry import Options
from sapwood.bench.report import Report

pytestmark = pytest.mark.slow

SMALL = Size(2, 0.01, 20, (100,), (2,), 20, 100)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EchoPeer]]:
    """No memory is measured, and what goes wrong is noticed soon."""
    peers: list[EchoPeer] = []
    monkeypatch.setattr(network, "measure_memory", lambda *_: None)
    monkeypatch.setattr("sapwood.bench.network_drive._STALLED_SECONDS", 0.2)
    monkeypatch.setattr(network_round, "_LATE_SECONDS", 0.05)
    yield peers
    for peer in peers:
        peer.stop()


def measured(peers: list[EchoPeer], *names: str) -> Report:
    workloads = [one_to_one(name, "one to one", is_batched=False) for name in names]
    return Benchmark(SMALL, lambda _: None).run([Group(tuple(peers), workloads)])


def test_every_target_belongs_to_something_that_is_measured() -> None:
    thorough = groups(network._THOROUGH)
    found = {
        (workload.name, peer.name)
        for group in thorough
        for workload in group.workloads
        for peer in group.peers
    }
    assert set(TARGETS) <= found


def test_another_release_takes_the_place_of_all_peers() -> None:
    for group in groups(network._THOROUGH, "elsewhere/src")[:-1]:
        assert [peer.name for peer in group.peers] == [OWN, BEFORE]


def test_chains_are_as_long_as_they_say() -> None:
    for group in groups(network._THOROUGH):
        for workload in group.workloads:
            length = int(workload.name[3:]) if workload.name.startswith("W4/") else 1
            assert group.brokers == length


def test_all_have_their_turn_in_every_round(small: list[EchoPeer]) -> None:
    small += [EchoPeer(OWN), EchoPeer("other")]
    report = measured(small, "W1", LATENCY)
    assert report.is_right
    found = report.figures["workloads"]["W1"]
    assert set(found["figures"]) == {OWN, "other"}
    assert all(len(rates) == 2 for rates in found["rounds"].values())
    assert found["ratios"]["other"] == pytest.approx(
        found["figures"][OWN][RATE] / found["figures"]["other"][RATE]
    )
    assert {P50, P99} <= set(report.figures["workloads"][LATENCY]["figures"][OWN])


def test_who_is_not_installed_is_left_out_with_a_note(small: list[EchoPeer]) -> None:
    small += [EchoPeer(OWN), EchoPeer("other", missing="other (Debian package other)")]
    report = measured(small, "W1")
    assert report.is_right
    assert "Left out, since it is not installed: other (Debian package other)." in report.notes
    assert set(report.figures["workloads"]["W1"]["figures"]) == {OWN}


def test_a_fault_of_a_peer_is_a_note(small: list[EchoPeer]) -> None:
    small += [EchoPeer(OWN), EchoPeer("other", dropping(300))]
    report = measured(small, "W1")
    assert report.is_right
    assert any("Left out: W1: " in note for note in report.notes)


def test_a_fault_of_ours_is_a_failure(small: list[EchoPeer]) -> None:
    small += [EchoPeer(OWN, dropping(300)), EchoPeer("other")]
    report = measured(small, "W1")
    assert not report.is_right
    assert report.conclusion.startswith("Sapwood has failed: W1: ")


def test_the_number_of_filters_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[Group] = []

    def remember(self: Benchmark, groups: list[Group]) -> Report:
        chosen.extend(groups)
        return Report({}, [], [], "", is_right=True)

    monkeypatch.setattr(Benchmark, "run", remember)
    run(Options(quick=True, filters=(70,)), print)
    assert "W5/70" in [workload.name for group in chosen for workload in group.workloads]


@pytest.mark.slow
def test_sapwood_alone_is_measured_in_all_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Mosquitto", "Nats", "RabbitMQ", "ActiveMQ"):
        monkeypatch.setattr(getattr(network, name), "missing", lambda self: "everything else")
    monkeypatch.setattr(network, "_QUICK", SMALL._replace(rounds=1))
    report = run(Options(quick=True), lambda _: None)
    assert report.is_right, report.conclusion
    assert {"W1", "W1u", "W2", "W3", "W3d", LATENCY, "W4/2", "W5/100", TRACING} == set(
        report.figures["workloads"]
    )
    assert report.figures["traced"]["messages"] > 0
    assert all(OWN in each["figures"] for each in report.figures["workloads"].values())
    assert "Left out, since it is not installed: everything else." in report.notes
