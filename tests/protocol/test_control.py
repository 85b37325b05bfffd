"""Control messages: who may say what, and what becomes of requests that wait for their turn."""

from __future__ import annotations

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.clients import Pace
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Reborn, Send
from sapwood.protocol.events import ClientUp, ControlReceived, LinkUp, Tick
from sapwood.protocol.messages import Message, Refused, Settled, Subscribe, Survey
from sapwood.protocol.turns import WINDOW_SECONDS, WINDOW_WORK

PACE = Pace(work_per_second=1_000.0, burst=10_000.0, waiting_max=2**20)


def broker(*, raises_faults: bool = True) -> Broker:
    made = Broker(BrokerConfig(id="B", pace=PACE, raises_faults=raises_faults))
    made.handle(LinkUp("N"), 0.0)
    made.handle(ClientUp("c.1"), 0.0)
    return made


def say(made: Broker, *messages: Message, source: str = "c.1") -> list[Effect]:
    effects: list[Effect] = []
    for message in messages:
        effects += made.handle(ControlReceived(source, message), 0.0)
    return effects


def crowd(made: Broker) -> None:
    """Use a window up, so that what follows waits."""
    say(made, *(Subscribe(str(one), f"n = {one}") for one in range(WINDOW_WORK)))


def test_nothing_is_taken_from_strangers_and_not_everything_from_clients() -> None:
    made = broker()
    say(made, Subscribe("1", "n = 1"), source="nobody")
    say(made, Settled(1, True))
    assert made.drops.counts == {Drop.UNKNOWN_SENDER: 1, Drop.NOT_FOR_BROKERS: 1}


def test_messages_of_neighbours_never_wait() -> None:
    made = broker()
    crowd(made)
    say(made, *(Subscribe(str(one), f"m = {one}") for one in range(300)), source="N")
    assert len(made.subscriptions.of("N")) == 300


def test_whatever_changes_nothing_does_not_wait_for_the_changes_of_others() -> None:
    made = broker()
    made.handle(ClientUp("d.1"), 0.0)
    crowd(made)
    say(made, Survey(4), source="d.1")
    assert made.turns.allowances.keys() == {"c.1"}


def test_a_request_that_waited_is_answered_though_a_fault_is_found_by_it() -> None:
    """What it asked for is done where that can be, and refused where it cannot."""
    made = broker(raises_faults=False)
    crowd(made)
    say(made, Survey(6), Subscribe("x", "x = 1", 7))
    made.turns.allowances["c.1"].waiting[:-2] = []
    made.waves = None  # type: ignore[assignment]
    for machine in made.machines:
        vars(machine).pop("_waves", None)
    effects = made.handle(Tick(), 2 * WINDOW_SECONDS)
    assert isinstance(effects[0], Reborn)
    assert Send("c.1", Refused("the broker found its state wrong; ask again", 6)) in effects
