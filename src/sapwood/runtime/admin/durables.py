"""Durable subscriptions for the admin endpoint: what there is, and removing one."""

from __future__ import annotations

from collections.abc import Callable

from sapwood.protocol.durable.messages import MailboxState
from sapwood.protocol.node import Node
from sapwood.protocol.ports import DriverEvent, DropMailbox
from sapwood.runtime.admin.endpoint import Durables


def durables(
    node: Callable[[], Node], now: Callable[[], float], bring: Callable[[DriverEvent], None]
) -> Durables:
    """What can be done with those of the present node; without a journal there are none."""

    def listed() -> list[MailboxState]:
        kept = node().durability
        return [] if kept is None else kept.mailboxes.states(now())

    def drop(name: str) -> bool:
        is_there = any(one.name == name for one in listed())
        bring(DropMailbox(name))
        return is_there

    return Durables(listed, drop)
