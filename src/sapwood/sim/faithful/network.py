"""A network of whole nodes and client sessions, over connections that fail.

It has the verbs of `sapwood.sim.network.Network` for what clients do, and others for what happens
to brokers and connections. Rows of a trace are made as there, in virtual time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from sapwood.errors import TopologyError
from sapwood.filters.values import Value
from sapwood.protocol.broker import Broker
from sapwood.protocol.events import ChangeRequested
from sapwood.protocol.invariants import fault_problems, network_problems
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import (
    Append,
    ChangeAnswered,
    ClientOrder,
    Fetch,
    Fetched,
    Hint,
    JoinFailed,
    Remember,
    RememberBook,
    Restart,
    Row,
    Stop,
    Stopped,
    Sync,
    Synced,
    Trim,
)
from sapwood.protocol.reconfigure.asking import Wish
from sapwood.protocol.reconfigure.messages import ChangeEnded, Kind
from sapwood.protocol.tree import Link
from sapwood.sim.faithful.client import FaithfulClient
from sapwood.sim.faithful.driver import Crash, VirtualDriver
from sapwood.sim.faithful.host import Clock, Host
from sapwood.sim.faithful.store import Store
from sapwood.sim.kernel import Kernel
from sapwood.sim.network import Hops
from sapwood.trace.schema import DELIVERED, PUBLISHED
from sapwood.wire.frames import CONTROL, HEADER_SIZE, decode_envelope, decode_head, split

Recorder: TypeAlias = Callable[..., None]

SomeClient = TypeVar("SomeClient", bound=FaithfulClient)

SYNC_SECONDS_MAX: Final = 0.02
"""How long a disk takes at most."""

FAULTS_COUNTED: Final = ("contradiction", "impossible")
"""What is counted of faults in the memory of nodes and sessions."""


def _faults_in(counts: object) -> dict[str, int]:
    """What a machine has counted of faults, unless that was spoilt as well."""
    if not isinstance(counts, dict):
        return {}
    found = {what: counts.get(what) for what in FAULTS_COUNTED}
    return {what: count for what, count in found.items() if isinstance(count, int)}


class Site:
    """Where a broker lives: what outlasts its process."""

    def __init__(self, name: str, config: NodeConfig, clock: Clock) -> None:
        self.name = name
        self.config = config
        self.clock = clock
        self.session = 0
        """The last one; larger at each start, and at least the time, as in a data directory."""
        self.data = Remember(())
        """What the data directory says of its neighbours."""
        self.book: tuple[Hint, ...] = ()
        """What it says of the addresses of others."""
        self.book_at = 0.0
        """When that was written."""
        self.store = Store()
        """Its journal, if it keeps one."""

    @property
    def address(self) -> str:
        """Under which it can be dialled."""
        return address_of(self.name)

    def aged_book(self, now: float) -> tuple[Hint, ...]:
        """The addresses, with how long ago they were heard by now."""
        replace = msgspec.structs.replace
        return tuple(replace(one, age=one.age + now - self.book_at) for one in self.book)


def address_of(broker: str) -> str:
    """The address of a broker."""
    return f"sapwood://{broker}"


class FaithfulNetwork:
    """Brokers and clients on a driver in virtual time."""

    def __init__(
        self,
        random: Random,
        *,
        config: Mapping[str, Any] | None = None,
        record: Recorder | None = None,
        kernel: Kernel | None = None,
        delay: tuple[float, float] = (0.001, 0.02),
    ) -> None:
        self.driver = VirtualDriver(random, kernel, delay=delay, on_effect=self._carry_out)
        self.kernel = self.driver.kernel
        self.sites: dict[str, Site] = {}
        self.nodes: dict[str, Node] = {}
        """The present life of each broker that is up."""
        self.clients: dict[str, FaithfulClient] = {}
        self.past_faults: Counter[str] = Counter()
        """Counts of faults of the lives of brokers that have ended."""
        self.changes: dict[tuple[str, int], ChangeEnded] = {}
        """By broker and request: how the changes of the tree ended that were asked for."""
        self._asked = 0
        self.join_failures: list[tuple[str, JoinFailed]] = []
        self._random = random
        self._config = dict(config or {})
        self._record = record
        self._orders: dict[tuple[str, str], int] = {}
        """By broker and client: what the client has published and got so far, by the trace."""
        self._effects: dict[type, Callable[[Host, Any], None]] = {
            Row: self._row,
            ClientOrder: self._client_order,
            Remember: self._remember,
            RememberBook: self._remember_book,
            Stopped: self._stopped,
            Restart: self._restart_at_once,
            ChangeAnswered: self._change_answered,
            Append: lambda host, effect: self.sites[host.name].store.append(effect),
            Sync: self._sync,
            Fetch: self._fetch,
            Trim: lambda host, effect: self.sites[host.name].store.trim(effect),
            JoinFailed: lambda host, effect: self.join_failures.append((host.name, effect)),
        }

    def _carry_out(self, host: Host, effect: object) -> None:
        carry_out = self._effects.get(type(effect))
        if carry_out is not None:
            carry_out(host, effect)
            return
        client = self.clients.get(host.name)
        if client is not None:
            client.hear(effect)

    # Brokers

    def add_broker(
        self,
        name: str,
        joins: tuple[str, ...] = (),
        *,
        clock: Clock | None = None,
        is_hidden: bool = False,
        link: LinkLimits | None = None,
        client: ClientLimits | None = None,
        **config: Any,
    ) -> Node:
        """A new broker that dials others; no other broker can dial a hidden one."""
        if name in self.sites:
            raise TopologyError(f"there is a broker {name!r} already")
        limits = {key: value for key, value in (("link", link), ("client", client)) if value}
        settings = NodeConfig(
            id=name,
            joins=tuple(address_of(other) for other in joins),
            addresses=() if is_hidden else (address_of(name),),
            recording=self._record is not None,
            **{**self._config, **limits, **config},
        )
        for other, known in self.sites.items():
            self.driver.route(other, name).is_reachable = not is_hidden
            self.driver.route(name, other).is_reachable = bool(known.config.addresses)
        site = self.sites[name] = Site(name, settings, clock or Clock())
        return self._start(site)

    def _start(self, site: Site) -> Node:
        former = site.session
        site.session = max(site.session + 1, int(self.kernel.now))
        config = msgspec.structs.replace(
            site.config,
            session=site.session,
            expected=site.data.neighbours,
            expected_sessions=site.data.sessions,
            expected_parent=site.data.parent,
            book=site.aged_book(self.kernel.now),
            former=former,
        )
        node = self.nodes[site.name] = Node(
            config,
            Random(self._random.getrandbits(64)),
            self._draw_secret,
            journal=site.store.open(),
        )
        self.driver.start(site.name, node, clock=site.clock, address=site.address)
        return node

    def _draw_secret(self) -> str:
        return f"{self._random.getrandbits(64):016x}"

    def crash(self, name: str, how: Crash = Crash.KILLED) -> None:
        """A broker's process ends without a word; what was in its memory is gone."""
        if self._forget(name):
            self.driver.end(self.driver.hosts[name], how)
            self.sites[name].store.crash(self._random)

    def stop(self, name: str) -> None:
        """A broker is asked to end in an orderly way; it takes its time."""
        if name in self.nodes:
            self.driver.bring(self.driver.hosts[name], Stop())

    def _forget(self, name: str) -> bool:
        """A life of a broker is over; whether there was one."""
        node = self.nodes.pop(name, None)
        if node is not None:
            self.past_faults.update(_faults_in(node.counts))
        return node is not None

    def _stopped(self, host: Host, effect: Stopped) -> None:
        self._forget(host.name)
        self.driver.end(host)

    def _restart_at_once(self, host: Host, effect: Restart) -> None:
        """A broker begins a new session because of what it found in its own state."""
        if self.driver.hosts.get(host.name) is host and host.is_up:
            self.crash(host.name)
            self.restart(host.name)

    def restart(self, name: str) -> Node:
        """The next session of a broker that has ended begins."""
        if name in self.nodes:
            return self.nodes[name]
        return self._start(self.sites[name])

    def _sync(self, host: Host, effect: Sync) -> None:
        """Bring the journal of a site to disk; that takes its time."""
        mark = self.sites[host.name].store.mark()
        at = self.kernel.now + self._random.uniform(0.0, SYNC_SECONDS_MAX)
        self.kernel.at(at, self._synced, host, effect.position, mark)

    def _synced(self, host: Host, position: int, mark: dict[int, int]) -> None:
        if host.is_up:
            self.sites[host.name].store.sync(mark)
            self.driver.bring(host, Synced(position))

    def _fetch(self, host: Host, effect: Fetch) -> None:
        """Read something of the journal of a site back; that takes its time, too."""
        data = self.sites[host.name].store.fetch(effect)
        at = self.kernel.now + self._random.uniform(0.0, SYNC_SECONDS_MAX)
        self.kernel.at(at, self._fetched, host, effect.request, data)

    def _fetched(self, host: Host, request: int, data: bytes) -> None:
        if host.is_up:
            self.driver.bring(host, Fetched(request, data))

    def _remember(self, host: Host, effect: Remember) -> None:
        self.sites[host.name].data = effect

    # Changes of the tree

    def exchange(
        self, broker: str, old: tuple[str, str], new: tuple[str, str], kind: Kind = "exchange"
    ) -> int:
        """Ask a broker to have one link of the tree exchanged for another; the request."""
        self._asked += 1
        if broker in self.nodes:
            event = ChangeRequested(self._asked, old, new, kind)
            self.driver.bring(self.driver.hosts[broker], event)
        return self._asked

    def _change_answered(self, host: Host, effect: ChangeAnswered) -> None:
        self.changes[host.name, effect.answer.request] = effect.answer

    def _remember_book(self, host: Host, effect: RememberBook) -> None:
        site = self.sites[host.name]
        site.book, site.book_at = effect.hints, self.kernel.now

    # Connections

    def cut(self, a: str, b: str) -> None:
        """Break the connections between two hosts."""
        self.driver.cut(a, b)

    def freeze(self, a: str, b: str) -> None:
        """Let nothing move between two hosts, in both directions; nobody is told."""
        self.driver.freeze(a, b)
        self.driver.freeze(b, a)

    def thaw(self, a: str, b: str) -> None:
        """Let everything move again."""
        self.driver.thaw(a, b)
        self.driver.thaw(b, a)

    def refuse(self, a: str, b: str, *, is_refused: bool = True) -> None:
        """Nobody of the two can dial the other for the time being, or both can again."""
        for route in self.driver.both_routes(a, b):
            route.is_refused = is_refused

    def slow(self, a: str, b: str, bytes_per_second: float) -> None:
        """Limit the bandwidth between two hosts; zero for no limit."""
        for route in self.driver.both_routes(a, b):
            route.bytes_per_second = bytes_per_second

    # Looking

    def is_linked(self, a: str, b: str) -> bool:
        """Whether two brokers have a connection that both take for alive."""
        return all(
            here in self.nodes
            and there in self.nodes[here].peers
            and self.nodes[here].peers[there].line is not None
            for here, there in ((a, b), (b, a))
        )

    def is_joined(self, a: str, b: str) -> bool:
        """Whether the link between two brokers is part of the tree and carries, for both."""
        return self.is_linked(a, b) and all(
            self.nodes[here].broker.tree.carries(there) for here, there in ((a, b), (b, a))
        )

    def joined_links(self) -> tuple[tuple[str, str], ...]:
        """All links that are part of the tree and carry, for both ends."""
        return tuple(
            (name, other)
            for name, node in sorted(self.nodes.items())
            for other in sorted(node.broker.neighbours.tree())
            if name < other and self.is_joined(name, other)
        )

    def is_idle(self) -> bool:
        """Whether nothing waits anywhere: all that was published and asked is where it belongs."""
        return all(
            peer.channel.is_idle or (peer.is_client and peer.line is None)
            for node in self.nodes.values()
            for peer in node.peers.values()
        ) and all(client.is_idle for client in self.clients.values())

    def is_drained(self) -> bool:
        """Whether no notification waits anywhere; brokers may be telling each other something.

        They do so now and then, and where links are slow somebody always does.
        """
        return all(
            not peer.channel.spool.size or (peer.is_client and peer.line is None)
            for node in self.nodes.values()
            for peer in node.peers.values()
        ) and all(client.is_idle for client in self.clients.values())

    def has_no_waves(self) -> bool:
        """Whether nobody is asking everybody something; brokers do so now and then."""
        return not any(broker.waves.by_origin for broker in self.brokers.values())

    def is_formed(self, a: str, b: str) -> bool:
        """Whether two brokers take each other for neighbours, connected or not.

        One that is down does if its data directory says so; one that has just started, as long
        as it waits for the neighbours it had.
        """
        return self._knows(a, b) and self._knows(b, a)

    def _knows(self, here: str, there: str) -> bool:
        node = self.nodes.get(here)
        if node is None or node.broker.is_restoring:
            return there in self.sites[here].data.neighbours
        return node.broker.neighbours.is_in_tree(there)

    def problems(self) -> list[str]:
        """What does not hold of a node though it must, whatever is under way."""
        return [f"{name}: {one}" for name, node in self.nodes.items() for one in node.problems()]

    def problems_at_rest(self) -> list[str]:
        """What does not hold of all brokers together, when nothing is under way any more."""
        return network_problems(self.brokers) + fault_problems(self.brokers)

    @property
    def brokers(self) -> dict[str, Broker]:
        """Those that are up."""
        return {name: node.broker for name, node in self.nodes.items()}

    def hops(self) -> Hops:
        """What went over the streams between brokers there are; control messages all together."""
        links = [
            peer
            for node in self.nodes.values()
            for peer in node.peers.values()
            if not peer.is_client
        ]
        notifications = sum(peer.frames_out for peer in links)
        return Hops(notifications, sum(peer.channel.sent for peer in links) - notifications, 0)

    def count(self, what: str) -> int:
        """How often something happened at all nodes that are up."""
        return sum(node.counts[what] for node in self.nodes.values())

    def faults(self) -> dict[str, int]:
        """What nodes and sessions took for faults in memory, if anything: nobody injects any."""
        found = Counter(self.past_faults)
        counts = [node.counts for node in self.nodes.values()]
        counts += [client.session.counts for client in self.clients.values()]
        for one in counts:
            found.update(_faults_in(one))
        return {what: count for what, count in found.items() if count}

    # Clients

    def connect(
        self, session: str, *brokers: str, clock: Clock | None = None, **options: Any
    ) -> FaithfulClient:
        """A client's session begins; it knows one or several brokers."""
        return self.connect_as(FaithfulClient, session, *brokers, clock=clock, **options)

    def connect_as(
        self,
        kind: type[SomeClient],
        session: str,
        *brokers: str,
        clock: Clock | None = None,
        **options: Any,
    ) -> SomeClient:
        """The same, with an application of some kind."""
        for broker in brokers:
            if broker not in self.sites:
                raise TopologyError(f"client {session}: there is no broker {broker!r}")
        if session in self.clients or session in self.sites:
            raise TopologyError(f"client {session}: there is a client or broker of that name")
        servers = tuple(address_of(broker) for broker in brokers)
        random = Random(self._random.getrandbits(64))
        client = kind(session, servers, random, self.kernel, **options)
        self.clients[session] = client
        client.host = self.driver.start(session, client, clock=clock)
        self._call(session, client.open)
        return client

    def _call(self, session: str, call: Callable[..., Sequence[object]], *given: Any) -> None:
        """Let the process of a client make a call, when it does not stand still."""
        client = self.clients[session]
        self.driver.call(client.host, lambda now: () if client.failed else call(*given, now))

    def disconnect(self, session: str) -> None:
        """A client's session ends."""
        self._call(session, self.clients[session].close)

    def subscribe(self, session: str, name: str, filter: str, settle: bool = True) -> None:
        """A client subscribes."""
        self._call(session, self.clients[session].subscribe, name, filter, settle)

    def unsubscribe(self, session: str, name: str, settle: bool = True) -> None:
        """A client unsubscribes."""
        self._call(session, self.clients[session].unsubscribe, name, settle)

    def advertise(self, session: str, name: str, filter: str, settle: bool = True) -> None:
        """A client advertises."""
        self._call(session, self.clients[session].advertise, name, filter, settle)

    def unadvertise(self, session: str, name: str, settle: bool = True) -> None:
        """A client takes an advertisement back."""
        self._call(session, self.clients[session].unadvertise, name, settle)

    def change_tree(
        self, session: str, wish: Wish, links: tuple[Link, ...] = (), broker: str = ""
    ) -> None:
        """A client asks for a change of the tree."""
        self._call(session, self.clients[session].change_tree, wish, links, broker)

    def survey(self, session: str) -> None:
        """A client asks what the network looks like."""
        self._call(session, self.clients[session].survey)

    def publish(
        self,
        session: str,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        expires_in: float | None = None,
    ) -> None:
        """A client publishes."""
        self._call(session, self.clients[session].publish, attributes, payload, expires_in)

    # Rows

    def _client_order(self, host: Host, effect: ClientOrder) -> None:
        key = (host.name, effect.client)
        if effect.order is None:
            self._orders.pop(key, None)
        else:
            self._orders[key] = effect.order

    def _row(self, host: Host, effect: Row) -> None:
        """Record a row, or one for each notification in a run of frames."""
        if self._record is None:
            return
        at = min(host.clock.when(effect.at), self.kernel.now)
        session = self.sites[host.name].session
        if not effect.data:
            self._record(host.name, session, at, effect.kind, **effect.fields)
            return
        is_ordered = effect.kind in (PUBLISHED, DELIVERED)
        for number, (kind, head, body) in enumerate(split(effect.data)):
            if kind == CONTROL or not effect.first <= number < effect.end:
                continue
            fields = dict(effect.fields)
            publisher, attributes = decode_head(head)
            if effect.kind == PUBLISHED:
                fields["attributes"] = msgspec.json.encode(attributes).decode()
            if is_ordered:
                key = (host.name, fields["client"])
                fields["client_order"] = self._orders[key] = self._orders.get(key, 0) + 1
            self._record(
                host.name,
                session,
                at,
                effect.kind,
                publisher=publisher,
                sequence=decode_envelope(body).sequence,
                bytes=HEADER_SIZE + len(head) + len(body),
                **fields,
            )
