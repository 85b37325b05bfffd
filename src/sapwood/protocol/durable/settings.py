"""What is kept on disk, and how much of it: settings with their defaults."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

MAILBOX: Final = "mailbox"
"""Feature of what is no client but a durable subscription."""

DURABLE: Final = "durable"
"""Feature of a broker that keeps a journal."""

Spool: TypeAlias = Literal["memory", "disk"]


class DurabilitySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What outlives the process of a broker."""

    spool: Annotated[
        Spool,
        Meta(
            description="Where a broker keeps what it has accepted: memory loses it with the "
            "process; disk writes it into a journal in the data directory before it is "
            "acknowledged, and allows durable subscriptions and confirm='durable'."
        ),
    ] = "memory"
    memory_links: Annotated[
        tuple[str, ...],
        Meta(
            description="Neighbours, by id, whose links stay in memory though spool is disk: what "
            "was on its way to them is lost with the process."
        ),
    ] = ()
    link_bytes: Annotated[
        int,
        Meta(
            ge=2**16,
            description="Notifications kept on disk for a neighbour until it has them. Beyond it "
            "the oldest are given up, counted and reported. For how long: link.away_seconds.",
        ),
    ] = 256 * 2**20
    mailbox_bytes: Annotated[
        int,
        Meta(
            ge=2**16,
            description="Notifications kept for a durable subscription until they were read. "
            "Beyond it the oldest are given up, and whoever reads is told which.",
        ),
    ] = 64 * 2**20
    mailbox_hours: Annotated[
        float,
        Meta(
            gt=0.0,
            description="How old a notification in a durable subscription may get unread before "
            "it is given up.",
        ),
    ] = 72.0
    unused_hours: Annotated[
        float,
        Meta(
            gt=0.0,
            description="How long a durable subscription is kept that nobody uses.",
        ),
    ] = 168.0
    mailboxes_max: Annotated[
        int, Meta(ge=0, description="Durable subscriptions that a broker keeps at a time.")
    ] = 1000
    journal_bytes: Annotated[
        int,
        Meta(
            ge=2**18,
            description="How long the journal gets. Beyond it the oldest notifications are given "
            "up, for whomever they are kept, counted and reported.",
        ),
    ] = 4 * 2**30
    memory_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            description="What of the notifications that are on disk is in memory too: for each "
            "neighbour, and for all durable subscriptions together. The rest is read back.",
        ),
    ] = 8 * 2**20
    sync_seconds: Annotated[
        float,
        Meta(gt=0.0, le=10.0, description="Longest time until what was accepted is on disk."),
    ] = 0.05
    sync_bytes: Annotated[
        int, Meta(ge=1024, description="What is accepted before it is brought to disk at once.")
    ] = 2**20
    segment_bytes: Annotated[
        int, Meta(ge=4096, description="How long a file of the journal gets, about.")
    ] = 16 * 2**20

    @property
    def is_on(self) -> bool:
        """Whether there is a journal."""
        return self.spool == "disk"

    def keeps_link(self, neighbour: str) -> bool:
        """Whether what goes to a neighbour is kept on disk."""
        return self.is_on and neighbour not in self.memory_links
