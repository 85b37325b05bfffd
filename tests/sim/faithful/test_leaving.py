"""Brokers leave under load: scenes, a sample of the swarm, and mistakes that it must see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from marking import many
from sapwood.protocol.effects import HandOver
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link import admission, adopting, handing
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handing import HandingOver, Stage
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.reconfigure.leaving import SILENCE_SECONDS, Leaves
from sapwood.protocol.waves import Waves
from sapwood.sim.faithful import leaving
from sapwood.sim.faithful.client import FaithfulClient
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.loading import Publisher, client, line, sequences

EVERYTHING = "n >= 0"


def ended(network: FaithfulNetwork, name: str, seconds: float = 30.0) -> float:
    """How long it takes until a broker is gone."""
    began = network.kernel.now
    assert network.driver.run_until(lambda: name not in network.nodes, seconds, step=0.01)
    return network.kernel.now - began


def whole(reader: FaithfulClient, publisher: Publisher, session: str) -> bool:
    """Whether a reader has got all that was published, once and in order."""
    return sequences(reader, session) == list(range(1, publisher.count + 1))


class Scene:
    """A line of three brokers with a reader and a writer at each end; B3 leaves."""

    def __init__(self, **config: Any) -> None:
        self.network = line(3, **config)
        self.near = client(self.network, "near.1", "B1", EVERYTHING)
        self.far = client(self.network, "far.1", "B3", EVERYTHING)
        self.writers = {}
        for session, broker in (("w1.1", "B1"), ("w3.1", "B3")):
            client(self.network, session, broker)
            self.writers[session] = Publisher(self.network, session, rate=300)
        self.network.driver.run(1.0)

    def calm_down(self) -> None:
        """Publish no more, and let everything arrive."""
        for writer in self.writers.values():
            writer.stop()
        self.network.driver.run(8.0)

    @property
    def is_whole(self) -> bool:
        """Whether both readers have everything, once and in order."""
        return all(
            whole(reader, writer, session)
            for reader in (self.near, self.far)
            for session, writer in self.writers.items()
        )

    @property
    def brokers(self) -> dict[str, str]:
        """Where the clients of B3 are."""
        return {name: self.network.clients[name].session.broker for name in ("far.1", "w3.1")}


def test_a_broker_that_is_asked_to_leave_itself_is_gone_and_its_heir_says_so() -> None:
    scene = Scene()
    scene.network.change_tree("far.1", "remove", broker="B3")
    ended(scene.network, "B3")
    scene.calm_down()
    assert scene.is_whole
    (answer,) = scene.far.changed
    assert (answer.outcome, answer.reason) == ("completed", "")
    assert [step.old for step in answer.steps] == [("B3", "B2")]
    assert not scene.far.refused


def test_a_broker_in_the_middle_moves_itself_to_the_edge_and_leaves() -> None:
    scene = Scene()
    reader = client(scene.network, "middle.1", "B2", EVERYTHING)
    scene.network.change_tree("middle.1", "remove", broker="B2")
    ended(scene.network, "B2")
    scene.calm_down()
    assert scene.is_whole
    (answer,) = reader.changed
    assert answer.outcome == "completed"
    assert scene.network.is_joined("B1", "B3")
    assert reader.session.broker in {"B1", "B3"}


def test_who_waits_for_a_change_that_a_leaving_broker_carries_out_is_told_so() -> None:
    scene = Scene()
    scene.network.refuse("B1", "B3")
    scene.network.change_tree("far.1", "exchange", (("B1", "B2"), ("B1", "B3")))
    scene.network.driver.run(0.1)
    scene.network.stop("B3")
    ended(scene.network, "B3")
    scene.calm_down()
    (answer,) = scene.far.changed
    assert (answer.outcome, answer.reason) == (
        "stopped",
        "B3 carried it out, and has left; see how the tree is now",
    )


def test_a_broker_that_leaves_is_not_taken_back_by_a_link_that_stands_by() -> None:
    """Found live: it was part of the tree again until its end, and its next start told of gaps."""
    scene = Scene()
    network = scene.network
    network.exchange("B1", ("B2", "B3"), ("B1", "B3"))
    assert network.driver.run_until(lambda: network.is_joined("B1", "B3"), 2.0)
    network.stop("B3")
    ended(network, "B3")
    remembered = network.sites["B3"].data
    assert remembered is not None
    assert remembered.neighbours == ()
    network.restart("B3")
    assert network.driver.run_until(lambda: network.is_joined("B2", "B3"), 10.0)
    scene.calm_down()
    assert scene.is_whole
    assert scene.near.reports == scene.far.reports == []


@pytest.mark.slow
def test_nobody_notices_that_a_broker_leaves() -> None:
    scene = Scene()
    scene.network.stop("B3")
    assert ended(scene.network, "B3") < 1.0
    assert scene.brokers == {"far.1": "B2", "w3.1": "B2"}
    scene.network.driver.run(2.0)
    scene.calm_down()
    assert scene.is_whole
    assert scene.far.reports == scene.near.reports == []
    assert not any(one.unconfirmed for one in scene.network.clients.values())
    assert scene.network.problems() + scene.network.problems_at_rest() == []
    assert scene.network.faults() == {}


def test_a_broker_that_has_left_comes_back_empty_and_nobody_misses_anything() -> None:
    scene = Scene()
    for _ in range(3):
        scene.network.stop("B3")
        ended(scene.network, "B3")
        scene.network.restart("B3")
        assert scene.network.driver.run_until(lambda: scene.network.is_joined("B2", "B3"), 20)
    scene.calm_down()
    assert scene.is_whole
    assert scene.far.reports == scene.near.reports == []


def test_a_request_under_way_is_answered_by_the_next_broker() -> None:
    scene = Scene()
    scene.network.freeze("B1", "B2")  # the wave that would answer it cannot come back
    scene.network.subscribe("far.1", "more", "n < 100")
    scene.network.driver.run(0.2)
    assert scene.far.subscriptions["more"].is_settled is None
    scene.network.stop("B3")
    ended(scene.network, "B3")
    scene.network.thaw("B1", "B2")
    assert scene.network.driver.run_until(
        lambda: scene.far.subscriptions["more"].is_settled is True, 20
    )
    scene.calm_down()
    assert scene.is_whole


@pytest.mark.slow
def test_without_taking_over_requests_it_would_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waves, "take_over", lambda *arguments: [])
    with pytest.raises(AssertionError):
        test_a_request_under_way_is_answered_by_the_next_broker()


@pytest.mark.slow
def test_a_slow_client_takes_its_backlog_along() -> None:
    scene = Scene(hand_over_seconds=30.0)
    network = scene.network
    for broker in network.sites:
        network.slow("far.1", broker, 40_000.0)
    network.driver.run(3.0)
    backlog = network.nodes["B3"].peers["far.1"].channel.buffered
    assert backlog > 50_000
    network.stop("B3")
    ended(network, "B3")
    for broker in network.sites:
        network.slow("far.1", broker, 0.0)
    scene.calm_down()
    assert network.driver.run_until(lambda: scene.is_whole, 60)
    assert scene.far.reports == []


@pytest.mark.slow
def test_a_client_that_is_away_finds_its_stream_at_the_neighbour() -> None:
    scene = Scene()
    network = scene.network
    reader = network.connect("away.1", "B3", "B2")
    network.subscribe("away.1", "all", EVERYTHING)
    assert network.driver.run_until(lambda: reader.subscriptions["all"].is_settled is True, 10)
    for broker in network.sites:
        network.refuse("away.1", broker)
        network.cut("away.1", broker)
    network.driver.run(1.0)
    network.stop("B3")
    ended(network, "B3")
    network.driver.run(1.0)
    for broker in network.sites:
        network.refuse("away.1", broker, is_refused=False)
    scene.calm_down()
    began = {session: sequences(reader, session)[0] for session in scene.writers}
    assert {session: sequences(reader, session) for session in scene.writers} == {
        session: list(range(began[session], writer.count + 1))
        for session, writer in scene.writers.items()
    }
    assert reader.session.broker == "B2"
    assert reader.reports == []


@pytest.mark.slow
def test_grace_goes_on_at_the_neighbour() -> None:
    scene = Scene(client=ClientLimits(grace_seconds=4.0))
    network = scene.network
    for broker in network.sites:
        network.refuse("far.1", broker)
        network.cut("far.1", broker)
    network.driver.run(2.0)
    network.stop("B3")
    ended(network, "B3")
    assert "far.1" in network.nodes["B2"].peers
    network.driver.run(3.0)
    assert "far.1" not in network.nodes["B2"].peers


def test_a_neighbour_of_an_older_release_is_left_in_the_old_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = NodeConfig.features
    monkeypatch.setattr(
        NodeConfig,
        "features",
        lambda self, *, is_client: tuple(
            one for one in features(self, is_client=is_client) if is_client or one != "moves"
        ),
    )
    scene = Scene()
    scene.network.stop("B3")
    assert scene.network.nodes["B3"].is_stopping
    assert scene.network.nodes["B3"].handing is None


def test_a_broker_between_others_keeps_its_place() -> None:
    scene = Scene()
    scene.network.stop("B2")
    assert scene.network.nodes["B2"].handing is None
    ended(scene.network, "B2")
    scene.network.restart("B2")
    scene.calm_down()
    assert scene.is_whole


@pytest.mark.slow
@pytest.mark.parametrize("stage", [Stage.ASKED, Stage.LEFT])
@pytest.mark.parametrize("victim", ["B2", "B3"])
def test_a_crash_in_the_middle_leaves_nothing_behind(stage: Stage, victim: str) -> None:
    """Whoever dies: nothing is repeated, and no stream stands still for long."""
    scene = Scene()
    network = scene.network
    network.freeze("B2", "B3")
    network.stop("B3")
    if stage is Stage.LEFT:
        network.thaw("B2", "B3")
    leaver = network.nodes["B3"]
    assert network.driver.run_until(
        lambda: leaver.handing is not None and leaver.handing.stage is stage, 5, step=0.001
    )
    network.crash(victim)
    network.thaw("B2", "B3")
    network.driver.run(1.0)
    network.restart(victim)
    network.driver.run(SILENCE_SECONDS + 12.0)
    for node in network.nodes.values():
        assert node.broker.leaving.adopting == {}
        assert not any(peer.channel.is_barred for peer in node.peers.values())
    if "B3" not in network.nodes:
        network.restart("B3")
    scene.calm_down()
    for reader in (scene.near, scene.far):
        for session in scene.writers:
            got = sequences(reader, session)
            assert got == sorted(set(got))
    assert network.problems() == []
    last = {session: writer.count for session, writer in scene.writers.items()}
    assert {session: sequences(scene.near, session)[-1] for session in last} == last


@pytest.mark.slow
def test_a_link_that_stands_still_is_waited_for_only_so_long() -> None:
    scene = Scene(hand_over_seconds=3.0)
    network = scene.network
    network.freeze("B2", "B3")
    network.stop("B3")
    assert ended(network, "B3") < 3.0 + 2.0 + 1.0
    network.thaw("B2", "B3")
    network.restart("B3")
    scene.calm_down()
    assert network.nodes["B2"].broker.leaving.adopting == {}
    got = sequences(scene.near, "w1.1")
    assert got == list(range(1, scene.writers["w1.1"].count + 1))


# The swarm


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 13))
def test_seeds(seed: int) -> None:
    assert leaving.problems_of(seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", many(range(13, 93, 20), slow=1))
def test_more_seeds(first: int) -> None:
    assert {seed: leaving.problems_of(seed) for seed in range(first, first + 20)} == {
        seed: [] for seed in range(first, first + 20)
    }


@pytest.mark.slow
def test_the_swarm_does_what_it_is_for() -> None:
    run = leaving.PlanRun(leaving.draw_plan(1))
    assert run.run() == []
    assert run.removals > 0
    assert run.handed_over > 0


@pytest.mark.slow
def test_what_is_wrong_is_said_with_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert leaving.main(["--seed", "1"]) == 0
    monkeypatch.setattr(Leaves, "replay", lambda *arguments: iter(()))
    seeds = ["--seed", "1", "--count", "16"]
    assert leaving.main(seeds) == 1
    assert "again: python -m sapwood.sim.faithful.leaving --seed" in capsys.readouterr().out


# Mistakes


def without_flush(original: Any) -> Any:
    """Do not wait for what the neighbour still had."""

    def ask(self: HandingOver, now: float) -> None:
        original(self, now)
        self.flushed(HandOver(self.neighbour, self.change), now)

    return ask


def without_spool(original: Any) -> Any:
    return lambda runs: iter(())


def without_counts(original: Any) -> Any:
    def adopt(self: Channel, counts: Any, runs: Any) -> None:
        original(self, counts._replace(received=0), runs)

    return adopt


def without_waiting(original: Any) -> Any:
    return lambda node, hello: None


def without_replay(original: Any) -> Any:
    return lambda *arguments: iter(())


def replayed_for_everybody(original: Any) -> Any:
    """What was kept back goes to all who want it, not only to those who are new."""

    def replay(self: Leaves, neighbour: str, runs: Any, clients: Any, now: float) -> Any:
        return original(self, neighbour, runs, {**clients, **dict.fromkeys(self.core.clients)}, now)

    return replay


def without_bar(original: Any) -> Any:
    return lambda self: None


def forgotten_order(original: Any) -> Any:
    def take_in(node: Any, adoptee: Any, now: float) -> None:
        stream = msgspec.structs.replace(adoptee.stream, order=0)
        original(node, msgspec.structs.replace(adoptee, stream=stream), now)

    return take_in


MUTANTS: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "no flush": (HandingOver, "ask", without_flush),
    "no spool": (handing, "_cut", without_spool),
    "no counts": (Channel, "adopt", without_counts),
    "no waiting": (admission, "awaited", without_waiting),
    "no replay": (Leaves, "replay", without_replay),
    "replay for everybody": (Leaves, "replay", replayed_for_everybody),
    "no bar": (Channel, "bar", without_bar),
    "no order": (adopting, "_take_in", forgotten_order),
}


def goes_wrong(seed: int) -> bool:
    """Whether a seed shows a mistake, or it is a fault that a node finds in itself."""
    try:
        return bool(leaving.problems_of(seed))
    except FAULTS:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, attribute, make = MUTANTS[name]
    monkeypatch.setattr(target, attribute, make(getattr(target, attribute)))
    assert any(map(goes_wrong, range(1, 61))), f"nobody sees: {name}"
