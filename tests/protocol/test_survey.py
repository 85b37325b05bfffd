"""A survey brings a report of every broker that can be reached."""

from __future__ import annotations

from protocol.wave_bench import WaveBench, echo, yes
from sapwood.protocol.effects import Send
from sapwood.protocol.messages import BrokerReport, Echo, Probe, Refused, Surveyed

# --- surveys ------------------------------------------------------------------------------


def test_a_survey_collects_the_reports_of_all() -> None:
    bench = WaveBench("N")
    assert bench.survey("c", 1, 0.0) == [Send("N", Probe("B", 1, 3, survey=True))]
    there = BrokerReport("N", 7, ("B",))
    own = bench.own_report
    back = Echo("B", 1, 3, unreachable=("far",), reports=(there,))
    assert bench.echoed("N", back, 0.1) == [Send("c", Surveyed(1, (own, there), ("far",)))]


def test_a_broker_on_the_way_adds_its_own_report() -> None:
    bench = WaveBench("N", "M")
    own = bench.own_report
    assert own == BrokerReport("B", 3, ("N", "M"), clients=2, can_change=True)
    behind = BrokerReport("M", 2, ("B",))
    assert bench.probed("N", Probe("O", 1, survey=True), 0.0) == [
        Send("M", Probe("O", 1, survey=True))
    ]
    assert bench.echoed("M", Echo("O", 1, reports=(behind,)), 0.0) == [
        Send("N", Echo("O", 1, reports=(own, behind)))
    ]


def test_reports_that_were_not_asked_for_are_left_out() -> None:
    bench = WaveBench("N", "M")
    bench.probed("N", Probe("O", 1), 0.0)
    unasked = Echo("O", 1, reports=(BrokerReport("M", 2),))
    assert bench.echoed("M", unasked, 0.0) == [Send("N", Echo("O", 1))]


def test_one_wave_answers_surveys_and_other_requests() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    bench.request("d", 1, 0.1)
    bench.survey("d", 2, 0.2)
    bench.echoed("N", echo(1), 0.3)
    assert bench.tick(1.0) == [Send("N", Probe("B", 2, 3, survey=True))]
    there = BrokerReport("N", 7, ("B",))
    answer = Echo("B", 2, 3, reports=(there,))
    own = bench.own_report
    assert bench.echoed("N", answer, 1.1) == [
        yes("d", 1),
        Send("d", Surveyed(2, (own, there))),
    ]


def test_a_survey_that_does_not_come_back_is_refused() -> None:
    bench = WaveBench("N")
    bench.survey("c", 1, 0.0)
    (answer,) = bench.tick(10.0)
    assert answer == Send("c", Refused("the survey did not come back in time; try again", 1))
