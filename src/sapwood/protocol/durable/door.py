"""Where a broker hands on what clients ask about durable subscriptions: its node has them."""

from __future__ import annotations

from collections.abc import Mapping

from sapwood.protocol.durable.messages import Mailbox
from sapwood.protocol.effects import AskMailbox, Effect
from sapwood.protocol.machine import Machine, MessageHandler


class MailboxDoor(Machine):
    """Takes questions about durable subscriptions from clients."""

    name = "mailboxes"

    def from_clients(self) -> Mapping[type, MessageHandler]:
        """One kind of message."""
        return {Mailbox: self._asked}

    def _asked(self, source: str, message: Mailbox, now: float) -> list[Effect]:
        return [AskMailbox(source, message)]
