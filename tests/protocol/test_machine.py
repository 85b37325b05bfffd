"""A machine that cares for nothing does nothing, and costs nothing."""

from __future__ import annotations

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.machine import Machine
from sapwood.protocol.messages import TableComplete


def new_machine() -> Machine:
    return Machine(Broker(BrokerConfig(id="B")))


def test_by_itself_a_machine_does_nothing() -> None:
    machine = new_machine()
    assert machine.tick(0.0) == []
    for happens in (
        machine.link_up,
        machine.link_aside,
        machine.link_down,
        machine.link_restarted,
        machine.link_away,
        machine.link_back,
        machine.client_down,
    ):
        assert happens("N", 0.0) == []
    assert {**machine.events(), **machine.from_neighbours(), **machine.from_clients()} == {}
    assert machine.next_at is None
    assert machine.report() == {}
    assert list(machine.problems()) == []
    assert machine.state() is None


def test_a_restarted_neighbour_is_gone_and_new_unless_a_machine_knows_better() -> None:
    class Watching(Machine):
        def link_up(self, neighbour: str, now: float) -> list[Effect]:
            return [Send(neighbour, TableComplete())]

        def link_down(self, neighbour: str, now: float) -> list[Effect]:
            return [Send(neighbour, TableComplete(advertisements_only=True))]

    machine = Watching(Broker(BrokerConfig(id="B")))
    assert machine.link_restarted("N", 0.0) == [
        Send("N", TableComplete(advertisements_only=True)),
        Send("N", TableComplete()),
    ]


def test_the_machines_of_a_broker_have_names_of_their_own() -> None:
    broker = Broker(BrokerConfig(id="B"))
    names = [machine.name for machine in broker.machines]
    assert len({*names}) == len(names)
    assert all(names)
    assert list(broker.reports()) == names
