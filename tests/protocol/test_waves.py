"""Waves come back, whatever happens to the tree, and everybody is answered once."""

from __future__ import annotations

import pytest

from protocol.wave_bench import WaveBench, echo, no, not_yet, probe, yes
from sapwood.protocol import waves
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Send
from sapwood.protocol.messages import Echo, Probe, Refused

# --- the broker's own waves ---------------------------------------------------------------


def test_a_broker_without_neighbours_answers_at_once() -> None:
    bench = WaveBench()
    assert bench.request("c", 1, 5.0) == [yes("c", 1)]


def test_a_wave_is_answered_when_all_echoes_are_back() -> None:
    bench = WaveBench("N", "M")
    assert bench.request("c", 1, 0.0) == [
        Send("N", probe(1)),
        Send("M", probe(1)),
    ]
    assert bench.echoed("M", echo(1), 0.1) == []
    assert bench.echoed("N", echo(1), 0.2) == [yes("c", 1)]
    assert bench.origins == []


def test_requests_during_a_wave_share_the_next_which_waits_for_the_interval() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    assert bench.request("c", 2, 0.1) == []
    assert bench.request("d", 1, 0.2) == []
    assert bench.echoed("N", echo(1), 0.3) == [yes("c", 1)]
    assert bench.next_at == 1.0
    assert bench.request("d", 2, 0.4) == []
    assert bench.tick(0.9) == []  # too early
    assert bench.tick(1.0) == [Send("N", probe(2))]
    assert bench.echoed("N", echo(2), 5.0) == [yes("c", 2), yes("d", 1), yes("d", 2)]
    assert bench.request("d", 3, 6.0) == [Send("N", probe(3))]


def test_a_deadline_is_answered_with_no_and_only_once() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    bench.request("c", 2, 4.0)
    assert bench.tick(10.0) == [
        no("c", 1),
        Send("N", probe(2)),  # the first wave is given up: its echo may be lost
    ]
    assert bench.echoed("N", echo(1), 11.0) == []
    assert bench.echoed("N", echo(2), 12.0) == [yes("c", 2)]
    assert bench.tick(14.0) == []
    assert bench.request("c", 3, 20.0) == [
        Send("N", probe(3)),
    ]


def test_a_tick_before_the_deadline_changes_nothing() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    assert bench.tick(9.0) == []
    assert bench.next_at == 10.0
    assert bench.echoed("N", echo(1), 9.5) == [yes("c", 1)]


def test_nobody_is_answered_who_is_gone() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    bench.request("d", 1, 0.0)
    bench.forget_client("c")
    bench.forget_client("d")
    assert bench.echoed("N", echo(1), 0.1) == []
    assert bench.tick(10.0) == []


def test_a_wave_that_was_lost_stops_nothing_for_good() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    bench.forget_client("c")
    bench.request("d", 1, 5.0)
    assert bench.tick(10.0) == [Send("N", probe(2))]
    assert bench.echoed("N", echo(2), 14.5) == [yes("d", 1)]


# --- the tree changes ---------------------------------------------------------------------


def test_a_new_neighbour_spoils_the_wave_and_is_part_of_the_next() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    bench.add_neighbour("M")
    assert bench.echoed("N", echo(1), 2.0) == [Send("N", probe(2)), Send("M", probe(2))]
    bench.echoed("N", echo(2), 3.0)
    assert bench.echoed("M", echo(2), 3.0) == [yes("c", 1)]


def test_a_wave_that_comes_back_not_intact_is_started_again_after_the_interval() -> None:
    bench = WaveBench("N")
    bench.request("c", 1, 0.0)
    bench.request("c", 2, 0.1)
    assert bench.echoed("N", echo(1, intact=False), 0.2) == []
    assert bench.tick(1.0) == [Send("N", probe(2))]
    assert bench.echoed("N", echo(2), 1.5) == [yes("c", 1), yes("c", 2)]


def test_a_lost_neighbour_counts_as_a_bad_echo() -> None:
    bench = WaveBench("N", "M")
    bench.request("c", 1, 0.0)
    bench.echoed("N", echo(1), 0.5)
    assert bench.remove_neighbour("M", 2.0) == [Send("N", probe(2))]
    assert bench.remove_neighbour("M", 2.0) == []
    assert bench.remove_neighbour("N", 4.0) == [yes("c", 1)]


