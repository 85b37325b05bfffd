"""The side that is dialled: who may come in, and whether an earlier stream goes on."""

from __future__ import annotations

import asyncio

from sapwood.errors import InvalidIdError
from sapwood.filters.ids import SessionId
from sapwood.protocol.link.handshake import (
    ALREADY_LINKED,
    BAD_CREDENTIALS,
    BROKER,
    BUSY,
    CLIENT,
    ID_IN_USE,
    PROTOCOL,
    Goodbye,
    Hello,
    LinkMessage,
    Resume,
    Welcome,
    common_features,
    common_version,
    refusal,
)
from sapwood.runtime.connection import Connection
from sapwood.protocol.link.flow import SLOW_POLICIES
from sapwood.runtime.node import Node
from sapwood.protocol.link.peer import Peer
from sapwood.runtime.tls import stranger

HANDSHAKE_SECONDS = 5.0
"""How long someone may take to introduce himself."""

CHALLENGE_SECONDS = 1.0
"""How long the holder of an id may take to show that it is alive."""


class Reception:
    """Owner of connections that have not introduced themselves."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: dict[Connection, asyncio.TimerHandle] = {}
        self._examinations: set[asyncio.Task[None]] = set()

    def connection(self) -> Connection:
        """A new connection; to be given to the server."""
        connection = Connection(self, self._node.clock.now())
        late = Goodbye(PROTOCOL, f"no Hello within {HANDSHAKE_SECONDS} s")
        loop = asyncio.get_running_loop()
        self._waiting[connection] = loop.call_later(HANDSHAKE_SECONDS, connection.close, late)
        return connection

    def close(self) -> None:
        """Nobody comes in any more."""
        for connection in list(self._waiting):
            connection.abort("the broker is shutting down")
        for examination in self._examinations:
            examination.cancel()

    # As the owner of a connection

    def received(self, connection: Connection, data: bytes, frames: int, size: int) -> None:
        """Frames of a stream cannot come here: the connection itself refuses them."""

    def lost(self, connection: Connection, reason: str) -> None:
        """Somebody went away before he was in."""
        self._forget(connection)

    def said(self, connection: Connection, message: LinkMessage) -> None:
        """Somebody introduces himself."""
        if connection not in self._waiting:
            return  # he has, and waits for the answer
        if not isinstance(message, Hello):
            name = type(message).__name__
            connection.close(Goodbye(PROTOCOL, f"{name} before the handshake; begin with Hello"))
            return
        self._forget(connection)
        settings = self._node.settings
        goodbye = refusal(
            message, network=settings.network, token=settings.token, routing=settings.routing
        )
        goodbye = goodbye or self._objection(message) or self._impostor(connection, message)
        if goodbye is not None:
            self._node.counts["refused"] += 1
            connection.close(goodbye)
        elif message.role == BROKER and self._resumed(message) is None:
            task = asyncio.get_running_loop().create_task(self._examine(connection, message))
            self._examinations.add(task)
            task.add_done_callback(self._examinations.discard)
        else:
            self._let_in(connection, message)

    def _forget(self, connection: Connection) -> None:
        timer = self._waiting.pop(connection, None)
        if timer is not None:
            timer.cancel()

    # Who may come in

    def _objection(self, hello: Hello) -> Goodbye | None:
        """What else speaks against letting somebody in."""
        node = self._node
        if hello.role not in {BROKER, CLIENT}:
            return Goodbye(PROTOCOL, f"no role {hello.role!r}; there are {BROKER} and {CLIENT}")
        try:
            name = _name(hello)
        except InvalidIdError as problem:
            return Goodbye(PROTOCOL, str(problem))
        if name == node.settings.id:
            return Goodbye(ID_IN_USE, f"this broker itself is {name!r}; choose another id")
        known = node.peers.get(name)
        if known is not None and known.is_client != (hello.role == CLIENT):
            other = "client" if known.is_client else "broker"
            return Goodbye(ID_IN_USE, f"there is a {other} {name!r}; choose another id")
        if hello.slow_policy and hello.slow_policy not in SLOW_POLICIES:
            policies = ", ".join(SLOW_POLICIES)
            return Goodbye(PROTOCOL, f"no policy {hello.slow_policy!r}; there are {policies}")
        limit = node.settings.client.max_clients
        if hello.role == CLIENT and known is None and node.client_count >= limit:
            return Goodbye(BUSY, f"there are {limit} clients here, and no more are allowed")
        return None

    def _impostor(self, connection: Connection, hello: Hello) -> Goodbye | None:
        """Where certificates are required, everybody shows one, and a broker one with its id."""
        if not self._node.settings.tls.require_certificate:
            return None
        broker = hello.id if hello.role == BROKER else None
        reason = stranger(connection.certificate, broker)
        return Goodbye(BAD_CREDENTIALS, reason) if reason else None

    async def _examine(self, connection: Connection, hello: Hello) -> None:
        """A broker that begins a stream: is its id free, and is it in the tree already?

        One that comes back takes its own place over, but only from its dead session. One that is
        in the tree on this side by another way gets a link outside the tree, since a second way
        would close a circle. If two brokers dial each other at the same time, one of the two
        connections is enough.
        """
        goodbye = await self._challenge(hello)
        if goodbye is None:
            try:
                surveyed = await self._node.survey()
            except TimeoutError:
                goodbye = Goodbye(BUSY, "the network on this side does not answer; try again")
            else:
                sessions = [one.session for one in surveyed.brokers if one.id == hello.id]
                holder = self._node.peers.get(hello.id)
                if holder is not None and holder.connection is not None:
                    goodbye = self._refused_by(holder, hello)  # it came in meanwhile
                elif any(session != hello.session for session in sessions):
                    goodbye = self._id_in_use(hello)
                elif not connection.is_closing:
                    self._let_in(connection, hello, in_tree=not sessions)
        if goodbye is not None:
            self._node.counts["refused"] += 1
            connection.close(goodbye)

    async def _challenge(self, hello: Hello) -> Goodbye | None:
        """Why a broker cannot come in, if one of its name is connected and answers."""
        holder = self._node.peers.get(hello.id)
        if holder is None or holder.connection is None:
            return None
        if await self._node.is_alive(holder, CHALLENGE_SECONDS):
            return self._refused_by(holder, hello)
        if holder.connection is not None:
            holder.connection.abort("does not answer, and its name has come back")
        return None

    def _refused_by(self, holder: Peer, hello: Hello) -> Goodbye:
        if holder.session != hello.session:
            return self._id_in_use(hello)
        reason = "there is a connection between these two brokers already"
        return Goodbye(ALREADY_LINKED, reason, self._node.settings.id)

    def _id_in_use(self, hello: Hello) -> Goodbye:
        reason = f"a living broker has the id {hello.id!r}; choose another id, or stop it first"
        return Goodbye(ID_IN_USE, reason)

    def _let_in(self, connection: Connection, hello: Hello, *, in_tree: bool = True) -> None:
        peer, resumed = self._node.peers.get(_name(hello)), self._resumed(hello)
        connection.silence = hello.silence
        if resumed is not None and peer is not None:
            connection.say(self._welcome(hello, peer.channel.received, peer.in_tree))
            self._node.come_back(peer, connection, resumed.received, hello.credit)
            return
        connection.say(self._welcome(hello, None, in_tree))
        had_stream = self._asks_for(hello) is not None
        new = self._new_peer(hello, in_tree)
        self._node.enter(new, connection, hello.credit, had_stream=had_stream)

    def _asks_for(self, hello: Hello) -> Resume | None:
        """The stream with this broker that a hello wants to go on with, if any."""
        here = (self._node.settings.id, self._node.session)
        return next((one for one in hello.resume if (one.broker, one.session) == here), None)

    def _resumed(self, hello: Hello) -> Resume | None:
        """The same, if this side has it too."""
        peer, resume = self._node.peers.get(_name(hello)), self._asks_for(hello)
        if peer is None or resume is None or peer.session != hello.session:
            return None
        return resume if peer.channel.can_connect(resume.received) else None

    def _new_peer(self, hello: Hello, in_tree: bool) -> Peer:
        node, name = self._node, _name(hello)
        is_client = hello.role == CLIENT
        if is_client and node.tracer is not None:
            node.tracer.client(name, hello.order, returns=bool(hello.resume))
        return Peer(
            name,
            hello.session,
            node.new_channel(is_client=is_client),
            is_client=is_client,
            in_tree=in_tree,
            slow_policy=hello.slow_policy or node.settings.client.slow_policy,
            addresses=hello.addresses,
        )

    def _welcome(self, hello: Hello, resumed: int | None, in_tree: bool) -> Welcome:
        node = self._node
        limits = node.settings.client if hello.role == CLIENT else node.settings.link
        version = common_version(hello.versions)
        assert version is not None
        return Welcome(
            id=node.settings.id,
            session=node.session,
            version=version,
            features=common_features(hello.features),
            addresses=node.settings.advertise,
            resumed=resumed,
            credit=node.window(limits),
            silence=limits.silence_seconds,
            in_tree=in_tree,
            advertisements_required=node.broker.config.advertisements_required,
        )


def _name(hello: Hello) -> str:
    """What somebody is called here; an InvalidIdError if his id is no name."""
    session = SessionId(hello.id, hello.session)
    return hello.id if hello.role == BROKER else str(session)
