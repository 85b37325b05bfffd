"""Rounds: everything has to arrive, each once and as it was published, or the round is void."""

from __future__ import annotations

import pytest

from bench.echo_broker import Fault, corrupting, dropping, echo_network, repeating
from sapwood.bench import network_round
from sapwood.bench.network_load import fan_out, one_to_one
from sapwood.bench.network_round import COUNT_MAX, Contender
from sapwood.errors import BenchmarkError

WORKLOAD = one_to_one("W1", "one to one")


def test_a_round_tells_the_rate() -> None:
    with echo_network() as network:
        contender = Contender("echo", network, WORKLOAD)
        result = contender.round(1000)
        assert result.rate > 0
        assert result.processor_ns == 0  # it has no process of its own
        contender.close()


def test_rounds_follow_each_other_and_each_has_its_own_messages() -> None:
    with echo_network() as network:
        contender = Contender("echo", network, fan_out())
        for count in (1, 300, 20):
            contender.round(count)
        assert len(contender.latencies(20, 5000)) == 20
        contender.close()


def test_the_count_fits_the_time() -> None:
    with echo_network() as network:
        contender = Contender("echo", network, WORKLOAD)
        assert 50 <= contender.fitting_count(0.01) <= COUNT_MAX
        contender.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (dropping(7), "1 are lost, 0 came twice, 0 are not what was published"),
        (repeating(7), "1 are lost, 1 came twice, 0 are not what was published"),
        (corrupting(7), "1 are lost, 0 came twice, 1 are not what was published"),
    ],
    ids=["dropped", "repeated", "corrupted"],
)
def test_what_goes_wrong_is_found(
    fault: Fault, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.bench.network_drive._STALLED_SECONDS", 0.2)
    monkeypatch.setattr(network_round, "_LATE_SECONDS", 0.05)
    with echo_network(fault) as network:
        contender = Contender("echo", network, WORKLOAD)
        # The number of messages arrives, by lengths, if as many are sent twice as are lost.
        with pytest.raises(BenchmarkError, match=f"{problem}|arrived, no more"):
            contender.round(20)
        contender.close()


def test_messages_out_of_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bytes] = []

    def swap(number: int, frame: bytes) -> list[bytes]:
        if number == 5:
            held.append(frame)
            return []
        return [frame, *held] if number == 6 else [frame]

    with echo_network(swap) as network:
        contender = Contender("echo", network, WORKLOAD)
        with pytest.raises(BenchmarkError, match="out of order"):
            contender.round(20)
        contender.close()


def test_if_nothing_ever_arrives_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_round, "_PROBES_MAX", 2)
    monkeypatch.setattr(network_round, "_PROBE_SECONDS", 0.01)
    with (
        echo_network(lambda number, frame: []) as network,
        pytest.raises(BenchmarkError, match="echo: nothing arrives in W1"),
    ):
        Contender("echo", network, WORKLOAD)