def test_a_lost_neighbour_that_had_answered_spoils_the_wave_as_well() -> None:
    bench = WaveBench("N", "M")
    bench.request("c", 1, 0.0)
    bench.echoed("N", echo(1), 0.5)
    assert bench.remove_neighbour("N", 2.0) == []
    assert bench.echoed("M", echo(1), 2.0) == [Send("M", probe(2))]


# --- waves of others ----------------------------------------------------------------------


def test_a_leaf_answers_and_an_inner_broker_waits_for_all_behind_it() -> None:
    assert WaveBench("N").probed("N", Probe("X", 1), 0.0) == [Send("N", Echo("X", 1))]
    bench = WaveBench("N", "M", "O")
    assert bench.probed("N", Probe("X", 1), 0.0) == [
        Send("M", Probe("X", 1)),
        Send("O", Probe("X", 1)),
    ]
    assert bench.echoed("M", Echo("X", 1), 0.0) == []
    assert bench.echoed("O", Echo("X", 1), 0.0) == [Send("N", Echo("X", 1))]
    assert bench.origins == []


@pytest.mark.parametrize("first", [True, False])
def test_what_is_not_intact_behind_is_not_intact_in_front(first: bool) -> None:
    bench = WaveBench("N", "M", "O")
    bench.probed("N", Probe("X", 1), 0.0)
    bench.echoed("M", Echo("X", 1, intact=first), 0.0)
    last = bench.echoed("O", Echo("X", 1, intact=not first), 0.0)
    assert last == [Send("N", Echo("X", 1, intact=False))]


@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_change_of_the_tree_spoils_the_waves_that_pass(change: str) -> None:
    bench = WaveBench("N", "M", "O")
    bench.probed("N", Probe("X", 1), 0.0)
    bad = [Send("N", Echo("X", 1, intact=False))]
    if change == "add":
        bench.add_neighbour("P")
        bench.echoed("O", Echo("X", 1), 0.0)
        assert bench.echoed("M", Echo("X", 1), 0.0) == bad
    else:
        assert bench.remove_neighbour("O", 0.0) == []
        assert bench.echoed("M", Echo("X", 1), 0.0) == bad
    assert bench.origins == []


def test_a_wave_whose_way_back_is_gone_is_forgotten() -> None:
    bench = WaveBench("N", "M")
    bench.probed("N", Probe("X", 1), 0.0)
    assert bench.remove_neighbour("N", 0.0) == []
    assert bench.origins == []
    assert bench.echoed("M", Echo("X", 1), 0.0) == []


def test_a_newer_wave_of_an_origin_takes_the_place_of_the_older() -> None:
    bench = WaveBench("N", "M")
    bench.probed("N", Probe("X", 7), 0.0)
    assert bench.probed("N", Probe("X", 8), 0.0) == [Send("M", Probe("X", 8))]
    assert len(bench.origins) == 1
    assert bench.echoed("M", Echo("X", 7), 0.0) == []
    assert bench.echoed("M", Echo("X", 8), 0.0) == [Send("N", Echo("X", 8))]


def test_a_restarted_origin_counts_anew() -> None:
    bench = WaveBench("N", "M")
    bench.probed("N", Probe("X", 7, session=1), 0.0)
    restarted = Probe("X", 1, session=2)
    assert bench.probed("N", restarted, 0.0) == [Send("M", restarted)]
    assert bench.echoed("M", Echo("X", 1, session=1), 0.0) == []
    assert bench.echoed("M", Echo("X", 1, session=2), 0.0) == [Send("N", Echo("X", 1, session=2))]


def test_a_probe_that_makes_no_sense_is_answered_so_that_nobody_waits() -> None:
    bench = WaveBench("N", "M", "O")
    bench.probed("N", Probe("X", 7), 0.0)
    for source, strange in (
        ("M", Probe("X", 7)),  # round a circle
        ("N", Probe("X", 6)),  # overtaken
        ("N", Probe("B", 1)),  # our own
    ):
        bad = Echo(strange.origin, strange.wave, intact=False)
        assert bench.probed(source, strange, 0.0) == [Send(source, bad)]
    assert bench.probed("N", Probe("X", 7), 0.0) == []  # merely repeated
    assert bench.drops == {Drop.STRAY: 3, Drop.REPEATED: 1}


