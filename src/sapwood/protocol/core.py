"""What all machines of a broker share: its neighbours and clients, its tables, its drops.

A table changes here and nowhere else, so that the matching engine follows it; and after all that
one event changes, every neighbour is sent the difference between what it is owed and what it was
told, subscriptions before unsubscriptions. Hence a filter that takes the place of another leaves no
gap: both changes are one difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED, Clients
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.drops import Drop, Drops
from sapwood.protocol.durable.settings import MAILBOX
from sapwood.protocol.effects import Effect, Record, Send
from sapwood.protocol.fences import Fences
from sapwood.protocol.forwarding import Forwarding, SharedHeads
from sapwood.protocol.messages import (
    Advertise,
    BrokerReport,
    ClientMoved,
    ClientsAt,
    EdgeRouting,
    LoadReport,
    Message,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.neighbours import Neighbour, Neighbours
from sapwood.protocol.optimize.edges.messages import Tell
from sapwood.protocol.optimize.edges.wishes import Wishes
from sapwood.protocol.reconfigure.asking import ChangeTree
from sapwood.protocol.tally import Tally
from sapwood.routing.algorithms import ALGORITHMS, FLOODING
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable

ParseFilter: TypeAlias = Callable[[str], Filter]


IMPOSSIBLE, REBIRTH_CHANGED = "impossible", "rebirth_changed"
"""An exception where there must be none; derived state that was not what follows from the
entries."""


class Core:
    """The primary state of a broker, and what is derived from its tables."""

    def __init__(self, config: BrokerConfig, heads: SharedHeads | None, parse: ParseFilter) -> None:
        self.config = config
        self.id = config.id
        self.heads = heads
        self.parse = parse
        self.faults: Counter[str] = Counter({IMPOSSIBLE: 0, REBIRTH_CHANGED: 0})
        """What was found that can only follow from a fault, by kind: zero where there is none."""
        self.skew = 0.0
        """Seconds that the clock on the wall is ahead (`Tick`); what expires goes by it."""
        self.load: LoadReport | None = None
        """How much passes through, as the driver has said last."""
        self.reborn_at = float("-inf")
        """When all was last built anew because of a fault."""
        self.begin()

    def begin(self) -> None:
        """Begin with nothing: everything but what is set from outside is made anew."""
        config = self.config
        self.drops = Drops(recording=config.recording)
        self.neighbours = Neighbours()
        self.clients = Clients()
        self.fences = Fences()
        self.kept_for: dict[str, None] = {}
        """Neighbours from before a restart whose wishes are not known: they get everything."""
        self.advertisements = RoutingTable()
        self.subscriptions = RoutingTable(self.scope)
        self.forwarding = Forwarding(config.remembered_max, self.heads)
        self.tally = self.new_tally()
        """What passes through, if anybody wants to know."""
        self.wishes = Wishes() if config.edges.is_looking else None
        """How what is wanted changes, if anybody wants to know."""

    @property
    def scope(self) -> RoutingTable | None:
        """The table within which subscriptions are told, if there is one."""
        return self.advertisements if self.config.spreads_advertisements else None

    @property
    def refresh_seconds(self) -> float:
        """How often is looked again whether tables and streams are right."""
        return self.config.stabilization.refresh_seconds

    @property
    def audit_seconds(self) -> float:
        """In which time everything that is derived is derived again.

        Where a time is stated for all healing, that is done as often as everything else.
        """
        settings = self.config.stabilization
        return self.refresh_seconds if settings.seconds else settings.audit_seconds

    def new_tally(self) -> Tally | None:
        """Where what passes through is counted, for all who look at it; None if nobody does."""
        config = self.config
        looking = (("edges", config.edges.is_looking), ("swaps", config.optimization.is_on))
        readers = tuple(name for name, is_looking in looking if is_looking)
        return Tally(readers) if readers else None

    # Who may send what

    def rejection(self, source: str) -> Drop | None:
        """Why nothing is taken from a source, if so."""
        if source in self.clients:
            return None
        neighbour = self.neighbours.get(source)
        if neighbour is None:
            return Drop.UNKNOWN_SENDER
        return None if neighbour.in_tree else Drop.OUTSIDE_TREE

    def refusal(self, source: str, publisher: str, attributes: dict[str, Value]) -> str:
        """Why a source may not send a notification; neighbours have checked their clients."""
        if self.is_stale(source, publisher):
            return f"{publisher!r} goes on at another broker"
        if source not in self.clients:
            return "the link is not to carry anything" if self.is_held(source) else ""
        if publisher != source:
            return f"published as {publisher!r} by {source!r}: a client publishes as itself"
        accounts = self.config.accounts
        if accounts is not None and (reason := accounts.publish_refusal(source, attributes)):
            return reason
        if not self.config.advertisements_required:
            return ""
        return self.clients.refusal(source, attributes)

    def is_restricted(self, source: str) -> bool:
        """Whether what a source may send depends on the attributes."""
        accounts, is_required = self.config.accounts, self.config.advertisements_required
        if (accounts is None and not is_required) or source not in self.clients:
            return False
        return is_required or not (accounts is None or accounts.is_free(source))

    def claim_refusal(self, source: str, kind: str, entry_id: str, filter: Filter) -> str:
        """Why a client may not subscribe to a filter or advertise it; empty if it may."""
        if source not in self.clients:
            return ""
        accounts = self.config.accounts
        if self.clients.has_feature(source, MAILBOX):
            accounts = None  # whoever opened it was asked
        reason = "" if accounts is None else accounts.claim_refusal(source, kind, filter)
        return reason or self.clients.excess(source, kind, entry_id, filter, self.config.claims_max)

    def change_refusal(self, source: str, message: ChangeTree) -> str:
        """Why a client may not change the tree in a way; empty if it may."""
        accounts = self.config.accounts
        if accounts is None:
            return ""
        account = accounts.owner_of_session(source)
        broker = message.broker or self.id
        return accounts.administer_refusal(account, message.wish, broker)

    def overreach(self, client: str) -> str:
        """What a client may not have any more of what it has; empty if it may have all of it."""
        accounts = self.config.accounts
        if accounts is None or accounts.owner_of_session(client) is None:
            return "" if accounts is None else f"no account owns {client!r} any more"
        for kind in (SUBSCRIBED, ADVERTISED):
            for filter in dict.fromkeys(self.clients.claims(client, kind).values()):
                if reason := accounts.claim_refusal(client, kind, filter):
                    return reason
        return ""

    def reload(self, config: BrokerConfig) -> None:
        """Go on with other accounts: what was decided about publications is decided anew."""
        self.config = msgspec.structs.replace(
            self.config,
            accounts=config.accounts,
            claims_max=config.claims_max,
            pace=config.pace,
        )
        self.forwarding.invalidate()

    def is_stale(self, source: str, client: str) -> bool:
        """Whether what a source brings of a client is what the client's old broker had left."""
        return self.fences.is_stale(source, client)

    def is_held(self, source: str) -> bool:
        """Whether a source is a neighbour whose link is not to carry anything."""
        neighbour = self.neighbours.get(source)
        return neighbour is not None and neighbour.is_held

    # How edges are routed

    @property
    def tree_parent(self) -> str | None:
        """The parent of this broker in the tree, empty at the root; None where no tree is kept."""
        return None

    def direct(self) -> bool:
        """Let every edge be routed as it has to be now; whether that was another way.

        Where neighbours choose (``optimize.edges``) one that has chosen to send everything is not
        told what to send, either. With hierarchical routing only the parent is told what to send
        here, and children send everything. And whatever the variant: as long as a neighbour gets
        everything, it does not say what it wants, so nobody else can be asked for it; all others
        have to send everything, too (`check_edge_routing`). As the edges of a tree have no circle,
        brokers that keep to this agree, from the leaves on, whoever becomes whose parent; and while
        they do, an edge that has to flood does so before it could be missed.
        """
        wrong = self.misrouted()
        for name, sends in wrong:
            self.neighbours[name].direct(sends)
            self.subscriptions.switch(name, sends)
        return bool(wrong)

    def misrouted(self) -> list[tuple[str, str]]:
        """The neighbours whose edges have to be routed in another way, and in which."""
        parent = self.tree_parent
        if parent is None and not self.config.edges.is_auto:
            return []
        is_hierarchical = self.config.is_hierarchical
        flooded = [name for name, one in self.neighbours.items() if one.in_tree and one.is_flooded]
        wrong = []
        for name, one in self.neighbours.items():
            is_asked = not one.is_stopped and (name == parent or not is_hierarchical)
            usual = one.how if one.how in ALGORITHMS else self.config.routing
            sends = usual if is_asked and flooded in ([], [name]) else FLOODING
            if one.in_tree and one.sends != sends:
                wrong.append((name, sends))
        return wrong

    # Links

    def open(self, name: str) -> None:
        """A neighbour is in the tree: it gets notifications, and is owed what others want."""
        self.direct()
        neighbour = self.neighbours[name]
        self.forwarding.open(name, everything=self.gets_everything(name))
        if self.config.spreads_advertisements:
            self.advertisements.open(name, self.config.advertisement_routing)
        self.subscriptions.open(name, neighbour.sends)

    def reopen(self, name: str) -> None:
        """A neighbour has lost what it was told: it is owed everything anew."""
        self.direct()
        neighbour = self.neighbours[name]
        self.forwarding.open(name, everything=self.gets_everything(name))
        self.subscriptions.switch(name, neighbour.sends)
        for table in self.tables:
            table.renew(name)

    def route(self, name: str, receives: str) -> list[Effect]:
        """A neighbour has said how this broker learns what to send to it."""
        neighbour = self.neighbours[name]
        neighbour.receives = receives
        if self.forwarding.neighbours.get(name) != self.gets_everything(name):
            self.forwarding.open(name, everything=self.gets_everything(name))
        return self.tell_all() if self.direct() else []

    def gets_everything(self, name: str) -> bool:
        """Whether a neighbour gets every notification: it wants that, or nobody knows."""
        neighbour = self.neighbours.get(name)
        return name in self.kept_for or (neighbour is not None and neighbour.is_flooded)

    def keep_for(self, name: str) -> None:
        """What a neighbour wants is not known, and it must miss nothing: keep everything for it."""
        self.kept_for[name] = None
        self.forwarding.open(name, everything=True)

    def keep_no_more(self, name: str) -> None:
        """It is known again, or the neighbour is not waited for any longer."""
        self.kept_for.pop(name, None)
        if self.neighbours.is_in_tree(name):
            self.forwarding.open(name, everything=self.gets_everything(name))
        else:
            self.forwarding.close(name)

    def keep_only_for(self, late: Iterable[str]) -> None:
        """Keep everything for nobody but those who are late, whatever was noted."""
        self.kept_for = {name: None for name in late if name in self.kept_for}
        for name in self.kept_for:
            self.forwarding.open(name, everything=True)

    def is_deaf_to(self, source: str) -> bool:
        """Whether what a source wants is ignored: a neighbour that gets everything now."""
        neighbour = self.neighbours.get(source)
        return neighbour is not None and neighbour.is_stopping

    def close(self, name: str) -> None:
        """A neighbour is gone, and all it wanted; it is owed nothing any more."""
        self.subscriptions.close(name)
        self.advertisements.close(name)
        if name not in self.kept_for:
            self.forwarding.close(name)
        self.forget(name)

    def told_subscriptions(self) -> dict[str, str]:
        """The neighbours that are told of subscriptions, and how what each is owed is found."""
        return {
            name: one.sends if one.sends in ALGORITHMS else self.config.routing
            for name, one in self.neighbours.items()
            if one.in_tree
        }

    def told_advertisements(self) -> dict[str, str]:
        """The neighbours that are told of advertisements."""
        if not self.config.spreads_advertisements:
            return {}
        return dict.fromkeys(self.neighbours.tree(), self.config.advertisement_routing)

    # Messages for everybody

    def reach(self, source: str) -> list[str]:
        """The neighbours to whom goes on what comes from a source and is for everybody."""
        return [name for name in self.neighbours.tree() if name != source]

    def spread(self, source: str, message: Message, names: Iterable[str]) -> list[Effect]:
        """Send a message that comes from a source to some of those whom it can reach."""
        return [Send(name, message) for name in names]

    def note_move(self, source: str, message: ClientMoved | ClientsAt) -> None:
        """A neighbour says where clients are that have moved: note what that means for a change."""

    @property
    def joining(self) -> str:
        """Who gets notifications over a link that is about to be part of the tree, if anybody."""
        return ""

    # Entries

    @property
    def tables(self) -> tuple[RoutingTable, RoutingTable]:
        """Subscriptions and advertisements."""
        return self.subscriptions, self.advertisements

    @property
    def left(self) -> int:
        """How much is left to do about what neighbours are owed."""
        return sum([table.left for table in self.tables])

    def add(self, table: RoutingTable, entry: Entry, text: str | None = None) -> None:
        """Enter what a destination wants or advertises, perhaps in place of what it had.

        The text is the one that said it; without one it is the canonical text.
        """
        self.remove(table, entry.destination, entry.id)
        table.add(entry, text)
        if table is self.subscriptions:
            self.forwarding.add(entry)
            if self.wishes is not None:
                self.wishes.add(entry)
        else:
            self._advertisements_changed(entry.destination)

    def remove(self, table: RoutingTable, destination: str, entry_id: str) -> Entry | None:
        """Take out what a destination wants or advertises under an id, if it is there."""
        entry = table.remove(destination, entry_id)
        if entry is not None:
            if table is self.subscriptions:
                self.forwarding.remove(destination, entry_id)
                if self.wishes is not None:
                    self.wishes.remove(entry)
            else:
                self._advertisements_changed(destination)
        return entry

    def forget(self, destination: str) -> None:
        """Remove everything a destination wanted or advertised."""
        for table in self.tables:
            for entry in table.of(destination):
                self.remove(table, destination, entry.id)
        self.forwarding.invalidate()

    def mend_claims(self, client: str) -> int:
        """Let a client claim what the tables hold for it; how much that is."""
        held = [
            (kind, entry.id, entry.filter)
            for kind, table in zip((SUBSCRIBED, ADVERTISED), self.tables, strict=True)
            for entry in table.of(client)
        ]
        self.clients.mend(client, held)
        return len(held)

    def _advertisements_changed(self, source: str) -> None:
        """What a client may publish has changed, or what a neighbour has to be asked for."""
        self.forwarding.invalidate()
        self.subscriptions.rescope(source)

    # What is told to others

    def tell_all(self) -> list[Effect]:
        """Send every neighbour what it is owed and was not told yet.

        A neighbour that is to send everything begins with it before it is told that nothing is
        wanted any more; one that is to send what is wanted is told that first. So no notification
        is lost while the routing of an edge changes.
        """
        self.direct()
        withheld = self.neighbours.withheld()
        advertised = _said(self.advertisements, withheld, Advertise, Unadvertise)
        begun = [*self._announced(withheld, floods=True), *self._begun(withheld)]
        wanted = _said(self.subscriptions, withheld, Subscribe, Unsubscribe)
        if self.wishes is not None:
            self.wishes.note([one.destination for one in wanted])
        return [*advertised, *begun, *wanted, *self._announced(withheld, floods=False)]

    def _begun(self, withheld: Iterable[str]) -> list[Effect]:
        """Tell neighbours that flood, and know numbers, that what is wanted follows."""
        return [
            Send(name, Tell(one.inward_number))
            for name, one in self.neighbours.items()
            if one.in_tree
            and one.announced == FLOODING
            and not one.floods
            and one.has_edges
            and name not in withheld
        ]

    def _announced(self, withheld: Iterable[str], *, floods: bool) -> list[Effect]:
        """Tell neighbours that they have to flood from now on, or no longer."""
        effects: list[Effect] = []
        for name, neighbour in self.neighbours.items():
            if neighbour.announced != neighbour.sends and neighbour.floods == floods:
                if not neighbour.in_tree or name in withheld:
                    continue
                if floods or neighbour.has_announced_flooding:
                    effects.append(Send(name, neighbour_routing(neighbour)))
                neighbour.announced = neighbour.sends
        return effects

    # What is said about it

    def report(self) -> BrokerReport:
        """What this broker says about itself in a survey."""
        neighbours = self.neighbours
        return BrokerReport(
            id=self.id,
            session=self.config.session,
            neighbours=tuple(neighbours.tree()),
            candidates=tuple(name for name, one in neighbours.items() if not one.in_tree),
            away=tuple(neighbours.away()),
            clients=len(self.clients),
            subscriptions=len(self.subscriptions),
            addresses=self.config.addresses,
            admin=self.config.admin,
            release=self.config.release,
            congested=tuple(name for name, one in neighbours.items() if one.is_congested),
            can_change=True,
            load=self.load,
            **self.standing(),
        )

    def standing(self) -> dict[str, Any]:
        """The place of this broker in the tree: its root and its parent, if there is a tree."""
        return {}

    def recorded(
        self, kind: str, client: str, filter: Filter, message: str | None = None
    ) -> list[Effect]:
        """A row about what a client asked for, if rows are wanted."""
        if not self.config.recording:
            return []
        fields = {"client": client, "filter": str(filter)}
        if message is not None:
            fields["message"] = message
        return [Record(kind, fields)]


def neighbour_routing(neighbour: Neighbour) -> EdgeRouting:
    """How a neighbour learns what to send here, as it is told."""
    number = neighbour.inward_number if neighbour.has_edges else 0
    return EdgeRouting(neighbour.sends, number)


def _said(
    table: RoutingTable,
    withheld: list[str],
    begin: type[Subscribe | Advertise],
    end: type[Unsubscribe | Unadvertise],
) -> list[Send]:
    """The messages that tell neighbours what they are owed and were not told."""
    effects: list[Send] = []
    for neighbour, difference in table.take_differences(withheld):
        for entry_id, filter in difference.subscribe:
            effects.append(Send(neighbour, begin(entry_id, str(filter))))
        for entry_id in difference.unsubscribe:
            effects.append(Send(neighbour, end(entry_id)))
    return effects
