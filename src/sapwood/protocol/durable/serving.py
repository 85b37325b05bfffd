"""The durable subscriptions of a broker, and what clients ask about them.

To the routing of the broker each is a client that is always there: it has a subscription, and what
matches is kept. Whoever reads gives a position; what is before it was read and is let go. A read
for what is not there yet waits, up to a time.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.durable.fetching import Fetching, Wanted
from sapwood.protocol.durable.journal import Journal
from sapwood.protocol.durable.mailbox import Mailbox, ReadPage
from sapwood.protocol.durable.messages import Mailbox as Asked
from sapwood.protocol.durable.messages import MailboxAnswer, MailboxState
from sapwood.protocol.durable.pages import Page, Place, PlacedRun
from sapwood.protocol.durable.records import (
    Change,
    KeptMailbox,
    MailboxCommitted,
    MailboxDropped,
    MailboxOpened,
)
from sapwood.protocol.durable.settings import MAILBOX
from sapwood.protocol.effects import Send
from sapwood.protocol.events import ClientDown, ClientUp, ControlReceived
from sapwood.protocol.messages import Message, Refused, Settled, Subscribe
from sapwood.protocol.ports import TICK_SECONDS, ClientOrder, Row
from sapwood.trace.schema import DELIVERED
from sapwood.wire.frames import BODY_BYTES_MAX

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")
_HOUR: Final = 3600.0
PAGE_BYTES_MAX: Final = 2**20
"""Longest answer to a read, about."""


RUN_BYTES_MAX: Final = BODY_BYTES_MAX - 2 * PAGE_BYTES_MAX
"""What would not fit into an answer is not kept: a payload of almost 16 MiB."""


class _Waiting(NamedTuple):
    """A client that waits for something to be there, or for a subscription to settle."""

    client: str
    asked: Asked
    until: float


class Mailboxes:
    """All durable subscriptions of one broker."""

    def __init__(self, node: Node, journal: Journal, fetching: Fetching) -> None:
        self._node = node
        self._journal = journal
        self._fetching = fetching
        self._by_name: dict[str, Mailbox] = {}
        self._by_client: dict[str, Mailbox] = {}
        self._waiting: dict[str, list[_Waiting]] = {}
        """Reads and looks that wait, by the name of the subscription."""
        self._opening: dict[str, list[_Waiting]] = {}
        """Who waits until a new subscription is in force everywhere."""
        self._unrecorded: deque[tuple[int, str, bytes]] = deque()
        """Where rows are recorded: what was kept and is not on disk yet."""
        self._last_epoch = 0
        self._look_at = float("-inf")

    def __iter__(self) -> Iterator[Mailbox]:
        """All of them, in the order in which they were opened."""
        return iter(self._by_name.values())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_name)

    @property
    def clients(self) -> tuple[str, ...]:
        """Their names as those of clients."""
        return tuple(self._by_client)

    # The journal

    def restore(self, kept: tuple[KeptMailbox, ...]) -> None:
        """Begin with what a checkpoint has."""
        for one in kept:
            self._add(Mailbox.restored(one, self._node.config.durability.mailbox_bytes))

    def restored(self) -> None:
        """All records are replayed, and they are on disk.

        What of it is in the trace is not known: that of the session before has a gap there.
        """
        self._unrecorded.clear()
        for mailbox in self:
            mailbox.note_synced(self._journal.synced)

    def replay(self, change: Change) -> None:
        """Do once more what a record says."""
        if isinstance(change, MailboxOpened):
            self._add(self._made(change))
        elif isinstance(change, MailboxDropped):
            self._remove(change.name)
        elif isinstance(change, MailboxCommitted) and change.name in self._by_name:
            mailbox = self._by_name[change.name]
            mailbox.commit(change.position)
            mailbox.used_at = change.at

    def _made(self, opened: MailboxOpened) -> Mailbox:
        """A new one."""
        bytes_max = self._node.config.durability.mailbox_bytes
        given = (opened.name, opened.filter, opened.owner, opened.epoch, opened.at)
        return Mailbox(*given, bytes_max)

    def kept(self) -> tuple[KeptMailbox, ...]:
        """What a checkpoint says of them."""
        return tuple(one.kept() for one in self)

    def by_client(self, client: str) -> Mailbox | None:
        """The one that is this client to the broker."""
        return self._by_client.get(client)

    def keep(self, mailbox: Mailbox, count: int, data: bytes, at: float, place: Place) -> Page:
        """Keep notifications for one of them; those without data are lost."""
        settings = self._node.config.durability
        page = mailbox.append(count, data, at, place)
        mailbox.shrink(settings.memory_bytes // len(self._by_name))
        if not data:
            self._node.counts["mailbox_given_up"] += count
        elif self._node.config.recording:
            self._unrecorded.append((place.record, mailbox.client, data))
        if mailbox.size > settings.mailbox_bytes:
            self._shorten(mailbox, float("-inf"))
        return page

    def give_up_before(self, segment: int) -> dict[str, int]:
        """Give up what lies in old segments; how many notifications, by name."""
        given_up = {
            mailbox.name: sum(mailbox.give_up_page(page) for page in pages)
            for mailbox in self
            if (pages := mailbox.pages.before(segment))
        }
        self._node.counts["mailbox_given_up"] += sum(given_up.values())
        return given_up

    def give_up_page(self, client: str, page: Page) -> bool:
        """Give up a page that cannot be read; False if there is no such durable subscription."""
        mailbox = self._by_client.get(client)
        if mailbox is not None:
            self._node.counts["mailbox_given_up"] += mailbox.give_up_page(page)
        return mailbox is not None

    def _shorten(self, mailbox: Mailbox, oldest: float) -> None:
        """Give up what is too much or too old."""
        given_up = mailbox.give_up(self._node.config.durability.mailbox_bytes, oldest)
        if given_up:
            self._node.counts["mailbox_given_up"] += given_up

    def _committed(self, mailbox: Mailbox) -> None:
        change = MailboxCommitted(mailbox.name, mailbox.committed, mailbox.used_at)
        self._journal.change(change)

    def _add(self, mailbox: Mailbox) -> None:
        self._by_name[mailbox.name] = mailbox
        self._by_client[mailbox.client] = mailbox
        self._last_epoch = max(self._last_epoch, mailbox.epoch)

    def _remove(self, name: str) -> Mailbox | None:
        mailbox = self._by_name.pop(name, None)
        if mailbox is not None:
            del self._by_client[mailbox.client]
        return mailbox

    # Time

    @property
    def next_at(self) -> float:
        """When somebody has waited long enough."""
        waiting = [one.until for some in self._waiting.values() for one in some]
        return min(waiting, default=float("inf"))

    def begin(self, now: float) -> None:
        """After a restart: let all be in force again."""
        for mailbox in self:
            self._subscribe(mailbox, 0, now)

    def tick(self, now: float) -> None:
        """Answer those who have waited long enough, and let go what is too old."""
        for name, waiting in list(self._waiting.items()):
            for one in [one for one in waiting if now >= one.until]:
                waiting.remove(one)
                self._answer(one.client, one.asked, self._by_name.get(name), now)
            if not waiting:
                del self._waiting[name]
        if now >= self._look_at:
            self._look_at = now + TICK_SECONDS
            settings = self._node.config.durability
            for mailbox in list(self):
                self._shorten(mailbox, now - settings.mailbox_hours * _HOUR)
                is_used = mailbox.name in self._waiting
                if not is_used and now - mailbox.used_at > settings.unused_hours * _HOUR:
                    self.drop(mailbox.name, now)

    def synced(self, now: float) -> None:
        """More is on disk: in a trace it counts as delivered, and perhaps somebody waits for it."""
        unrecorded = self._unrecorded
        for one in self:
            one.note_synced(self._journal.synced)
        while unrecorded and unrecorded[0][0] <= self._journal.synced:
            _, client, data = unrecorded.popleft()
            self._node.do(Row(now, DELIVERED, {"client": client, "target": client}, data))
        for name, waiting in list(self._waiting.items()):
            mailbox = self._by_name.get(name)
            if mailbox is None:
                continue
            for asking in [one for one in waiting if self._is_there(mailbox, one.asked)]:
                waiting.remove(asking)
                self._answer(asking.client, asking.asked, mailbox, now)
            if not waiting:
                del self._waiting[name]

    # What clients ask

    def asked(self, client: str, asked: Asked, now: float) -> None:
        """A client asks something."""
        if asked.action == "list":
            own = [one for one in self if not self._refusal(client, one)]
            states = tuple(one.state(now) for one in own)
            self._say(client, MailboxAnswer(request=asked.request, mailboxes=states), now)
            return
        mailbox = self._by_name.get(asked.name)
        if mailbox is None and asked.action == "open" and asked.filter:
            self._open(client, asked, now)
            return
        reason = self._objection(client, asked, mailbox)
        if reason or mailbox is None:
            self._refuse(client, asked, reason, now)
            return
        mailbox.used_at = now
        if asked.action == "drop":
            self.drop(mailbox.name, now)
            self._say(client, MailboxAnswer(request=asked.request), now)
            return
        if asked.committed and asked.epoch == mailbox.epoch and mailbox.commit(asked.committed):
            self._committed(mailbox)
        if mailbox.name in self._opening and asked.action == "open":
            self._opening[mailbox.name].append(_Waiting(client, asked, float("inf")))
        elif asked.wait and not self._is_there(mailbox, asked):
            waiting = self._waiting.setdefault(mailbox.name, [])
            waiting[:] = [one for one in waiting if one.client in self._node.peers]
            waiting.append(_Waiting(client, asked, now + asked.wait))
        else:
            self._answer(client, asked, mailbox, now)

    def _objection(self, client: str, asked: Asked, mailbox: Mailbox | None) -> str:
        """Why a client does not get what it asks for; empty if it does."""
        broker = self._node.config.id
        if mailbox is None:
            return f"broker {broker} has no durable subscription {asked.name!r}; open it first"
        refusal = self._refusal(client, mailbox)
        if refusal:
            return refusal
        if asked.epoch and asked.epoch != mailbox.epoch:
            return (
                f"the durable subscription {asked.name!r} of epoch {asked.epoch} is gone, "
                f"the present one has {mailbox.epoch}; open it again"
            )
        if asked.action == "open" and asked.filter and asked.filter != mailbox.filter:
            return (
                f"the durable subscription {asked.name!r} has another filter, {mailbox.filter}; "
                "remove it first, or choose another name"
            )
        return ""

    def _refusal(self, client: str, mailbox: Mailbox) -> str:
        owner = self._owner(client)
        if mailbox.owner == owner:
            return ""
        return f"the durable subscription {mailbox.name!r} belongs to another account"

    def _owner(self, client: str) -> str:
        accounts = self._node.config.accounts
        account = None if accounts is None else accounts.owner_of_session(client)
        return "" if account is None else account.name

    def _open(self, client: str, asked: Asked, now: float) -> None:
        """A new durable subscription."""
        node, settings = self._node, self._node.config.durability
        try:
            filter = Filter(asked.filter)
        except SapwoodError as problem:
            self._refuse(client, asked, str(problem), now)
            return
        accounts = node.config.accounts
        reason = "" if accounts is None else accounts.claim_refusal(client, SUBSCRIBED, filter)
        if not _NAME.fullmatch(asked.name):
            reason = (
                f"{asked.name!r} cannot name a durable subscription; a name has 1 to 100 letters, "
                "digits, and any of _ . : / -"
            )
        elif len(self) >= settings.mailboxes_max:
            reason = (
                f"there are {len(self)} durable subscriptions at broker {node.config.id}, and no "
                "more are allowed; remove some (sapwood durable remove)"
            )
        if reason:
            self._refuse(client, asked, reason, now)
            return
        epoch = max(self._last_epoch + 1, int(now * 1000))
        opened = MailboxOpened(asked.name, asked.filter, self._owner(client), epoch, now)
        mailbox = self._made(opened)
        self._add(mailbox)
        self._journal.change(opened)
        self._opening[asked.name] = [_Waiting(client, asked, float("inf"))]
        self._subscribe(mailbox, 1, now)

    def _subscribe(self, mailbox: Mailbox, request: int, now: float) -> None:
        if self._node.config.recording:
            self._node.do(ClientOrder(mailbox.client, mailbox.next))
        self._node.bring(ClientUp(mailbox.client, (MAILBOX,)), now)
        subscribe = Subscribe(mailbox.name, mailbox.filter, request)
        self._node.bring(ControlReceived(mailbox.client, subscribe), now)

    def told(self, client: str, message: Message, now: float) -> None:
        """The broker says something to a durable subscription: that it is in force."""
        mailbox = self._by_client.get(client)
        if mailbox is None or not isinstance(message, Settled | Refused):
            return
        for one in self._opening.pop(mailbox.name, ()):
            if isinstance(message, Refused):
                self._refuse(one.client, one.asked, message.reason, now)
            else:
                self._answer(one.client, one.asked, mailbox, now)
        if isinstance(message, Refused):
            self.drop(mailbox.name, now)

    def drop(self, name: str, now: float) -> bool:
        """End a durable subscription; whether there was one."""
        mailbox = self._remove(name)
        if mailbox is None:
            return False
        self._journal.change(MailboxDropped(name))
        self._node.bring(ClientDown(mailbox.client), now)
        for one in self._waiting.pop(name, []):
            self._refuse(one.client, one.asked, f"the durable subscription {name!r} is gone", now)
        return True

    def _is_there(self, mailbox: Mailbox, asked: Asked) -> bool:
        """Whether what somebody waits for is on disk."""
        if asked.action not in ("read", "status"):
            return True
        return mailbox.readable > max(asked.position, mailbox.first)

    def _answer(self, client: str, asked: Asked, mailbox: Mailbox | None, now: float) -> None:
        if mailbox is None:
            self._refuse(client, asked, f"the durable subscription {asked.name!r} is gone", now)
            return
        mailbox.used_at = now
        page: ReadPage | Page | None = None
        if asked.action == "read":
            page = mailbox.read(asked.position, min(asked.size, PAGE_BYTES_MAX))
        if isinstance(page, Page):
            self._fetching.want(Wanted(mailbox.client, page, client, asked))
        else:
            self._say_page(client, asked, mailbox, page, now)

    def fetched(
        self, client: str, asked: Asked, page: Page, runs: list[PlacedRun], now: float
    ) -> None:
        """What somebody wants to read was read back from the journal."""
        mailbox = self._by_name.get(asked.name)
        if mailbox is None or (asked.epoch and asked.epoch != mailbox.epoch):
            self._answer(client, asked, None, now)
            return
        position = max(asked.position, mailbox.first)
        if mailbox.pages.find(position) is not page:
            self._answer(client, asked, mailbox, now)  # it was given up meanwhile
            return
        found = mailbox.assembled(runs, position, min(asked.size, PAGE_BYTES_MAX))
        if found is None:  # none of it was ever kept
            found = ReadPage(page.behind, 0, b"")
        self._say_page(client, asked, mailbox, found, now)

    def _say_page(
        self, client: str, asked: Asked, mailbox: Mailbox, page: ReadPage | None, now: float
    ) -> None:
        """Answer with how far a durable subscription is, and with what was read."""
        read = ReadPage(asked.position, 0, b"") if page is None else page
        answer = MailboxAnswer(
            request=asked.request,
            mailboxes=(mailbox.state(now),),
            first=read.first,
            count=read.count,
            data=read.data,
        )
        self._say(client, answer, now)

    def _say(self, client: str, answer: MailboxAnswer, now: float) -> None:
        self._node.carry_out([Send(client, answer)], now)

    def _refuse(self, client: str, asked: Asked, reason: str, now: float) -> None:
        self._node.carry_out([Send(client, Refused(reason, asked.request))], now)

    def states(self, now: float) -> list[MailboxState]:
        """How far all of them are."""
        return [one.state(now) for one in self]