def test_strays_change_nothing() -> None:
    bench = WaveBench("N", "M")
    bench.request("c", 1, 0.0)
    bench.echoed("N", echo(1), 0.0)
    for source, stray in (
        ("N", echo(1)),  # repeated
        ("N", echo(1, intact=False)),
        ("d", echo(1)),
        ("d", echo(1, intact=False)),
        ("M", echo(2)),
        ("M", Echo("B", 1, session=2)),
        ("M", Echo("X", 1)),
    ):
        assert bench.echoed(source, stray, 0.0) == []
    assert bench.probed("d", Probe("X", 1), 0.0) == []
    assert bench.drops == {Drop.STRAY: 5, Drop.NOT_FOR_BROKERS: 3}
    assert bench.echoed("M", echo(1), 0.1) == [yes("c", 1)]


def test_relays_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "ORIGINS_MAX", 100)
    bench = WaveBench("N", "M")
    for number in range(100):
        bench.probed("N", Probe(f"X{number}", 1), 0.0)
    assert bench.probed("N", Probe("Y", 1), 0.0) == [Send("N", Echo("Y", 1, intact=False))]
    assert bench.probed("N", Probe("X0", 2), 0.0) == [Send("M", Probe("X0", 2))]
    assert len(bench.origins) == 100


# --- neighbours that are away -------------------------------------------------------------


def test_nobody_waits_for_a_neighbour_that_is_away() -> None:
    bench = WaveBench("N", "M")
    assert bench.neighbour_away("M", 0.0) == []
    assert bench.request("c", 1, 0.0) == [Send("N", probe(1))]
    assert bench.echoed("N", echo(1), 0.1) == [not_yet("c", 1, "M")]


def test_a_neighbour_that_goes_away_during_a_wave_is_named_in_the_answer() -> None:
    bench = WaveBench("N", "M")
    bench.request("c", 1, 0.0)
    assert bench.echoed("N", echo(1), 0.1) == []
    assert bench.neighbour_away("M", 0.2) == [not_yet("c", 1, "M")]
    assert bench.echoed("M", echo(1), 0.3) == []  # what it still had to say is too late


def test_alone_with_neighbours_that_are_away_the_answer_comes_at_once() -> None:
    bench = WaveBench("N")
    bench.neighbour_away("N", 0.0)
    assert bench.request("c", 1, 0.0) == [not_yet("c", 1, "N")]


def test_what_is_out_of_reach_is_passed_on_in_echoes() -> None:
    bench = WaveBench("N", "M", "K")
    bench.neighbour_away("K", 0.0)
    bench.probed("N", Probe("O", 1), 0.0)
    answer = Echo("O", 1, unreachable=("far",))
    assert bench.echoed("M", answer, 0.0) == [Send("N", Echo("O", 1, unreachable=("K", "far")))]


def test_back_again_a_neighbour_is_waited_for_as_before() -> None:
    bench = WaveBench("N")
    bench.neighbour_away("N", 0.0)
    bench.neighbour_back("N")
    assert bench.request("c", 1, 0.0) == [Send("N", probe(1))]
    assert bench.echoed("N", echo(1), 0.1) == [yes("c", 1)]


def test_a_neighbour_that_is_removed_is_not_away_any_more() -> None:
    bench = WaveBench("N")
    bench.neighbour_away("N", 0.0)
    bench.remove_neighbour("N", 0.0)
    assert bench.neighbour_away("N", 0.0) == []
    assert bench.request("c", 1, 0.0) == [yes("c", 1)]


def test_a_request_for_an_unknown_machine_is_refused_and_not_forgotten() -> None:
    """Whoever handed the client over may know machines that this broker has not."""
    bench = WaveBench()
    (answer,) = bench.broker.waves.take_over("foretelling", "c", 7, 0.0, "", "")
    assert isinstance(answer, Send)
    assert (answer.destination, type(answer.message)) == ("c", Refused)
    assert getattr(answer.message, "request", 0) == 7
