"""Settled is said when it is true, once, and whatever happens to the tree."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.wiring import Line, Wired, random_links
from sapwood.protocol.messages import Probe

MakeLine = Callable[..., Line]

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


@pytest.mark.slow
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
