"""Settled is said when it is true, once, and whatever happens to the tree."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.wiring import Line, Wired, random_links
from sapwood.protocol.drops import Drop, Drops
from sapwood.protocol.effects import Effect, Record, Send
from sapwood.protocol.messages import BrokerReport, Echo, Probe, Refused, Settled, Surveyed
from sapwood.protocol.settling import ORIGINS_MAX, Settling

MakeLine = Callable[..., Line]


def nothing() -> list[Effect]:
    return []


def new_settling(*neighbours: str) -> Settling:
    settling = Settling(
        "B",
        3,
        interval=1.0,
        patience=10.0,
        drops=Drops(recording=False),
        report=lambda: BrokerReport("B", 3, neighbours),
    )
    for name in neighbours:
        settling.add_neighbour(name)
    return settling


def probe(wave: int) -> Probe:
    return Probe("B", wave, session=3)


def echo(wave: int, *, intact: bool = True) -> Echo:
    return Echo("B", wave, session=3, intact=intact)


def yes(client: str, request: int) -> Send:
    return Send(client, Settled(request, settled=True))


def no(client: str, request: int) -> Send:
    return Send(client, Settled(request, settled=False))


# --- the broker's own waves ---------------------------------------------------------------


def test_a_broker_without_neighbours_answers_at_once() -> None:
    settling = new_settling()
    row = Record("settled", {})
    assert settling.request("c", 1, 5.0, lambda: [row]) == [
        row,
        yes("c", 1),
    ]


def test_a_wave_is_answered_when_all_echoes_are_back() -> None:
    settling = new_settling("N", "M")
    assert settling.request("c", 1, 0.0, nothing) == [
        Send("N", probe(1)),
        Send("M", probe(1)),
    ]
    assert settling.echoed("M", echo(1), 0.1) == []
    assert settling.echoed("N", echo(1), 0.2) == [yes("c", 1)]
    assert settling.waves == {}


def test_requests_during_a_wave_share_the_next_which_waits_for_the_interval() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    assert settling.request("c", 2, 0.1, nothing) == []
    assert settling.request("d", 1, 0.2, nothing) == []
    assert settling.echoed("N", echo(1), 0.3) == [yes("c", 1)]
    assert settling.next_at == 1.0
    assert settling.request("d", 2, 0.4, nothing) == []
    assert settling.tick(0.9) == []  # too early
    assert settling.tick(1.0) == [Send("N", probe(2))]
    assert settling.echoed("N", echo(2), 5.0) == [yes("c", 2), yes("d", 1), yes("d", 2)]
    assert settling.request("d", 3, 6.0, nothing) == [Send("N", probe(3))]


def test_a_deadline_is_answered_with_no_and_only_once() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    settling.request("c", 2, 4.0, nothing)
    assert settling.tick(10.0) == [
        no("c", 1),
        Send("N", probe(2)),  # the first wave is given up: its echo may be lost
    ]
    assert settling.echoed("N", echo(1), 11.0) == []
    assert settling.echoed("N", echo(2), 12.0) == [yes("c", 2)]
    assert settling.tick(14.0) == []
    assert settling.request("c", 3, 20.0, nothing) == [
        Send("N", probe(3)),
    ]


def test_a_tick_before_the_deadline_changes_nothing() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    assert settling.tick(9.0) == []
    assert settling.next_at == 10.0
    assert settling.echoed("N", echo(1), 9.5) == [yes("c", 1)]


def test_nobody_is_answered_who_is_gone() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    settling.request("d", 1, 0.0, nothing)
    settling.forget_client("c")
    settling.forget_client("d")
    assert settling.echoed("N", echo(1), 0.1) == []
    assert settling.tick(10.0) == []


def test_a_wave_that_was_lost_stops_nothing_for_good() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    settling.forget_client("c")
    settling.request("d", 1, 5.0, nothing)
    assert settling.tick(10.0) == [Send("N", probe(2))]
    assert settling.echoed("N", echo(2), 14.5) == [yes("d", 1)]


# --- the tree changes ---------------------------------------------------------------------


def test_a_new_neighbour_spoils_the_wave_and_is_part_of_the_next() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    settling.add_neighbour("M")
    assert settling.echoed("N", echo(1), 2.0) == [Send("N", probe(2)), Send("M", probe(2))]
    settling.echoed("N", echo(2), 3.0)
    assert settling.echoed("M", echo(2), 3.0) == [yes("c", 1)]


def test_a_wave_that_comes_back_not_intact_is_started_again_after_the_interval() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    settling.request("c", 2, 0.1, nothing)
    assert settling.echoed("N", echo(1, intact=False), 0.2) == []
    assert settling.tick(1.0) == [Send("N", probe(2))]
    assert settling.echoed("N", echo(2), 1.5) == [yes("c", 1), yes("c", 2)]


def test_a_lost_neighbour_counts_as_a_bad_echo() -> None:
    settling = new_settling("N", "M")
    settling.request("c", 1, 0.0, nothing)
    settling.echoed("N", echo(1), 0.5)
    assert settling.remove_neighbour("M", 2.0) == [Send("N", probe(2))]
    assert settling.remove_neighbour("M", 2.0) == []
    assert settling.remove_neighbour("N", 4.0) == [yes("c", 1)]


def test_a_lost_neighbour_that_had_answered_spoils_the_wave_as_well() -> None:
    settling = new_settling("N", "M")
    settling.request("c", 1, 0.0, nothing)
    settling.echoed("N", echo(1), 0.5)
    assert settling.remove_neighbour("N", 2.0) == []
    assert settling.echoed("M", echo(1), 2.0) == [Send("M", probe(2))]


# --- waves of others ----------------------------------------------------------------------


def test_a_leaf_answers_and_an_inner_broker_waits_for_all_behind_it() -> None:
    assert new_settling("N").probed("N", Probe("X", 1), 0.0) == [Send("N", Echo("X", 1))]
    settling = new_settling("N", "M", "O")
    assert settling.probed("N", Probe("X", 1), 0.0) == [
        Send("M", Probe("X", 1)),
        Send("O", Probe("X", 1)),
    ]
    assert settling.echoed("M", Echo("X", 1), 0.0) == []
    assert settling.echoed("O", Echo("X", 1), 0.0) == [Send("N", Echo("X", 1))]
    assert settling.waves == {}


@pytest.mark.parametrize("first", [True, False])
def test_what_is_not_intact_behind_is_not_intact_in_front(first: bool) -> None:
    settling = new_settling("N", "M", "O")
    settling.probed("N", Probe("X", 1), 0.0)
    settling.echoed("M", Echo("X", 1, intact=first), 0.0)
    last = settling.echoed("O", Echo("X", 1, intact=not first), 0.0)
    assert last == [Send("N", Echo("X", 1, intact=False))]


@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_change_of_the_tree_spoils_the_waves_that_pass(change: str) -> None:
    settling = new_settling("N", "M", "O")
    settling.probed("N", Probe("X", 1), 0.0)
    bad = [Send("N", Echo("X", 1, intact=False))]
    if change == "add":
        settling.add_neighbour("P")
        settling.echoed("O", Echo("X", 1), 0.0)
        assert settling.echoed("M", Echo("X", 1), 0.0) == bad
    else:
        assert settling.remove_neighbour("O", 0.0) == []
        assert settling.echoed("M", Echo("X", 1), 0.0) == bad
    assert settling.waves == {}


def test_a_wave_whose_way_back_is_gone_is_forgotten() -> None:
    settling = new_settling("N", "M")
    settling.probed("N", Probe("X", 1), 0.0)
    assert settling.remove_neighbour("N", 0.0) == []
    assert settling.waves == {}
    assert settling.echoed("M", Echo("X", 1), 0.0) == []


def test_a_newer_wave_of_an_origin_takes_the_place_of_the_older() -> None:
    settling = new_settling("N", "M")
    settling.probed("N", Probe("X", 7), 0.0)
    assert settling.probed("N", Probe("X", 8), 0.0) == [Send("M", Probe("X", 8))]
    assert len(settling.waves) == 1
    assert settling.echoed("M", Echo("X", 7), 0.0) == []
    assert settling.echoed("M", Echo("X", 8), 0.0) == [Send("N", Echo("X", 8))]


def test_a_restarted_origin_counts_anew() -> None:
    settling = new_settling("N", "M")
    settling.probed("N", Probe("X", 7, session=1), 0.0)
    restarted = Probe("X", 1, session=2)
    assert settling.probed("N", restarted, 0.0) == [Send("M", restarted)]
    assert settling.echoed("M", Echo("X", 1, session=1), 0.0) == []
    assert settling.echoed("M", Echo("X", 1, session=2), 0.0) == [
        Send("N", Echo("X", 1, session=2))
    ]


def test_a_probe_that_makes_no_sense_is_answered_so_that_nobody_waits() -> None:
    settling = new_settling("N", "M", "O")
    settling.probed("N", Probe("X", 7), 0.0)
    for source, strange in (
        ("M", Probe("X", 7)),  # round a circle
        ("N", Probe("X", 6)),  # overtaken
        ("N", Probe("B", 1)),  # our own
    ):
        bad = Echo(strange.origin, strange.wave, intact=False)
        assert settling.probed(source, strange, 0.0) == [Send(source, bad)]
    assert settling.probed("N", Probe("X", 7), 0.0) == []  # merely repeated
    assert settling._drops.counts == {Drop.STRAY: 3, Drop.REPEATED: 1}


def test_strays_change_nothing() -> None:
    settling = new_settling("N", "M")
    settling.request("c", 1, 0.0, nothing)
    settling.echoed("N", echo(1), 0.0)
    for source, stray in (
        ("N", echo(1)),  # repeated
        ("N", echo(1, intact=False)),
        ("client", echo(1)),
        ("client", echo(1, intact=False)),
        ("M", echo(2)),
        ("M", Echo("B", 1, session=2)),
        ("M", Echo("X", 1)),
    ):
        assert settling.echoed(source, stray, 0.0) == []
    assert settling.probed("client", Probe("X", 1), 0.0) == []
    assert settling._drops.counts == {Drop.STRAY: 8}
    assert settling.echoed("M", echo(1), 0.1) == [yes("c", 1)]


def test_relays_are_bounded() -> None:
    settling = new_settling("N", "M")
    for number in range(ORIGINS_MAX):
        settling.probed("N", Probe(f"X{number}", 1), 0.0)
    assert settling.probed("N", Probe("Y", 1), 0.0) == [Send("N", Echo("Y", 1, intact=False))]
    assert settling.probed("N", Probe("X0", 2), 0.0) == [Send("M", Probe("X0", 2))]
    assert len(settling.waves) == ORIGINS_MAX


# --- what settled means -------------------------------------------------------------------


def test_settled_is_not_said_before_the_far_end_knows(make_line: MakeLine) -> None:
    network = make_line(4)
    network.connect("s.1", "B1")
    network.subscribe("s.1", "a", "x = 1", settle=True)
    while network.settled("s.1") == {}:
        assert network.step()
    assert len(network.brokers["B4"].subscriptions) == 1


def test_one_wave_answers_many(make_line: MakeLine) -> None:
    network = make_line(3)
    network.connect("s.1", "B1")
    for number in range(50):
        network.subscribe("s.1", str(number), f"x = {number}", settle=True)
    network.run_ticks()
    assert network.settled("s.1") == dict.fromkeys(range(1, 51), True)
    probes = [one for one in network.sent if isinstance(one[2], Probe)]
    assert len(probes) == 2 * 2  # one for the first request, one for all others


SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.booleans(), st.sampled_from(["simple", "identity", "covering", "merging"]))
def test_whatever_is_published_after_it_settled_is_delivered(
    seed: int, advertisements: bool, algorithm: str
) -> None:
    """Links of any speed; subscriptions and advertisements in any order, crossing each other."""
    random = Random(seed)
    size = random.randrange(2, 7)
    network = Wired(
        random_links(size, random),
        algorithm=algorithm,
        root=random.choice([None, "B1"]),
        random=random,
        advertisements_required=advertisements,
        advertisement_routing=random.choice(["simple", "identity", "covering", "merging"]),
    )
    brokers = list(network.brokers)
    for number in range(4):
        network.connect(f"s{number}.1", random.choice(brokers))
        network.connect(f"p{number}.1", random.choice(brokers))
    subscribed: dict[str, tuple[int, int]] = {}
    advertised: dict[str, int] = {}
    expected: list[tuple[tuple[str, int], str]] = []
    for _ in range(40):
        act(network, random, subscribed, advertised)
        for publisher in [f"p{number}.1" for number in range(4)]:
            if advertisements and not network.settled(publisher).get(advertised.get(publisher, 0)):
                continue
            x = random.randrange(10)
            name = network.publish(publisher, {"x": x})
            expected += [
                (name, client)
                for client, (request, least) in subscribed.items()
                if network.settled(client).get(request) and x >= least
            ]
    network.run_ticks()
    assert [one for one in expected if network.got[one[1]].count(one[0]) != 1] == []
    assert all(network.settled(client)[request] for client, (request, _) in subscribed.items())
    network.check()


def wave_is_due(network: Wired) -> bool:
    """Whether somebody starts a wave before long; requests are given up much later."""
    wanted = network.next_tick()
    return wanted is not None and wanted[0] < network.now + 1.0


def act(
    network: Wired,
    random: Random,
    subscribed: dict[str, tuple[int, int]],
    advertised: dict[str, int],
) -> None:
    """Something happens: someone subscribes or advertises, a timer runs out, a link delivers."""
    what = random.random()
    client = f"s{random.randrange(4)}.1"
    publisher = f"p{random.randrange(4)}.1"
    if what < 0.1 and client not in subscribed:
        least = random.randrange(10)
        request = network.subscribe(client, "a", f"x >= {least}", settle=True)
        subscribed[client] = (request, least)
    elif what < 0.2 and publisher not in advertised:
        advertised[publisher] = network.advertise(publisher, "a", "x >= 0", settle=True)
    elif what < 0.25 and wave_is_due(network):
        network.tick()
    else:
        for _ in range(random.randrange(1, 6)):
            network.step()


def test_a_cut_in_the_middle_of_a_wave_starts_another(make_line: MakeLine) -> None:
    network = make_line(4)
    network.connect("s.1", "B1")
    network.subscribe("s.1", "a", "x = 1", settle=True)
    for edge in (("B1", "B2"), ("B1", "B2"), ("B2", "B3")):
        network.step(edge)
    network.cut("B3", "B4")
    network.run_ticks()
    assert network.settled("s.1") == {1: True}
    network.link("B3", "B4")
    network.run()
    network.check()


@given(SEEDS)
def test_waves_come_back_whatever_happens_to_the_tree(seed: int) -> None:
    """Links go and come while waves are under way: all is answered, and no wave stays behind."""
    random = Random(seed)
    network = Wired(random_links(5, random), random=random)
    links = [(a, b) for a, b in network.queues if a < b]
    for number in range(1, 6):
        network.connect(f"s{number}.1", f"B{number}")
    for turn in range(12):
        client = f"s{random.randrange(1, 6)}.1"
        network.subscribe(client, "a", f"x = {turn}", settle=True)
        for _ in range(random.randrange(8)):
            network.step()
        if random.random() < 0.3:
            link = random.choice(links)
            network.cut(*link)
            for _ in range(random.randrange(4)):
                network.step()
            network.link(*link)
        elif random.random() < 0.5:
            network.run_ticks()
    network.run_ticks()
    requests = sum(len(network.settled(f"s{number}.1")) for number in range(1, 6))
    assert requests == 12
    assert all(all(network.settled(f"s{number}.1").values()) for number in range(1, 6))
    network.check()


def test_a_lost_probe_is_overcome_after_the_deadline(make_line: MakeLine) -> None:
    network = make_line(3)
    network.connect("s.1", "B1")
    network.subscribe("s.1", "a", "x = 1", settle=True)
    network.queues["B1", "B2"].pop()  # the probe; the subscription before it arrives
    network.run()
    network.run_ticks()
    assert network.settled("s.1") == {1: False}
    network.subscribe("s.1", "b", "x = 2", settle=True)
    network.run()
    assert network.settled("s.1") == {1: False, 2: True}


# --- neighbours that are away -------------------------------------------------------------


def not_yet(client: str, request: int, *unreachable: str) -> Send:
    reason = f"out of reach for now: {', '.join(unreachable)}"
    return Send(client, Settled(request, settled=False, reason=reason))


def test_nobody_waits_for_a_neighbour_that_is_away() -> None:
    settling = new_settling("N", "M")
    assert settling.neighbour_away("M", 0.0) == []
    assert settling.request("c", 1, 0.0, nothing) == [Send("N", probe(1))]
    assert settling.echoed("N", echo(1), 0.1) == [not_yet("c", 1, "M")]


def test_a_neighbour_that_goes_away_during_a_wave_is_named_in_the_answer() -> None:
    settling = new_settling("N", "M")
    settling.request("c", 1, 0.0, nothing)
    assert settling.echoed("N", echo(1), 0.1) == []
    assert settling.neighbour_away("M", 0.2) == [not_yet("c", 1, "M")]
    assert settling.echoed("M", echo(1), 0.3) == []  # what it still had to say is too late


def test_alone_with_neighbours_that_are_away_the_answer_comes_at_once() -> None:
    settling = new_settling("N")
    settling.neighbour_away("N", 0.0)
    assert settling.request("c", 1, 0.0, nothing) == [not_yet("c", 1, "N")]


def test_what_is_out_of_reach_is_passed_on_in_echoes() -> None:
    settling = new_settling("N", "M", "K")
    settling.neighbour_away("K", 0.0)
    settling.probed("N", Probe("O", 1), 0.0)
    answer = Echo("O", 1, unreachable=("far",))
    assert settling.echoed("M", answer, 0.0) == [Send("N", Echo("O", 1, unreachable=("K", "far")))]


def test_back_again_a_neighbour_is_waited_for_as_before() -> None:
    settling = new_settling("N")
    settling.neighbour_away("N", 0.0)
    settling.neighbour_back("N")
    assert settling.request("c", 1, 0.0, nothing) == [Send("N", probe(1))]
    assert settling.echoed("N", echo(1), 0.1) == [yes("c", 1)]


def test_a_neighbour_that_is_removed_is_not_away_any_more() -> None:
    settling = new_settling("N")
    settling.neighbour_away("N", 0.0)
    settling.remove_neighbour("N", 0.0)
    assert settling.neighbour_away("N", 0.0) == []
    assert settling.request("c", 1, 0.0, nothing) == [yes("c", 1)]


# --- surveys ------------------------------------------------------------------------------


def test_a_survey_collects_the_reports_of_all() -> None:
    settling = new_settling("N")
    assert settling.request("c", 1, 0.0) == [Send("N", Probe("B", 1, 3, survey=True))]
    there = BrokerReport("N", 7, ("B",))
    own = BrokerReport("B", 3, ("N",))
    back = Echo("B", 1, 3, unreachable=("far",), reports=(there,))
    assert settling.echoed("N", back, 0.1) == [Send("c", Surveyed(1, (own, there), ("far",)))]


def test_a_broker_on_the_way_adds_its_own_report() -> None:
    settling = new_settling("N", "M")
    own = BrokerReport("B", 3, ("N", "M"))
    behind = BrokerReport("M", 2, ("B",))
    assert settling.probed("N", Probe("O", 1, survey=True), 0.0) == [
        Send("M", Probe("O", 1, survey=True))
    ]
    assert settling.echoed("M", Echo("O", 1, reports=(behind,)), 0.0) == [
        Send("N", Echo("O", 1, reports=(own, behind)))
    ]


def test_reports_that_were_not_asked_for_are_left_out() -> None:
    settling = new_settling("N", "M")
    settling.probed("N", Probe("O", 1), 0.0)
    unasked = Echo("O", 1, reports=(BrokerReport("M", 2),))
    assert settling.echoed("M", unasked, 0.0) == [Send("N", Echo("O", 1))]


def test_one_wave_answers_surveys_and_other_requests() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0, nothing)
    settling.request("d", 1, 0.1, nothing)
    settling.request("d", 2, 0.2)
    settling.echoed("N", echo(1), 0.3)
    assert settling.tick(1.0) == [Send("N", Probe("B", 2, 3, survey=True))]
    there = BrokerReport("N", 7, ("B",))
    answer = Echo("B", 2, 3, reports=(there,))
    own = BrokerReport("B", 3, ("N",))
    assert settling.echoed("N", answer, 1.1) == [
        yes("d", 1),
        Send("d", Surveyed(2, (own, there))),
    ]


def test_a_survey_that_does_not_come_back_is_refused() -> None:
    settling = new_settling("N")
    settling.request("c", 1, 0.0)
    (answer,) = settling.tick(10.0)
    assert answer == Send("c", Refused("the survey did not come back in time; try again", 1))
