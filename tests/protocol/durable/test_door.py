"""A broker hands questions about durable subscriptions on to its node."""

from __future__ import annotations

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.durable.messages import Mailbox
from sapwood.protocol.effects import AskMailbox
from sapwood.protocol.events import ClientUp, ControlReceived, LinkUp

ASKED = Mailbox(request=1, action="list")


def test_clients_may_ask_and_brokers_may_not() -> None:
    broker = Broker(BrokerConfig(id="B1"))
    broker.handle(ClientUp("c.1"), 0.0)
    broker.handle(LinkUp("B2"), 0.0)
    assert broker.handle(ControlReceived("c.1", ASKED), 0.0) == [AskMailbox("c.1", ASKED)]
    broker.handle(ControlReceived("B2", ASKED), 0.0)
    assert broker.drops.counts[Drop.NOT_FOR_BROKERS] == 1
