"""The state of a broker is plain data: it can be copied, compared and written down."""

from __future__ import annotations

import copy
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.wiring import notification
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Effect
from sapwood.protocol.events import (
    ClientDown,
    ClientUp,
    ControlReceived,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    NotificationsMissed,
    RoutingChanged,
    SurveyRequested,
    Tick,
)
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Echo,
    Message,
    Missed,
    Probe,
    Subscribe,
    TableComplete,
    Unadvertise,
    Unsubscribe,
)

NEIGHBOURS = ["N", "M", "K"]
CLIENTS = ["c.1", "d.1"]
ALGORITHMS = ["simple", "identity", "covering", "merging"]


def new_broker(random: Random) -> Broker:
    return Broker(
        BrokerConfig(
            id="B",
            routing=random.choice(ALGORITHMS),
            advertisements_required=random.random() < 0.5,
            expected=("N", "M") if random.random() < 0.3 else (),
            recording=True,
            settle_patience=5.0,
        )
    )


def draw_message(random: Random) -> Message:
    entry_id, least = str(random.randrange(4)), random.randrange(6)
    filter, request = f"x > {least}", random.randrange(3)
    messages: list[Message] = [
        Subscribe(entry_id, filter, request),
        Subscribe(entry_id, f"x = {least}", request),
        Advertise(entry_id, filter, request),
        Unsubscribe(entry_id, request),
        Unadvertise(entry_id),
        Probe(random.choice("XY"), random.randrange(4), survey=random.random() < 0.5),
        Echo(random.choice("XB"), random.randrange(4)),
        Missed(1, "X-Y", (filter,)),
        TableComplete(advertisements_only=random.random() < 0.5),
    ]
    return random.choice(messages)


def draw_event(random: Random) -> Event:
    name, client = random.choice(NEIGHBOURS), random.choice(CLIENTS)
    source = random.choice(NEIGHBOURS + CLIENTS)
    message = draw_message(random)
    restarted = random.random() < 0.5
    frames = [notification(source, {"x": random.randrange(6)}), CODEC.encode(message)]
    events: list[Event] = [
        LinkUp(name, features=("restart",), restarted=restarted),
        LinkDown(name),
        NeighbourAway(name),
        NeighbourBack(name),
        NotificationsMissed(name, 1),
        RoutingChanged(name, random.choice(ALGORITHMS)),
        SurveyRequested(1),
        ClientUp(client),
        ClientDown(client),
        Tick(),
        *[ControlReceived(source, message)] * 10,
        *[FramesReceived(source, b"".join(frames))] * 5,
    ]
    return random.choice(events)


def run(broker: Broker, random: Random, events: int, now: float) -> list[list[Effect]]:
    said = []
    for _ in range(events):
        now += random.choice([0.0, 0.1, 2.0, 40.0])
        said.append(broker.handle(draw_event(random), now))
        assert broker_problems(broker) == []
    return said


def begun(seed: int) -> tuple[Broker, list[list[Effect]]]:
    random = Random(seed)
    broker = new_broker(random)
    said = [broker.handle(LinkUp(name, features=("restart",)), 0.0) for name in NEIGHBOURS]
    said += [broker.handle(ClientUp(client), 0.0) for client in CLIENTS]
    return broker, said + run(broker, random, random.randrange(60), 0.0)


SEEDS = st.integers(0, 2**32)


@pytest.mark.slow
@given(SEEDS, SEEDS)
def test_a_copy_behaves_like_the_original_and_leaves_it_alone(seed: int, later: int) -> None:
    broker, _ = begun(seed)
    one, two = copy.deepcopy(broker), copy.deepcopy(broker)
    before = broker.snapshot()
    assert one.snapshot() == before
    said = run(one, Random(later), 30, 5000.0)
    assert broker.snapshot() == before
    assert run(two, Random(later), 30, 5000.0) == said
    assert run(broker, Random(later), 30, 5000.0) == said
    assert one.snapshot() == two.snapshot() == broker.snapshot()


@given(SEEDS)
def test_a_snapshot_can_be_written_down_and_is_equal_for_equal_brokers(seed: int) -> None:
    (one, said), (two, said_again) = begun(seed), begun(seed)
    assert said == said_again
    written = msgspec.msgpack.encode(one.snapshot())
    assert written == msgspec.msgpack.encode(two.snapshot())
    assert msgspec.msgpack.encode(msgspec.msgpack.decode(written)) == written


def test_snapshots_of_brokers_that_differ_differ() -> None:
    one, two = (Broker(BrokerConfig(id="B")) for _ in range(2))
    begin: list[Event] = [LinkUp("N"), ClientUp("c.1")]
    for event in begin:
        assert one.handle(event, 0.0) == two.handle(event, 0.0)
        assert one.snapshot() == two.snapshot()
    for event in (
        ControlReceived("N", Subscribe("n", "x = 1")),
        ControlReceived("c.1", Subscribe("c", "x = 1", request=1)),
        ControlReceived("N", Echo("B", 1)),
        NeighbourAway("N"),
        ClientDown("c.1"),
        LinkDown("N"),
    ):
        one.handle(event, 1.0)
        assert one.snapshot() != two.snapshot()
        two.handle(event, 1.0)
        assert one.snapshot() == two.snapshot()


def test_no_state_holds_a_closure() -> None:
    """All that a broker holds is data, parts of its own, or methods and functions by name."""
    broker, _ = begun(7)
    for machine in broker.machines:
        for field, value in vars(machine).items():
            assert not callable(value), f"{machine.name}.{field} is a {type(value)}"
    assert [name for name, value in vars(broker).items() if "<lambda>" in repr(value)] == []
