"""Outcomes: medians, ratios, and whether targets are met."""

from __future__ import annotations

import pytest

from sapwood.bench.network_outcome import (
    BEFORE,
    LATENCY,
    OWN,
    P50,
    P99,
    PROCESSOR,
    RATE,
    TARGETS,
    Outcome,
    Target,
    medians,
    targets_met,
)


def outcome(name: str, **rates: float) -> Outcome:
    figure = P50 if name == LATENCY else RATE
    figures = {OWN if peer == "own" else peer: {figure: rate} for peer, rate in rates.items()}
    return Outcome(name, "about", figures, {peer: [1.0] for peer in figures})


def test_a_target_is_a_least_or_a_greatest_ratio() -> None:
    assert Target(12).is_met(12)
    assert not Target(12).is_met(11.9)
    assert Target(1.2, is_least=False).is_met(1.2)
    assert not Target(1.2, is_least=False).is_met(1.3)
    assert str(Target(1000)) == "≥ 1,000"
    assert str(Target(1.2, is_least=False)) == "≤ 1.2"


def test_ratios_are_ours_to_theirs() -> None:
    found = outcome("W1", own=300.0, mosquitto=100.0, NATS=600.0)
    assert found.ratios() == {"mosquitto": 3.0, "NATS": 0.5}
    assert found.ratio("absent") is None
    assert outcome("W1", mosquitto=1.0).ratios() == {}


def test_processor_times_are_compared_too() -> None:
    figures = {OWN: {PROCESSOR: 500.0}, "NATS": {PROCESSOR: 600.0}, "mosquitto": {RATE: 1.0}}
    assert Outcome("W1", "", figures, {}).processor_ratios() == {"NATS": 1.2}
    assert outcome("W1", own=1.0, NATS=1.0).processor_ratios() == {}


def test_latencies_are_compared_by_their_median() -> None:
    assert outcome(LATENCY, own=90.0, mosquitto=60.0).ratio("mosquitto") == 1.5


def test_medians_are_taken_over_the_rounds_that_have_a_figure() -> None:
    rounds = [{RATE: 1.0, P99: 5.0}, {RATE: 9.0}, {RATE: 2.0, P99: 7.0}]
    assert medians(rounds) == {RATE: 2.0, P99: 6.0}


def test_targets_are_counted_where_they_can_be_judged() -> None:
    outcomes = [
        outcome("W1", own=1300.0, mosquitto=100.0, NATS=2000.0),
        outcome("W2", own=10.0),
        outcome(LATENCY, own=100.0, mosquitto=100.0, NATS=1.0),
    ]
    assert targets_met(outcomes) == (2, 3)


def test_machines_get_figures_ratios_and_targets() -> None:
    told = outcome("W1", own=1300.0, mosquitto=100.0).for_machines()
    assert told["ratios"] == {"mosquitto": 13.0}
    assert told["targets"] == {"mosquitto": "≥ 12"}
    assert told["figures"][OWN] == {RATE: 1300.0}


@pytest.mark.parametrize(
    ("workload", "peer", "target"),
    [
        ("W1", "mosquitto", "≥ 12"),
        ("W1u", "mosquitto", "≥ 1.2"),
        ("W2", "mosquitto", "≥ 40"),
        ("W3", "mosquitto", "≥ 8"),
        ("W3d", "mosquitto", "≥ 4"),
        (LATENCY, "mosquitto", "≤ 1.2"),
        ("W1", "NATS", "≥ 0.8"),
        ("W2", "NATS", "≥ 1.5"),
        ("W3", "NATS", "≥ 0.8"),
        ("W3d", "NATS", "≥ 0.3"),
        ("W4/2", "NATS", "≥ 0.8"),
        ("W4/3", "NATS", "≥ 0.8"),
        ("W5/1000", "RabbitMQ", "≥ 100"),
        ("W5/10000", "RabbitMQ", "≥ 1,000"),
        ("W5/1000", "ActiveMQ", "≥ 20"),
    ],
)
def test_the_targets_are_those_that_were_set(workload: str, peer: str, target: str) -> None:
    assert str(TARGETS[workload, peer]) == target


def test_no_workload_may_be_slower_than_in_another_release() -> None:
    outcomes = [
        Outcome("any", "", {OWN: {RATE: 96.0}, BEFORE: {RATE: 100.0}}, {}),
        Outcome("any", "", {OWN: {RATE: 90.0}, BEFORE: {RATE: 100.0}}, {}),
        Outcome(LATENCY, "", {OWN: {P50: 104.0}, BEFORE: {P50: 100.0}}, {}),
        Outcome(LATENCY, "", {OWN: {P50: 110.0}, BEFORE: {P50: 100.0}}, {}),
    ]
    assert targets_met(outcomes) == (2, 4)
    assert outcomes[1].for_machines()["targets"] == {BEFORE: "≥ 0.95"}
